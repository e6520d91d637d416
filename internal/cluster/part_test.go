package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/object"
)

// TestIndexByNamespaces: each namespace is read by a watch of its own. A reading
// of one says nothing of the other, whatever version it is of.
func TestIndexByNamespaces(t *testing.T) {
	var news []string
	ix := newIndex(func(c Change) {
		switch {
		case c.New == nil:
			news = append(news, "-"+c.Old.Key.Namespace)
		default:
			news = append(news, "+"+c.New.Key.Namespace)
		}
	})
	in := func(namespace, rv string) *object.Fact {
		f := fact("a", rv, "shop")
		f.Key.Namespace = namespace
		return &f
	}
	web, db := ix.openIn(configMaps, "web"), ix.openIn(configMaps, "db")
	ix.replace(web, []*object.Fact{in("web", "10")}, "10")
	ix.replace(db, []*object.Fact{in("db", "20")}, "20")
	ix.replace(web, nil, "15")
	if d := cmp.Diff([]string{"+web", "+db", "-web"}, news); d != "" {
		t.Errorf("the news differ (-want +got):\n%s", d)
	}
	if len(ix.managed("shop")) != 1 {
		t.Errorf("there are %v", ix.managed("shop"))
	}
	c := &Cluster{index: ix}
	for _, at := range []struct {
		namespace, rv string
		seen          bool
	}{{"web", "15", true}, {"web", "20", false}, {"db", "20", true}, {"other", "1", false}} {
		if got := c.Seen(in(at.namespace, "").Key, at.rv); got != at.seen {
			t.Errorf("version %s in %s is seen: %v", at.rv, at.namespace, got)
		}
	}
	// Nobody would say when an object goes where nobody looks.
	ix.written(*in("other", "30"))
	ix.written(*in("web", "30"))
	if _, kept := ix.get(in("other", "").Key); kept {
		t.Error("what was written where nobody watches is kept")
	}
	if _, kept := ix.get(in("web", "").Key); !kept {
		t.Error("what was written is not known")
	}
	again := ix.openIn(configMaps, "db")
	ix.replace(db, nil, "40")
	if _, kept := ix.get(in("db", "").Key); !kept {
		t.Error("a watch whose time is over is believed")
	}
	ix.replace(again, nil, "40")
	if _, kept := ix.get(in("db", "").Key); kept {
		t.Error("the new watch is not believed")
	}
}

func TestParts(t *testing.T) {
	pods, nodes := kind{Namespaced: true}, kind{}
	for _, c := range []struct {
		namespaces []string
		k          kind
		want       []string
	}{
		{nil, pods, []string{everywhere}},
		{nil, nodes, []string{everywhere}},
		{[]string{"a", "b"}, pods, []string{"a", "b"}},
		{[]string{"a", "b"}, nodes, []string{everywhere}},
	} {
		if d := cmp.Diff(c.want, (&Cluster{namespaces: c.namespaces}).parts(c.k)); d != "" {
			t.Errorf("%v of %v: %s", c.k, c.namespaces, d)
		}
	}
}
