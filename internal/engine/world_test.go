package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/field"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/reads"
)

// world is all that is outside of an engine: a hub with one application, a
// repository and a cluster whose index is never late. It stays when an engine
// dies. The real server's merging is tested on the real server; here an apply
// merges maps and replaces everything else, and nobody but us applies.
type world struct {
	mu      sync.Mutex
	app     *v1alpha1.Application
	project *v1alpha1.AppProject
	commits map[string]string
	// beside are further files of a commit.
	beside map[string]map[string]string
	// usesRevision makes the revision a part of what is rendered.
	usesRevision bool
	// byPlugin says that a plugin renders.
	byPlugin bool
	// usesAPIs makes those of the cluster a part of it, and kube is what it has.
	usesAPIs bool
	kube     *manifest.Kube
	head     string
	live     map[object.Key]*unstructured.Unstructured
	version  int
	shelf    Shelf
	// pairs are what an engine leaves to the next one, and settings how the
	// installation is called then.
	pairs    *log
	settings string

	// lives is how many more writes take effect before the process dies; from
	// then on nothing gets through in either direction. Negative is for ever.
	lives int
	// fails makes an operation fail, by its name.
	fails map[string]error
	// onPatch runs before a patch of the application is judged.
	onPatch    func(n int)
	incomplete bool

	patches, renders, dryRuns int
	applied, deleted          map[object.Key]int
}

var errDead = errors.New("the process is dead")

func newWorld(app *v1alpha1.Application) *world {
	w := &world{
		app: app, commits: map[string]string{}, live: map[object.Key]*unstructured.Unstructured{}, lives: -1, fails: map[string]error{},
		pairs: newLog(), settings: "as they were",
		project: &v1alpha1.AppProject{
			ObjectMeta: metav1.ObjectMeta{Name: "default"},
			Spec: v1alpha1.AppProjectSpec{
				SourceRepos:              []string{"*"},
				Destinations:             []v1alpha1.ApplicationDestination{{Server: "*", Namespace: "*"}},
				ClusterResourceWhitelist: []v1alpha1.ClusterResourceRestriction{{Group: "*", Kind: "*"}},
			},
		},
	}
	w.count()
	w.bump()
	return w
}

// count begins a new count of what is done.
func (w *world) count() {
	w.patches, w.renders, w.dryRuns = 0, 0, 0
	w.applied, w.deleted = map[object.Key]int{}, map[object.Key]int{}
}

func (w *world) writes() int {
	n := w.patches
	for _, m := range []map[object.Key]int{w.applied, w.deleted} {
		for _, c := range m {
			n += c
		}
	}
	return n
}

func (w *world) bump() string {
	w.version++
	w.app.ResourceVersion = strconv.Itoa(w.version)
	return w.app.ResourceVersion
}

// engine is a new process in this world.
func (w *world) engine() *Engine {
	return New(Options{
		Namespace: "argocd", Hub: (*hub)(w), Sources: (*sources)(w), Changer: (*sources)(w), Shelf: w.shelf, Renderer: (*renderer)(w), Clusters: (*target)(w),
		Settings: func() Settings {
			return Settings{Name: w.settings, MaxAge: time.Minute, Backoff: plan.DefaultBackoff}
		},
		Pairs: w.pairs,
		Now:   func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
	})
}

// read says whether an operation gets through.
func (w *world) read(name string) error {
	if w.lives == 0 {
		return errDead
	}
	return w.fails[name]
}

// took ends a write that took effect: the process may die before it hears of it.
func (w *world) took() error {
	if w.lives > 0 {
		w.lives--
	}
	if w.lives == 0 {
		return errDead
	}
	return nil
}

type (
	hub      world
	sources  world
	renderer world
	target   world
)

