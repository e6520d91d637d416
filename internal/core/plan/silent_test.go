package plan_test

import (
	"strings"
	"testing"

	"github.com/towline-cd/towline/internal/core/health"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

// TestASilentScriptHoldsAWave: a kind without health passes at once, and one
// whose script has not said anything yet does not.
func TestASilentScriptHoldsAWave(t *testing.T) {
	first, second := object.Key{Kind: "Thing", Name: "first"}, object.Key{Kind: "Thing", Name: "second"}
	p := plan.Plan{Items: []plan.Item{{Key: first, Action: plan.Unchanged}, {Key: second, Action: plan.Create, Wave: 1}}}
	progress := plan.Progress{Done: map[object.Key]plan.Outcome{first: {Code: plan.CodeSynced}}}
	for name, c := range map[string]struct {
		health health.Health
		want   plan.Do
	}{
		"no health":       {health.Health{}, plan.DoApply},
		"a silent script": {health.Health{Message: "its health script says nothing yet"}, plan.DoWait},
	} {
		t.Run(name, func(t *testing.T) {
			got := plan.Next(p, progress, map[object.Key]plan.Observation{first: {Fresh: true, Health: c.health}})
			if got.Do != c.want || !strings.Contains(got.Message, c.health.Message) {
				t.Errorf("got %s %q", got.Do, got.Message)
			}
		})
	}
}
