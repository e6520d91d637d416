package policy

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// ServiceAccount says as whom to write to a destination; the fields but the last are globs.
type ServiceAccount struct {
	Server, Namespace string
	// Account is a name, or namespace:name.
	Account string
}

// Seat is where an application is and where it goes.
type Seat struct {
	// Namespace is the application's own, and Destination the one that it goes to.
	Namespace, Destination string
	Server                 string
}

// Identity says as whom an application writes: the service account of the first rule that fits its destination. An empty
// user is ourselves.
func Identity(p Project, t Tenancy, s Seat) (user string, v Verdict) {
	if !t.Impersonate {
		return "", allowed("impersonation is off")
	}
	to := target{server: trimServer(s.Server), namespace: s.Destination}
	for i, rule := range p.ServiceAccounts {
		server, namespace := globPattern(trimServer(rule.Server)), globPattern(rule.Namespace)
		results := []outcome{server.match(to.server), namespace.match(s.Destination)}
		for at, written := range []string{rule.Server, rule.Namespace} {
			if results[at] == invalid {
				return "", refused("destinationServiceAccounts[%d] of %s has %q, which is not a valid pattern; correct it",
					i, p.called(), written)
			}
		}
		if results[0] != hits || results[1] != hits {
			continue
		}
		return account(p, rule, s)
	}
	if t.Optional {
		return "", allowed("no rule in destinationServiceAccounts of %s fits %s, and impersonation is not enforced", p.called(), to)
	}
	return "", refused("impersonation is on, and no rule in destinationServiceAccounts of %s fits %s; add {server: %q, "+
		"namespace: %q, defaultServiceAccount: …} there", p.called(), to, s.Server, s.Destination)
}

// account is the user behind a service account. A name without a namespace is of the one that the application goes to.
func account(p Project, rule ServiceAccount, s Seat) (string, Verdict) {
	namespace, name, found := strings.Cut(strings.TrimSpace(rule.Account), ":")
	if !found {
		namespace, name = s.Destination, namespace
		if namespace == "" {
			namespace = s.Namespace
		}
	}
	// What is not a name would make another user of it.
	if len(validation.IsDNS1123Subdomain(name)) > 0 || len(validation.IsDNS1123Label(namespace)) > 0 {
		return "", refused("destinationServiceAccounts of %s has the account %q, which is neither a name nor namespace:name; "+
			"correct it", p.called(), rule.Account)
	}
	user := fmt.Sprintf("system:serviceaccount:%s:%s", namespace, name)
	return user, allowed("it is written as %s, by destinationServiceAccounts of %s", user, p.called())
}

func globPattern(written string) pattern { return pattern{written: written, glob: written} }
