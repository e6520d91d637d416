package server

import (
	"fmt"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/policy"
)

// Project is a project as it is told.
type Project struct {
	Metadata Meta                      `json:"metadata"`
	Spec     v1alpha1.AppProjectSpec   `json:"spec"`
	Status   v1alpha1.AppProjectStatus `json:"status,omitzero"`
}

func (s *shower) project(p *v1alpha1.AppProject) Project {
	return Project{Metadata: s.meta(&p.ObjectMeta), Spec: p.Spec, Status: p.Status}
}

// findProject finds the project of a path. Its name is all that rules know of it, so there is nothing to hide from those
// who may see it.
func (s *Server) findProject(req *Request) (Target, error) {
	name := req.Param("name")
	p, err := s.Hub.Project(req, name)
	if err != nil && fault.ReasonOf(err) != "NotFound" {
		return Target{}, err
	}
	if err == nil {
		req.found = p
	}
	return Target{
		Object: name, Found: err == nil, Named: true, Missing: fmt.Sprintf("appprojects.argoproj.io %q not found", name),
	}, nil
}

func (r *Request) project() *v1alpha1.AppProject {
	p, _ := r.found.(*v1alpha1.AppProject)
	return p
}

func (s *Server) listProjects(req *Request) (any, error) {
	show := req.shower()
	out := List[Project]{Items: []Project{}}
	for _, p := range s.Hub.KnownProjects() {
		if name := req.Text("name"); name != "" && name != p.Name || !req.May("projects", "get", p.Name) {
			continue
		}
		out.Items = append(out.Items, show.project(p))
		if newer(p.ResourceVersion, out.Metadata.ResourceVersion) {
			out.Metadata.ResourceVersion = p.ResourceVersion
		}
	}
	out.Items = sortedBy(out.Items, func(p Project) string { return p.Metadata.Name })
	return out, nil
}

func (s *Server) getProject(req *Request) (any, error) {
	return req.shower().project(req.project()), nil
}

// DetailedProject is a project with all that counts for it.
type DetailedProject struct {
	GlobalProjects []Project    `json:"globalProjects"`
	Project        Project      `json:"project"`
	Repositories   []Repository `json:"repositories"`
	Clusters       []Cluster    `json:"clusters"`
}

func (s *Server) detailedProject(req *Request) (any, error) {
	p, show := req.project(), req.shower()
	out := DetailedProject{Project: show.project(p), GlobalProjects: s.globals(req, p), Repositories: []Repository{}, Clusters: []Cluster{}}
	if s.Places == nil {
		return out, nil
	}
	one, _ := s.Places.Repositories().Entries()
	for _, r := range one {
		if r.Project == p.Name {
			out.Repositories = append(out.Repositories, repositoryOf(r))
		}
	}
	for _, c := range s.Places.Clusters() {
		if c.Project == p.Name {
			out.Clusters = append(out.Clusters, s.clusterOf(c))
		}
	}
	return out, nil
}

// globals are the projects whose rules a project gets too.
func (s *Server) globals(req *Request, p *v1alpha1.AppProject) []Project {
	out := []Project{}
	names, _ := s.Settings().Tenancy.GlobalsOf(p)
	for _, name := range names {
		if g, err := s.Hub.Project(req, name); err == nil {
			out = append(out, req.shower().project(g))
		}
	}
	return out
}

func (s *Server) globalProjects(req *Request) (any, error) {
	return Items[Project]{Items: s.globals(req, req.project())}, nil
}

func (s *Server) projectEvents(req *Request) (any, error) {
	p := req.project()
	return s.hubEvents(req, Subject{Kind: v1alpha1.AppProjectKind, Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)})
}

// Windows are the windows of a project that are open now.
type Windows struct {
	Windows []v1alpha1.SyncWindow `json:"windows"`
}

func (s *Server) projectWindows(req *Request) (any, error) {
	out := Windows{Windows: []v1alpha1.SyncWindow{}}
	now := s.Now().UTC().Truncate(time.Second)
	for _, w := range policy.WindowsOf(req.project()) {
		if w.State(now).Open {
			out.Windows = append(out.Windows, w.Spec)
		}
	}
	return out, nil
}
