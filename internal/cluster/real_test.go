package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/tree"
)

var _ tree.Facts = (*Cluster)(nil)

func TestMain(m *testing.M) {
	os.Exit(controlplane.Main(m, controlplane.Options{Name: "cluster", Nodes: 1}))
}

// patience bounds every wait of these tests.
const patience = 30 * time.Second

// running is a cluster that is watched, and a bell that rings when it has news.
type running struct {
	*Cluster
	t    *testing.T
	bell chan struct{}
}

func start(t *testing.T, config *rest.Config, o Options) *running {
	t.Helper()
	r := &running{t: t, bell: make(chan struct{}, 1)}
	ring := func() {
		select {
		case r.bell <- struct{}{}:
		default:
		}
	}
	o.Changed, o.Viewed = func(Change) { ring() }, ring
	var err error
	if r.Cluster, err = Open(config, o); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { _ = r.Run(ctx) })
	t.Cleanup(func() { stop(); done.Wait() })
	select {
	case <-r.Ready():
	case <-time.After(patience):
		t.Fatal("the cluster is not ready")
	}
	return r
}

// until waits for the condition, which is looked at whenever there is news.
func (r *running) until(what string, condition func() bool) {
	r.t.Helper()
	over := time.After(patience)
	for !condition() {
		select {
		case <-r.bell:
		case <-over:
			r.t.Fatalf("waited in vain: %s", what)
		}
	}
}

func (r *running) has(k object.Key) bool {
	_, ok := r.Fact(k)
	return ok
}

func (r *running) blind(gk schema.GroupKind) string { return r.View().Blind[gk] }

// admin gives the means to change the cluster from outside.
type admin struct {
	t       *testing.T
	plane   *controlplane.Plane
	config  *rest.Config
	client  kubernetes.Interface
	dynamic dynamic.Interface
}

