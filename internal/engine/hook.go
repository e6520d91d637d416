package engine

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/journal"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/status"
)

// notes are the outcomes of hooks that ended. A hook that failed says so with
// the end of its log: that is where the cause is.
func (e *Engine) notes(ctx context.Context, o *observation, s plan.Step) []status.Result {
	out := make([]status.Result, len(s.Items))
	for i, it := range s.Items {
		outcome := s.Notes[i]
		if it.Hook && outcome.Result == plan.Failed && it.Live != nil {
			if tail := strings.TrimSpace(o.cluster.Tail(ctx, *it.Live)); tail != "" {
				outcome.Message = fmt.Sprintf("%s; the end of its log: %s", outcome.Message, tail)
			}
		}
		out[i] = status.Result{Item: it, Outcome: outcome}
	}
	return out
}

// letGo takes the hold off a hook whose result is recorded.
func (e *Engine) letGo(ctx context.Context, o *observation, it plan.Item) (deed, error) {
	if err := o.cluster.Release(ctx, *it.Live); err != nil && fault.ReasonOf(err) != "NotFound" {
		return deed{}, fmt.Errorf("letting go of the hook %s: %w", it.Key, err)
	}
	return deed{released: true}, nil
}

// clear deletes the object of a hook.
func (e *Engine) clear(ctx context.Context, o *observation, it plan.Item, dryRun bool) (deed, error) {
	if dryRun {
		return deed{gone: true}, nil
	}
	if it.Live.Held {
		if _, err := e.letGo(ctx, o, it); err != nil {
			return deed{}, err
		}
	}
	if err := o.cluster.Delete(ctx, *it.Live, metav1.DeletePropagationBackground, because(journal.HookOver)); err != nil {
		return deed{}, fmt.Errorf("deleting the hook %s: %w", it.Key, err)
	}
	return deed{gone: true}, nil
}

// recreate makes an object anew that cannot be changed. That the new one will
// be taken is asked before the old one goes.
func (e *Engine) recreate(ctx context.Context, o *observation, it plan.Item) (deed, error) {
	err := o.cluster.Creatable(ctx, it.Desired.Body)
	if destination.Lost(err) {
		return deed{}, err
	}
	if err != nil {
		return deed{outcome: failure(fmt.Errorf("the object has to be made anew, but the server would not take the new one: %w", err))}, nil
	}
	err = o.cluster.Delete(ctx, *it.Live, metav1.DeletePropagationBackground, because(journal.Anew))
	if destination.Lost(err) {
		return deed{}, err
	}
	if err != nil {
		return deed{outcome: failure(fmt.Errorf("deleting the object to make it anew: %w", err))}, nil
	}
	return deed{gone: true}, nil
}
