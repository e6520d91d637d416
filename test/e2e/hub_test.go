package e2e_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/hub"
)

// TestOwnWritesAreReadOnce: what a write made comes as its answer and in the watch, and is read from one of them. What the
// cache says is what the server has nevertheless, whoever wrote.
func TestOwnWritesAreReadOnce(t *testing.T) {
	f := setup(t)
	config, err := f.plane.RESTConfig()
	f.must(err)
	client, err := hub.New(config, f.control)
	f.must(err)
	told := make(chan *v1alpha1.Application, 200)
	cache, err := hub.NewCache(client, hub.Events{
		Application: func(_, app *v1alpha1.Application) { told <- app },
		Project:     func(string, []string) {},
	}, hub.Namespaces{})
	f.must(err)
	go cache.Run(t.Context())
	if !cache.WaitReady(t.Context()) {
		t.Fatal("the cache was not filled")
	}
	f.application("web", "shop", ".", "{}")
	next := func(version string) *v1alpha1.Application {
		for deadline := time.After(patience); ; {
			select {
			case app := <-told:
				if version == "" || app.ResourceVersion == version {
					return app
				}
			case <-deadline:
				t.Fatalf("the watch did not tell of version %q", version)
			}
		}
	}
	next("")

	const writes = 40
	shared := 0
	for i := range writes {
		// Every other one is somebody else's.
		by, label := cache.PatchApplication, fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, i)
		if i%2 == 1 {
			by = f.hub.PatchApplication
		}
		wrote, err := by(t.Context(), "web", []byte(label))
		f.must(err)
		seen := next(wrote.ResourceVersion)
		if reflect.ValueOf(seen.Labels).UnsafePointer() == reflect.ValueOf(wrote.Labels).UnsafePointer() {
			shared++
		}
		stored, err := f.hub.Application(t.Context(), "web")
		f.must(err)
		known, err := cache.Application(t.Context(), "web")
		f.must(err)
		for what, app := range map[string]*v1alpha1.Application{"told": seen, "known": known} {
			if diff := cmp.Diff(stored, app, cmpopts.IgnoreTypes(metav1.TypeMeta{})); diff != "" {
				t.Fatalf("write %d: what is %s is not what is stored (-stored +%s):\n%s", i, what, what, diff)
			}
			if len(app.ManagedFields) > 0 {
				t.Errorf("what is %s has managedFields, which nobody reads", what)
			}
		}
	}
	if shared == 0 || shared > writes/2 {
		t.Errorf("%d of %d writes were read once; want those of the cache", shared, writes)
	}
	t.Logf("%d of %d own writes were read once", shared, writes/2)
}
