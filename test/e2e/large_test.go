package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// largeObjects of such names are more than an Application can list: the API
// server keeps no object of more than 1.5 MiB.
const largeObjects, largeName = 3200, 220

func largeObject(i int) string { return strings.Repeat("long-", largeName/5) + fmt.Sprintf("%05d", i) }

// largeText are all of them in one file, the last in a wave of its own.
func largeText(of func(i int) (value string)) string {
	var b strings.Builder
	for i := range largeObjects {
		wave := "0"
		if i == largeObjects-1 {
			wave = "1"
		}
		fmt.Fprintf(&b, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, annotations: {argocd.argoproj.io/sync-wave: %q}}\ndata: {v: %q}\n---\n",
			largeObject(i), wave, of(i))
	}
	return b.String()
}

// TestMoreThanAnApplicationLists: an application of more objects than its status
// has room for comes up, says so, and goes on as any other: what is not in order
// is named, a push is followed, what drifts is healed.
func TestMoreThanAnApplicationLists(t *testing.T) {
	f := setup(t)
	f.must(f.git.Create("large", map[string]string{"web/all.yaml": largeText(func(int) string { return "1" })}))
	f.application("large", "large", "web", `{automated: {prune: true, selfHeal: true}}`)
	f.start("--audit", "0")
	first, err := f.git.Revision("large", "main")
	f.must(err)
	app := f.await("large", "synced", synced(first))
	f.listsSome(app)
	if got, _ := f.count(0); got.applies != largeObjects || got.patches["large"] > 4 {
		t.Errorf("the first sync of %d objects made %d applies and %d writes of the application", largeObjects, got.applies, got.patches["large"])
	}
	// A word about one that is listed by nobody.
	text := largeText(func(i int) string {
		if i == 1000 {
			return "2"
		}
		return "1"
	})
	second, err := f.git.Commit("large", "main", "change one", map[string]*string{"web/all.yaml": &text})
	f.must(err)
	f.refresh("large")
	f.listsSome(f.await("large", "synced to the change of one", synced(second)))
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	if v := f.object(configMaps, largeObject(1000)).Object["data"].(map[string]any)["v"]; v != "2" {
		t.Errorf("the object that was changed says %v", v)
	}
	f.edit(configMaps, largeObject(2000), `{"data": {"v": "3"}}`)
	f.awaitObject(configMaps, largeObject(2000), func(u *unstructured.Unstructured) bool {
		return u.Object["data"].(map[string]any)["v"] == "1"
	})
	said, _, code := f.towline("app", "sync", "large", "--resource", "*:ConfigMap:*")
	if code == 0 {
		t.Errorf("objects that are not listed were picked by a pattern: %s", said)
	}
}

// listsSome checks what is said of an application that is more than its status
// lists.
func (f *fixture) listsSome(app *v1alpha1.Application) {
	f.Helper()
	if n := len(app.Status.Resources); n == 0 || n == largeObjects {
		f.Errorf("it lists %d of %d objects", n, largeObjects)
	}
	for _, c := range app.Status.Conditions {
		if strings.Contains(c.Message, fmt.Sprintf("of %d objects", largeObjects)) {
			return
		}
	}
	f.Errorf("no condition says how many of its objects are listed: %+v", app.Status.Conditions)
}
