package engine

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/wish"
)

// EditObject changes an object of an application as somebody wrote it by hand, as the project allows it, and returns it as
// it is then. edit is given the object as it stands, and may refuse.
func (e *Engine) EditObject(
	ctx context.Context, app *v1alpha1.Application, k object.Key, edit func(*unstructured.Unstructured) (wish.Patch, error),
) (*unstructured.Unstructured, error) {
	var err error
	for range attempts {
		var out *unstructured.Unstructured
		if out, err = e.tryEdit(ctx, app, k, edit); fault.ReasonOf(err) != "Conflict" {
			return out, err
		}
	}
	return nil, err
}

func (e *Engine) tryEdit(
	ctx context.Context, app *v1alpha1.Application, k object.Key, edit func(*unstructured.Unstructured) (wish.Patch, error),
) (*unstructured.Unstructured, error) {
	s, err := e.stage(ctx, app, k, acting)
	if err != nil {
		return nil, err
	}
	p, err := edit(s.object)
	if err != nil {
		return nil, err
	}
	before, err := json.Marshal(s.object.Object)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", k, err)
	}
	change, err := p.Merged(before)
	if err != nil {
		return nil, fault.Terminalf("Rejected", "%w", err)
	}
	if len(change) == 0 {
		return s.object, nil
	}
	defer e.byHand(ctx, app, s.cluster)
	if err := s.cluster.Patch(ctx, s.object, change); err != nil {
		return nil, err
	}
	return s.cluster.Get(ctx, k, s.object.GroupVersionKind().Version)
}

// DeleteObject deletes an object of an application, or below one, as the project allows it.
func (e *Engine) DeleteObject(ctx context.Context, app *v1alpha1.Application, k object.Key, how metav1.DeleteOptions) error {
	var err error
	for range attempts {
		var s *stage
		if s, err = e.stage(ctx, app, k, acting); err != nil {
			return err
		}
		err = s.cluster.Remove(ctx, s.object, how)
		if e.byHand(ctx, app, s.cluster); fault.ReasonOf(err) != "Conflict" {
			break
		}
	}
	return err
}
