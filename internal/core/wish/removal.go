package wish

import (
	"slices"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Removal is the wish to delete an application.
type Removal struct {
	// Cascade also deletes its objects, and Background does not wait for what these own.
	Cascade, Background bool
}

// Patch is the change that makes the controller delete the objects, or keeps it from doing so; nil if the application is
// as wished.
func (r Removal) Patch(app *v1alpha1.Application) map[string]any {
	wanted := []string{}
	switch {
	case r.Cascade && r.Background:
		wanted = []string{v1alpha1.FinalizerResourcesBackground}
	case r.Cascade:
		// The plain name means the same and is what most people wrote.
		wanted = []string{v1alpha1.FinalizerResources, v1alpha1.FinalizerResourcesForeground}
	}
	cascading := []string{v1alpha1.FinalizerResources, v1alpha1.FinalizerResourcesForeground, v1alpha1.FinalizerResourcesBackground}
	next := slices.DeleteFunc(slices.Clone(app.Finalizers), func(f string) bool {
		return slices.Contains(cascading, f) && !slices.Contains(wanted, f)
	})
	missing := len(wanted) > 0 && !slices.ContainsFunc(next, func(f string) bool { return slices.Contains(wanted, f) })
	// The server takes no new finalizers once the deletion has begun.
	if missing && app.DeletionTimestamp.IsZero() {
		next = append(next, wanted[0])
	}
	if slices.Equal(next, app.Finalizers) || missing && !app.DeletionTimestamp.IsZero() {
		return nil
	}
	return map[string]any{"metadata": map[string]any{"resourceVersion": app.ResourceVersion, "finalizers": next}}
}
