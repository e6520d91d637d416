package server

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
)

// Event is a Kubernetes event.
type Event struct {
	Metadata           Meta        `json:"metadata"`
	InvolvedObject     EventObject `json:"involvedObject"`
	Reason             string      `json:"reason,omitempty"`
	Message            string      `json:"message,omitempty"`
	Source             EventSource `json:"source"`
	FirstTimestamp     *time.Time  `json:"firstTimestamp"`
	LastTimestamp      *time.Time  `json:"lastTimestamp"`
	Count              int32       `json:"count,omitempty"`
	Type               string      `json:"type,omitempty"`
	EventTime          *time.Time  `json:"eventTime"`
	Action             string      `json:"action,omitempty"`
	ReportingComponent string      `json:"reportingComponent"`
	ReportingInstance  string      `json:"reportingInstance"`
}

// EventObject is what an event is about.
type EventObject struct {
	Kind            string `json:"kind,omitempty"`
	Namespace       string `json:"namespace,omitempty"`
	Name            string `json:"name,omitempty"`
	UID             string `json:"uid,omitempty"`
	APIVersion      string `json:"apiVersion,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	FieldPath       string `json:"fieldPath,omitempty"`
}

// EventSource is who says it.
type EventSource struct {
	Component string `json:"component,omitempty"`
	Host      string `json:"host,omitempty"`
}

// appEvents are the events about an application, or about one of its objects.
func (s *Server) appEvents(req *Request) (any, error) {
	app := req.app()
	name := req.Text("resourceName")
	if name == "" {
		return s.hubEvents(req, Subject{
			Kind: v1alpha1.ApplicationKind, Namespace: app.Namespace, Name: app.Name, UID: string(app.UID),
		})
	}
	if s.Reader == nil {
		return nil, absent("events")
	}
	keys, err := s.named(req, req.Text("resourceUID"))
	if err != nil {
		return nil, err
	}
	var all []corev1.Event
	for _, k := range keys {
		list, err := s.Reader.EventsOf(req, app, k)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return req.events(all), nil
}

// named finds what a request is about among the objects of the application: callers of this route say a name and a UID, and
// not always a kind.
func (s *Server) named(req *Request, uid string) ([]object.Key, error) {
	q := req.resource()
	if q.kind != "" {
		return []object.Key{q.key()}, nil
	}
	if s.Inspector == nil {
		return nil, absent("events")
	}
	family, err := s.Inspector.Tree(req, req.app())
	if err != nil {
		return nil, err
	}
	var out []object.Key
	for _, n := range family.Nodes {
		if !n.Foreign && q.takes(n.Fact.Key) && (uid == "" || uid == n.Fact.UID) {
			out = append(out, n.Fact.Key)
		}
	}
	if len(out) == 0 {
		return nil, errDenied
	}
	return out, nil
}

// hubEvents are the events about an object of the hub.
func (s *Server) hubEvents(req *Request, about Subject) (any, error) {
	if s.Events == nil {
		return nil, absent("events")
	}
	list, err := s.Events.Events(req, about)
	if err != nil {
		return nil, err
	}
	return req.events(list), nil
}

func (r *Request) events(list []corev1.Event) List[Event] {
	show := r.shower()
	out := List[Event]{Items: []Event{}}
	for i := range list {
		out.Items = append(out.Items, show.event(&list[i]))
	}
	slices.SortStableFunc(out.Items, func(a, b Event) int { return cmp.Compare(a.seen().UnixNano(), b.seen().UnixNano()) })
	return out
}

func (e Event) seen() time.Time {
	for _, t := range []*time.Time{e.LastTimestamp, e.EventTime, e.FirstTimestamp} {
		if t != nil {
			return *t
		}
	}
	return time.Time{}
}

func (s *shower) event(e *corev1.Event) Event {
	at := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		t = t.UTC()
		return &t
	}
	o := e.InvolvedObject
	return Event{
		Metadata: s.meta(&e.ObjectMeta), Reason: e.Reason, Message: s.req.hush(e.Message), Count: e.Count, Type: e.Type, Action: e.Action,
		InvolvedObject: EventObject{
			Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: string(o.UID), APIVersion: o.APIVersion,
			ResourceVersion: o.ResourceVersion, FieldPath: o.FieldPath,
		},
		Source:         EventSource{Component: e.Source.Component, Host: e.Source.Host},
		FirstTimestamp: at(e.FirstTimestamp.Time), LastTimestamp: at(e.LastTimestamp.Time), EventTime: at(e.EventTime.Time),
		ReportingComponent: e.ReportingController, ReportingInstance: e.ReportingInstance,
	}
}
