package engine

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/internal/core/object"
)

// versions answers with one version after the other. Nothing is answered before
// both questions were asked, if they are to come at once.
type versions struct {
	live      string
	predicted []string
	missing   error
	refused   error

	asked sync.WaitGroup
	mu    sync.Mutex
	runs  int
}

func versioned(version string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	u.SetResourceVersion(version)
	return u
}

func (v *versions) Get(context.Context, object.Key, string) (*unstructured.Unstructured, error) {
	v.asked.Done()
	v.asked.Wait()
	return versioned(v.live), v.missing
}

func (v *versions) DryRun(context.Context, *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	v.mu.Lock()
	run := v.runs
	v.runs++
	v.mu.Unlock()
	if run == 0 {
		v.asked.Done()
		v.asked.Wait()
	}
	if v.refused != nil {
		return nil, v.refused
	}
	return versioned(v.predicted[run]), nil
}

// TestBothAreAskedAtOnce: what stands and what would be are a pair of the same
// version, and only somebody who writes meanwhile costs another request.
func TestBothAreAskedAtOnce(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		with *versions
		want string
		runs int
	}{
		"a pair":                 {&versions{live: "7", predicted: []string{"7"}}, "7", 1},
		"a write in between":     {&versions{live: "8", predicted: []string{"7", "8"}}, "8", 2},
		"written again":          {&versions{live: "8", predicted: []string{"7", "9"}}, "9", 2},
		"gone":                   {&versions{missing: broken, predicted: []string{""}}, "", 1},
		"refused":                {&versions{live: "7", refused: broken}, "", 1},
		"gone, and made anew":    {&versions{live: "8", predicted: []string{"", "8"}}, "8", 2},
		"a kind without version": {&versions{live: "", predicted: []string{""}}, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			test.with.asked.Add(2)
			live, predicted, missing, err := both(t.Context(), test.with, object.Object{Body: versioned("")})
			if !errors.Is(missing, test.with.missing) || !errors.Is(err, test.with.refused) {
				t.Fatalf("%v, %v", missing, err)
			}
			if test.with.runs != test.runs {
				t.Errorf("%d dry-runs, want %d", test.with.runs, test.runs)
			}
			if err != nil || missing != nil {
				return
			}
			if d := cmp.Diff([]string{test.with.live, test.want}, []string{live.GetResourceVersion(), predicted.GetResourceVersion()}); d != "" {
				t.Errorf("the pair differs (-want +got):\n%s", d)
			}
		})
	}
}
