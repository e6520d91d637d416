package plan_test

import (
	"testing"
	"time"

	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

func TestAutoSync(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	item := func(a plan.Action, s plan.Sync) plan.Item {
		return plan.Item{Key: object.Key{Kind: "ConfigMap", Name: string(a)}, Action: a, Sync: s, Prunable: a == plan.Prune}
	}
	drifted := plan.Plan{Items: []plan.Item{item(plan.Update, plan.OutOfSync), item(plan.Unchanged, plan.Synced)}}
	synced := plan.Plan{Items: []plan.Item{item(plan.Unchanged, plan.Synced)}}
	dropped := plan.Plan{Items: []plan.Item{item(plan.Prune, plan.OutOfSync), item(plan.Unchanged, plan.Synced)}}
	emptied := plan.Plan{Items: []plan.Item{item(plan.Prune, plan.OutOfSync)}}
	unknown := plan.Plan{Items: []plan.Item{item(plan.Update, plan.Unknown)}}
	on := plan.Automation{Enabled: true}
	all := plan.Automation{Enabled: true, Prune: true, SelfHeal: true}
	healed := func(n int, ago time.Duration) *plan.Attempt {
		return &plan.Attempt{Same: true, Succeeded: true, Heals: n, Finished: now.Add(-ago)}
	}

	cases := map[string]struct {
		plan     plan.Plan
		policy   plan.Automation
		busy     bool
		last     *plan.Attempt
		sync     bool
		after    time.Duration
		partial  bool
		findings int
	}{
		"off":                               {plan: drifted},
		"first time":                        {plan: drifted, policy: on, sync: true},
		"nothing differs":                   {plan: synced, policy: all},
		"what is not known is not acted on": {plan: unknown, policy: all},
		"another operation runs":            {plan: drifted, policy: on, busy: true},
		"a new commit":                      {plan: drifted, policy: on, last: &plan.Attempt{Succeeded: true}, sync: true},
		"a new commit after a failure":      {plan: drifted, policy: on, last: &plan.Attempt{}, sync: true},
		"same commit, drift, no self-heal":  {plan: drifted, policy: on, last: healed(0, time.Hour)},
		"same commit, drift, self-heal":     {plan: drifted, policy: all, last: healed(0, 0), sync: true, partial: true},
		"same commit failed":                {plan: drifted, policy: all, last: &plan.Attempt{Same: true}, findings: 1},
		"second heal waits two seconds":     {plan: drifted, policy: all, last: healed(1, 500*time.Millisecond), after: 1500 * time.Millisecond},
		"third heal waits six":              {plan: drifted, policy: all, last: healed(2, 0), after: 6 * time.Second},
		"healing never waits over the cap":  {plan: drifted, policy: all, last: healed(50, 0), after: 300 * time.Second},
		"the wait is over":                  {plan: drifted, policy: all, last: healed(2, 7*time.Second), sync: true, partial: true},
		"only a prune is left, prune off":   {plan: dropped, policy: on},
		"a prune, prune on":                 {plan: dropped, policy: all, sync: true},
		"everything would go":               {plan: emptied, policy: all, findings: 1},
		"everything would go, and is allowed": {
			plan: emptied, policy: plan.Automation{Enabled: true, Prune: true, AllowEmpty: true}, sync: true,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := plan.AutoSync(plan.AutoInput{
				Plan: c.plan, Policy: c.policy, Busy: c.busy, Last: c.last, Backoff: plan.DefaultBackoff, Now: now,
			})
			if d.Sync != c.sync || d.After != c.after || (d.Only != nil) != c.partial || len(d.Findings) != c.findings {
				t.Errorf("got %+v", d)
			}
			if d.Reason == "" {
				t.Error("there is no reason")
			}
		})
	}
}