func newAdmin(t *testing.T) *admin {
	t.Helper()
	plane := controlplane.Shared(t)
	config, err := plane.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := plane.Client()
	if err != nil {
		t.Fatal(err)
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &admin{t: t, plane: plane, config: config, client: client, dynamic: dyn}
}

func (a *admin) namespace(name string) {
	a.t.Helper()
	_, err := a.client.CoreV1().Namespaces().Create(a.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		a.t.Fatal(err)
	}
}

func (a *admin) configMap(namespace, name string) *corev1.ConfigMap {
	a.t.Helper()
	cm, err := a.client.CoreV1().ConfigMaps(namespace).Create(a.t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		a.t.Fatal(err)
	}
	return cm
}

func (a *admin) create(gvr schema.GroupVersionResource, namespace, text string) {
	a.t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		a.t.Fatal(err)
	}
	// A kind is served a moment after its CRD is accepted.
	over := time.After(patience)
	for {
		_, err := a.dynamic.Resource(gvr).Namespace(namespace).Create(a.t.Context(), u, metav1.CreateOptions{})
		if err == nil {
			return
		}
		if !apierrors.IsNotFound(err) {
			a.t.Fatal(err)
		}
		select {
		case <-over:
			a.t.Fatal(err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (a *admin) halt() {
	a.t.Helper()
	if err := a.plane.Halt(a.t.Context(), controlplane.APIServer, syscall.SIGKILL); err != nil {
		a.t.Skip("this cluster is not ours to stop: ", err)
	}
}

func (a *admin) resume() {
	a.t.Helper()
	if err := a.plane.Resume(a.t.Context(), controlplane.APIServer); err != nil {
		a.t.Fatal(err)
	}
}

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func (a *admin) patch(name, patch string) {
	a.t.Helper()
	if _, err := a.dynamic.Resource(crds).Patch(a.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		a.t.Fatal(err)
	}
}

func (a *admin) removeCRD(name string) {
	a.t.Helper()
	if err := a.dynamic.Resource(crds).Delete(a.t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		a.t.Fatal(err)
	}
}

func configMapKey(namespace, name string) object.Key {
	return object.Key{Kind: "ConfigMap", Namespace: namespace, Name: name}
}

const widgetCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.real.example.com}
spec:
  group: real.example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// A kind that comes with its CRD is watched within a second, and forgotten when the CRD goes.
func TestRealKindComesAndGoes(t *testing.T) {
	a := newAdmin(t)
	a.namespace("comes")
	c := start(t, a.config, Options{})
	widgets := schema.GroupKind{Group: "real.example.com", Kind: "Widget"}
	if _, served := c.View().Scopes[widgets]; served {
		t.Fatal("the kind is there before its CRD")
	}
	a.create(crds, "", widgetCRD)
	a.create(schema.GroupVersionResource{Group: widgets.Group, Version: "v1", Resource: "widgets"}, "comes",
		"{apiVersion: real.example.com/v1, kind: Widget, metadata: {name: a}}")
	served := time.Now()
	key := object.Key{Group: widgets.Group, Kind: "Widget", Namespace: "comes", Name: "a"}
	c.until("the object of the new kind", func() bool { return c.has(key) })
	if took := time.Since(served); took > time.Second {
		t.Errorf("the kind was watched %s after it was served", took)
	}
	if got := c.View().Scopes[widgets]; got != plan.ScopeNamespaced {
		t.Errorf("its scope is %v", got)
	}
	a.removeCRD("widgets.real.example.com")
	c.until("the kind is forgotten", func() bool {
		_, served := c.View().Scopes[widgets]
		return !served && !c.has(key) && c.blind(widgets) == ""
	})
	if err := c.Await(t.Context(), key, "1"); fault.ReasonOf(err) != "NotWatched" {
		t.Errorf("waiting for a forgotten kind gives %v", err)
	}
}

// A kind that may not be read says so; the others are read. With the right it recovers.
func TestRealForbiddenKind(t *testing.T) {
	a := newAdmin(t)
	a.namespace("forbidden")
	a.configMap("forbidden", "a")
	if _, err := a.client.CoreV1().Secrets("forbidden").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "limited"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "watch"}}},
	}
	role, err := a.client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "limited"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "limited"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "limited"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := a.plane.RESTConfigFor("limited")
	if err != nil {
		t.Fatal(err)
	}
	// Only the two kinds that the test is about, or fifty others retry beside them.
	c := start(t, config, Options{Inclusions: []Filter{{APIGroups: []string{""}, Kinds: []string{"ConfigMap", "Secret"}}}})
	secrets := schema.GroupKind{Kind: "Secret"}
	if why := c.blind(secrets); !strings.Contains(why, "forbidden") {
		t.Errorf("Secrets are %q", why)
	}
	if why := c.blind(configMaps); why != "" || !c.has(configMapKey("forbidden", "a")) {
		t.Errorf("ConfigMaps suffer too: %q", why)
	}
	role.Rules[0].Resources = append(role.Rules[0].Resources, "secrets")
	if _, err := a.client.RbacV1().ClusterRoles().Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.until("Secrets are read", func() bool {
		return c.blind(secrets) == "" && c.has(object.Key{Kind: "Secret", Namespace: "forbidden", Name: "s"})
	})
}

// A kind whose conversion webhook is broken says so; the others go on, and it recovers.
func TestRealBrokenConversion(t *testing.T) {
	a := newAdmin(t)
	a.namespace("broken")
	const name = "gadgets.real.example.com"
	a.create(crds, "", strings.NewReplacer("widget", "gadget", "Widget", "Gadget").Replace(widgetCRD)+`  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`)
	t.Cleanup(func() {
		_ = a.dynamic.Resource(crds).Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{})
	})
	a.create(schema.GroupVersionResource{Group: "real.example.com", Version: "v1", Resource: "gadgets"}, "broken",
		"{apiVersion: real.example.com/v1, kind: Gadget, metadata: {name: a}}")
	a.patch(name, `{"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],
		"clientConfig":{"url":"https://127.0.0.1:1/convert"}}}}}`)
	gadgets := schema.GroupKind{Group: "real.example.com", Kind: "Gadget"}
	key := object.Key{Group: gadgets.Group, Kind: "Gadget", Namespace: "broken", Name: "a"}
	c := start(t, a.config, Options{})
	c.until("the kind is degraded", func() bool { return strings.Contains(c.blind(gadgets), "conversion webhook") })
	if c.has(key) {
		t.Error("its object is known")
	}
	a.configMap("broken", "meanwhile")
	c.until("other kinds go on", func() bool { return c.has(configMapKey("broken", "meanwhile")) })
	a.patch(name, `{"spec":{"conversion":{"strategy":"None","webhook":null}}}`)
	c.until("the kind recovers", func() bool { return c.blind(gadgets) == "" && c.has(key) })
	if f, _ := c.Fact(key); f.Version != "v2" {
		t.Errorf("it is watched in %q", f.Version)
	}
}

