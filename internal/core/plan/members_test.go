package plan_test

import (
	"strings"
	"testing"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/health"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

// TestAnApplicationSetHoldsAWave: a set has come to where it points when its
// own controller says so and every application that it made has.
func TestAnApplicationSetHoldsAWave(t *testing.T) {
	set := object.Key{Group: v1alpha1.Group, Kind: v1alpha1.ApplicationSetKind, Namespace: "argocd", Name: "fleet"}
	member := func(name string, h health.Status) object.Fact {
		return object.Fact{
			Key: object.Key{Group: v1alpha1.Group, Kind: v1alpha1.ApplicationKind, Namespace: "argocd", Name: name},
			Child: &object.Child{
				Compared: true, Automated: true, Reached: true, Sync: v1alpha1.SyncStatusCodeSynced, Revision: "c0ffee",
				Health: health.Health{Status: h},
			},
		}
	}
	later := object.Key{Kind: "ConfigMap", Name: "later"}
	for name, c := range map[string]struct {
		own      health.Status
		members  []object.Fact
		behind   bool
		byLetter bool
		want     plan.Do
		says     string
	}{
		"all well":              {health.Healthy, []object.Fact{member("a", health.Healthy), member("b", health.Healthy)}, false, false, plan.DoApply, ""},
		"a member is not":       {health.Healthy, []object.Fact{member("a", health.Healthy), member("b", health.Degraded)}, false, false, plan.DoWait, "argocd/b"},
		"the set itself is not": {health.Progressing, []object.Fact{member("a", health.Healthy)}, false, false, plan.DoWait, "fleet"},
		"by the letter":         {health.Healthy, []object.Fact{member("b", health.Degraded)}, true, true, plan.DoApply, ""},
		"it has a new spec":     {health.Healthy, nil, true, false, plan.DoWait, "not been generated"},
	} {
		t.Run(name, func(t *testing.T) {
			p := plan.Plan{Items: []plan.Item{
				{
					Key: set, Action: plan.Unchanged, Served: true, Members: c.members,
					Live: &object.Fact{Key: set, Behind: c.behind, Health: health.Health{Status: c.own}},
				},
				{Key: later, Action: plan.Create, Wave: 1, Served: true},
			}}
			progress := plan.Progress{
				Done: map[plan.Task]plan.Outcome{{Key: set}: {Code: plan.CodeSynced}}, Gate: plan.Gate{ByLetter: c.byLetter},
			}
			got := plan.Next(p, progress)
			if got.Do != c.want || !strings.Contains(got.Message, c.says) {
				t.Errorf("got %s %q", got.Do, got.Message)
			}
		})
	}
}
