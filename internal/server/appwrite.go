package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/policy"
	"github.com/towline-cd/towline/internal/core/wish"
)

// findGivenApp is for an application that the caller brings: what the rules are asked about is in it.
func (s *Server) findGivenApp(req *Request) (Target, error) {
	app := &v1alpha1.Application{}
	if err := req.Body(app); err != nil {
		return Target{}, err
	}
	app.Namespace = cmp.Or(app.Namespace, req.Text("appNamespace"), s.Namespace)
	if err := wellNamed("metadata.name", app.Name); err != nil {
		return Target{}, err
	}
	if err := wellNamed("spec.project", app.ProjectName()); err != nil {
		return Target{}, err
	}
	req.found = app
	return Target{Object: s.objectOf(app), Found: true}, nil
}

// appNamespace says whether applications may be in a namespace.
func (s *Server) appNamespace(namespace string) error {
	if namespace == s.Namespace {
		return nil
	}
	if matches, _ := policy.MatchesNamespace(s.Settings().AppNamespaces, namespace); !matches {
		return badRequest(fmt.Sprintf("applications are not looked for in namespace %q; %s of %s names the namespaces", namespace,
			v1alpha1.KeyParamApplicationNamespaces, v1alpha1.ConfigMapCmdParams))
	}
	return nil
}

// admit says what keeps an application from being stored.
func (s *Server) admissible(req *Request, app *v1alpha1.Application) error {
	if s.Hands == nil {
		return absent("writing applications")
	}
	if err := s.appNamespace(app.Namespace); err != nil {
		return err
	}
	problems, err := s.Hands.Admission(req, app)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return refused(problems)
	}
	return nil
}

// createApp makes an application; with upsert it changes one that is there.
func (s *Server) createApp(req *Request) (any, error) {
	if s.Writing.Applications == nil {
		return nil, absent("writing applications")
	}
	wanted := req.app()
	if len(wanted.OwnerReferences) > 0 {
		return nil, badRequest("metadata.ownerReferences are not for people to set; take them out")
	}
	if wanted.Operation != nil {
		if !req.May("applications", "sync", req.object) {
			return nil, errDenied
		}
		wanted.Operation.InitiatedBy = v1alpha1.OperationInitiator{Username: req.username()}
	}
	name := object.AppName(s.Namespace, wanted.Namespace, wanted.Name)
	now, err := s.Writing.Applications.Get(req, name)
	switch {
	case gone(err):
		return s.makeApp(req, wanted)
	case err != nil:
		return nil, err
	case !req.May("applications", "update", s.objectOf(now)):
		// Whoever may not change it is not told what it is like.
		return nil, errDenied
	}
	if err := s.unmask(now, wanted); err != nil {
		return nil, err
	}
	switch {
	case wish.Same(now, wanted):
		return req.shower().application(now), nil
	case !req.flagOr("upsert", false):
		return nil, badRequest(fmt.Sprintf("application %q is there already and is another one; upsert=true changes it", wanted.Name))
	}
	a := amendment{version: wanted.ResourceVersion, dryRun: req.Flag("dryRun"), edit: func(now *v1alpha1.Application) error {
		wish.Add(now, wanted)
		return nil
	}}
	return s.told(req)(s.amend(req, name, a))
}

func (s *Server) makeApp(req *Request, wanted *v1alpha1.Application) (any, error) {
	if left, err := wish.Unmask(nil, wanted, maskText, masked); err != nil || len(left) > 0 {
		return nil, maskedFields(left)
	}
	if err := s.admissible(req, wanted); err != nil {
		return nil, err
	}
	meta := wanted.ObjectMeta
	wanted.ObjectMeta.Reset()
	wanted.Name, wanted.Namespace, wanted.Labels, wanted.Finalizers = meta.Name, meta.Namespace, meta.Labels, meta.Finalizers
	wanted.Annotations = meta.Annotations
	delete(wanted.Annotations, v1alpha1.AnnotationLastAppliedByKubectl)
	wanted.Status = v1alpha1.ApplicationStatus{}
	wanted.APIVersion, wanted.Kind = v1alpha1.GroupVersion().String(), v1alpha1.ApplicationKind
	wanted.Spec.Project = wanted.ProjectName()
	if req.Flag("dryRun") {
		req.note("dryRun", true)
		return req.shower().application(wanted), nil
	}
	made, err := s.Writing.Applications.Create(req, wanted)
	if conflict(err) {
		return nil, errMoved
	}
	return s.told(req)(made, err)
}

