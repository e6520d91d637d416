package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/wish"
)

// Long is a whole number that may be written as a text, as the gateway of gRPC does.
type Long int64

// UnmarshalJSON reads either.
func (l *Long) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseInt(strings.Trim(string(data), `"`), 10, 64)
	*l = Long(n)
	return err
}

// Asked is where an application is, in a body that has more to say of it.
type Asked struct {
	Name         string `json:"name,omitempty"`
	AppNamespace string `json:"appNamespace,omitempty"`
	Project      string `json:"project,omitempty"`
}

// findAskedApp finds an application whose place may be in the body, or in the query.
func (s *Server) findAskedApp(req *Request) (Target, error) {
	var at Asked
	if err := req.Body(&at); err != nil {
		return Target{}, err
	}
	if at.Name != "" && at.Name != req.Param("name") {
		return Target{}, badRequest("the name in the body is another one than that of the path")
	}
	p := place{name: req.Param("name"), namespace: at.AppNamespace, project: at.Project}
	if p.namespace == "" {
		p.namespace = req.Text("appNamespace")
	}
	if p.project == "" {
		p.project = req.Text("project")
	}
	return s.lookup(req, p)
}

// SyncQuery asks for a sync.
type SyncQuery struct {
	Asked
	Revision        string                           `json:"revision,omitempty"`
	Revisions       []string                         `json:"revisions,omitempty"`
	SourcePositions []Long                           `json:"sourcePositions,omitempty"`
	DryRun          bool                             `json:"dryRun,omitempty"`
	Prune           bool                             `json:"prune,omitempty"`
	Strategy        *v1alpha1.SyncStrategy           `json:"strategy,omitempty"`
	Resources       []v1alpha1.SyncOperationResource `json:"resources,omitempty"`
	Manifests       []string                         `json:"manifests,omitempty"`
	Infos           []v1alpha1.Info                  `json:"infos,omitempty"`
	RetryStrategy   *v1alpha1.RetryStrategy          `json:"retryStrategy,omitempty"`
	SyncOptions     *SyncOptions                     `json:"syncOptions,omitempty"`
}

// SyncOptions take the place of those of the application.
type SyncOptions struct {
	Items []string `json:"items"`
}

// syncVerbs are the rights that a sync takes. Local manifests are what nobody reviewed.
func (s *Server) syncVerbs(req *Request) ([]string, error) {
	var q SyncQuery
	if err := req.Body(&q); err != nil {
		return nil, err
	}
	if len(q.Manifests) > 0 {
		return []string{"sync", "override"}, nil
	}
	return []string{"sync"}, nil
}

// wish is what the query asks of an application.
func (q SyncQuery) wish(app *v1alpha1.Application, by string) (wish.Sync, error) {
	w := wish.Sync{
		Revision: q.Revision, Revisions: q.Revisions, Prune: q.Prune, DryRun: q.DryRun, Strategy: q.Strategy, Resources: q.Resources,
		Manifests: q.Manifests, Info: q.Infos, Retry: q.RetryStrategy, By: by,
	}
	if q.SyncOptions != nil {
		w.Options = append(v1alpha1.SyncOptions{}, q.SyncOptions.Items...)
	}
	for i, r := range q.Resources {
		if r.Kind == "" || r.Name == "" {
			return w, badRequest(fmt.Sprintf("resources[%d] has no kind or no name", i))
		}
	}
	if len(q.SourcePositions) == 0 {
		return w, nil
	}
	if len(q.SourcePositions) != len(q.Revisions) {
		return w, badRequest("there must be as many sourcePositions as revisions")
	}
	sources := len(app.Sources())
	w.Revisions = make([]string, sources)
	for i, at := range q.SourcePositions {
		if at < 1 || int(at) > sources {
			return w, badRequest(fmt.Sprintf("sourcePositions[%d] is not one of the %d sources", i, sources))
		}
		w.Revisions[at-1] = q.Revisions[i]
	}
	return w, nil
}

// sync starts a sync.
func (s *Server) sync(req *Request) (any, error) {
	var q SyncQuery
	if err := req.Body(&q); err != nil {
		return nil, err
	}
	req.note("revision", q.Revision)
	req.note("revisions", q.Revisions)
	req.note("prune", q.Prune)
	req.note("dryRun", q.DryRun)
	req.note("local", len(q.Manifests) > 0)
	return s.told(req)(s.operate(req, func(app *v1alpha1.Application) (map[string]any, error) {
		w, err := q.wish(app, req.username())
		if err != nil {
			return nil, err
		}
		if err := sayRefusal(app, w.Refusal(app)); err != nil {
			return nil, err
		}
		if s.Settings().RevisionRight && w.Elsewhere(app) && !req.May("applications", "override", s.objectOf(app)) {
			return nil, errDenied
		}
		op := w.Operation(app)
		return wish.Start(app, op), s.mayRun(req, app, op)
	}))
}

