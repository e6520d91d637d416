package engine

import (
	"context"
	"fmt"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/policy"
)

// setName is what a set is called.
func (e *Engine) setName(set *v1alpha1.ApplicationSet) string {
	return object.AppName(e.Namespace, set.Namespace, set.Name)
}

// homeless says why a set outside of the control namespace is not generated:
// nobody would see its applications, or they may not be of their project, whose
// repositories and logins the generators would use.
func (e *Engine) homeless(ctx context.Context, set *v1alpha1.ApplicationSet) (string, error) {
	if e.setName(set) == set.Name {
		return "", nil
	}
	if looked, _ := policy.MatchesNamespace(e.Settings().Sets.AppNamespaces, set.Namespace); !looked {
		return fmt.Sprintf("its Applications would be in namespace %q, where nobody looks for Applications; add the namespace to "+
			"%s of %s too", set.Namespace, v1alpha1.KeyParamApplicationNamespaces, v1alpha1.ConfigMapCmdParams), nil
	}
	project := appset.ProjectOf(set)
	if project == "" {
		return "", nil // each Application is judged by its own, and nothing of a project is used
	}
	p, err := e.Hub.Project(ctx, project)
	if fault.ReasonOf(err) == "NotFound" {
		return "", nil // it is told of each Application
	}
	if err != nil {
		return "", err
	}
	if verdict := policy.SourceNamespace(policy.Of(p), e.Namespace, set.Namespace); !verdict.Allowed {
		return verdict.Reason, nil
	}
	return "", nil
}

// refuseSet tells why a set is not generated.
func (e *Engine) refuseSet(ctx context.Context, set *v1alpha1.ApplicationSet, why string, err error) (SetResult, error) {
	if err != nil {
		return SetResult{}, err
	}
	g := &generation{engine: e, set: set, result: appset.Result{Failure: why}}
	return SetResult{After: setRetry}, g.tell(ctx, appset.Status(appset.StatusInput{
		Set: set, Now: e.Now(), Result: g.result, Owned: e.Sets.Generated(set.UID), MaxListed: e.Settings().Sets.MaxListed,
	}))
}
