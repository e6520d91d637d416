package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
)

// listed is a ConfigMap as a plain list has it: without its kind.
func listed(name, rv string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{
			"name": name, "namespace": "shop", "uid": "first", "resourceVersion": rv,
			"annotations": map[string]any{v1alpha1.AnnotationTrackingID: "shop:/ConfigMap:shop/" + name},
		},
	}}
}

func newStore() (*store, *told, *int) {
	ix, synced := newTold(), new(int)
	k := kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Resource: "configmaps", Namespaced: true}
	return &store{kind: k, index: ix.index, feed: ix.feeds[configMaps], names: newNames(), judge: ownRules{}, synced: func() { *synced++ }}, ix, synced
}

func TestStoreTakesBodiesAndFacts(t *testing.T) {
	s, ix, synced := newStore()
	transform := s.Transformer()
	kept, err := transform(listed("a", "1"))
	if err != nil {
		t.Fatal(err)
	}
	f, ok := kept.(*object.Fact)
	if !ok || f.Key != (object.Key{Kind: "ConfigMap", Namespace: "shop", Name: "a"}) || f.App != "shop" || f.Version != "v1" {
		t.Fatalf("a body became %+v", kept)
	}
	again, err := transform(kept)
	if d := cmp.Diff(kept, again); err != nil || d != "" {
		t.Errorf("a fact was changed, %v:\n%s", err, d)
	}
	if err := s.Replace([]any{f, listed("b", "2")}, "3"); err != nil {
		t.Fatal(err)
	}
	ix.check(t, "shop", []string{"a@1", "b@2"}, "+a", "+b")
	if *synced != 1 {
		t.Errorf("synced was called %d times", *synced)
	}
	if err := s.Add(listed("c", "4")); err != nil {
		t.Fatal(err)
	}
	changed := listed("a", "5")
	changed.SetLabels(map[string]string{"x": "y"})
	if err := s.Update(changed); err != nil {
		t.Fatal(err)
	}
	ix.check(t, "shop", []string{"a@5", "b@2", "c@4"}, "+c", "~a")
	if err := s.Delete(listed("b", "6")); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(cache.DeletedFinalStateUnknown{Key: "shop/c", Obj: f}); err != nil {
		t.Fatal(err)
	}
	ix.check(t, "shop", []string{"c@4"}, "-a", "-b")
}

func TestStoreBookmarkMovesItsKind(t *testing.T) {
	s, ix, _ := newStore()
	if err := s.Bookmark("9"); err != nil {
		t.Fatal(err)
	}
	ix.written(fact("a", "9", "shop"))
	ix.check(t, "shop", nil)
	ix.written(fact("a", "10", "shop"))
	ix.check(t, "shop", []string{"a@10"})
	if err := s.Resync(); err != nil {
		t.Fatal(err)
	}
	ix.check(t, "shop", []string{"a@10"})
}

// TestStoreRefusesTheRest: an item that cannot be read must not make a shorter
// list, for what is not in a list is gone.
func TestStoreRefusesTheRest(t *testing.T) {
	s, ix, synced := newStore()
	if err := s.Add(listed("a", "1")); err != nil {
		t.Fatal(err)
	}
	ix.news()
	for _, obj := range []any{nil, "text", 1, cache.DeletedFinalStateUnknown{}} {
		for name, err := range map[string]error{
			"add": s.Add(obj), "update": s.Update(obj), "delete": s.Delete(obj), "replace": s.Replace([]any{obj}, "9"),
		} {
			if err == nil {
				t.Errorf("%s took %v", name, obj)
			}
		}
	}
	ix.check(t, "shop", []string{"a@1"})
	if *synced != 0 {
		t.Error("a list that could not be read counts as read")
	}
}
