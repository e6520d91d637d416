package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/internal/core/manifest"
)

// sized is a render of one object of about this many bytes, that is told by n.
func sized(n, bytes int, names ...string) *rendered {
	return &rendered{Names: names, Result: manifest.Result{
		Files: n, Objects: []*unstructured.Unstructured{{Object: map[string]any{"a": strings.Repeat("x", bytes/6)}}},
	}}
}

// take keeps a render by the size of its objects alone.
func (r *renders) take(t *testing.T, ask string, entry *rendered) {
	t.Helper()
	raw, err := json.Marshal(entry.Result.Objects)
	if err != nil {
		t.Error(err)
	}
	r.put(ask, entry, len(raw))
}

func (r *renders) has(t *testing.T, want map[string]int) {
	t.Helper()
	for name, n := range want {
		got, ok := r.named(name)
		if ok != (n > 0) || ok && got.Result.Files != n {
			t.Errorf("%q is render %+v, %v; want %d", name, got, ok, n)
		}
	}
}

func (r *renders) sound(t *testing.T) {
	t.Helper()
	sum, kept := 0, 0
	for el := r.order.Front(); el != nil; el = el.Next() {
		entry, ok := el.Value.(*rendered)
		if !ok || !slices.Contains(r.asked[entry.ask], el) {
			t.Fatal("the order has something that is not kept")
		}
		sum += entry.size
	}
	for ask, answers := range r.asked {
		kept += len(answers)
		if len(answers) == 0 || len(answers) > mostAnswers {
			t.Errorf("%q has %d answers", ask, len(answers))
		}
	}
	if r.size != sum || r.size > r.most || r.order.Len() != kept {
		t.Errorf("size %d of %d at most, entries of %d, %d ordered and %d kept", r.size, r.most, sum, r.order.Len(), kept)
	}
	for name, el := range r.names {
		entry, _ := el.Value.(*rendered)
		if !slices.Contains(entry.Names, name) || !slices.Contains(r.asked[entry.ask], el) {
			t.Errorf("%q names what is not kept", name)
		}
	}
}

func TestRendersAreFoundByQuestionAndName(t *testing.T) {
	r := newRenders(10_000)
	r.has(t, map[string]int{"commit 1": 0})
	one := sized(1, 100, "commit 1")
	r.take(t, "question", one)
	if !r.name(one, "commit 2") || r.name(one, "commit 2") || r.name(sized(9, 1), "commit 9") {
		t.Error("a name is new once, and only for what is kept")
	}
	r.take(t, "question", sized(2, 100, "commit 3"))
	r.has(t, map[string]int{"commit 1": 1, "commit 2": 1, "commit 3": 2, "commit 9": 0})
	if !r.knows(one, "commit 2") || r.knows(one, "commit 3") {
		t.Error("an answer knows the names of another")
	}
	answers := r.answers("question")
	if len(answers) != 2 || answers[0].Result.Files != 2 || len(r.answers("another")) != 0 {
		t.Errorf("the answers are %v", answers)
	}
	r.sound(t)
}

func TestRendersDropTheLeastRecentlyUsed(t *testing.T) {
	r := newRenders(3500)
	for i := 1; i <= 3; i++ {
		r.take(t, fmt.Sprint(i), sized(i, 1000, fmt.Sprint("name of ", i)))
	}
	r.has(t, map[string]int{"name of 1": 1})
	r.take(t, "4", sized(4, 1000, "name of 4"))
	r.sound(t)
	// 1 was used after 2 and 3 were put.
	r.has(t, map[string]int{"name of 1": 1, "name of 2": 0, "name of 3": 3, "name of 4": 4})
	r.take(t, "large", sized(5, 3000, "large"))
	r.sound(t)
	r.has(t, map[string]int{"name of 1": 0, "name of 3": 0, "name of 4": 0, "large": 5})
}

func TestRendersDoNotKeepWhatIsTooLarge(t *testing.T) {
	r := newRenders(1000)
	r.take(t, "small", sized(1, 500, "small"))
	r.take(t, "large", sized(2, 5000, "large"))
	r.has(t, map[string]int{"small": 1, "large": 0})
	r.sound(t)
}

func TestRendersBoundAnswersAndNames(t *testing.T) {
	r := newRenders(10_000)
	for i := range 10 {
		r.take(t, "question", sized(i+1, 10, fmt.Sprint("answer ", i)))
	}
	r.has(t, map[string]int{"answer 0": 0, "answer 5": 0, "answer 6": 7, "answer 9": 10})
	newest := r.answers("question")[0]
	for i := range 100 {
		r.name(newest, fmt.Sprint("commit ", i))
	}
	if len(newest.Names) != mostNames {
		t.Errorf("%d names are kept", len(newest.Names))
	}
	r.has(t, map[string]int{"commit 0": 0, "commit 91": 0, "commit 92": 10, "commit 99": 10})
	r.sound(t)
}

// What the next process reads is what this one knew.
func TestRendersTravel(t *testing.T) {
	r := newRenders(10_000)
	one := &rendered{
		Names: []string{"commit"}, Revision: "r", APIs: "a", Needs: []needed{{Need: manifest.Need{URL: "u"}, Revision: "v"}},
		Result: manifest.Result{Files: 3, Objects: []*unstructured.Unstructured{{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "generation": int64(7)},
		}}}},
	}
	r.take(t, "question", one)
	data, err := r.encode(one)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if got.Revision != "r" || got.APIs != "a" || got.Needs[0].Revision != "v" || got.Names[0] != "commit" ||
		got.Result.Objects[0].GetGeneration() != 7 || got.Result.Files != 3 {
		t.Errorf("got %+v", got)
	}
}

func TestRendersAreSafeForConcurrentUse(t *testing.T) {
	r := newRenders(5000)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 200 {
				key := fmt.Sprint((i + w) % 9)
				r.take(t, key, sized(1, 1000))
				for _, entry := range r.answers(key) {
					r.name(entry, fmt.Sprint("name ", i%20))
				}
				r.named(fmt.Sprint("name ", i%20))
			}
		})
	}
	wg.Wait()
	r.sound(t)
}
