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
	progress := plan.Progress{Done: map[plan.Task]plan.Outcome{{Key: first}: {Code: plan.CodeSynced}}}
	for name, c := range map[string]struct {
		health health.Health
		want   plan.Do
	}{
		"no health":       {health.Health{}, plan.DoApply},
		"a silent script": {health.Health{Message: "its health script says nothing yet"}, plan.DoWait},
	} {
		t.Run(name, func(t *testing.T) {
			got := plan.Next(plan.Plan{Items: []plan.Item{
				{Key: first, Action: plan.Unchanged, Live: &object.Fact{Key: first, Health: c.health}, Served: true},
				{Key: second, Action: plan.Create, Wave: 1, Served: true},
			}}, progress)
			if got.Do != c.want || !strings.Contains(got.Message, c.health.Message) {
				t.Errorf("got %s %q", got.Do, got.Message)
			}
		})
	}
}

// TestAKindThatIsNotReadYetHoldsItsWave: what the cluster is still to tell of is
// waited for; what it refuses to tell of is passed over.
func TestAKindThatIsNotReadYetHoldsItsWave(t *testing.T) {
	first, second := object.Key{Kind: "ConfigMap", Name: "first"}, object.Key{Kind: "Deployment", Name: "second"}
	for unread, want := range map[bool]plan.Do{true: plan.DoWait, false: plan.DoApply} {
		got := plan.Next(plan.Plan{Items: []plan.Item{
			{Key: first, Action: plan.Skip, Sync: plan.Unknown, Reason: "its kind cannot be watched", Unread: unread, Served: true},
			{Key: second, Action: plan.Create, Wave: 1, Served: true},
		}}, plan.Progress{})
		if got.Do != want || unread && !strings.Contains(got.Message, "ConfigMap first") {
			t.Errorf("unread %t: got %s %q", unread, got.Do, got.Message)
		}
	}
}
