package cluster

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
)

// store is where a kind's reflector puts what it reads: straight into the
// index, as facts. It is a TransformingStore so that the reflector's own
// buffer of a streaming list holds facts too, and never all bodies at once.
type store struct {
	kind   kind
	index  *index
	synced func()
}

var (
	_ cache.TransformingStore      = (*store)(nil)
	_ cache.ReflectorBookmarkStore = (*store)(nil)
)

func (s *store) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) {
		if f, ok := obj.(object.Fact); ok {
			return f, nil
		}
		return s.fact(obj)
	}
}

func (s *store) Add(obj any) error    { return s.put(obj) }
func (s *store) Update(obj any) error { return s.put(obj) }
func (s *store) Resync() error        { return nil }

func (s *store) put(obj any) error {
	f, err := s.fact(obj)
	if err != nil {
		return err
	}
	s.index.watched(f)
	return nil
}

func (s *store) Delete(obj any) error {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	f, err := s.fact(obj)
	if err != nil {
		return err
	}
	s.index.gone(f.Key, f.ResourceVersion)
	return nil
}

// Bookmark moves the kind's progress without an object.
func (s *store) Bookmark(rv string) error {
	s.index.bookmark(s.kind.GroupKind(), rv)
	return nil
}

// Replace receives transformed items from a streaming list and raw ones from
// a plain list.
func (s *store) Replace(items []any, rv string) error {
	facts := make([]object.Fact, 0, len(items))
	for _, it := range items {
		f, err := s.fact(it)
		if err != nil {
			return err
		}
		facts = append(facts, f)
	}
	s.index.replace(s.kind.GroupKind(), facts, rv)
	s.synced()
	return nil
}

func (s *store) fact(obj any) (object.Fact, error) {
	switch o := obj.(type) {
	case object.Fact:
		return o, nil
	case *unstructured.Unstructured:
		// Items of a plain list come without their kind.
		o.SetGroupVersionKind(s.kind.GroupVersionKind)
		return object.FactOf(o, v1alpha1.FieldManagerApply), nil
	default:
		return object.Fact{}, fmt.Errorf("reading %s: unexpected %T in the watch", s.kind.Kind, obj)
	}
}
