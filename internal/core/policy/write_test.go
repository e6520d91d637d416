package policy_test

import (
	"testing"

	"github.com/gobwas/glob"
	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/policy"
)

var writes = map[string]policy.Project{
	"open": {
		Name: "default", NamespaceWhitelistNil: true, Destinations: rules{{Server: "*", Namespace: "*"}},
		ClusterWhitelist: kinds{{Group: "*", Kind: "*"}},
	},
	"tenant": {
		Name: "shop", Globals: []string{"base"}, NamespaceWhitelistNil: true,
		NamespaceBlacklist: kinds{{Kind: "ResourceQuota"}, {Group: "networking.k8s.io", Kind: "NetworkPolicy"}},
		Destinations: rules{
			{Server: "*", Namespace: "!kube-*"},
			{Server: "https://*.test.example.com", Namespace: "shop-*"},
			{Server: "https://*.prod.example.com:6443", Namespace: "shop-*"},
		},
	},
	"classes": {
		Name: "shop", NamespaceWhitelistNil: true, Destinations: rules{{Server: "https://*.{test,prod}.example.com:6443", Namespace: "shop-?*"}},
	},
}

// words compares verdicts by what they say.
var words = cmp.Transformer("words", func(v policy.Verdict) map[bool]string { return map[bool]string{v.Allowed: v.Why()} })

// TestWriteSaysNothing of what it allows: a first look asks it some times for each object of the fleet.
func TestWriteSaysNothing(t *testing.T) {
	at := policy.Place{Server: "https://eu.prod.example.com:6443", Name: "eu"}
	k := object.Key{Group: "apps", Kind: "Deployment", Namespace: "shop-cart", Name: "cart"}
	for _, name := range []string{"open", "tenant"} {
		p := writes[name]
		if v := policy.Write(p, at, k, true); !v.Allowed || v.Why() != "" {
			t.Errorf("%s: %t, %s", name, v.Allowed, v.Why())
		}
		if n := testing.AllocsPerRun(10, func() { policy.Write(p, at, k, true) }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// TestOneStar holds the short way of most patterns to what the library makes of them.
func TestOneStar(t *testing.T) {
	texts := []string{"", "a", "b", "ab", "ba", "aba", "abab", "a/b", ".", "é", "b*", "ab*ba", "**"}
	for _, front := range texts {
		for _, back := range texts {
			pattern := front + "*" + back
			compiled, err := glob.Compile(pattern)
			if err != nil {
				t.Fatal(err)
			}
			for _, value := range append(texts, front+back, front+"x"+back, front+back+"x", "x"+front+back) {
				if got, _ := policy.MatchesNamespace([]string{pattern}, value); got != compiled.Match(value) {
					t.Errorf("%q takes in %q: %t", pattern, value, got)
				}
			}
		}
	}
}

// TestOneStarOfPath does so where "*" stays within a segment; these texts are written as they are compared.
func TestOneStarOfPath(t *testing.T) {
	texts := []string{"", "a", "b", "ab", "aba", "a/b", "b/a/b", "a*b", "a/**"}
	for _, front := range texts {
		for _, back := range texts {
			pattern := "https://h/x" + front + "*" + back
			compiled, err := glob.Compile(pattern, '/')
			if err != nil {
				t.Fatal(err)
			}
			for _, value := range append(texts, front+back, front+"y"+back, front+"y/z"+back, front+back+"y") {
				address := "https://h/x" + value
				got := policy.Source(policy.Project{SourceRepos: []string{pattern}}, address).Allowed
				if got != compiled.Match(address) {
					t.Errorf("%q takes in %q: %t", pattern, address, got)
				}
			}
		}
	}
}

// BenchmarkWrite is the question before every request; it is asked several times for each object of a look.
func BenchmarkWrite(b *testing.B) {
	at := policy.Place{Server: "https://eu.prod.example.com:6443", Name: "eu"}
	for name, p := range writes {
		b.Run(name, func(b *testing.B) {
			k := object.Key{Group: "apps", Kind: "Deployment", Namespace: "shop-cart", Name: "cart"}
			b.ReportAllocs()
			for b.Loop() {
				if v := policy.Write(p, at, k, true); !v.Allowed {
					b.Fatal(v.Reason)
				}
			}
		})
	}
}

// BenchmarkLook is what is asked once for each look at an application.
func BenchmarkLook(b *testing.B) {
	at := policy.Place{Server: "https://eu.prod.example.com:6443", Name: "eu"}
	for name, p := range writes {
		p.SourceRepos, p.SourceNamespaces = []string{"https://git.example.com/shop/*"}, []string{"shop-*"}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, v := range []policy.Verdict{
					policy.SourceNamespace(p, "argocd", "shop-apps"), policy.Cluster(p, at),
					policy.DestinationOf(p, at.Server, at.Name, "shop-cart"), policy.Source(p, "https://git.example.com/shop/cart.git"),
				} {
					if !v.Allowed {
						b.Fatal(v.Reason)
					}
				}
			}
		})
	}
}