func (h *hub) Application(_ context.Context, name string) (*v1alpha1.Application, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := (*world)(h).read("application"); err != nil {
		return nil, err
	}
	if h.app == nil || object.AppName("argocd", h.app.Namespace, h.app.Name) != name {
		return nil, fault.Terminalf("NotFound", "application %q does not exist", name)
	}
	return h.app.DeepCopy(), nil
}

func (h *hub) Project(_ context.Context, name string) (*v1alpha1.AppProject, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := (*world)(h).read("project"); err != nil {
		return nil, err
	}
	if h.project.Name != name {
		return nil, fault.Terminalf("NotFound", "project %q does not exist", name)
	}
	return h.project, nil
}

func (h *hub) PatchApplication(_ context.Context, _ string, patch []byte) (*v1alpha1.Application, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := (*world)(h)
	if err := w.read("patch"); err != nil {
		return nil, err
	}
	if w.onPatch != nil {
		w.onPatch(w.patches)
	}
	var guard struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.Unmarshal(patch, &guard); err != nil {
		return nil, err
	}
	w.patches++
	if guard.Metadata.ResourceVersion != w.app.ResourceVersion {
		return nil, fault.Transientf("Conflict", "version %q is not %q", guard.Metadata.ResourceVersion, w.app.ResourceVersion)
	}
	from, err := json.Marshal(w.app)
	if err != nil {
		return nil, err
	}
	to, err := jsonpatch.MergePatch(from, patch)
	if err != nil {
		return nil, err
	}
	next := &v1alpha1.Application{}
	if err := json.Unmarshal(to, next); err != nil {
		return nil, err
	}
	w.app = next
	w.bump()
	return w.app.DeepCopy(), w.took()
}

func (s *sources) Resolve(_ context.Context, of manifest.Origin, _ time.Duration) (string, time.Time, error) {
	revision := of.Revision
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := (*world)(s).read("resolve"); err != nil {
		return "", time.Time{}, err
	}
	if _, ok := s.commits[revision]; ok {
		return revision, time.Time{}, nil
	}
	return s.head, time.Time{}, nil
}

