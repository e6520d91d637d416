package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// target is the destination that is judged.
type target struct {
	server, name, namespace string
}

func (t target) String() string {
	cluster := cmp.Or(t.name, t.server)
	if t.name != "" && t.server != "" {
		cluster = t.name + " (" + t.server + ")"
	}
	if t.namespace == "" {
		return fmt.Sprintf("cluster %q", cluster)
	}
	return fmt.Sprintf("namespace %q of cluster %q", t.namespace, cluster)
}

// String shows the rule as it is written in the project.
func (d Destination) String() string {
	var set []string
	for _, field := range [][2]string{{"server", d.Server}, {"name", d.Name}, {"namespace", d.Namespace}} {
		if field[1] != "" {
			set = append(set, fmt.Sprintf("%s: %q", field[0], field[1]))
		}
	}
	return "{" + strings.Join(set, ", ") + "}"
}

// DestinationOf says whether the project allows a namespace of a cluster. Give both the server and the name of the
// cluster: a rule that denies by one of them refuses a cluster of which that one is not known. Each deny pattern counts
// by itself, whatever the other fields of its rule say, as in Argo CD.
func DestinationOf(p Project, server, name, namespace string) Verdict {
	to := target{server: trimServer(server), name: name, namespace: namespace}
	said, refusal := p.heard(to)
	switch {
	case refusal != "":
		return Verdict{Reason: refusal}
	case said.allow == nil && p.owns(to):
		return allowed("%s is allowed: the cluster is for project %q", to, p.Name)
	}
	return said.verdict(p, to, "destinations", `{server: "*", namespace: "*"}`)
}

// reaches is DestinationOf without words, for those who ask for every object.
func (p Project) reaches(to target) bool {
	said, refusal := p.heard(to)
	return refusal == "" && (said.allows(p) || p.owns(to))
}

// heard are the rules on a target. A refusal is one that no other rule can lift.
func (p Project) heard(to target) (said tally, refusal string) {
	for i := range p.Destinations {
		rule := &p.Destinations[i]
		if why := rule.denies(to); why != "" {
			return said, fmt.Sprintf("%s is denied by destinations %s of %s: %s; choose another destination or change that rule",
				to, rule, p.called(), why)
		}
		if !rule.hasDeny() {
			said.asked(rule, rule.allows(to))
			continue
		}
		if rule.allows(to) == hits {
			said.passed(rule)
		}
	}
	if p.OnlyOwnClusters && !slices.ContainsFunc(p.OwnClusters, func(c OwnCluster) bool { return c.is(to) }) {
		return said, fmt.Sprintf("%s is not one of the clusters of %s, and permitOnlyProjectScopedClusters allows no others; choose "+
			"one of its own, or name the project in the secret of the cluster", to, p.called())
	}
	return said, ""
}

func (p Project) owns(to target) bool {
	return slices.ContainsFunc(p.OwnClusters, func(c OwnCluster) bool { return c.is(to) && c.has(to.namespace) })
}

// Enters says whether the project has any business at a cluster: whether there may be a namespace there that it allows.
func Enters(p Project, at Place) bool {
	to := target{server: trimServer(at.Server), name: at.Name}
	if slices.ContainsFunc(p.OwnClusters, func(c OwnCluster) bool { return c.is(to) }) {
		return true
	}
	enters := false
	for _, rule := range p.Destinations {
		if rule.deniesCluster(to) != "" {
			return false
		}
		enters = enters || rule.cluster(to) != misses
	}
	return enters && !p.OnlyOwnClusters
}

func trimServer(server string) string { return strings.TrimRight(server, "/") }

func (d Destination) hasDeny() bool {
	return parsePattern(d.Server).deny || parsePattern(d.Name).deny || parsePattern(d.Namespace).deny
}

// denies gives the reason for which a deny pattern of the rule refuses the target, or nothing.
func (d Destination) denies(to target) string {
	return cmp.Or(d.deniesCluster(to), deniesField("namespace", parsePattern(d.Namespace), to.namespace))
}

func (d Destination) deniesCluster(to target) string {
	server, name := serverPattern(d.Server), parsePattern(d.Name)
	if !server.deny && !name.deny {
		return ""
	}
	// Host names know no case, so a deny must not be passed by writing the same server in capitals.
	server.glob = strings.ToLower(server.glob)
	if server.deny && to.server == "" || name.deny && to.name == "" {
		return "it denies by server or name, and that of the cluster is not known"
	}
	return cmp.Or(
		deniesField("server", server, strings.ToLower(to.server)),
		deniesField("name", name, to.name),
	)
}

func deniesField(field string, p pattern, value string) string {
	if !p.deny {
		return ""
	}
	switch p.match(value) {
	case invalid:
		return fmt.Sprintf("%s %q is not a valid pattern and so denies all", field, p.written)
	case hits:
		return fmt.Sprintf("%s %q", field, p.written)
	case misses:
	}
	return ""
}

// allows says whether the rule takes in the target. A deny pattern, which was asked before, takes in the rest.
func (d Destination) allows(to target) outcome {
	cluster, namespace := d.cluster(to), parsePattern(d.Namespace).takes(to.namespace)
	if cluster == misses || namespace == misses {
		return misses
	}
	return max(cluster, namespace)
}

// cluster says whether the rule takes in the cluster of the target.
func (d Destination) cluster(to target) outcome {
	server, name := misses, misses
	if to.server != "" {
		server = serverPattern(d.Server).takes(to.server)
	}
	if to.name != "" {
		name = parsePattern(d.Name).takes(to.name)
	}
	if name == hits || server == misses {
		return name
	}
	return server
}

func (p pattern) takes(value string) outcome {
	if p.deny {
		return hits
	}
	return p.match(value)
}

func serverPattern(written string) pattern {
	p := parsePattern(written)
	p.glob = trimServer(p.glob)
	return p
}
