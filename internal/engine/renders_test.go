package engine

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/internal/core/manifest"
)

// sized is a render of one object of about this many bytes, that is told by n.
func sized(n, bytes int) manifest.Result {
	return manifest.Result{Files: n, Objects: []*unstructured.Unstructured{{Object: map[string]any{"a": strings.Repeat("x", bytes/6)}}}}
}

func (r *renders) has(t *testing.T, want map[string]int) {
	t.Helper()
	for key, n := range want {
		got, ok := r.get(key)
		if ok != (n > 0) || got.Files != n {
			t.Errorf("%q is render %d, %v; want %d", key, got.Files, ok, n)
		}
	}
}

func (r *renders) sound(t *testing.T) {
	t.Helper()
	sum := 0
	for el := r.order.Front(); el != nil; el = el.Next() {
		entry, ok := el.Value.(*rendered)
		if !ok || r.entries[entry.key] != el {
			t.Fatal("the order has something that is not kept")
		}
		sum += entry.size
	}
	if r.size != sum || r.size > r.most || r.order.Len() != len(r.entries) {
		t.Errorf("size %d of %d at most, entries of %d, %d ordered and %d kept", r.size, r.most, sum, r.order.Len(), len(r.entries))
	}
	for name, key := range r.names {
		if _, ok := r.entries[key]; !ok {
			t.Errorf("%q names %q, which is not kept", name, key)
		}
	}
}

func TestRendersAreFoundByKeyAndName(t *testing.T) {
	r := newRenders(10_000)
	r.has(t, map[string]int{"content": 0})
	r.put("content", sized(1, 100))
	r.name("commit 1", "content")
	r.name("commit 2", "content")
	r.name("commit 2", "content")
	r.name("commit 3", "what is not there")
	r.has(t, map[string]int{"content": 1, "commit 1": 1, "commit 2": 1, "commit 3": 0, "what is not there": 0})
	r.sound(t)
	// A key may be its own name.
	r.put("plain", sized(2, 100))
	r.name("plain", "plain")
	r.has(t, map[string]int{"plain": 2})
	r.sound(t)
}

func TestRendersDropTheLeastRecentlyUsed(t *testing.T) {
	r := newRenders(3500)
	for i := 1; i <= 3; i++ {
		r.put(fmt.Sprint(i), sized(i, 1000))
		r.name(fmt.Sprint("name of ", i), fmt.Sprint(i))
	}
	r.has(t, map[string]int{"name of 1": 1})
	r.put("4", sized(4, 1000))
	r.sound(t)
	// 1 was used by its name after 2 and 3 were put.
	r.has(t, map[string]int{"1": 1, "2": 0, "name of 2": 0, "3": 3, "4": 4})
	r.put("large", sized(5, 3000))
	r.sound(t)
	r.has(t, map[string]int{"1": 0, "3": 0, "4": 0, "name of 1": 0, "large": 5})
}

func TestRendersDoNotKeepWhatIsTooLarge(t *testing.T) {
	r := newRenders(1000)
	r.put("small", sized(1, 500))
	r.put("large", sized(2, 5000))
	r.name("commit", "large")
	r.has(t, map[string]int{"small": 1, "large": 0, "commit": 0})
	r.sound(t)
}

func TestRendersAreReplaced(t *testing.T) {
	r := newRenders(10_000)
	r.put("content", sized(1, 1000))
	r.name("commit", "content")
	r.put("content", sized(2, 100))
	r.has(t, map[string]int{"content": 2, "commit": 0})
	r.name("commit", "content")
	r.has(t, map[string]int{"commit": 2})
	r.sound(t)
}

func TestRendersBoundTheNames(t *testing.T) {
	r := newRenders(10_000)
	r.put("content", sized(1, 100))
	for i := range 100 {
		r.name(fmt.Sprint("commit ", i), "content")
	}
	if len(r.names) != mostNames {
		t.Errorf("%d names are kept", len(r.names))
	}
	r.has(t, map[string]int{"commit 0": 0, "commit 91": 0, "commit 92": 1, "commit 99": 1, "content": 1})
	r.sound(t)
}

func TestRendersAreSafeForConcurrentUse(t *testing.T) {
	r := newRenders(5000)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 200 {
				key := fmt.Sprint((i + w) % 9)
				r.put(key, sized(1, 1000))
				r.name(fmt.Sprint("name ", i%20), key)
				r.get(key)
			}
		})
	}
	wg.Wait()
	r.sound(t)
}
