package cluster

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/internal/core/health"
	"github.com/towline-cd/towline/internal/core/object"
)

// byName judges ConfigMaps by their names and notes how many it was asked for
// at a time.
type byName struct{ asked []int }

func (j *byName) Scripted(gk schema.GroupKind) bool { return gk.Kind == "ConfigMap" }

func (j *byName) Health(objects []*unstructured.Unstructured) []health.Health {
	j.asked = append(j.asked, len(objects))
	out := make([]health.Health, len(objects))
	for i, u := range objects {
		out[i] = health.Health{Status: health.Degraded, Message: "judged " + u.GetName()}
	}
	return out
}

func TestAListIsJudgedInBatches(t *testing.T) {
	const n = 2*batchMax + 3
	for name, stream := range map[string]bool{"a streaming list": true, "a plain list": false} {
		t.Run(name, func(t *testing.T) {
			s, ix, _ := newStore()
			j := &byName{}
			s.judge = j
			items := make([]any, n)
			for i := range items {
				items[i] = listed(fmt.Sprintf("c%d", i), "1")
				if !stream {
					continue
				}
				var err error
				if items[i], err = s.Transformer()(items[i]); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Replace(items, "2"); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(j.asked); got != "[64 64 3]" {
				t.Errorf("asked for %s", got)
			}
			for _, f := range ix.managed("shop") {
				if f.Health.Message != "judged "+f.Key.Name {
					t.Errorf("%s has the health %+v", f.Key, f.Health)
				}
			}
			if len(s.batch.bodies) != 0 {
				t.Error("bodies are kept")
			}
		})
	}
}

func TestAnEventIsJudgedAtOnce(t *testing.T) {
	s, ix, _ := newStore()
	s.judge = &byName{}
	if err := s.Add(listed("a", "1")); err != nil {
		t.Fatal(err)
	}
	f, ok := ix.get(object.Key{Kind: "ConfigMap", Namespace: "shop", Name: "a"})
	if !ok || f.Health != (health.Health{Status: health.Degraded, Message: "judged a"}) {
		t.Errorf("got %+v", f)
	}
}
