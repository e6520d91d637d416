package cluster

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestFilters(t *testing.T) {
	const server = "https://prod.example.com:6443"
	cases := map[string]struct {
		exclusions, inclusions []Filter
		// left lists kinds of which a mark says whether they are left out.
		left map[string]bool
	}{
		"by default": {left: map[string]bool{
			"/ConfigMap": false, "/Endpoints": true, "discovery.k8s.io/EndpointSlice": true, "/Event": true, "events.k8s.io/Event": true,
			"coordination.k8s.io/Lease": true, "metrics.k8s.io/PodMetrics": true, "authorization.k8s.io/SubjectAccessReview": true,
			"cert-manager.io/CertificateRequest": true, "cert-manager.io/Certificate": false, "cilium.io/CiliumEndpoint": true,
			"cilium.io/CiliumNetworkPolicy": false, "wgpolicyk8s.io/PolicyReport": true, "example.com/Event": false,
		}},
		"one's own list takes the place of the default one": {
			exclusions: []Filter{}, left: map[string]bool{"/Endpoints": false, "/Event": true, "coordination.k8s.io/Lease": true},
		},
		"globs": {
			exclusions: []Filter{{APIGroups: []string{"*.example.com"}, Kinds: []string{"Big*", "Sm?ll"}}},
			left: map[string]bool{
				"a.example.com/Bigger": true, "a.example.com/Small": true, "a.example.com/Other": false, "example.com/Big": false,
			},
		},
		"an empty list is every kind": {
			exclusions: []Filter{{APIGroups: []string{"a.com"}}, {Kinds: []string{"Secret"}}},
			left:       map[string]bool{"a.com/X": true, "b.com/X": false, "/Secret": true, "b.com/Secret": true},
		},
		"only on the clusters named": {
			exclusions: []Filter{{Kinds: []string{"A"}, Clusters: []string{"https://*.example.com*"}}, {Kinds: []string{"B"}, Clusters: []string{"https://other"}}},
			left:       map[string]bool{"/A": true, "/B": false},
		},
		"inclusions leave out the rest": {
			inclusions: []Filter{{APIGroups: []string{"", "apps"}, Kinds: []string{"*"}}},
			left:       map[string]bool{"/Secret": false, "apps/Deployment": false, "batch/Job": true, "/Event": true, "/Endpoints": true},
		},
		"inclusions for another cluster are none": {
			inclusions: []Filter{{Kinds: []string{"A"}, Clusters: []string{"https://other"}}}, left: map[string]bool{"/B": false},
		},
		"a pattern that cannot be read is taken as it is written": {
			exclusions: []Filter{{Kinds: []string{"[A"}}}, left: map[string]bool{"/[A": true, "/A": false},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFilters(server, c.exclusions, c.inclusions)
			for text, want := range c.left {
				group, kind, _ := strings.Cut(text, "/")
				why := f.why(schema.GroupKind{Group: group, Kind: kind})
				if (why != "") != want {
					t.Errorf("%s is left out: %q, want %v", text, why, want)
				}
			}
		})
	}
}

func TestNamesAreBounded(t *testing.T) {
	n := newNames()
	first := n.intern("team")
	for i := range 3 * namesMax {
		n.intern(fmt.Sprint(i))
		if i%1000 == 0 {
			n.intern("team")
		}
	}
	if got := len(n.young) + len(n.old); got > 2*namesMax {
		t.Errorf("it keeps %d texts", got)
	}
	if kept := n.intern("team"); unsafe.StringData(kept) != unsafe.StringData(first) {
		t.Error("a text in use was lost")
	}
	if long := strings.Repeat("x", longest+1); n.intern(long) != long || n.young[long] != "" {
		t.Error("a long text is kept")
	}
}