// tampered stands between client and server: it can cut the watch of ConfigMaps and have its next attempt ask for a
// version that the server no longer has.
type tampered struct {
	next http.RoundTripper

	mu       sync.Mutex
	cut      func()
	outdated bool
	expired  int
	lists    map[string]int
}

func (p *tampered) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	watching := query.Get("watch") == "true"
	p.mu.Lock()
	if discovery := slices.Contains([]string{"/api", "/apis", "/version"}, r.URL.Path); query.Get("sendInitialEvents") == "true" || !watching && !discovery {
		p.lists[r.URL.Path]++
	}
	old := watching && p.outdated && r.URL.Path == "/api/v1/configmaps" && query.Get("sendInitialEvents") == ""
	if old {
		p.outdated = false
		query.Set("resourceVersion", "1")
		r = r.Clone(r.Context())
		r.URL.RawQuery = query.Encode()
	}
	p.mu.Unlock()
	res, err := p.next.RoundTrip(r)
	if err != nil || !watching || r.URL.Path != "/api/v1/configmaps" {
		return res, err
	}
	if old {
		// The server says it in the status or in the stream.
		body, err := io.ReadAll(res.Body)
		if err != nil {
			return nil, err
		}
		if res.StatusCode == http.StatusGone || bytes.Contains(body, []byte(`"code":410`)) {
			p.mu.Lock()
			p.expired++
			p.mu.Unlock()
		}
		res.Body = io.NopCloser(bytes.NewReader(body))
		return res, nil
	}
	stream := &cuttable{ReadCloser: res.Body}
	res.Body = stream
	p.mu.Lock()
	p.cut = stream.cut
	p.mu.Unlock()
	return res, nil
}

// cuttable is a stream that can be made to end as if the server had ended it.
type cuttable struct {
	io.ReadCloser
	over atomic.Bool
}

func (c *cuttable) cut() { c.over.Store(true); _ = c.Close() }

func (c *cuttable) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if err != nil && c.over.Load() {
		err = io.EOF
	}
	return n, err
}

func (p *tampered) listed() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.lists)
}

// A watch that has expired reads its own kind again, and no other.
func TestRealExpiredWatch(t *testing.T) {
	a := newAdmin(t)
	a.namespace("expired")
	a.configMap("expired", "before")
	// A server remembers no changes from before its start.
	a.halt()
	a.resume()
	proxy := &tampered{lists: map[string]int{}}
	config := rest.CopyConfig(a.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { proxy.next = next; return proxy })
	c := start(t, config, Options{})
	// A watch that breaks before it told anything is not continued but begun anew.
	a.configMap("expired", "during")
	c.until("the watch works", func() bool { return c.has(configMapKey("expired", "during")) })
	before := proxy.listed()
	proxy.mu.Lock()
	proxy.outdated = true
	cut := proxy.cut
	proxy.mu.Unlock()
	cut()
	cm := a.configMap("expired", "after")
	c.until("the object made meanwhile", func() bool { return c.has(configMapKey("expired", "after")) })
	if err := c.Await(t.Context(), configMapKey("expired", "after"), cm.ResourceVersion); err != nil {
		t.Error(err)
	}
	if proxy.expired != 1 {
		t.Fatalf("the server said %d times that the version is gone", proxy.expired)
	}
	for path, n := range proxy.listed() {
		if again := n > before[path]; again != (path == "/api/v1/configmaps") {
			t.Errorf("%s was read %d times, and %d before", path, n, before[path])
		}
	}
	if why := c.blind(configMaps); why != "" {
		t.Errorf("the kind is degraded: %s", why)
	}
}

