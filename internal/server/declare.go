package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/policy"
	"github.com/towline-cd/towline/internal/core/wish"
)

// putMeta makes the metadata of an object say what was sent: labels, annotations and finalizers. What is never told stays.
func (s *Server) putMeta(now *metav1.ObjectMeta, wanted metav1.ObjectMeta) {
	annotations := maps.Clone(wanted.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	for _, key := range append([]string{v1alpha1.AnnotationLastAppliedByKubectl}, s.Settings().HiddenAnnotations...) {
		value, had := now.Annotations[key]
		hidden := key == v1alpha1.AnnotationLastAppliedByKubectl || strings.HasPrefix(annotations[key], object.Masked)
		if hidden {
			delete(annotations, key)
			if had {
				annotations[key] = value
			}
		}
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	now.Labels, now.Annotations, now.Finalizers = wanted.Labels, annotations, wanted.Finalizers
}

// alter reads an object, has it edited and writes what changed; again and again while others are quicker. version is the
// one that the caller looked at; empty is any.
func alter[T any](req *Request, w ObjectWriter[T], of alteration[T]) (*T, error) {
	for attempt := 1; ; attempt++ {
		now, err := w.Get(req, of.name)
		if gone(err) {
			return nil, errDenied
		}
		if err != nil {
			return nil, err
		}
		meta, ok := any(now).(metav1.Object)
		if !ok || of.version != "" && of.version != meta.GetResourceVersion() {
			return nil, errMoved
		}
		meta.SetManagedFields(nil)
		patch, err := wish.Difference(now, of.edit)
		if err != nil || patch == nil {
			return now, err
		}
		out, err := w.Patch(req, of.name, patch, of.dryRun)
		if !conflict(err) {
			return out, err
		}
		if of.version != "" || attempt == maxConflicts {
			return nil, errMoved
		}
	}
}

type alteration[T any] struct {
	name, version string
	dryRun        bool
	edit          func(*T) error
}

// ProjectQuery is a project that somebody sends.
type ProjectQuery struct {
	Project Project `json:"project"`
	Upsert  bool    `json:"upsert,omitempty"`
}

type givenProject struct {
	Project *v1alpha1.AppProject `json:"project"`
	Upsert  bool                 `json:"upsert"`
}

func (r *Request) givenProject() (givenProject, error) {
	var q givenProject
	if err := r.Body(&q); err != nil {
		return q, err
	}
	if q.Project == nil {
		return q, badRequest("the body has no project")
	}
	if q.Project.Namespace != "" && q.Project.Namespace != r.server.Namespace {
		return q, badRequest("projects live in the namespace of the installation")
	}
	return q, wellNamed("metadata.name", q.Project.Name)
}

// findGivenProject is for a project that the caller brings.
func (s *Server) findGivenProject(req *Request) (Target, error) {
	q, err := req.givenProject()
	if err != nil {
		return Target{}, err
	}
	return Target{Object: q.Project.Name, Found: true}, nil
}

// projectFaults says what is wrong with a project that somebody wants to store.
func projectFaults(p *v1alpha1.AppProject) error {
	var out []string
	for _, f := range policy.Faults(p) {
		out = append(out, f.Message)
	}
	if len(out) > 0 {
		return refused(out)
	}
	return nil
}

func (s *Server) createProject(req *Request) (any, error) {
	if s.Writing.Projects == nil {
		return nil, absent("writing projects")
	}
	q, err := req.givenProject()
	if err != nil {
		return nil, err
	}
	wanted := q.Project
	if err := projectFaults(wanted); err != nil {
		return nil, err
	}
	_, err = s.Writing.Projects.Get(req, wanted.Name)
	switch {
	case gone(err):
		meta := wanted.ObjectMeta
		wanted.ObjectMeta.Reset()
		wanted.Name, wanted.Namespace, wanted.Labels, wanted.Finalizers = meta.Name, s.Namespace, meta.Labels, meta.Finalizers
		wanted.Annotations, wanted.Status = meta.Annotations, v1alpha1.AppProjectStatus{}
		wanted.APIVersion, wanted.Kind = v1alpha1.GroupVersion().String(), v1alpha1.AppProjectKind
		made, err := s.Writing.Projects.Create(req, wanted, false)
		if conflict(err) {
			return nil, errMoved
		}
		return s.toldProject(req)(made, err)
	case err != nil:
		return nil, err
	case !req.May("projects", "update", wanted.Name):
		return nil, errDenied
	}
	return s.toldProject(req)(alter(req, s.Writing.Projects, alteration[v1alpha1.AppProject]{
		name: wanted.Name, version: wanted.ResourceVersion, edit: func(now *v1alpha1.AppProject) error {
			before := now.DeepCopy()
			now.Spec = wanted.Spec
			forgetRoles(now)
			maps.Copy(labelled(&now.Labels, wanted.Labels), wanted.Labels)
			maps.Copy(labelled(&now.Annotations, wanted.Annotations), wanted.Annotations)
			if len(wanted.Finalizers) > 0 {
				now.Finalizers = wanted.Finalizers
			}
			if !q.Upsert && changed(before, now) {
				return badRequest(fmt.Sprintf("project %q is there already and is another one; upsert changes it", wanted.Name))
			}
			return s.keepsApps(before, now)
		},
	}))
}

// labelled is a map that can be added to, if there is something to add.
func labelled(into *map[string]string, more map[string]string) map[string]string {
	if *into == nil && len(more) > 0 {
		*into = map[string]string{}
	}
	return *into
}

// changed says that an object is another one than a copy of before.
func changed[T any](before, now *T) bool {
	patch, err := wish.Difference(before, func(b *T) error { *b = *now; return nil })
	return err != nil || patch != nil
}

// toldProject is a project that was written, as it is told, when it can be read here too.
func (s *Server) toldProject(req *Request) func(*v1alpha1.AppProject, error) (any, error) {
	return func(p *v1alpha1.AppProject, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		req.note("version", p.ResourceVersion)
		s.settle(req, TopicProjects, func() bool {
			seen, err := s.Hub.Project(req, p.Name)
			return err == nil && !newer(p.ResourceVersion, seen.ResourceVersion)
		})
		return req.shower().project(p), nil
	}
}

func (s *Server) updateProject(req *Request) (any, error) {
	if s.Writing.Projects == nil {
		return nil, absent("writing projects")
	}
	q, err := req.givenProject()
	if err != nil {
		return nil, err
	}
	wanted := q.Project
	if wanted.Name != req.Param("name") {
		return nil, badRequest("metadata.name is another one than that of the path")
	}
	if err := projectFaults(wanted); err != nil {
		return nil, err
	}
	return s.toldProject(req)(alter(req, s.Writing.Projects, alteration[v1alpha1.AppProject]{
		name: wanted.Name, version: wanted.ResourceVersion, edit: func(now *v1alpha1.AppProject) error {
			before := now.DeepCopy()
			s.putMeta(&now.ObjectMeta, wanted.ObjectMeta)
			now.Spec = wanted.Spec
			forgetRoles(now)
			return s.keepsApps(before, now)
		},
	}))
}

// forgetRoles drops the tokens of roles that are gone: a later role of the same name must not bring them back to life.
func forgetRoles(p *v1alpha1.AppProject) {
	for role := range p.Status.JWTTokensByRole {
		if !slices.ContainsFunc(p.Spec.Roles, func(r v1alpha1.ProjectRole) bool { return r.Name == role }) {
			delete(p.Status.JWTTokensByRole, role)
		}
	}
}

// keepsApps refuses a change of a project that would leave applications of it without their repositories or destinations.
func (s *Server) keepsApps(before, after *v1alpha1.AppProject) error {
	old, now := s.effective(before), s.effective(after)
	var lost []string
	for _, app := range s.Hub.Known() {
		if app.ProjectName() != before.Name || app.DeletionTimestamp != nil {
			continue
		}
		if why := s.losing(app, old, now); why != "" {
			lost = append(lost, fmt.Sprintf("application %q: %s", app.Name, why))
		}
	}
	if len(lost) > 0 {
		return badRequest(fmt.Sprintf("the change would leave applications without what they use, %d in all; %s", len(lost),
			slices.Min(lost)))
	}
	return nil
}

func (s *Server) effective(p *v1alpha1.AppProject) policy.Project {
	var globals []*v1alpha1.AppProject
	names, _ := s.Settings().Tenancy.GlobalsOf(p)
	for _, known := range s.Hub.KnownProjects() {
		if slices.Contains(names, known.Name) {
			globals = append(globals, known)
		}
	}
	return policy.Effective(p, globals, policy.Owned{})
}

// losing says what an application was allowed and would not be any more.
func (s *Server) losing(app *v1alpha1.Application, old, now policy.Project) string {
	for _, src := range app.Sources() {
		if v := policy.Source(now, src.RepoURL); !v.Allowed && policy.Source(old, src.RepoURL).Allowed {
			return v.Reason
		}
	}
	d := app.Spec.Destination
	if s.Places != nil {
		for _, c := range s.Places.Clusters() {
			if d.Server != "" && destination.Key(c.Server) == destination.Key(d.Server) || d.Server == "" && c.Name == d.Name {
				d.Server, d.Name = c.Server, c.Name
				break
			}
		}
	}
	v := policy.DestinationOf(now, d.Server, d.Name, d.Namespace)
	if !v.Allowed && policy.DestinationOf(old, d.Server, d.Name, d.Namespace).Allowed {
		return v.Reason
	}
	return ""
}

func (s *Server) deleteProject(req *Request) (any, error) {
	if s.Writing.Projects == nil {
		return nil, absent("deleting projects")
	}
	p := req.project()
	if p.Name == v1alpha1.DefaultProjectName {
		return nil, badRequest("the project of applications that name none is not deleted")
	}
	members := 0
	for _, app := range s.Hub.Known() {
		if app.ProjectName() == p.Name {
			members++
		}
	}
	if members > 0 {
		return nil, badRequest(fmt.Sprintf("project %q has applications, %d in all; move or delete them first", p.Name, members))
	}
	err := s.Writing.Projects.Delete(req, p.Name, p.UID)
	switch {
	case conflict(err):
		return nil, errMoved
	case err != nil && !gone(err):
		return nil, err
	}
	s.settle(req, TopicProjects, func() bool {
		seen, err := s.Hub.Project(req, p.Name)
		return err != nil || seen.DeletionTimestamp != nil
	})
	return nothing{}, nil
}

// findGivenSet is for a set that the caller brings and wants to be stored.
func (s *Server) findGivenSet(req *Request) (Target, error) {
	set := &v1alpha1.ApplicationSet{}
	if err := req.Body(set); err != nil {
		return Target{}, err
	}
	if err := wellNamed("metadata.name", set.Name); err != nil {
		return Target{}, err
	}
	if set.Namespace != "" && set.Namespace != s.Namespace {
		return Target{}, badRequest("ApplicationSets are written in the namespace of the installation; use kubectl for others")
	}
	set.Namespace = s.Namespace
	if err := wellNamed("spec.template.spec.project", appset.ProjectOf(set)); err != nil {
		return Target{}, badRequest("the project of the template must be the name of one project, and no template")
	}
	req.found = set
	return Target{Object: s.setObject(set), Found: true}, nil
}

func (s *Server) createSet(req *Request) (any, error) {
	if s.Writing.Sets == nil || s.Adviser == nil {
		return nil, absent("writing ApplicationSets")
	}
	wanted, dryRun := req.set(), req.Flag("dryRun")
	if _, err := s.Hub.Project(req, appset.ProjectOf(wanted)); err != nil {
		return nil, badRequest(fmt.Sprintf("project %q of the template does not exist", appset.ProjectOf(wanted)))
	}
	if _, err := s.Adviser.Generate(req, wanted); err != nil {
		return nil, badRequest(req.hush("the applications of the set cannot be told: " + err.Error()))
	}
	now, err := s.Writing.Sets.Get(req, wanted.Name)
	switch {
	case gone(err):
		meta := wanted.ObjectMeta
		wanted.ObjectMeta.Reset()
		wanted.Name, wanted.Namespace, wanted.Labels, wanted.Finalizers = meta.Name, s.Namespace, meta.Labels, meta.Finalizers
		wanted.Annotations, wanted.Status = meta.Annotations, v1alpha1.ApplicationSetStatus{}
		wanted.APIVersion, wanted.Kind = v1alpha1.GroupVersion().String(), v1alpha1.ApplicationSetKind
		made, err := s.Writing.Sets.Create(req, wanted, dryRun)
		if conflict(err) {
			return nil, errMoved
		}
		return s.toldSet(req, dryRun)(made, err)
	case err != nil:
		return nil, err
	case !req.May("applicationsets", "update", s.setObject(now)):
		return nil, errDenied
	case appset.ProjectOf(now) != appset.ProjectOf(wanted) && !req.May("applicationsets", "update", req.object):
		return nil, errDenied
	}
	return s.toldSet(req, dryRun)(alter(req, s.Writing.Sets, alteration[v1alpha1.ApplicationSet]{
		name: wanted.Name, version: wanted.ResourceVersion, dryRun: dryRun, edit: func(now *v1alpha1.ApplicationSet) error {
			if appset.ProjectOf(now) != appset.ProjectOf(wanted) && !req.May("applicationsets", "update", s.setObject(now)) {
				return errDenied
			}
			before := now.DeepCopy()
			now.Spec = wanted.Spec
			maps.Copy(labelled(&now.Labels, wanted.Labels), wanted.Labels)
			maps.Copy(labelled(&now.Annotations, wanted.Annotations), wanted.Annotations)
			if !req.Flag("upsert") && changed(before, now) {
				return badRequest(fmt.Sprintf("ApplicationSet %q is there already and is another one; upsert=true changes it", wanted.Name))
			}
			return nil
		},
	}))
}

func (s *Server) toldSet(req *Request, dryRun bool) func(*v1alpha1.ApplicationSet, error) (any, error) {
	return func(set *v1alpha1.ApplicationSet, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		req.note("version", set.ResourceVersion)
		req.note("dryRun", dryRun)
		if !dryRun {
			s.settle(req, TopicSets, func() bool {
				seen, err := s.Sets.ApplicationSet(req, set.Name)
				return err == nil && !newer(set.ResourceVersion, seen.ResourceVersion)
			})
		}
		return req.shower().set(set), nil
	}
}

func (s *Server) deleteSet(req *Request) (any, error) {
	set := req.set()
	switch {
	case s.Writing.Sets == nil:
		return nil, absent("deleting ApplicationSets")
	case set.Namespace != s.Namespace:
		return nil, badRequest("ApplicationSets are deleted in the namespace of the installation; use kubectl for others")
	}
	err := s.Writing.Sets.Delete(req, set.Name, set.UID)
	switch {
	case conflict(err):
		return nil, errMoved
	case err != nil && !gone(err):
		return nil, err
	}
	s.settle(req, TopicSets, func() bool {
		seen, err := s.Sets.ApplicationSet(req, set.Name)
		return err != nil || seen.DeletionTimestamp != nil
	})
	return nothing{}, nil
}