func (s *sources) Tree(_ context.Context, _ manifest.Origin, commit string) (fs.FS, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := (*world)(s).read("tree"); err != nil {
		return nil, err
	}
	tree := traced{MapFS: fstest.MapFS{"all.yaml": {Data: []byte(s.commits[commit])}}}
	for name, text := range s.beside[commit] {
		tree.MapFS[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return tree, nil
}

// traced is a tree that can tell what its files are.
type traced struct{ fstest.MapFS }

func (t traced) Trace(_ reads.Kind, path string) ([]reads.Read, error) {
	file, ok := t.MapFS[path]
	if !ok {
		return []reads.Read{{Path: path, Kind: reads.Absent}}, nil
	}
	return []reads.Read{{Path: path, Kind: reads.File, Digest: string(file.Data)}}, nil
}

func (t traced) Same(r reads.Read) (bool, error) {
	now, err := t.Trace(reads.File, r.Path)
	return err == nil && now[0].Kind == r.Kind && now[0].Digest == r.Digest, err
}

// Changes compares two commits.
func (s *sources) Changes(_ context.Context, _ manifest.Origin, from, to string) ([]reads.Change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := (*world)(s).read("changes"); err != nil {
		return nil, err
	}
	var out []reads.Change
	if s.commits[from] != s.commits[to] {
		out = append(out, reads.Change{Path: "all.yaml"})
	}
	for _, name := range []string{"README.md", "extra.yaml"} {
		was, had := s.beside[from][name]
		is, has := s.beside[to][name]
		if was != is || had != has {
			out = append(out, reads.Change{Path: name, Shape: had != has})
		}
	}
	return out, nil
}

func (s *sources) File(context.Context, string, string) (fs.FS, error) {
	return nil, errors.New("no files")
}

func (r *renderer) Render(_ context.Context, trees manifest.Trees, _ manifest.Request) (manifest.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := (*world)(r).read("render"); err != nil {
		return manifest.Result{}, err
	}
	r.renders++
	data, err := fs.ReadFile(trees[""], "all.yaml")
	if err != nil {
		return manifest.Result{}, err
	}
	objects, err := manifest.Parse("all.yaml", data)
	result := manifest.Result{Objects: objects, Incomplete: r.incomplete, Type: v1alpha1.SourceTypeDirectory, UsesRevision: r.usesRevision, UsesAPIs: r.usesAPIs}
	if r.byPlugin {
		result.Type = v1alpha1.SourceTypePlugin
	}
	if tree, ok := trees[""].(traced); ok {
		for _, name := range []string{"all.yaml", "extra.yaml"} {
			read, _ := tree.Trace(reads.File, name)
			result.Reads = append(result.Reads, read...)
		}
	}
	if r.incomplete {
		result.Skipped = []string{"chart: cannot be rendered"}
	}
	return result, err
}

func (c *target) For(v1alpha1.ApplicationDestination) (Cluster, string, string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := (*world)(c).read("cluster"); err != nil {
		return nil, "", "", err
	}
	return c, v1alpha1.InClusterServer, "in-cluster", nil
}

func (c *target) Release(context.Context, object.Fact) error { return nil }

func (c *target) Children(string) []*object.Fact { return nil }

func (c *target) Tail(context.Context, object.Fact) string { return "" }

func (c *target) Fits(context.Context, *unstructured.Unstructured) error { return nil }

func (c *target) Creatable(context.Context, *unstructured.Unstructured) error { return nil }

func (c *target) View() plan.View {
	v := plan.View{Kube: c.kube, Scopes: map[schema.GroupKind]plan.Scope{
		{Kind: "ConfigMap"}: plan.ScopeNamespaced, {Kind: "Secret"}: plan.ScopeNamespaced, {Kind: "Namespace"}: plan.ScopeCluster,
		{Group: "apps", Kind: "Deployment"}: plan.ScopeNamespaced,
	}}
	v.Content = v.Digest()
	return v
}

func (c *target) Managed(app string) []object.Fact {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []object.Fact
	for _, k := range slices.SortedFunc(maps.Keys(c.live), object.Compare) {
		if f := object.FactOf(c.live[k], v1alpha1.FieldManagerApply); f.App == app {
			out = append(out, f)
		}
	}
	return out
}

// Namespace is for projects that ask for what nobody has; none does here.
func (c *target) Namespace(string) []*object.Fact { return nil }

func (c *target) Fact(k object.Key) (object.Fact, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	u, ok := c.live[k]
	if !ok {
		return object.Fact{}, false
	}
	return object.FactOf(u, v1alpha1.FieldManagerApply), true
}

func (c *target) Get(_ context.Context, k object.Key, _ string) (*unstructured.Unstructured, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := (*world)(c).read("get"); err != nil {
		return nil, err
	}
	if u, ok := c.live[k]; ok {
		return u.DeepCopy(), nil
	}
	return nil, fault.Waitingf("NotFound", "%s is not there", k)
}

func (c *target) DryRun(_ context.Context, body *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := (*world)(c).read("dryRun"); err != nil {
		return nil, err
	}
	c.dryRuns++
	return merged(c.live[object.KeyOf(body)], body), nil
}

func (c *target) Apply(_ context.Context, body *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := (*world)(c)
	if err := w.read("apply"); err != nil {
		return nil, err
	}
	k := object.KeyOf(body)
	u := merged(w.live[k], body)
	w.version++
	u.SetResourceVersion(strconv.Itoa(w.version))
	if u.GetUID() == "" {
		u.SetUID(types.UID("uid of " + k.String()))
	}
	w.live[k] = u
	w.applied[k]++
	return u.DeepCopy(), w.took()
}

func (c *target) Delete(_ context.Context, f object.Fact, _ metav1.DeletionPropagation) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := (*world)(c)
	if err := w.read("delete"); err != nil {
		return err
	}
	delete(w.live, f.Key)
	w.deleted[f.Key]++
	return w.took()
}

// Replace is for those who ask for it; nobody does here.
func (c *target) Replace(_ context.Context, body *unstructured.Unstructured, _, _ bool) (*unstructured.Unstructured, error) {
	return nil, fault.Terminalf("Refused", "nobody replaces %s", object.KeyOf(body))
}

// DryRunMerge is for refusals; nobody refuses here.
func (c *target) DryRunMerge(_ context.Context, patch *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return nil, fault.Terminalf("Refused", "nothing refuses %s", object.KeyOf(patch))
}

// TakeOver is for objects that others hold fields of; nobody does here.
func (c *target) TakeOver(_ context.Context, body *unstructured.Unstructured, _ [][]string) error {
	return fault.Terminalf("Refused", "nobody else holds fields of %s", object.KeyOf(body))
}

// merged is what an apply makes of a live object: what the manifest says is
// set and owned, what was owned and is not said any more is removed.
func merged(live, desired *unstructured.Unstructured) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{}}
	if live != nil {
		out = live.DeepCopy()
	}
	said := fieldsOf(desired.Object)
	for _, e := range field.Applied(out, v1alpha1.FieldManagerApply) {
		dropFrom(out.Object, e.Fields, said)
	}
	mergeInto(out.Object, desired.DeepCopy().Object)
	_ = unstructured.SetNestedSlice(out.Object, []any{map[string]any{
		"manager": v1alpha1.FieldManagerApply, "operation": "Apply", "apiVersion": desired.GetAPIVersion(), "fieldsType": "FieldsV1", "fieldsV1": said,
	}}, "metadata", "managedFields")
	return out
}