// What we wrote is known when the write returns; the watch confirms it.
func TestRealOwnWrite(t *testing.T) {
	a := newAdmin(t)
	a.namespace("own")
	c := start(t, a.config, Options{})
	body := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "own"}, "data": map[string]any{"x": "1"},
	}}
	body = object.Stamp(body, "shop", "own")
	key := object.KeyOf(body)
	for _, value := range []string{"1", "2", "3"} {
		body.Object["data"] = map[string]any{"x": value}
		u, err := c.Apply(t.Context(), body)
		if err != nil {
			t.Fatal(err)
		}
		if f, _ := c.Fact(key); f.ResourceVersion != u.GetResourceVersion() {
			t.Errorf("the index has version %q of it, and the server answered %q", f.ResourceVersion, u.GetResourceVersion())
		}
		if got := c.Managed("shop"); len(got) != 1 || got[0].Key != key {
			t.Errorf("the application has %v", got)
		}
		if err := c.Await(t.Context(), key, u.GetResourceVersion()); err != nil {
			t.Fatal(err)
		}
		if !c.Seen(key, u.GetResourceVersion()) {
			t.Error("awaited and not seen")
		}
	}
	const future = "999999999999"
	if c.Seen(key, future) {
		t.Error("the future was seen")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := c.Await(ctx, key, future); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for the future gives %v", err)
	}
	if err := c.Await(t.Context(), object.Key{Kind: "Event", Name: "e"}, "1"); fault.ReasonOf(err) != "NotWatched" {
		t.Errorf("waiting for a kind that is not watched gives %v", err)
	}
}

// Which kinds are watched follows the filters while it runs.
func TestRealFiltersChange(t *testing.T) {
	a := newAdmin(t)
	a.namespace("filters")
	a.configMap("filters", "a")
	c := start(t, a.config, Options{})
	key, slice := configMapKey("filters", "a"), schema.GroupKind{Group: "discovery.k8s.io", Kind: "EndpointSlice"}
	slices := object.Key{Group: slice.Group, Kind: slice.Kind, Namespace: "default", Name: "kubernetes"}
	if !c.has(key) || c.has(slices) || !strings.Contains(c.blind(slice), "resource.exclusions") {
		t.Fatalf("at first: %v %v %q", c.has(key), c.has(slices), c.blind(slice))
	}
	c.SetFilters([]Filter{{APIGroups: []string{""}, Kinds: []string{"Config*"}, Clusters: []string{"https://*"}}}, nil)
	c.until("ConfigMaps go and EndpointSlices come", func() bool {
		return !c.has(key) && strings.Contains(c.blind(configMaps), "resource.exclusions") && c.has(slices) && c.blind(slice) == ""
	})
	c.SetFilters(nil, []Filter{{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}}})
	c.until("only ConfigMaps are left", func() bool {
		return c.has(key) && !c.has(slices) && strings.Contains(c.blind(schema.GroupKind{Kind: "Secret"}), "resource.inclusions")
	})
	c.SetFilters(nil, nil)
	c.until("all are back", func() bool { return c.has(key) && c.blind(schema.GroupKind{Kind: "Secret"}) == "" })
}

// An API server that goes away and comes back: what was known stays, the gap is told, and nothing is missed.
func TestRealServerRestart(t *testing.T) {
	a := newAdmin(t)
	a.namespace("restart")
	a.configMap("restart", "before")
	c := start(t, a.config, Options{})
	key := configMapKey("restart", "before")
	c.until("the object", func() bool { return c.has(key) })
	a.halt()
	c.until("the gap is told", func() bool { return c.blind(configMaps) != "" })
	if !c.has(key) {
		t.Error("an outage was read as a deletion")
	}
	a.resume()
	a.configMap("restart", "after")
	c.until("the watch goes on", func() bool {
		return c.has(configMapKey("restart", "after")) && c.has(key) && c.blind(configMaps) == ""
	})
}
