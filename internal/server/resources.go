package server

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/internal/core/action"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/engine"
)

// ManagedResource is an object of an application as Git has it, as it is, and as a sync would leave it.
type ManagedResource struct {
	Group               string `json:"group,omitempty"`
	Kind                string `json:"kind,omitempty"`
	Namespace           string `json:"namespace,omitempty"`
	Name                string `json:"name,omitempty"`
	TargetState         Shown  `json:"targetState,omitzero"`
	LiveState           Shown  `json:"liveState,omitzero"`
	NormalizedLiveState Shown  `json:"normalizedLiveState,omitzero"`
	PredictedLiveState  Shown  `json:"predictedLiveState,omitzero"`
	ResourceVersion     string `json:"resourceVersion,omitempty"`
	Hook                bool   `json:"hook,omitempty"`
	Modified            bool   `json:"modified,omitempty"`
}

// resourceQuery is the object that a request is about; what it leaves open fits all.
type resourceQuery struct{ group, version, kind, namespace, name string }

func (r *Request) resource() resourceQuery {
	return resourceQuery{
		group: r.Text("group"), version: r.Text("version"), kind: r.Text("kind"), namespace: r.Text("namespace", "resourceNamespace"),
		name: r.Text("resourceName", "name"),
	}
}

func (q resourceQuery) key() object.Key {
	return object.Key{Group: q.group, Kind: q.kind, Namespace: q.namespace, Name: q.name}
}

func (q resourceQuery) takes(k object.Key) bool {
	fits := func(asked, is string) bool { return asked == "" || asked == is }
	return fits(q.group, k.Group) && fits(q.kind, k.Kind) && fits(q.namespace, k.Namespace) && fits(q.name, k.Name)
}

func (s *Server) managedResources(req *Request) (any, error) {
	if s.Inspector == nil {
		return nil, absent("the comparison")
	}
	pairs, err := s.Inspector.Comparisons(req, req.app(), req.resource().takes)
	if err != nil {
		return nil, err
	}
	show := req.shower()
	out := Items[ManagedResource]{Items: []ManagedResource{}}
	for _, p := range pairs {
		out.Items = append(out.Items, managedOf(show, p))
	}
	return out, nil
}

func managedOf(show *shower, p engine.Comparison) ManagedResource {
	k := p.Item.Key
	m := ManagedResource{
		Group: k.Group, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name, Hook: p.Item.Hook,
		Modified: p.Item.Sync == plan.OutOfSync,
	}
	// Both sides of a Secret have their values under the same field.
	target := p.Target
	if target != nil && object.KeyOf(target).Secret() {
		target = target.DeepCopy()
		object.EncodeStringData(target)
	}
	m.LiveState, m.TargetState = show.show(p.Live), show.show(target)
	m.NormalizedLiveState, m.PredictedLiveState = m.LiveState, m.LiveState
	if p.Prediction != p.Live {
		m.PredictedLiveState = show.show(p.Prediction)
	}
	if p.Live != nil {
		m.ResourceVersion = p.Live.GetResourceVersion()
	}
	return m
}

// Manifests is what the sources of an application give.
type Manifests struct {
	Manifests  []Shown  `json:"manifests"`
	Namespace  string   `json:"namespace,omitempty"`
	Server     string   `json:"server,omitempty"`
	Revision   string   `json:"revision,omitempty"`
	Revisions  []string `json:"revisions,omitempty"`
	SourceType string   `json:"sourceType,omitempty"`
}

func (s *Server) manifests(req *Request) (any, error) {
	if s.Inspector == nil {
		return nil, absent("rendering")
	}
	app := req.app()
	revisions, err := revisionsOf(req, len(app.Sources()))
	if err != nil {
		return nil, err
	}
	sight, objects, err := s.Inspector.Manifests(req, app, revisions)
	if err != nil {
		return nil, err
	}
	show := req.shower()
	out := Manifests{
		Manifests: []Shown{}, Namespace: app.Spec.Destination.Namespace, Server: app.Spec.Destination.Server,
		Revision: sight.Content.First(),
	}
	if sight.Content.Many {
		out.Revisions = sight.Content.Revisions
	}
	for _, t := range sight.Types {
		if out.SourceType == "" {
			out.SourceType = string(t)
		}
	}
	for _, u := range objects {
		out.Manifests = append(out.Manifests, show.show(u))
	}
	return out, nil
}