// fieldsOf is the set of a manifest's fields; a list counts as one.
func fieldsOf(m map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		if k == "apiVersion" || k == "kind" || k == "name" || k == "namespace" {
			continue
		}
		sub, _ := v.(map[string]any)
		out["f:"+k] = fieldsOf(sub)
	}
	return out
}

func dropFrom(m, was, is map[string]any) {
	for k := range was {
		sub, _ := was[k].(map[string]any)
		still, said := is[k].(map[string]any)
		child, isMap := m[k[2:]].(map[string]any)
		switch {
		case isMap && len(sub) > 0:
			dropFrom(child, sub, still)
		case !said:
			delete(m, k[2:])
		}
	}
}

func mergeInto(into, from map[string]any) {
	for k, v := range from {
		fm, ok := v.(map[string]any)
		im, also := into[k].(map[string]any)
		if ok && also {
			mergeInto(im, fm)
			continue
		}
		into[k] = v
	}
}

// idle reconciles until nothing is left to do, with e and, once that died, with
// new engines that each live for as many writes as again says. When all wait,
// the cluster makes the Deployments ready.
func (w *world) idle(t *testing.T, e *Engine, again int) *Engine {
	t.Helper()
	for range 500 {
		before := w.writes()
		r, err := e.Reconcile(t.Context(), "shop")
		switch {
		case w.lives == 0:
			w.lives = again
			e = w.engine()
		case err == nil && r.After == 0 && w.writes() == before && !w.ready():
			return e
		}
	}
	t.Fatalf("there is no end: %+v", w.app.Status.OperationState)
	return nil
}

// ready makes a Deployment ready and reports whether there was one.
func (w *world) ready() bool {
	for k, u := range w.live {
		if _, ok := u.Object["status"]; k.Kind != "Deployment" || ok {
			continue
		}
		u.Object["status"] = map[string]any{
			"observedGeneration": int64(1), "replicas": int64(1), "updatedReplicas": int64(1), "readyReplicas": int64(1), "availableReplicas": int64(1),
		}
		w.version++
		u.SetResourceVersion(strconv.Itoa(w.version))
		return true
	}
	return false
}
