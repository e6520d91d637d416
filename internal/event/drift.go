package event

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

// roundTo keeps durations readable.
const roundTo = time.Millisecond

// mostEpisodes is how many fields one event names: annotations have a limit.
const mostEpisodes = 100

// episode is a plan.Episode as events carry it.
type episode struct {
	Group     string    `json:"group,omitempty"`
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	Field     string    `json:"field,omitempty"`
	Manager   string    `json:"manager,omitempty"`
	Revision  string    `json:"revision,omitempty"`
	Seen      time.Time `json:"seen"`
	Healed    time.Time `json:"healed"`
}

func encode(episodes []plan.Episode) string {
	out := make([]episode, 0, len(episodes))
	for _, e := range episodes[:min(mostEpisodes, len(episodes))] {
		out = append(out, episode{
			Group: e.Key.Group, Kind: e.Key.Kind, Namespace: e.Key.Namespace, Name: e.Key.Name,
			Field: e.Path, Manager: e.Manager, Revision: e.Revision,
			Seen: e.Seen.UTC().Round(roundTo), Healed: e.Healed.UTC().Round(roundTo),
		})
	}
	b, err := json.Marshal(out)
	if err != nil {
		// Strings and times always encode.
		return "[]"
	}
	return string(b)
}

func decode(text string) ([]plan.Episode, error) {
	var in []episode
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return nil, fmt.Errorf("reading the annotation %s: %w", v1alpha1.AnnotationDrift, err)
	}
	out := make([]plan.Episode, len(in))
	for i, e := range in {
		out[i] = plan.Episode{
			Key:  object.Key{Group: e.Group, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name},
			Path: e.Field, Manager: e.Manager, Revision: e.Revision, Seen: e.Seen, Healed: e.Healed,
		}
	}
	return out, nil
}

// Reader reads events back.
type Reader struct{ events typed.EventInterface }

// NewReader makes a reader of the events of one namespace.
func NewReader(config *rest.Config, namespace string) (*Reader, error) {
	client, err := typed.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for events: %w", err)
	}
	return &Reader{events: client.Events(namespace)}, nil
}

// Drift are the fields of an application's objects that drifted, the oldest
// first, as far back as the cluster keeps events.
func (r *Reader) Drift(ctx context.Context, app string) ([]plan.Episode, error) {
	list, err := r.events.List(ctx, metav1.ListOptions{FieldSelector: fields.Set{
		"involvedObject.kind": v1alpha1.ApplicationKind, "involvedObject.name": app, "reason": v1alpha1.EventReasonDrifted,
	}.String()})
	if err != nil {
		return nil, fmt.Errorf("listing the events of application %q: %w", app, err)
	}
	var out []plan.Episode
	for _, e := range list.Items {
		// One that cannot be read was written by somebody else.
		if episodes, err := decode(e.Annotations[v1alpha1.AnnotationDrift]); err == nil {
			out = append(out, episodes...)
		}
	}
	slices.SortStableFunc(out, func(a, b plan.Episode) int { return a.Seen.Compare(b.Seen) })
	return out, nil
}

// Archive reads back the events about objects of all namespaces of the hub.
type Archive struct{ client typed.EventsGetter }

// NewArchive makes a reader.
func NewArchive(config *rest.Config) (*Archive, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := typed.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for events: %w", err)
	}
	return &Archive{client: client}, nil
}

// mostTold bounds how many events of an object are read.
const mostTold = 500

// About are the events about an object that the cluster keeps.
func (a *Archive) About(ctx context.Context, kind, namespace, name, uid string) ([]corev1.Event, error) {
	about := fields.Set{"involvedObject.kind": kind, "involvedObject.name": name}
	if uid != "" {
		about["involvedObject.uid"] = uid
	}
	list, err := a.client.Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: about.String(), Limit: mostTold})
	if err != nil {
		return nil, fmt.Errorf("listing the events of %s %q: %w", kind, name, err)
	}
	return list.Items, nil
}

// Drift are the fields of an application's objects that drifted, the oldest
// first.
func (a *Archive) Drift(ctx context.Context, namespace, app string) ([]plan.Episode, error) {
	return (&Reader{events: a.client.Events(namespace)}).Drift(ctx, app)
}
