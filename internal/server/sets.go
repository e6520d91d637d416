package server

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
)

// ApplicationSet is an ApplicationSet as it is told.
type ApplicationSet struct {
	Metadata Meta                          `json:"metadata"`
	Spec     v1alpha1.ApplicationSetSpec   `json:"spec"`
	Status   v1alpha1.ApplicationSetStatus `json:"status,omitzero"`
}

func (s *shower) set(set *v1alpha1.ApplicationSet) ApplicationSet {
	return ApplicationSet{Metadata: s.meta(&set.ObjectMeta), Spec: set.Spec, Status: set.Status}
}

// setObject is what rules call a set: it belongs to the project of its template.
func (s *Server) setObject(set *v1alpha1.ApplicationSet) string {
	return s.appObject(appset.ProjectOf(set), set.Namespace, set.Name)
}

func (s *Server) findSet(req *Request) (Target, error) {
	if s.Sets == nil {
		return Target{}, absent("the list of ApplicationSets")
	}
	name, namespace := req.Param("name"), req.Text("appsetNamespace", "appSetNamespace")
	set, err := s.Sets.ApplicationSet(req, object.AppName(s.Namespace, namespace, name))
	if err != nil && fault.ReasonOf(err) != "NotFound" {
		return Target{}, err
	}
	if err != nil {
		return Target{Object: s.appObject("", namespace, name)}, nil
	}
	req.found = set
	return Target{Object: s.setObject(set), Found: true}, nil
}

func (r *Request) set() *v1alpha1.ApplicationSet {
	set, _ := r.found.(*v1alpha1.ApplicationSet)
	return set
}

func (s *Server) listSets(req *Request) (any, error) {
	if s.Sets == nil {
		return nil, absent("the list of ApplicationSets")
	}
	selector, err := labels.Parse(req.Text("selector"))
	if err != nil {
		return nil, badRequest(fmt.Sprintf("selector cannot be read: %v", err))
	}
	show := req.shower()
	projects, namespace := req.List("projects", "project"), req.Text("appsetNamespace", "appSetNamespace")
	out := List[ApplicationSet]{Items: []ApplicationSet{}}
	for _, name := range s.Sets.Sets() {
		set, err := s.Sets.ApplicationSet(req, name)
		if err != nil || !selector.Matches(labels.Set(set.Labels)) || !req.May("applicationsets", "get", s.setObject(set)) ||
			namespace != "" && namespace != set.Namespace || len(projects) > 0 && !slices.Contains(projects, appset.ProjectOf(set)) {
			continue
		}
		out.Items = append(out.Items, show.set(set))
		if newer(set.ResourceVersion, out.Metadata.ResourceVersion) {
			out.Metadata.ResourceVersion = set.ResourceVersion
		}
	}
	return out, nil
}

func (s *Server) getSet(req *Request) (any, error) { return req.shower().set(req.set()), nil }

// setTree is a set and the applications that it made.
func (s *Server) setTree(req *Request) (any, error) {
	set := req.set()
	ref := NodeRef{
		Group: v1alpha1.Group, Version: v1alpha1.Version, Kind: v1alpha1.ApplicationSetKind, Namespace: set.Namespace, Name: set.Name,
		UID: string(set.UID),
	}
	out := Tree{Nodes: []Node{}}
	may := req.Allowing("applications", "get")
	for _, app := range s.Sets.Generated(set.UID) {
		if !may(s.objectOf(app)) {
			continue
		}
		at := app.CreationTimestamp.UTC()
		out.Nodes = append(out.Nodes, Node{
			NodeRef: NodeRef{
				Group: v1alpha1.Group, Version: v1alpha1.Version, Kind: v1alpha1.ApplicationKind, Namespace: app.Namespace, Name: app.Name,
				UID: string(app.UID),
			},
			ParentRefs: []NodeRef{ref}, ResourceVersion: app.ResourceVersion, CreatedAt: &at,
			Health: &Health{Status: string(app.Status.Health.Status), Message: app.Status.Health.Message},
		})
	}
	return out, nil
}

func (s *Server) setEvents(req *Request) (any, error) {
	set := req.set()
	return s.hubEvents(req, Subject{Kind: v1alpha1.ApplicationSetKind, Namespace: set.Namespace, Name: set.Name, UID: string(set.UID)})
}

// GenerateQuery asks what a set would stand for.
type GenerateQuery struct {
	ApplicationSet GivenSet `json:"applicationSet"`
}

// GivenSet is a set that somebody brings along.
type GivenSet struct {
	Metadata struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Spec v1alpha1.ApplicationSetSpec `json:"spec"`
}

// Generated are the applications that a set stands for.
type Generated struct {
	Applications []Application `json:"applications"`
	// Problems are ours: why applications are missing.
	Problems []string `json:"problems,omitempty"`
}

// findGiven is for a set that the caller brings: it is generated with the credentials of its project, so that whoever may
// create it there may see what comes of it.
func (s *Server) findGiven(req *Request) (Target, error) {
	var q GenerateQuery
	if err := req.Body(&q); err != nil {
		return Target{}, err
	}
	set := &v1alpha1.ApplicationSet{Spec: q.ApplicationSet.Spec}
	set.Name, set.Namespace = q.ApplicationSet.Metadata.Name, s.Namespace
	if ns := q.ApplicationSet.Metadata.Namespace; ns != "" && ns != s.Namespace {
		return Target{}, badRequest("ApplicationSets live in the namespace of the installation")
	}
	project := appset.ProjectOf(set)
	if strings.Contains(project, "{{") {
		return Target{}, badRequest("the project of the template is a template itself; name one project")
	}
	req.found = set
	return Target{Object: s.setObject(set), Found: true}, nil
}

func (s *Server) generate(req *Request) (any, error) {
	if s.Adviser == nil {
		return nil, absent("generating")
	}
	result, err := s.Adviser.Generate(req, req.set())
	if err != nil {
		return nil, err
	}
	show := req.shower()
	out := Generated{Applications: []Application{}}
	for _, app := range result.Apps {
		out.Applications = append(out.Applications, show.application(app))
	}
	for _, p := range result.Problems {
		out.Problems = append(out.Problems, req.hush(strings.TrimPrefix(p.Name+": "+p.Message, ": ")))
	}
	return out, nil
}
