package cluster

import (
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/towline-cd/towline/internal/core/object"
)

// store is where a kind's reflector puts what it reads: straight into the
// index, as facts. It is a TransformingStore so that the reflector's own
// buffer of a streaming list holds facts too, and never all bodies at once.
type store struct {
	kind  kind
	index *index
	feed  *feed
	names *names
	// tracker reads the marks of applications.
	tracker object.Tracker
	judge   Judge
	// batch is used by the reflector's goroutine alone.
	batch  batch
	synced func()
	// received counts the objects that came.
	received atomic.Int64
}

var (
	_ cache.TransformingStore      = (*store)(nil)
	_ cache.ReflectorBookmarkStore = (*store)(nil)
)

func (s *store) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) { return s.fact(obj, s.later) }
}

func (s *store) Add(obj any) error    { return s.put(obj) }
func (s *store) Update(obj any) error { return s.put(obj) }
func (s *store) Resync() error        { return nil }

func (s *store) put(obj any) error {
	f, err := s.fact(obj, s.now)
	if err != nil {
		return err
	}
	s.index.watched(s.feed, f)
	return nil
}

func (s *store) Delete(obj any) error {
	unknown, late := obj.(cache.DeletedFinalStateUnknown)
	if late {
		obj = unknown.Obj
	}
	k, rv, err := s.identity(obj)
	if err != nil {
		return err
	}
	if late {
		// The reading is older than the deletion, whose version nobody knows.
		rv = ""
	}
	s.index.gone(s.feed, k, rv)
	return nil
}

// Bookmark moves the kind's progress without an object.
func (s *store) Bookmark(rv string) error {
	s.index.bookmark(s.feed, rv)
	return nil
}

// Replace receives transformed items from a streaming list and raw ones from
// a plain list.
func (s *store) Replace(items []any, rv string) error {
	facts := make([]*object.Fact, len(items))
	for i, it := range items {
		f, err := s.fact(it, s.later)
		if err != nil {
			return err
		}
		facts[i] = f
		// A plain list holds every body at once; let go of each that was read.
		items[i] = nil
	}
	s.settle()
	s.index.replace(s.feed, facts, rv)
	s.synced()
	return nil
}

func (s *store) fact(obj any, read func(*unstructured.Unstructured) *object.Fact) (*object.Fact, error) {
	switch o := obj.(type) {
	case *object.Fact:
		return o, nil
	case *unstructured.Unstructured:
		s.received.Add(1)
		// Items of a plain list come without their kind.
		o.SetGroupVersionKind(s.kind.GroupVersionKind)
		return read(o), nil
	default:
		return nil, fmt.Errorf("reading %s: unexpected %T in the watch", s.kind.Kind, obj)
	}
}

// identity is all that a deletion needs.
func (s *store) identity(obj any) (object.Key, string, error) {
	switch o := obj.(type) {
	case *object.Fact:
		return o.Key, o.ResourceVersion, nil
	case *unstructured.Unstructured:
		k := object.Key{Group: s.kind.Group, Kind: s.kind.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}
		return k, o.GetResourceVersion(), nil
	default:
		return object.Key{}, "", fmt.Errorf("reading %s: unexpected %T in the watch", s.kind.Kind, obj)
	}
}
