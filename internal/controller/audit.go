package controller

import (
	"context"
	"log/slog"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// audit looks at one object after the other, slowly, for as long as ctx lasts.
func (c *Controller) audit(ctx context.Context) {
	if c.Auditor == nil || c.AuditEvery <= 0 {
		return
	}
	tick := time.NewTicker(c.AuditEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		name, ok := c.anyone()
		if !ok {
			continue
		}
		right, err := c.Auditor.Audit(ctx, name)
		if err != nil && ctx.Err() == nil {
			slog.DebugContext(ctx, "an audit could not be made", "app", name, "error", err)
		}
		if !right {
			c.Enqueue(name, Drift)
		}
	}
}

// remember keeps the names of the applications that there are.
func (c *Controller) remember(old, app *v1alpha1.Application) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if app == nil {
		delete(c.apps, c.key(old))
		return
	}
	c.apps[c.key(app)] = struct{}{}
}

// anyone is some application; the order of a map is as good as chance.
func (c *Controller) anyone() (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.apps {
		return name, true
	}
	return "", false
}
