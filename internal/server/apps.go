package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
)

// Application is an application as it is told.
type Application struct {
	Metadata  Meta                       `json:"metadata"`
	Spec      v1alpha1.ApplicationSpec   `json:"spec"`
	Status    v1alpha1.ApplicationStatus `json:"status"`
	Operation *v1alpha1.Operation        `json:"operation,omitempty"`
}

func (s *shower) application(app *v1alpha1.Application) Application {
	return Application{Metadata: s.meta(&app.ObjectMeta), Spec: app.Spec, Status: app.Status, Operation: app.Operation}
}

// Encode is an application as it may be told, for those who write lists and streams of their own.
func (s *Server) Encode(app *v1alpha1.Application) ([]byte, error) {
	show := &shower{req: &Request{server: s}, annotations: s.Settings().HiddenAnnotations}
	data, err := json.Marshal(show.application(app))
	return withoutLogins(data), err
}

// EncodeTree is the resource tree of an application as it may be told.
func (s *Server) EncodeTree(ctx context.Context, app *v1alpha1.Application) ([]byte, error) {
	family, err := s.Inspector.Tree(ctx, app)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(treeOf(family.Tree, family.Orphans))
	return withoutLogins(data), err
}

// EncodeSet is an ApplicationSet as it may be told.
func (s *Server) EncodeSet(set *v1alpha1.ApplicationSet) ([]byte, error) {
	show := &shower{req: &Request{server: s}, annotations: s.Settings().HiddenAnnotations}
	data, err := json.Marshal(show.set(set))
	return withoutLogins(data), err
}

// appObject is what rules call an application.
func (s *Server) appObject(project, namespace, name string) string {
	if namespace == "" || namespace == s.Namespace {
		return project + "/" + name
	}
	return project + "/" + namespace + "/" + name
}

func (s *Server) objectOf(app *v1alpha1.Application) string {
	return s.appObject(app.ProjectName(), app.Namespace, app.Name)
}

// findApp finds the application of a path. One that is not where the caller said is not there.
func (s *Server) findApp(req *Request) (Target, error) {
	return s.lookup(req, place{name: req.Param("name"), namespace: req.Text("appNamespace"), project: req.Text("project")})
}

// place is where an application is looked for.
type place struct{ name, namespace, project string }

func (s *Server) lookup(req *Request, at place) (Target, error) {
	name, namespace, project := at.name, at.namespace, at.project
	app, err := s.Hub.Application(req, object.AppName(s.Namespace, namespace, name))
	if err != nil && fault.ReasonOf(err) != "NotFound" {
		return Target{}, err
	}
	if err != nil || project != "" && app.ProjectName() != project {
		return Target{
			Object: s.appObject(project, namespace, name), Named: project != "",
			Missing: fmt.Sprintf("applications.argoproj.io %q not found", name),
		}, nil
	}
	req.found = app
	return Target{Object: s.objectOf(app), Found: true}, nil
}

// app is the application that Find found.
func (r *Request) app() *v1alpha1.Application {
	app, _ := r.found.(*v1alpha1.Application)
	return app
}

// appQuery is what a list of applications is limited to.
type appQuery struct {
	projects  []string
	name      string
	namespace string
	repo      string
	selector  labels.Selector
}

func readAppQuery(req *Request) (appQuery, error) {
	selector, err := labels.Parse(req.Text("selector"))
	if err != nil {
		return appQuery{}, badRequest(fmt.Sprintf("selector cannot be read: %v", err))
	}
	return appQuery{
		projects: req.List("projects", "project"), name: req.Text("name"), namespace: req.Text("appNamespace"),
		repo: strings.TrimSuffix(strings.TrimRight(req.Text("repo"), "/"), ".git"), selector: selector,
	}, nil
}

func (q appQuery) takes(app *v1alpha1.Application) bool {
	return (len(q.projects) == 0 || slices.Contains(q.projects, app.ProjectName())) &&
		(q.name == "" || q.name == app.Name) && (q.namespace == "" || q.namespace == app.Namespace) &&
		q.selector.Matches(labels.Set(app.Labels)) &&
		(q.repo == "" || slices.ContainsFunc(app.Sources(), func(s v1alpha1.ApplicationSource) bool {
			return strings.EqualFold(strings.TrimSuffix(strings.TrimRight(s.RepoURL, "/"), ".git"), q.repo)
		}))
}