// told is an application that was written, as it is told.
func (s *Server) told(req *Request) func(*v1alpha1.Application, error) (any, error) {
	return func(app *v1alpha1.Application, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		req.note("version", app.ResourceVersion)
		return req.shower().application(app), nil
	}
}

// username is who asks, as it is written down.
func (r *Request) username() string { return cmp.Or(r.Caller.Username, r.Caller.Subject) }

// amendment is a change of an application.
type amendment struct {
	// version is the one that the caller looked at; empty is any.
	version string
	// dryRun says that it is only asked whether it could be.
	dryRun bool
	edit   func(now *v1alpha1.Application) error
}

// amend reads an application, has it edited, looks whether that may be, and writes what changed; again and again while
// others are quicker.
func (s *Server) amend(req *Request, name string, a amendment) (*v1alpha1.Application, error) {
	for attempt := 1; ; attempt++ {
		now, err := s.Writing.Applications.Get(req, name)
		switch {
		case gone(err):
			return nil, errDenied
		case err != nil:
			return nil, err
		case !req.May("applications", "update", s.objectOf(now)):
			return nil, errDenied
		case a.version != "" && a.version != now.ResourceVersion:
			return nil, errMoved
		}
		before := now.DeepCopy()
		patch, err := wish.Difference(now, func(now *v1alpha1.Application) error {
			if err := a.edit(now); err != nil {
				return err
			}
			return s.mayBecome(req, before, now)
		})
		if err != nil {
			return nil, err
		}
		if patch == nil {
			return before, nil
		}
		if a.dryRun {
			req.note("dryRun", true)
			return now, nil
		}
		out, err := s.Writing.Applications.Patch(req, name, patch)
		if !conflict(err) {
			return out, err
		}
		if a.version != "" || attempt == maxConflicts {
			return nil, errMoved
		}
	}
}

// mayBecome says whether an application may become another one. Whoever moves it to another project needs the rights in
// both.
func (s *Server) mayBecome(req *Request, now, next *v1alpha1.Application) error {
	next.Spec.Project = next.ProjectName()
	if err := wellNamed("spec.project", next.Spec.Project); err != nil {
		return err
	}
	if next.ProjectName() != now.ProjectName() {
		to := s.objectOf(next)
		req.note("movedTo", to)
		for _, verb := range []string{"create", "update"} {
			if !req.May("applications", verb, to) {
				return errDenied
			}
		}
	}
	if equality.Semantic.DeepEqual(now.Spec, next.Spec) {
		return nil
	}
	return s.admissible(req, next)
}

// findPutApp finds the application that a body is about.
func (s *Server) findPutApp(req *Request) (Target, error) {
	given := &v1alpha1.Application{}
	if err := req.Body(given); err != nil {
		return Target{}, err
	}
	if given.Name != "" && given.Name != req.Param("name") {
		return Target{}, badRequest("metadata.name is another one than that of the path")
	}
	return s.lookup(req, place{
		name: req.Param("name"), namespace: cmp.Or(given.Namespace, req.Text("appNamespace")), project: req.Text("project"),
	})
}

// key is the name of the application that Find found.
func (s *Server) appKey(req *Request) string {
	app := req.app()
	return object.AppName(s.Namespace, app.Namespace, app.Name)
}

// updateApp makes an application what the body says.
func (s *Server) updateApp(req *Request) (any, error) {
	if s.Writing.Applications == nil {
		return nil, absent("writing applications")
	}
	wanted := &v1alpha1.Application{}
	if err := req.Body(wanted); err != nil {
		return nil, err
	}
	a := amendment{version: wanted.ResourceVersion, dryRun: req.Flag("dryRun"), edit: func(now *v1alpha1.Application) error {
		next := wanted.DeepCopy()
		if err := s.unmask(now, next); err != nil {
			return err
		}
		wish.Declare(now, next)
		return nil
	}}
	return s.told(req)(s.amend(req, s.appKey(req), a))
}

// updateSpec makes the spec of an application what the body says.
func (s *Server) updateSpec(req *Request) (any, error) {
	if s.Writing.Applications == nil {
		return nil, absent("writing applications")
	}
	wanted := &v1alpha1.Application{}
	if err := req.Body(&wanted.Spec); err != nil {
		return nil, err
	}
	app, err := s.amend(req, s.appKey(req), amendment{edit: func(now *v1alpha1.Application) error {
		next := wanted.DeepCopy()
		if err := s.unmask(now, next); err != nil {
			return err
		}
		now.Spec = next.Spec
		return nil
	}})
	if err != nil {
		return nil, err
	}
	req.note("version", app.ResourceVersion)
	return app.Spec, nil
}

