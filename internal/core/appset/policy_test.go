package appset_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/appset"
)

func TestPolicyOf(t *testing.T) {
	tests := map[string]struct {
		set, controller string
		override        bool
		want            v1alpha1.ApplicationsSyncPolicy
	}{
		"nobody says anything":                {want: "sync"},
		"the set says":                        {set: "create-only", want: "create-only"},
		"the installation says":               {controller: "create-update", want: "create-update"},
		"the installation precedes the set":   {set: "sync", controller: "create-only", want: "create-only"},
		"unless it may be overridden":         {set: "create-delete", controller: "create-only", override: true, want: "create-delete"},
		"to override takes something to say":  {controller: "create-only", override: true, want: "create-only"},
		"what nobody knows allows as little ": {set: "whatever", want: "whatever"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			set := &v1alpha1.ApplicationSet{}
			if test.set != "" {
				set.Spec.SyncPolicy = &v1alpha1.ApplicationSetSyncPolicy{ApplicationsSync: new(v1alpha1.ApplicationsSyncPolicy(test.set))}
			}
			got := appset.PolicyOf(set, test.controller, test.override)
			if d := cmp.Diff(test.want, got); d != "" {
				t.Error(d)
			}
			if got == "whatever" && (got.AllowDelete() || got.AllowUpdate()) {
				t.Error("a policy that nobody knows allows something")
			}
		})
	}
}

// TestWithoutAutomation: the Application that was handed in stays as it is.
func TestWithoutAutomation(t *testing.T) {
	app := short{Name: "a", Automated: true}.app()
	before := app.DeepCopy()
	out := appset.WithoutAutomation(app)
	if out.Spec.SyncPolicy != nil {
		t.Error("it still syncs by itself")
	}
	if d := cmp.Diff(before, app); d != "" {
		t.Error(d)
	}
	if plain := (short{Name: "b"}).app(); appset.WithoutAutomation(plain) != plain {
		t.Error("one that never synced by itself is copied")
	}
}

// TestStatusCutsResources: a very long list is cut, and its length is told.
func TestStatusCutsResources(t *testing.T) {
	var owned []*v1alpha1.Application
	app := short{Name: "a"}.app()
	for range 5001 {
		owned = append(owned, app)
	}
	s := appset.Status(appset.StatusInput{Set: &v1alpha1.ApplicationSet{}, Now: start, Owned: owned})
	if len(s.Resources) != 5000 || s.ResourcesCount != 5001 {
		t.Errorf("%d are listed, and %d counted", len(s.Resources), s.ResourcesCount)
	}
}
