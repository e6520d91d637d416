package cli

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/status"
)

// goal is what somebody waits for.
type goal struct {
	sync, health, operation, suspended, degraded, deleted bool
	// objects limit it to some objects of an application; nil is the application as a whole.
	objects []pattern
}

func (g *goal) check() error {
	if g.deleted && (g.sync || g.health || g.operation || g.suspended || g.degraded) {
		return usagef("--delete waits for an application to be gone, and then there is nothing else to wait for")
	}
	return nil
}

// standard is the goal of somebody who named none.
func (g *goal) standard() {
	if !g.sync && !g.health && !g.operation && !g.suspended && !g.degraded && !g.deleted {
		g.sync, g.health, g.operation = true, true, true
	}
}

// lacks says in words what an application is short of; nil is a gone one.
func (g *goal) lacks(app *v1alpha1.Application) []string {
	if g.deleted {
		if app == nil {
			return nil
		}
		return []string{"its deletion"}
	}
	var out []string
	if len(g.objects) > 0 {
		out = g.objectLacks(app)
		if g.operation && busy(app) {
			out = append(out, operationLack(app))
		}
		return out
	}
	if why := syncLack(app); g.sync && why != "" {
		out = append(out, why)
	}
	if codes := g.healthCodes(); len(codes) > 0 && !slices.Contains(codes, app.Status.Health.Status) {
		is := explained(orNothing(clean(string(app.Status.Health.Status))), app.Status.Health.Message)
		out = append(out, "health "+names(codes)+" (is "+is+")")
	}
	if g.operation && busy(app) {
		out = append(out, operationLack(app))
	}
	return out
}

// objectLacks says what the objects that are meant are short of. One without a health is as good as healthy.
func (g *goal) objectLacks(app *v1alpha1.Application) []string {
	var out []string
	seen := false
	codes := g.healthCodes()
	for _, r := range app.Status.Resources {
		if !picked(g.objects, r) {
			continue
		}
		seen = true
		key := clean(resourceKey(r).String())
		if g.sync && !r.Hook && r.Status != v1alpha1.SyncStatusCodeSynced {
			out = append(out, key+" to be Synced (is "+orNothing(clean(string(r.Status)))+")")
		}
		if len(codes) > 0 && r.Health != nil && !slices.Contains(codes, r.Health.Status) {
			out = append(out, key+" to be "+names(codes)+" (is "+orNothing(clean(string(r.Health.Status)))+")")
		}
	}
	switch listed, all := status.Listed(app.Status); {
	case !seen && listed < all:
		out = append(out, fmt.Sprintf("objects that fit --resource (the status lists %d of %d; without --resource all are waited for)",
			listed, all))
	case !seen:
		out = append(out, "objects that fit --resource")
	}
	return out
}

func (g *goal) healthCodes() []v1alpha1.HealthStatusCode {
	var out []v1alpha1.HealthStatusCode
	if g.health {
		out = append(out, v1alpha1.HealthStatusHealthy)
	}
	if g.suspended {
		out = append(out, v1alpha1.HealthStatusSuspended)
	}
	if g.degraded {
		out = append(out, v1alpha1.HealthStatusDegraded)
	}
	return out
}

func names(codes []v1alpha1.HealthStatusCode) string {
	out := make([]string, len(codes))
	for i, c := range codes {
		out[i] = string(c)
	}
	return strings.Join(out, " or ")
}

// syncLack takes a verdict only for what it was made of: one on an earlier
// spec, or from before a refresh that somebody asked for, proves nothing.
func syncLack(app *v1alpha1.Application) string {
	status := app.Status.Sync
	switch {
	case status.Status != v1alpha1.SyncStatusCodeSynced:
		return "sync status Synced (is " + orNothing(clean(string(status.Status))) + ")"
	case app.Annotations[v1alpha1.AnnotationRefresh] != "":
		return "the refresh that was asked for"
	case stale(app):
		return "a comparison of the present spec"
	}
	return ""
}

func stale(app *v1alpha1.Application) bool {
	to := app.Status.Sync.ComparedTo
	if app.Spec.SourceHydrator != nil || equality.Semantic.DeepEqual(to, v1alpha1.ComparedTo{}) {
		return false
	}
	compared := to.Sources
	if len(compared) == 0 {
		compared = v1alpha1.ApplicationSources{to.Source}
	}
	return !equality.Semantic.DeepEqual(compared, app.Sources()) ||
		!equality.Semantic.DeepEqual(to.Destination, app.Spec.Destination)
}

func operationLack(app *v1alpha1.Application) string {
	if o := app.Status.OperationState; o != nil && !o.Phase.Completed() {
		return "the end of the operation (" + explained(string(o.Phase), o.Message) + ")"
	}
	return "the operation to begin and end"
}