// listApps are the applications that the caller may see.
func (s *Server) listApps(req *Request) (any, error) {
	q, err := readAppQuery(req)
	if err != nil {
		return nil, err
	}
	show := req.shower()
	out := List[Application]{Items: []Application{}}
	for _, app := range s.seen(req, q) {
		out.Items = append(out.Items, show.application(app))
		if newer(app.ResourceVersion, out.Metadata.ResourceVersion) {
			out.Metadata.ResourceVersion = app.ResourceVersion
		}
	}
	return out, nil
}

// seen are the applications that fit and that the caller may see, by their names.
func (s *Server) seen(req *Request, q appQuery) []*v1alpha1.Application {
	var out []*v1alpha1.Application
	may := req.Allowing("applications", "get")
	for _, app := range s.Hub.Known() {
		if q.takes(app) && may(s.objectOf(app)) {
			out = append(out, app)
		}
	}
	slices.SortFunc(out, func(a, b *v1alpha1.Application) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace))
	})
	return out
}

// newer compares resource versions, which are numbers of unknown length.
func newer(a, b string) bool { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) > 0 }

// getApp is one application; it may be asked to be looked at first.
func (s *Server) getApp(req *Request) (any, error) {
	app := req.app()
	if refreshes(req) {
		fresh, err := s.refresh(req, app, req.Text("refresh"))
		if err != nil {
			return nil, err
		}
		app = fresh
	}
	return req.shower().application(app), nil
}

// refreshes says that somebody wants an application to be looked at.
func refreshes(req *Request) bool {
	return req.Text("refresh") != "" && req.Route.Pattern == "/api/v1/applications/{name}"
}

// mostWaiting is how long somebody waits for a refresh; then the application is told as it is.
const mostWaiting = time.Minute

// refresh asks the controller to look, and waits until it has.
func (s *Server) refresh(req *Request, app *v1alpha1.Application, kind string) (*v1alpha1.Application, error) {
	if kind != string(v1alpha1.RefreshTypeHard) {
		kind = string(v1alpha1.RefreshTypeNormal)
	}
	name := object.AppName(s.Namespace, app.Namespace, app.Name)
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]string{v1alpha1.AnnotationRefresh: kind}},
	})
	if err != nil {
		return nil, err
	}
	changed, done := s.waits.on(name)
	defer done()
	asked, err := s.Hub.PatchApplication(req, name, patch)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(req.Context, mostWaiting)
	defer cancel()
	for last := asked; ; {
		select {
		case next := <-changed:
			if next == nil {
				return nil, errDenied
			}
			// What was written before the wish says nothing of it.
			if newer(next.ResourceVersion, asked.ResourceVersion) && next.Annotations[v1alpha1.AnnotationRefresh] == "" {
				return next, nil
			}
			last = next
		case <-ctx.Done():
			if req.Err() != nil {
				return nil, req.Err()
			}
			return last, nil
		}
	}
}

// waits are those who wait for things to change, by their names.
type waits[T any] struct {
	mu sync.Mutex
	by map[string][]chan T
}

func newWaits[T any]() *waits[T] { return &waits[T]{by: map[string][]chan T{}} }

// on tells of each change of something until done is called. Whoever is slow misses some, never the last.
func (w *waits[T]) on(name string) (changed <-chan T, done func()) {
	c := make(chan T, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.by[name] = append(w.by[name], c)
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.by[name] = slices.DeleteFunc(w.by[name], func(other chan T) bool { return other == c })
		if len(w.by[name]) == 0 {
			delete(w.by, name)
		}
	}
}

// tell does not block.
func (w *waits[T]) tell(name string, what T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.by[name] {
		select {
		case <-c:
		default:
		}
		c <- what
	}
}

// ApplicationChanged tells those who wait; app is nil for one that is gone. It does not block.
func (s *Server) ApplicationChanged(name string, app *v1alpha1.Application) {
	s.paces.see(name, app)
	s.waits.tell(name, app)
}