// unmask puts back what is never told: who reads an application, changes a line of it and sends it back sends the masks.
func (s *Server) unmask(now, wanted *v1alpha1.Application) error {
	for _, key := range s.Settings().HiddenAnnotations {
		if strings.HasPrefix(wanted.Annotations[key], object.Masked) {
			if value, there := now.Annotations[key]; there {
				wanted.Annotations[key] = value
			} else {
				delete(wanted.Annotations, key)
			}
		}
	}
	status := wanted.Status
	wanted.Status = v1alpha1.ApplicationStatus{}
	left, err := wish.Unmask(now, wanted, maskText, masked)
	wanted.Status = status
	if err == nil && len(left) > 0 {
		err = maskedFields(left)
	}
	return err
}

func maskText(text string) string { return string(withoutLogins([]byte(text))) }

// masked says that a text has the mask of a login in it.
func masked(text string) bool {
	return strings.Contains(text, schemeEnd) && strings.Contains(text, hiddenLogin+"@")
}

func maskedFields(fields []string) error {
	if len(fields) == 0 {
		return badRequest("it cannot be read")
	}
	return badRequest(fmt.Sprintf("%s has a mask where a login was: write the login, or leave it out and register the repository",
		strings.Join(fields, ", ")))
}

// flagOr is a query parameter that is true or false, with what counts without it.
func (r *Request) flagOr(name string, otherwise bool) bool {
	if r.Text(name) == "" {
		return otherwise
	}
	return r.Flag(name)
}

// deleteApp deletes an application, with its objects unless the caller says otherwise.
func (s *Server) deleteApp(req *Request) (any, error) {
	if s.Writing.Applications == nil {
		return nil, absent("deleting applications")
	}
	how := strings.ToLower(req.Text("propagationPolicy"))
	if !slices.Contains([]string{"", "foreground", "background"}, how) {
		return nil, badRequest("propagationPolicy is foreground or background")
	}
	r := wish.Removal{Cascade: req.flagOr("cascade", true), Background: how == "background"}
	if !r.Cascade && how != "" {
		return nil, badRequest("propagationPolicy says how objects are deleted, and cascade=false deletes none")
	}
	req.note("cascade", r.Cascade)
	w := removal{Removal: r, name: s.appKey(req), uid: req.Text("uid")}
	// Whoever names the very one has looked at it, and means it as it stands.
	w.asItStands = w.uid != "" && req.Text("cascade") == "" && how == ""
	for attempt := 1; ; attempt++ {
		err := s.remove(req, w)
		switch {
		case err == nil || gone(err):
			s.settleGone(req, w.name)
			return nothing{}, nil
		case !conflict(err):
			return nil, err
		case attempt == maxConflicts:
			return nil, errMoved
		}
	}
}

// removal is the wish to delete one application.
type removal struct {
	wish.Removal
	name, uid string
	// asItStands leaves the finalizers alone.
	asItStands bool
}

// remove deletes an application, with finalizers as they are wished.
func (s *Server) remove(req *Request, w removal) error {
	now, err := s.Writing.Applications.Get(req, w.name)
	switch {
	case err != nil:
		return err
	case !req.May("applications", "delete", s.objectOf(now)):
		return errDenied
	case w.uid != "" && w.uid != string(now.UID):
		return errMoved
	}
	if patch := w.Patch(now); patch != nil && !w.asItStands {
		text, err := json.Marshal(patch)
		if err != nil {
			return fmt.Errorf("encoding the change: %w", err)
		}
		if _, err := s.Writing.Applications.Patch(req, w.name, text); err != nil {
			return err
		}
	}
	if !now.DeletionTimestamp.IsZero() {
		return nil
	}
	return s.Writing.Applications.Delete(req, w.name, now.UID)
}

// settleGone waits until it can be read from memory that an application goes.
func (s *Server) settleGone(req *Request, name string) {
	changed, done := s.waits.on(name)
	defer done()
	ctx, cancel := context.WithTimeout(req.Context, mostSettling)
	defer cancel()
	for {
		if app, err := s.Hub.Application(req, name); err != nil || app.DeletionTimestamp != nil {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
