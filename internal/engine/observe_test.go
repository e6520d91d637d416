package engine

import (
	"testing"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/plan"
)

// An operation brings its own options along, whether the application has a policy or not.
func TestANamespaceIsAskedForWithoutAPolicy(t *testing.T) {
	app := &v1alpha1.Application{Spec: v1alpha1.ApplicationSpec{Destination: v1alpha1.ApplicationDestination{Namespace: "shop"}}}
	m := newWorld(app).engine().mark(&observation{app: app, options: plan.Options{"CreateNamespace=true"}})
	if m.Destination != "shop" || m.Namespace != nil {
		t.Errorf("%+v", m)
	}
}
