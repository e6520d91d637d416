package cluster

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/internal/core/object"
)

// bytesPerObject is the goal; 3 KiB is what the design allows.
const bytesPerObject = 717

// TestIndexIsSmall builds an index of 100,000 objects as clusters have them,
// each decoded from its own JSON, and weighs it.
func TestIndexIsSmall(t *testing.T) {
	objects := 100_000
	if testing.Short() {
		objects = 2_000
	}
	// What is made once, such as the table of kinds, is not the objects'.
	fill(t, 10)
	before := heap()
	ix := fill(t, objects)
	used := heap() - before
	per := used / uint64(objects)
	t.Logf("%d objects, %d bytes each, %.2f MiB per 1,000", objects, per, float64(per)*1000/(1<<20))
	if per > bytesPerObject {
		t.Errorf("an object takes %d bytes, more than %d", per, bytesPerObject)
	}
	if got := len(ix.managed("app-0")); got == 0 {
		t.Error("an application has no objects")
	}
}

func BenchmarkIndex(b *testing.B) {
	const objects = 10_000
	b.ReportAllocs()
	for b.Loop() {
		before := heap()
		ix := fill(b, objects)
		b.ReportMetric(float64(heap()-before)/objects, "heap-B/object")
		runtime.KeepAlive(ix)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// fill makes an index of applications, each with a Deployment of one old and
// one new ReplicaSet, three Pods and five ConfigMaps.
func fill(tb testing.TB, objects int) *index {
	tb.Helper()
	ix, shared := newIndex(func(Change) {}), newNames()
	stores := map[schema.GroupKind]*store{}
	for _, gvk := range []schema.GroupVersionKind{
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
		{Version: "v1", Kind: "Pod"},
		{Version: "v1", Kind: "ConfigMap"},
	} {
		stores[gvk.GroupKind()] = &store{kind: kind{GroupVersionKind: gvk}, index: ix, feed: ix.open(gvk.GroupKind()), names: shared, judge: ownRules{}}
	}
	for n := 0; n < objects; {
		for _, text := range application(n) {
			u := &unstructured.Unstructured{}
			if err := json.Unmarshal([]byte(text), u); err != nil {
				tb.Fatal(err, text)
			}
			s := stores[u.GroupVersionKind().GroupKind()]
			kept, err := s.Transformer()(u)
			if err != nil {
				tb.Fatal(err)
			}
			if err := s.Add(kept); err != nil {
				tb.Fatal(err)
			}
			if n++; n == objects {
				break
			}
		}
	}
	return ix
}

const entries = `"managedFields":[{"manager":"argocd-controller","operation":"Apply","apiVersion":"v1","time":"2026-01-01T00:00:00Z",
	"fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{"f:argocd.argoproj.io/tracking-id":{}},"f:labels":{"f:app":{}}}}},
	{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1",
	"fieldsV1":{"f:status":{"f:conditions":{},"f:containerStatuses":{},"f:phase":{},"f:podIP":{}}}}]`

// application writes the objects of the application whose first object is number n.
func application(n int) []string {
	app, ns := fmt.Sprintf("app-%d", n/10), fmt.Sprintf("team-%d", n/200)
	id := func(i int) string { return fmt.Sprintf("%08x-1b2c-4d3e-8f90-%012x", n+i, (n+i)*7919) }
	meta := func(kind, name string, i int, owner string) string {
		return fmt.Sprintf(`"metadata":{"name":%q,"namespace":%q,"uid":%q,"resourceVersion":"%d","generation":3,
			"creationTimestamp":"2026-01-01T00:00:00Z","labels":{"app":%q,"app.kubernetes.io/instance":%q,"pod-template-hash":"7c9d8f7b6"},
			"annotations":{"argocd.argoproj.io/tracking-id":"%s:%s:%s/%s","kubectl.kubernetes.io/restartedAt":"2026-01-01T00:00:00Z"}%s,%s}`,
			name, ns, id(i), 1_000_000+n+i, app, app, app, kind, ns, name, owner, entries)
	}
	ownedBy := func(kind, name string, i int) string {
		return fmt.Sprintf(`,"ownerReferences":[{"apiVersion":"apps/v1","kind":%q,"name":%q,"uid":%q,"controller":true,"blockOwnerDeletion":true}]`, kind, name, id(i))
	}
	template := `"template":{"spec":{"containers":[{"name":"web","image":"registry.example.com/team/` + app + `:1.2.3"}]}}`
	out := []string{
		`{"apiVersion":"apps/v1","kind":"Deployment",` + meta("apps/Deployment", app, 0, "") +
			`,"spec":{"replicas":3,` + template + `},"status":{"observedGeneration":3,"replicas":3,"readyReplicas":3,"updatedReplicas":3,"availableReplicas":3}}`,
	}
	for i := 1; i <= 2; i++ {
		out = append(out, `{"apiVersion":"apps/v1","kind":"ReplicaSet",`+meta("apps/Deployment", fmt.Sprintf("%s-7c9d8f7b%d", app, i), i, ownedBy("Deployment", app, 0))+
			`,"spec":{"replicas":3,`+template+`},"status":{"replicas":3,"readyReplicas":3}}`)
	}
	for i := 3; i <= 5; i++ {
		out = append(out, `{"apiVersion":"v1","kind":"Pod",`+meta("apps/Deployment", fmt.Sprintf("%s-7c9d8f7b1-x%dk2z", app, i), i, ownedBy("ReplicaSet", app+"-7c9d8f7b1", 1))+
			fmt.Sprintf(`,"spec":{"nodeName":"node-%d","containers":[{"name":"web","image":"registry.example.com/team/%s:1.2.3"}]},`, (n+i)%100, app)+
			`"status":{"phase":"Running","podIP":"10.0.0.1","conditions":[{"type":"Ready","status":"True"}],
			"containerStatuses":[{"name":"web","ready":true,"restartCount":0,"state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}}}]}}`)
	}
	for i := 6; i <= 10; i++ {
		name := fmt.Sprintf("%s-settings-%d", app, i)
		out = append(out, `{"apiVersion":"v1","kind":"ConfigMap",`+meta("/ConfigMap", name, i, "")+`,"data":{"key":"value","other":"a longer value"}}`)
	}
	return out
}

// TestIndexFindsItsGroups keeps the groups right over a life of changes: what
// the index says by owner and namespace is what its facts say.
func TestIndexFindsItsGroups(t *testing.T) {
	ix := newTold()
	child := func(name, rv string, owners ...string) object.Fact {
		f := fact(name, rv, "")
		for _, o := range owners {
			f.Owners = append(f.Owners, object.Owner{UID: o})
		}
		return f
	}
	names := func(facts []*object.Fact) string {
		out := ""
		for _, f := range facts {
			out += f.Key.Name + " "
		}
		return out
	}
	// More than a small group takes, and back.
	for i := range 40 {
		ix.watched(child(fmt.Sprintf("c%02d", i), fmt.Sprint(i+1), "u1", "u1"))
	}
	if got := len(ix.children("u1")); got != 40 {
		t.Errorf("u1 has %d children", got)
	}
	ix.watched(child("c01", "50", "u2"))
	ix.watched(child("c02", "51", "u1", "u2"))
	if got := names(ix.children("u2")); got != "c01 c02 " {
		t.Errorf("u2 has %q", got)
	}
	for i := 3; i < 40; i++ {
		ix.gone(fact(fmt.Sprintf("c%02d", i), "", "").Key, fmt.Sprint(60+i))
	}
	if got := names(ix.children("u1")); got != "c00 c02 " {
		t.Errorf("u1 has %q", got)
	}
	if got := names(ix.namespace("shop")); got != "c00 c01 c02 " {
		t.Errorf("the namespace has %q", got)
	}
	ix.watched(child("twin", "200", "u9", "u9"))
	if got := names(ix.children("u9")); got != "twin " {
		t.Errorf("u9 has %q", got)
	}
	ix.forget(configMaps)
	if len(ix.byOwner)+len(ix.byPlace)+len(ix.byApp) != 0 {
		t.Errorf("empty groups are kept: %v %v %v", ix.byOwner, ix.byPlace, ix.byApp)
	}
}
