package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/policy"
)

// Projects is what letting a project go needs. Faults are as those of Hub.
type Projects interface {
	Project(ctx context.Context, name string) (*v1alpha1.AppProject, error)
	// Members are the applications that belong to a project.
	Members(project string) []string
	PatchProject(ctx context.Context, name string, patch []byte) error
}

// ReconcileProject lets a project go that is being deleted, as soon as no
// application belongs to it.
func (e *Engine) ReconcileProject(ctx context.Context, name string) error {
	if e.Projects == nil {
		return nil
	}
	p, err := e.Projects.Project(ctx, name)
	if fault.ReasonOf(err) == "NotFound" {
		return nil
	}
	if err != nil {
		return err
	}
	for _, f := range policy.Faults(p) {
		slog.WarnContext(ctx, "a project says something that cannot be meant", "project", name, "problem", f.Message)
	}
	members := e.Projects.Members(name)
	if policy.Stays(p, members) {
		slog.InfoContext(ctx, "a deleted project stays while applications belong to it", "project", name, "applications", len(members))
	}
	if !policy.Releases(p, members) {
		return nil
	}
	next := slices.DeleteFunc(slices.Clone(p.Finalizers), func(f string) bool { return f == v1alpha1.FinalizerResources })
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"finalizers": next, "resourceVersion": p.ResourceVersion},
	})
	if err != nil {
		return fmt.Errorf("encoding project %q: %w", name, err)
	}
	if err := e.Projects.PatchProject(ctx, name, patch); err != nil && fault.ReasonOf(err) != "NotFound" {
		return fmt.Errorf("letting project %q go: %w", name, err)
	}
	slog.InfoContext(ctx, "project let go", "project", name)
	return nil
}