// sayRefusal is a reason in words.
func sayRefusal(app *v1alpha1.Application, why wish.Reason) error {
	switch why {
	case "":
		return nil
	case wish.Deleting:
		return precondition("application %q is being deleted", app.Name)
	case wish.Busy:
		return precondition("another operation is already in progress; wait for it, or end it")
	case wish.LocalUndone:
		return precondition("application %q syncs itself and would undo local manifests at once; turn the automated sync off, or "+
			"make it a dry run", app.Name)
	case wish.RevisionUndone:
		return precondition("application %q syncs itself to its own revision and would undo that; turn the automated sync off, or "+
			"change its targetRevision", app.Name)
	case wish.RevisionUnclear:
		return badRequest(fmt.Sprintf("application %q has %d sources: name a revision for each, or their sourcePositions", app.Name,
			len(app.Sources())))
	}
	return precondition("application %q cannot be synced now: %s", app.Name, why)
}

// mayRun says whether an operation may run now: by the windows of the project, and by what the installation forbids.
func (s *Server) mayRun(req *Request, app *v1alpha1.Application, op *v1alpha1.Operation) error {
	if op.Sync == nil {
		return badRequest("an operation is a sync")
	}
	if s.Settings().NoReplace && slices.ContainsFunc(op.Sync.SyncOptions, func(o string) bool {
		return strings.ReplaceAll(o, " ", "") == v1alpha1.SyncOptionReplace+"="+v1alpha1.SyncOptionValueTrue
	}) {
		return precondition("this installation lets nobody ask for a sync that replaces objects: %s of %s",
			v1alpha1.KeyParamSyncReplaceAllowed, v1alpha1.ConfigMapCmdParams)
	}
	if op.Sync.DryRun || s.Adviser == nil {
		return nil
	}
	o, err := s.Adviser.Windows(req, app)
	if err != nil {
		return err
	}
	if !o.Manual.Allowed {
		return &Fault{Code: PermissionDenied, Message: "blocked by a sync window: " + o.Manual.Reason}
	}
	return nil
}

// operate reads an application and writes what it is asked to do; again and again while others are quicker. Its verb was
// asked for already, and is asked for again if the application was moved to another project since.
func (s *Server) operate(req *Request, decide func(*v1alpha1.Application) (map[string]any, error)) (*v1alpha1.Application, error) {
	if s.Writing.Applications == nil {
		return nil, absent("writing applications")
	}
	name := s.appKey(req)
	for attempt := 1; ; attempt++ {
		app, err := s.Writing.Applications.Get(req, name)
		switch {
		case gone(err):
			return nil, errDenied
		case err != nil:
			return nil, err
		case s.objectOf(app) != req.object:
			// It was moved since the rules were asked.
			return nil, errMoved
		}
		patch, err := decide(app)
		if err != nil || patch == nil {
			return app, err
		}
		text, err := json.Marshal(patch)
		if err != nil {
			return nil, fmt.Errorf("encoding the change: %w", err)
		}
		out, err := s.Writing.Applications.Patch(req, name, text)
		if !conflict(err) {
			return out, err
		}
		if attempt == maxConflicts {
			return nil, errMoved
		}
	}
}

// RollbackQuery asks to go back.
type RollbackQuery struct {
	Asked
	ID     *Long `json:"id,omitempty"`
	Prune  bool  `json:"prune,omitempty"`
	DryRun bool  `json:"dryRun,omitempty"`
}

// rollbackVerb is what a rollback asks for: it is a sync, unless the installation tells them apart.
func (s *Server) rollbackVerb() string {
	if s.Settings().RollbackRight {
		return "rollback"
	}
	return "sync"
}

func (s *Server) rollbackVerbs(*Request) ([]string, error) { return []string{s.rollbackVerb()}, nil }

func (s *Server) rollback(req *Request) (any, error) {
	var q RollbackQuery
	if err := req.Body(&q); err != nil {
		return nil, err
	}
	var id *int64
	if q.ID != nil {
		id = new(int64(*q.ID))
		req.note("entry", *id)
	}
	return s.told(req)(s.operate(req, func(app *v1alpha1.Application) (map[string]any, error) {
		if err := sayRefusal(app, wish.Sync{}.Refusal(app)); err != nil {
			return nil, err
		}
		entry, ok := wish.Entry(app, id)
		switch {
		case !ok && id != nil:
			return nil, notFound(fmt.Sprintf("the history of application %q has no entry %d", app.Name, *id))
		case !ok:
			return nil, precondition("nothing else was deployed before by application %q", app.Name)
		}
		r := wish.Rollback{To: entry, Prune: q.Prune, DryRun: q.DryRun, By: req.username()}
		patch := r.Patch(app)
		op, _ := patch["operation"].(*v1alpha1.Operation)
		req.note("revision", entry.Revision)
		return patch, s.mayRun(req, app, op)
	}))
}

// terminate ends the operation that runs.
func (s *Server) terminate(req *Request) (any, error) {
	_, err := s.operate(req, func(app *v1alpha1.Application) (map[string]any, error) {
		patch, _ := wish.End(app)
		if patch == nil {
			return nil, badRequest(fmt.Sprintf("application %q has no operation in progress", app.Name))
		}
		return patch, nil
	})
	return nothing{}, err
}
