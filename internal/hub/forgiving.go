package hub

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
)

// forgiving decodes what is stored, whatever is stored. A field of a wrong type, which an older schema may have let in, or
// one that the schema leaves open, would otherwise keep the whole list from being read, and with it every other object: one
// user could stop all others. Here the part that does not fit is empty, and the object says so (object.Unreadable).
type forgiving struct{ runtime.NegotiatedSerializer }

func (f forgiving) DecoderToVersion(d runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	return salvager{f.NegotiatedSerializer.DecoderToVersion(d, gv)}
}

type salvager struct{ runtime.Decoder }

// Decode reads in the usual way, and object by object where that fails.
func (s salvager) Decode(
	data []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	out, kind, err := s.Decoder.Decode(data, defaults, into)
	if err == nil {
		return out, kind, nil
	}
	var t metav1.TypeMeta
	if json.Unmarshal(data, &t) != nil || t.APIVersion != v1alpha1.GroupVersion().String() {
		return out, kind, err
	}
	saved, failed := salvage(t.Kind, data, into)
	if failed != nil {
		return out, kind, err
	}
	gvk := t.GroupVersionKind()
	return saved, &gvk, nil
}

// salvage reads an object or a list, into what the caller has where that is of the kind.
func salvage(kind string, data []byte, into runtime.Object) (runtime.Object, error) {
	switch kind {
	case v1alpha1.ApplicationKind:
		out := given[v1alpha1.Application](into)
		return out, readApplication(data, out)
	case v1alpha1.ApplicationKind + listSuffix:
		out := given[v1alpha1.ApplicationList](into)
		return out, readList(data, &out.ListMeta, &out.Items, readApplication)
	case v1alpha1.AppProjectKind:
		out := given[v1alpha1.AppProject](into)
		return out, readProject(data, out)
	case v1alpha1.AppProjectKind + listSuffix:
		out := given[v1alpha1.AppProjectList](into)
		return out, readList(data, &out.ListMeta, &out.Items, readProject)
	case v1alpha1.ApplicationSetKind:
		out := given[v1alpha1.ApplicationSet](into)
		return out, readSet(data, out)
	case v1alpha1.ApplicationSetKind + listSuffix:
		out := given[v1alpha1.ApplicationSetList](into)
		return out, readList(data, &out.ListMeta, &out.Items, readSet)
	}
	return nil, fmt.Errorf("%s is no kind of ours", kind)
}

const listSuffix = "List"

// given is what the caller has, emptied, or a new one.
func given[T any, P interface {
	*T
	runtime.Object
}](into runtime.Object) P {
	out, ok := into.(P)
	if !ok || out == nil {
		return P(new(T))
	}
	*out = *new(T)
	return out
}

func readList[T any](data []byte, meta *metav1.ListMeta, items *[]T, read func([]byte, *T) error) error {
	var list struct {
		Metadata metav1.ListMeta   `json:"metadata"`
		Items    []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	*meta, *items = list.Metadata, make([]T, len(list.Items))
	for i, item := range list.Items {
		if err := read(item, &(*items)[i]); err != nil {
			return err
		}
	}
	return nil
}

// parts are those of a stored object.
type parts struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	Spec            json.RawMessage   `json:"spec"`
	Status          json.RawMessage   `json:"status"`
	Operation       json.RawMessage   `json:"operation"`

	unreadable object.Unreadable
}

// partsOf takes an object apart, and puts in what every one has.
func partsOf(data []byte, kind *metav1.TypeMeta, meta *metav1.ObjectMeta) (*parts, error) {
	p := &parts{unreadable: object.Unreadable{}}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, p); err != nil {
		return nil, err
	}
	*kind, *meta = p.TypeMeta, p.Metadata
	return p, nil
}

// readPart reads one; where it does not fit it is empty, and that is remembered.
func readPart[T any](p *parts, name string, text json.RawMessage, into *T) {
	if len(text) == 0 {
		return
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, into); err != nil {
		*into = *new(T)
		p.unreadable[name] = err.Error()
	}
}

// mark says on an object what of it could not be read.
func (p *parts) mark(o metav1.Object) {
	if len(p.unreadable) > 0 {
		p.unreadable.Mark(o)
	}
}

func readApplication(data []byte, into *v1alpha1.Application) error {
	p, err := partsOf(data, &into.TypeMeta, &into.ObjectMeta)
	if err != nil {
		return err
	}
	readPart(p, object.SpecPart, p.Spec, &into.Spec)
	readPart(p, object.StatusPart, p.Status, &into.Status)
	readPart(p, object.OperationPart, p.Operation, &into.Operation)
	p.mark(into)
	return nil
}

func readProject(data []byte, into *v1alpha1.AppProject) error {
	p, err := partsOf(data, &into.TypeMeta, &into.ObjectMeta)
	if err != nil {
		return err
	}
	readPart(p, object.SpecPart, p.Spec, &into.Spec)
	readPart(p, object.StatusPart, p.Status, &into.Status)
	p.mark(into)
	return nil
}

func readSet(data []byte, into *v1alpha1.ApplicationSet) error {
	p, err := partsOf(data, &into.TypeMeta, &into.ObjectMeta)
	if err != nil {
		return err
	}
	readPart(p, object.SpecPart, p.Spec, &into.Spec)
	readPart(p, object.StatusPart, p.Status, &into.Status)
	p.mark(into)
	return nil
}
