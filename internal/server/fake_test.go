package server_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/action"
	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/core/secret"
	"github.com/towline-cd/towline/internal/engine"
	"github.com/towline-cd/towline/internal/server"
)

// canary is a word that must never come out.
const canary = "hunter2-canary"

// tokens knows "admin-token" and "dev-token".
type tokens struct{ down bool }

func (v tokens) Verify(_ context.Context, token string) (server.Caller, error) {
	name, ok := strings.CutSuffix(token, "-token")
	if !ok || v.down {
		return server.Caller{}, errors.New("whatever is wrong with it")
	}
	return server.Caller{Subject: name, Username: name, Issuer: v1alpha1.TokenIssuer}, nil
}

func (v tokens) Check(context.Context, server.Caller) error {
	if v.down {
		return errors.New("it was ended")
	}
	return nil
}

// rules let admin do everything, and dev see what is in project web.
type rules struct{}

func (rules) Decide(c server.Caller, q server.Question) server.Verdict {
	project, _, _ := strings.Cut(q.Object, "/")
	if c.Subject == "admin" || c.Subject == "dev" && q.Action == "get" && project == "web" {
		return server.Verdict{Allowed: true, Line: "policy.csv line 1", Why: "it is allowed"}
	}
	return server.Verdict{Why: "nothing allows it"}
}

func (r rules) Allowing(c server.Caller, resource, action string) func(string) bool {
	return func(object string) bool {
		return r.Decide(c, server.Question{Resource: resource, Action: action, Object: object}).Allowed
	}
}

// world is an installation in memory.
type world struct {
	apps     []*v1alpha1.Application
	projects []*v1alpha1.AppProject
	objects  map[object.Key]*unstructured.Unstructured
	patched  []string
	adviser  engine.Outlook
	// changed is told of what was patched.
	changed func(name string, app *v1alpha1.Application)
}

func application(project, name string) *v1alpha1.Application {
	return &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "argocd", UID: types.UID(name), ResourceVersion: "7", Labels: map[string]string{"team": project},
			Annotations: map[string]string{v1alpha1.AnnotationLastAppliedByKubectl: canary},
		},
		Spec: v1alpha1.ApplicationSpec{
			Project: project, Destination: v1alpha1.ApplicationDestination{Server: v1alpha1.InClusterServer, Namespace: name},
			Source: &v1alpha1.ApplicationSource{RepoURL: "https://bot:" + canary + "@example.com/shop.git", Path: name},
		},
	}
}

func newWorld() *world {
	project := func(name string) *v1alpha1.AppProject {
		return &v1alpha1.AppProject{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "argocd"}}
	}
	return &world{
		apps:     []*v1alpha1.Application{application("web", "shop"), application("web", "cart"), application("bank", "vault")},
		projects: []*v1alpha1.AppProject{project("web"), project("bank")},
		objects:  map[object.Key]*unstructured.Unstructured{},
	}
}

func (w *world) Application(_ context.Context, name string) (*v1alpha1.Application, error) {
	for _, app := range w.apps {
		if object.AppName("argocd", app.Namespace, app.Name) == name {
			return app, nil
		}
	}
	return nil, fault.Terminalf("NotFound", "application %q does not exist", name)
}

func (w *world) Known() []*v1alpha1.Application { return w.apps }

func (w *world) Project(_ context.Context, name string) (*v1alpha1.AppProject, error) {
	for _, p := range w.projects {
		if p.Name == name {
			return p, nil
		}
	}
	return nil, fault.Terminalf("NotFound", "project %q does not exist", name)
}

func (w *world) KnownProjects() []*v1alpha1.AppProject { return w.projects }

func (w *world) PatchApplication(ctx context.Context, name string, patch []byte) (*v1alpha1.Application, error) {
	w.patched = append(w.patched, name+" "+string(patch))
	app, err := w.Application(ctx, name)
	if err != nil {
		return nil, err
	}
	asked := app.DeepCopy()
	asked.ResourceVersion = "8"
	asked.Annotations[v1alpha1.AnnotationRefresh] = "normal"
	done := app.DeepCopy()
	done.ResourceVersion = "9"
	go func() {
		w.changed(name, asked)
		w.changed(name, done)
	}()
	return asked, nil
}

func (w *world) Inspect(context.Context, *v1alpha1.Application, []string) (engine.Sight, error) {
	return engine.Sight{Plan: plan.Plan{Items: []plan.Item{{
		Key: object.Key{Kind: "Secret", Namespace: "shop", Name: "login"}, Action: plan.Update, Sync: plan.OutOfSync, Phase: plan.InSync,
		Desired: object.NewObject(w.objects[object.Key{Kind: "Secret", Namespace: "shop", Name: "login"}]),
		Reason:  "the server said: \"" + canary + "\" is not valid",
	}}}}, nil
}

