package web

import (
	"net/netip"
	"strings"

	"github.com/towline-cd/towline/internal/core/address"
	"github.com/towline-cd/towline/internal/core/fault"
)

// Reach is how near to us a server may be.
type Reach = address.Reach

// How near.
const (
	Public  = address.Public
	Private = address.Private
	Local   = address.Local
)

// checkAddress is asked after the name was resolved, for the address that is about to be called.
func checkAddress(text string, reach Reach) error {
	at, err := netip.ParseAddrPort(text)
	if err != nil {
		return fault.Terminalf("AddressRefused", "%q is not an address", text)
	}
	return refuseAddress(at.Addr(), reach)
}

func refuseAddress(addr netip.Addr, reach Reach) error {
	needed := address.ReachOf(addr)
	if needed == address.Nowhere {
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
