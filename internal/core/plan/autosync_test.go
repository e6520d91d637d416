package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/policy"
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
				Window: policy.WindowVerdict{Allowed: true},
				Plan:   c.plan, Policy: c.policy, Busy: c.busy, Last: c.last, Backoff: plan.DefaultBackoff, Now: now,
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

// TestAutoSyncWaits: what is due and may not happen now is told, and looked at
// again when it may.
func TestAutoSyncWaits(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	web := object.Key{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	widget := object.Key{Group: "example.org", Kind: "Widget", Namespace: "shop", Name: "one"}
	drifted := plan.Plan{Items: []plan.Item{{
		Key: web, Action: plan.Update, Sync: plan.OutOfSync,
		Verdict: diff.Verdict{Changes: []diff.Change{{Path: "spec.replicas"}}},
	}}}
	lacking := plan.Plan{Items: []plan.Item{{Key: widget, Action: plan.Create, Sync: plan.OutOfSync}}}
	served := plan.Plan{Items: []plan.Item{{Key: widget, Action: plan.Create, Sync: plan.OutOfSync, Served: true}}}
	fight := []plan.Fight{{Key: web, Path: "spec.replicas", Manager: "hpa", Rounds: 5}}
	healed := func(n int, ago time.Duration) *plan.Attempt {
		return &plan.Attempt{Same: true, Succeeded: true, Heals: n, Finished: now.Add(-ago)}
	}
	cases := map[string]struct {
		in    plan.AutoInput
		sync  bool
		after time.Duration
		heals int
		says  string
	}{
		"held":                            {in: plan.AutoInput{Plan: drifted, Hold: plan.Hold{Until: now.Add(time.Hour), Reason: "incident"}}, after: time.Hour, says: "incident"},
		"the hold is over":                {in: plan.AutoInput{Plan: drifted, Hold: plan.Hold{Until: now.Add(-time.Second)}}, sync: true},
		"rolled back":                     {in: plan.AutoInput{Plan: drifted, Revision: "bad", Rejected: "bad"}, says: "rolled back"},
		"newer than what was rolled back": {in: plan.AutoInput{Plan: drifted, Revision: "good", Rejected: "bad"}, sync: true},
		"outside the window": {
			in:    plan.AutoInput{Plan: drifted, Window: policy.WindowVerdict{Reason: "blocked", Next: now.Add(time.Minute)}},
			after: time.Minute, says: "a sync is due and blocked",
		},
		"a kind is not served yet": {
			in:   plan.AutoInput{Plan: lacking, Last: &plan.Attempt{Same: true, Unserved: []object.Key{widget}}},
			says: "Failed last sync attempt",
		},
		"the kind is served now": {in: plan.AutoInput{Plan: served, Last: &plan.Attempt{Same: true, Unserved: []object.Key{widget}}}, sync: true},
		"a fight":                {in: plan.AutoInput{Plan: drifted, Last: healed(0, 0), Fights: fight}, says: "each time by hpa"},
		"healing after a rest":   {in: plan.AutoInput{Plan: drifted, Last: healed(9, time.Hour)}, sync: true, heals: 1},
		"healing without a rest": {in: plan.AutoInput{Plan: drifted, Last: healed(9, 301*time.Second)}, sync: true, heals: 10},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			in := c.in
			in.Policy = plan.Automation{Enabled: true, SelfHeal: true}
			in.Backoff, in.Now = plan.DefaultBackoff, now
			if in.Window.Reason == "" {
				in.Window.Allowed = true
			}
			d := plan.AutoSync(in)
			if d.Sync != c.sync || d.After != c.after || d.Heals != c.heals {
				t.Errorf("got %+v", d)
			}
			if c.says == "" != (len(d.Findings) == 0) || c.says != "" && !strings.Contains(d.Findings[0].Message, c.says) {
				t.Errorf("got the findings %v", d.Findings)
			}
		})
	}
}

func TestFights(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	k := object.Key{Kind: "ConfigMap", Name: "settings"}
	rounds := func(n int, manager string, ago time.Duration) []plan.Episode {
		var out []plan.Episode
		for range n {
			out = append(out, plan.Episode{Key: k, Path: "data.a", Manager: manager, Revision: "c1", Seen: now.Add(-ago), Healed: now})
		}
		return out
	}
	for name, c := range map[string]struct {
		episodes []plan.Episode
		want     int
	}{
		"four rounds":             {rounds(4, "rival", 0), 0},
		"five rounds":             {rounds(5, "rival", 0), 1},
		"five rounds, two rivals": {append(rounds(3, "rival", 0), rounds(2, "other", 0)...), 0},
		"five rounds, long ago":   {rounds(5, "rival", 2*time.Hour), 0},
		"five rounds, not healed": {[]plan.Episode{{Key: k, Path: "data.a", Revision: "c1", Seen: now}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := plan.Fights(c.episodes, "c1", now); len(got) != c.want {
				t.Errorf("got %v", got)
			}
			if got := plan.Fights(c.episodes, "c2", now); len(got) != 0 {
				t.Errorf("at another revision got %v", got)
			}
		})
	}
}
