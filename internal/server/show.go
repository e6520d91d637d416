package server

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
)

// Shown is an object of a cluster or of a repository as it may be told: a JSON text with its secrets hidden. There is no
// other way for such an object into an answer.
type Shown struct{ text string }

// MarshalJSON is a JSON text, as a JSON string.
func (s Shown) MarshalJSON() ([]byte, error) { return json.Marshal(s.text) }

// IsZero says that there is none.
func (s Shown) IsZero() bool { return s.text == "" }

// shower turns objects into what may be shown. Values of Secrets that are the same look the same within one shower, and
// others do not: a difference can be seen, and nothing else.
type shower struct {
	req *Request
	// annotations are the keys whose values are hidden everywhere.
	annotations []string
	// masks has the masks of the values of a field.
	masks map[string]map[string]string
}

func (r *Request) shower() *shower {
	return &shower{req: r, annotations: r.server.Settings().HiddenAnnotations, masks: map[string]map[string]string{}}
}

// show hides what is secret in an object, and has its values hidden wherever else they stand in the answer.
func (s *shower) show(u *unstructured.Unstructured) Shown {
	if u == nil {
		return Shown{}
	}
	u = u.DeepCopy()
	annotations := u.GetAnnotations()
	changed := false
	for _, key := range s.annotations {
		if v, ok := annotations[key]; ok {
			s.req.hide(v)
			annotations[key], changed = object.Masked, true
		}
	}
	if object.KeyOf(u).Secret() {
		s.secret(u)
		u.SetManagedFields(nil)
		if _, ok := annotations[v1alpha1.AnnotationLastAppliedByKubectl]; ok {
			s.applied(annotations[v1alpha1.AnnotationLastAppliedByKubectl])
			annotations[v1alpha1.AnnotationLastAppliedByKubectl], changed = object.Masked, true
		}
	}
	if changed {
		u.SetAnnotations(annotations)
	}
	text, err := json.Marshal(u.Object)
	if err != nil {
		// What cannot be written is not shown.
		return Shown{text: "{}"}
	}
	return Shown{text: string(text)}
}

// secret hides the values of a Secret. What is not a map of texts is hidden as a whole.
func (s *shower) secret(u *unstructured.Unstructured) {
	name := u.GetNamespace() + "/" + u.GetName()
	for _, field := range []string{"data", "stringData"} {
		value, there := u.Object[field]
		if !there || value == nil {
			continue
		}
		values, ok := value.(map[string]any)
		if !ok {
			u.Object[field] = object.Masked
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			values[key] = s.mask(name+" "+key, plain(field, values[key]))
		}
	}
}

// plain is the value behind one of a Secret.
func plain(field string, value any) string {
	text, ok := value.(string)
	if !ok {
		return fmt.Sprint(value)
	}
	if field == "data" {
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
			return string(decoded)
		}
	}
	return text
}

// mask is the mask of a value: the first of a field has the usual one, another a longer one.
func (s *shower) mask(at, value string) string {
	s.req.hide(value)
	known := s.masks[at]
	if known == nil {
		known = map[string]string{}
		s.masks[at] = known
	}
	if _, ok := known[value]; !ok {
		known[value] = object.Masked + strings.Repeat("++++", len(known))
	}
	return known[value]
}

// applied hides what kubectl has written down of a Secret.
func (s *shower) applied(text string) {
	u := &unstructured.Unstructured{}
	if json.Unmarshal([]byte(text), &u.Object) == nil {
		s.secret(u)
	}
}

// Meta is what is told of the metadata of an object of ours.
type Meta struct {
	Name                       string            `json:"name,omitempty"`
	GenerateName               string            `json:"generateName,omitempty"`
	Namespace                  string            `json:"namespace,omitempty"`
	UID                        string            `json:"uid,omitempty"`
	ResourceVersion            string            `json:"resourceVersion,omitempty"`
	Generation                 int64             `json:"generation,omitempty"`
	CreationTimestamp          *metav1.Time      `json:"creationTimestamp,omitempty"`
	DeletionTimestamp          *metav1.Time      `json:"deletionTimestamp,omitempty"`
	DeletionGracePeriodSeconds *int64            `json:"deletionGracePeriodSeconds,omitempty"`
	Labels                     map[string]string `json:"labels,omitempty"`
	Annotations                map[string]string `json:"annotations,omitempty"`
	OwnerReferences            []Reference       `json:"ownerReferences,omitempty"`
	Finalizers                 []string          `json:"finalizers,omitempty"`
}

// Reference names an owner.
type Reference struct {
	APIVersion         string `json:"apiVersion"`
	Kind               string `json:"kind"`
	Name               string `json:"name"`
	UID                string `json:"uid"`
	Controller         *bool  `json:"controller,omitempty"`
	BlockOwnerDeletion *bool  `json:"blockOwnerDeletion,omitempty"`
}

// meta is the metadata of an object of ours, without what kubectl and the server keep there for themselves.
func (s *shower) meta(m *metav1.ObjectMeta) Meta {
	out := Meta{
		Name: m.Name, GenerateName: m.GenerateName, Namespace: m.Namespace, UID: string(m.UID), ResourceVersion: m.ResourceVersion,
		Generation: m.Generation, DeletionTimestamp: m.DeletionTimestamp, DeletionGracePeriodSeconds: m.DeletionGracePeriodSeconds,
		Labels: m.Labels, Finalizers: m.Finalizers,
	}
	if !m.CreationTimestamp.IsZero() {
		out.CreationTimestamp = &m.CreationTimestamp
	}
	for k, v := range m.Annotations {
		switch {
		case k == v1alpha1.AnnotationLastAppliedByKubectl:
			continue
		case slices.Contains(s.annotations, k):
			v = object.Masked
		}
		if out.Annotations == nil {
			out.Annotations = make(map[string]string, len(m.Annotations))
		}
		out.Annotations[k] = v
	}
	for _, o := range m.OwnerReferences {
		out.OwnerReferences = append(out.OwnerReferences, Reference{
			APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: string(o.UID), Controller: o.Controller,
			BlockOwnerDeletion: o.BlockOwnerDeletion,
		})
	}
	return out
}

// ListMeta is the metadata of a list.
type ListMeta struct {
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// List is a list of things.
type List[T any] struct {
	Metadata ListMeta `json:"metadata"`
	Items    []T      `json:"items"`
}

// Items is a list that has no metadata.
type Items[T any] struct {
	Items []T `json:"items"`
}

// sortedBy is a list in the order of a text.
func sortedBy[T any](list []T, by func(T) string) []T {
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(by(a), by(b)) })
	return list
}
