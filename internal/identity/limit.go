package identity

import (
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/account"
)

const (
	defaultTries = 5
	// defaultSourceTries is more, since a whole office may have one address.
	defaultSourceTries = 100
	defaultWindow      = 300 * time.Second
)

// orDefault fills in what a limit does not say.
func orDefault(l account.Limits) account.Limits {
	if l.Account.Tries == 0 {
		l.Account = account.Limit{Tries: defaultTries, Window: defaultWindow}
	}
	if l.Source.Tries == 0 {
		l.Source = account.Limit{Tries: max(defaultSourceTries, l.Account.Tries), Window: l.Account.Window}
	}
	if l.Source.Window == 0 {
		// An account may be locked until its password is changed; an address,
		// which nobody owns for long, may not.
		l.Source.Window = defaultWindow
	}
	return l
}

// ReadLimits reads Argo CD's variables of the environment. What makes no sense
// is a problem, and the default stands.
func ReadLimits(getenv func(string) string) (account.Limits, []string) {
	l := account.Limits{Account: account.Limit{Tries: defaultTries, Window: defaultWindow}}
	var problems []string
	read := func(name string, least int, set func(int)) {
		text := getenv(name)
		if text == "" {
			return
		}
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || int(n) < least {
			problems = append(problems, fmt.Sprintf("%s: %q is not a number of at least %d; using the default", name, text, least))
			return
		}
		set(int(n))
	}
	read(v1alpha1.EnvLoginMaxFailures, 1, func(n int) { l.Account.Tries = n })
	read(v1alpha1.EnvLoginFailureWindow, 0, func(n int) { l.Account.Window = time.Duration(n) * time.Second })
	if getenv(v1alpha1.EnvLoginMaxCacheSize) != "" {
		problems = append(problems, v1alpha1.EnvLoginMaxCacheSize+": it has no effect; names that are no account take no memory here")
	}
	return orDefault(l), problems
}

// cells count failures of things that are not known beforehand: names that are
// no account, and addresses. There is a fixed number of them, so that nobody
// can fill the memory, and none is ever thrown out, so that nobody can have
// their failures forgotten. Things that share a cell share its count.
type cells []cell

type cell struct {
	failure  account.Failure
	underway int
}

const cellCount = 1 << 14

// sourceOf is what is counted as one place. Whoever has an IPv6 address has at
// least 2^64 of them.
func sourceOf(text string) string {
	addr, err := netip.ParseAddr(text)
	if err != nil {
		if port, perr := netip.ParseAddrPort(text); perr == nil {
			addr, err = port.Addr(), nil
		}
	}
	if err != nil {
		return text
	}
	addr = addr.Unmap()
	if addr.Is6() {
		if p, err := addr.Prefix(64); err == nil {
			return p.Addr().String()
		}
	}
	return addr.String()
}