func (w *world) Manifests(context.Context, *v1alpha1.Application, []string) (engine.Sight, []*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, u := range w.objects {
		out = append(out, u)
	}
	return engine.Sight{}, out, nil
}

func (w *world) Tree(context.Context, *v1alpha1.Application) (engine.Family, error) {
	return engine.Family{}, nil
}

func (w *world) Comparisons(_ context.Context, _ *v1alpha1.Application, want func(object.Key) bool) ([]engine.Comparison, error) {
	var out []engine.Comparison
	for k, u := range w.objects {
		if want(k) {
			target := u.DeepCopy()
			target.Object["stringData"] = map[string]any{"password": canary + "-new", "same": canary + "-same"}
			delete(target.Object, "data")
			out = append(out, engine.Comparison{Item: plan.Item{Key: k}, Live: u, Target: target, Prediction: u})
		}
	}
	return out, nil
}

func (w *world) Object(_ context.Context, _ *v1alpha1.Application, k object.Key) (*unstructured.Unstructured, error) {
	if u, ok := w.objects[k]; ok {
		return u, nil
	}
	return nil, fault.Terminalf("NotFound", "%s is not there", k)
}

func (w *world) ActionsOf(context.Context, *v1alpha1.Application, object.Key) ([]action.Action, error) {
	return nil, nil
}

func (w *world) EventsOf(context.Context, *v1alpha1.Application, object.Key) ([]corev1.Event, error) {
	return nil, nil
}

func (w *world) PodsOf(context.Context, *v1alpha1.Application, object.Key, string) ([]object.Key, error) {
	return []object.Key{{Kind: "Pod", Namespace: "shop", Name: "web-1"}}, nil
}

func (w *world) Logs(_ context.Context, _ *v1alpha1.Application, _ object.Key, o *corev1.PodLogOptions) (io.ReadCloser, error) {
	text := "2026-01-02T15:04:06Z second\n2026-01-02T15:04:05Z first\nno time\n"
	if o.Follow {
		r, w := io.Pipe()
		go func() { _, _ = w.Write([]byte(text)) }()
		return r, nil
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

func (w *world) Windows(context.Context, *v1alpha1.Application) (engine.Outlook, error) {
	return w.adviser, nil
}

func (w *world) Checks(context.Context, *v1alpha1.Application, bool) ([]engine.Check, error) {
	return []engine.Check{{Name: "window", Why: "blocked by a window"}}, nil
}

func (w *world) Generate(context.Context, *v1alpha1.ApplicationSet) (appset.Result, error) {
	return appset.Result{Apps: []*v1alpha1.Application{application("web", "made")}}, nil
}

func (w *world) Clusters() []server.Place {
	return []server.Place{{
		Cluster: destination.Cluster{
			Secret: "prod", Name: "prod", Server: "https://prod.example.com", Labels: map[string]string{"leak": canary},
			Annotations: map[string]string{"leak": canary},
			Config:      destination.Config{Username: canary, Password: secret.New(canary), BearerToken: secret.New(canary)},
		},
		Err: errors.New("signing in with " + canary + " failed"),
	}}
}

func (w *world) Repositories() *repository.Set {
	return repository.NewSet([]repository.Repository{{
		URL: "https://bot:" + canary + "@example.com/shop.git", Name: "shop", Username: canary, Password: repository.NewSecret(canary),
		Proxy: "http://proxy:" + canary + "@proxy.example.com",
	}}, []repository.Repository{{URL: "https://example.com", Username: canary, Password: repository.NewSecret(canary)}}, repository.Trust{})
}

func (w *world) ApplicationSet(context.Context, string) (*v1alpha1.ApplicationSet, error) {
	return nil, fault.Terminalf("NotFound", "no such set")
}

func (w *world) Sets() []string { return nil }

func (w *world) Generated(types.UID) []*v1alpha1.Application { return nil }

// options are those of a server on a world.
func options(w *world) server.Options {
	return server.Options{
		Namespace: "argocd", Version: server.Version{Version: "v1.2.3", GoVersion: "go"}, Verifier: tokens{}, Decider: rules{}, Hub: w, Sets: w,
		Inspector: w, Reader: w, Adviser: w, Places: w, Now: func() time.Time { return time.Unix(1_800_000_000, 0) },
	}
}

func newServer(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	s, err := server.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if w, ok := o.Hub.(*world); ok {
		w.changed = s.ApplicationChanged
	}
	return s
}

// ask sends a request; headers are pairs.
func ask(t *testing.T, h http.Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Add(pair[0], pair[1])
	}
	if method != http.MethodGet && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func bearer(name string) []string { return []string{"Authorization", "Bearer " + name + "-token"} }