// revisionsOf are the revisions that a request names for the sources of an application.
func revisionsOf(req *Request, sources int) ([]string, error) {
	if revisions := req.List("revisions"); len(revisions) > 0 {
		positions := req.List("sourcePositions")
		if len(positions) == 0 {
			return revisions, nil
		}
		out := make([]string, sources)
		for i, p := range positions {
			var at int
			if _, err := fmt.Sscanf(p, "%d", &at); err != nil || at < 1 || at > sources || i >= len(revisions) {
				return nil, badRequest("sourcePositions and revisions do not fit the sources of the application")
			}
			out[at-1] = revisions[i]
		}
		return out, nil
	}
	if revision := req.Text("revision"); revision != "" {
		out := make([]string, max(sources, 1))
		out[0] = revision
		return out, nil
	}
	return nil, nil
}

// Resource is one object.
type Resource struct {
	Manifest Shown `json:"manifest"`
}

// object reads the one object that a request is about.
func (s *Server) object(req *Request) (*unstructured.Unstructured, error) {
	q := req.resource()
	if q.kind == "" || q.name == "" {
		return nil, badRequest("name the object: group, version, kind, namespace and resourceName")
	}
	if s.Inspector == nil {
		return nil, absent("the live state")
	}
	return s.Inspector.Object(req, req.app(), q.key())
}

func (s *Server) resource(req *Request) (any, error) {
	u, err := s.object(req)
	if err != nil {
		return nil, err
	}
	return Resource{Manifest: req.shower().show(u)}, nil
}

// Actions are what can be done with an object.
type Actions struct {
	Actions []action.Action `json:"actions"`
}

func (s *Server) actions(req *Request) (any, error) {
	if s.Reader == nil {
		return nil, absent("the list of actions")
	}
	list, err := s.Reader.ActionsOf(req, req.app(), req.resource().key())
	if err != nil {
		return nil, err
	}
	if list == nil {
		list = []action.Action{}
	}
	return Actions{Actions: list}, nil
}

// SyncWindow is a window that counts for an application.
type SyncWindow struct {
	Kind        string `json:"kind"`
	Schedule    string `json:"schedule"`
	Duration    string `json:"duration"`
	ManualSync  bool   `json:"manualSync"`
	SyncOverrun bool   `json:"syncOverrun,omitempty"`
	TimeZone    string `json:"timeZone,omitempty"`
	Description string `json:"description,omitempty"`
	// Open, Turns and Problem are ours.
	Open    bool   `json:"open,omitempty"`
	Turns   string `json:"turns,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// AppWindows is what the windows of a project mean for an application.
type AppWindows struct {
	ActiveWindows   []SyncWindow `json:"activeWindows"`
	AssignedWindows []SyncWindow `json:"assignedWindows"`
	CanSync         bool         `json:"canSync"`
	// Reason and Automatic are ours: why a person can sync or not, and whether the controller may.
	Reason          string `json:"reason,omitempty"`
	Automatic       bool   `json:"automatic"`
	AutomaticReason string `json:"automaticReason,omitempty"`
}

func (s *Server) appWindows(req *Request) (any, error) {
	if s.Adviser == nil {
		return nil, absent("the windows")
	}
	o, err := s.Adviser.Windows(req, req.app())
	if err != nil {
		return nil, err
	}
	out := AppWindows{
		ActiveWindows: []SyncWindow{}, AssignedWindows: []SyncWindow{}, CanSync: o.Manual.Allowed, Reason: o.Manual.Reason,
		Automatic: o.Automatic.Allowed, AutomaticReason: o.Automatic.Reason,
	}
	for _, w := range o.Windows {
		shown := SyncWindow{
			Kind: string(w.Kind), Schedule: w.Schedule, Duration: w.Duration, ManualSync: w.ManualSync, SyncOverrun: w.SyncOverrun,
			TimeZone: w.TimeZone, Description: w.Description, Open: w.Open, Problem: w.Problem,
		}
		if !w.Turns.IsZero() {
			shown.Turns = w.Turns.UTC().Format(timeFormat)
		}
		out.AssignedWindows = append(out.AssignedWindows, shown)
		if w.Open {
			out.ActiveWindows = append(out.ActiveWindows, shown)
		}
	}
	return out, nil
}

const timeFormat = "2006-01-02T15:04:05Z07:00"

// oneLine is a text without what would break a line or a terminal.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}
