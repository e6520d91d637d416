package controller

import (
	"context"
	"log/slog"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
)

// ProjectReconciler does the work for one project.
type ProjectReconciler interface {
	ReconcileProject(ctx context.Context, name string) error
}

// projectQueueName is Argo CD's, which dashboards select by.
const projectQueueName = "project_reconciliation_queue"

// ProjectChanged tells of a change of a project.
func (c *Controller) ProjectChanged(name string) {
	if c.Projects != nil {
		c.projects.Add(name)
	}
}

// leaves looks at the project that an application no longer belongs to: it may
// have waited for that.
func (c *Controller) leaves(old, app *v1alpha1.Application) {
	if old != nil && (app == nil || app.ProjectName() != old.ProjectName()) {
		c.ProjectChanged(old.ProjectName())
	}
}

func (c *Controller) runProjects(ctx context.Context) {
	for {
		name, shutdown := c.projects.Get()
		if shutdown {
			return
		}
		err := c.Projects.ReconcileProject(ctx, name)
		if err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "looking at a project failed", "project", name, "error", err)
		}
		if fault.ClassOf(err) == fault.Transient && err != nil {
			c.projects.AddRateLimited(name)
		} else {
			c.projects.Forget(name)
		}
		c.projects.Done(name)
	}
}
