package address_test

import (
	"net/netip"
	"testing"

	"github.com/towline-cd/towline/internal/core/address"
)

func TestReach(t *testing.T) {
	tests := map[address.Reach][]string{
		address.Public: {"1.1.1.1", "8.8.8.8", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101", "172.32.0.1", "100.128.0.1"},
		address.Private: {
			"10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "198.18.0.1", "fd12::1", "::ffff:10.0.0.1",
			"64:ff9b::a00:1", "2002:a00:1::1", "fec0::1",
		},
		address.Local: {"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"},
		address.Nowhere: {
			"169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "fe80::1%eth0", "0.0.0.0", "::", "224.0.0.1", "255.255.255.255", "ff02::1",
			"fd00:ec2::254", "100.100.100.200", "64:ff9b::a9fe:a9fe", "0.1.2.3",
		},
	}
	for want, addresses := range tests {
		for _, text := range addresses {
			if got := address.ReachOf(netip.MustParseAddr(text)); got != want {
				t.Errorf("ReachOf(%s) = %v, want %v", text, got, want)
			}
		}
	}
	if address.ReachOf(netip.Addr{}) != address.Nowhere {
		t.Error("no address is one")
	}
}
