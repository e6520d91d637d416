package tree_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/tree"
)

func TestBranches(t *testing.T) {
	ref := func(kind, name string) tree.Ref { return tree.Ref{Kind: kind, Namespace: "shop", Name: name} }
	node := func(r tree.Ref, parents ...tree.Ref) tree.ListedNode {
		return tree.ListedNode{Ref: r, Parents: parents}
	}
	listed := tree.Listed{Nodes: []tree.ListedNode{
		node(ref("Pod", "web-1"), ref("ReplicaSet", "web")),
		node(ref("Deployment", "web")),
		node(ref("ReplicaSet", "web"), ref("Deployment", "web")),
		node(ref("Pod", "web-2"), ref("ReplicaSet", "web")),
		node(ref("EndpointSlice", "web"), ref("Service", "gone")),
		node(ref("Ring", "a"), ref("Ring", "b")),
		node(ref("Ring", "b"), ref("Ring", "a")),
	}}
	var got []string
	for _, b := range listed.Branches() {
		got = append(got, b.Lead+b.Kind+"/"+b.Name)
	}
	want := []string{
		"Deployment/web", "└─ReplicaSet/web", "  ├─Pod/web-1", "  └─Pod/web-2", "EndpointSlice/web", "Ring/a", "└─Ring/b",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
