package web

import (
	"net/netip"
	"strings"

	"github.com/towline-cd/towline/internal/core/fault"
)

// Reach is how near to us a server may be.
type Reach int

const (
	// Public is a server that anybody can reach.
	Public Reach = iota
	// Private is also one of the networks that are not part of the internet, such as that of the cluster.
	Private
	// Local is also this machine.
	Local
	// nowhere is for addresses that no repository has any business at.
	nowhere
)

// Neighbours of a link: among them are the metadata services that hand out the credentials of a machine. They are
// refused whoever asks, and so is what is no address of a single server.
var never = prefixes("0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4", "fe80::/10", "ff00::/8",
	"fd00:ec2::254/128", "fd20:ce::254/128", "100.100.100.200/32", "192.0.0.192/32", "::/128")

var private = prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15",
	"fc00::/7", "fec0::/10")

// nat64 and sixToFour carry an address of the older form in them.
var (
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")
)

func prefixes(texts ...string) []netip.Prefix {
	parsed := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		parsed[i] = netip.MustParsePrefix(text)
	}
	return parsed
}

// reachOf is how far one has to be allowed to reach for an address.
func reachOf(addr netip.Addr) Reach {
	addr = addr.Unmap().WithZone("")
	bytes := addr.As16()
	switch {
	case !addr.IsValid():
		return nowhere
	case nat64.Contains(addr):
		addr = netip.AddrFrom4([4]byte(bytes[12:16]))
	case sixToFour.Contains(addr):
		addr = netip.AddrFrom4([4]byte(bytes[2:6]))
	}
	for _, p := range never {
		if p.Contains(addr) {
			return nowhere
		}
	}
	if addr.IsLoopback() {
		return Local
	}
	for _, p := range private {
		if p.Contains(addr) {
			return Private
		}
	}
	return Public
}

// checkAddress is asked after the name was resolved, for the address that is about to be called.
func checkAddress(text string, reach Reach) error {
	at, err := netip.ParseAddrPort(text)
	if err != nil {
		return fault.Terminalf("AddressRefused", "%q is not an address", text)
	}
	return refuseAddress(at.Addr(), reach)
}

func refuseAddress(addr netip.Addr, reach Reach) error {
	needed := reachOf(addr)
	if needed == nowhere {
		return fault.Terminalf("AddressRefused", "%s is an address that no repository may have", addr)
	}
	if needed > reach {
		return fault.Terminalf("AddressRefused", "%s is an address of this machine or of a private network, and content chose it; "+
			"register the host as a repository or as a credential template to allow it", addr)
	}
	return nil
}

// checkName is for a server that a proxy calls for us: what its name stands for is not known here.
func checkName(host string, reach Reach) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		return refuseAddress(addr, reach)
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return refuseAddress(netip.AddrFrom4([4]byte{127, 0, 0, 1}), reach)
	}
	return nil
}
