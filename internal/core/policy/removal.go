package policy

import (
	"slices"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Stays says that a project that is being deleted has to stay, because
// applications belong to it and it asks to outlive them.
func Stays(p *v1alpha1.AppProject, members []string) bool { return leaving(p) && len(members) > 0 }

// Releases says that such a project can go.
func Releases(p *v1alpha1.AppProject, members []string) bool { return leaving(p) && len(members) == 0 }

func leaving(p *v1alpha1.AppProject) bool {
	return p.DeletionTimestamp != nil && slices.Contains(p.Finalizers, v1alpha1.FinalizerResources)
}
