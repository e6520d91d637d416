package engine

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/field"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/status"
)

// witness knows what was applied before. It is asked only about objects that
// others hold fields of, so most looks never render an earlier revision.
type witness struct {
	engine *Engine
	o      *observation

	once    sync.Once
	earlier object.Set
	err     error
}

// manifest is what was applied to an object before, or nil where that has
// nothing to say: nobody else holds fields of it, or nothing was.
func (w *witness) manifest(ctx context.Context, k object.Key, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if !diff.Foreign(live, v1alpha1.FieldManagerApply) {
		return nil, nil
	}
	if len(field.Applied(live, v1alpha1.FieldManagerApply)) == 0 {
		if u := diff.LastApplied(live); u != nil {
			return u, nil
		}
	}
	w.once.Do(func() { w.earlier, w.err = w.lastSynced(ctx) })
	if w.err != nil {
		return nil, w.err
	}
	o, ok := w.earlier.Get(k)
	if !ok {
		return nil, nil
	}
	return o.Body, nil
}

// lastSynced renders the revision that the last whole sync was made from. One
// that cannot be had any more has nothing to say.
func (w *witness) lastSynced(ctx context.Context) (object.Set, error) {
	history := w.o.app.Status.History
	if len(history) == 0 {
		return object.Set{}, nil
	}
	last := history[len(history)-1]
	if status.Deployed(last).Same(w.o.content) {
		return object.Set{}, nil
	}
	then := *w.o
	then.content = status.Deployed(last)
	rendered, err := w.engine.render(ctx, &then, look{})
	if err != nil && fault.ClassOf(err) == fault.Transient {
		return object.Set{}, fmt.Errorf("rendering what was synced last: %w", err)
	}
	if err != nil {
		slog.WarnContext(ctx, "what was synced last cannot be rendered any more",
			"app", w.engine.key(w.o.app), "revision", then.content.Name(), "error", err)
		return object.Set{}, nil
	}
	wish, _ := w.engine.desire(w.o, rendered.Objects)
	return wish.Objects, nil
}
