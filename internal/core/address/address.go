// Package address says how near to us a network address is, and which addresses nobody may have us call. It must not
// resolve names: whoever is about to call asks for the very address.
package address

import "net/netip"

// Reach is how near to us a server may be.
type Reach int

const (
	// Public is a server that anybody can reach.
	Public Reach = iota
	// Private is also one of the networks that are not part of the internet, such as that of the cluster.
	Private
	// Local is also this machine.
	Local
	// Nowhere is for addresses that nobody has any business at.
	Nowhere
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

// ReachOf is how far one has to be allowed to reach for an address.
func ReachOf(addr netip.Addr) Reach {
	addr = addr.Unmap().WithZone("")
	bytes := addr.As16()
	switch {
	case !addr.IsValid():
		return Nowhere
	case nat64.Contains(addr):
		addr = netip.AddrFrom4([4]byte(bytes[12:16]))
	case sixToFour.Contains(addr):
		addr = netip.AddrFrom4([4]byte(bytes[2:6]))
	}
	for _, p := range never {
		if p.Contains(addr) {
			return Nowhere
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
