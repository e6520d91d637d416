package client

import (
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

// The shapes of the answers, as far as they are read.
type (
	key struct {
		Group, Kind, Namespace, Name string
	}
	planAnswer struct {
		Revision string
		Waves    []struct {
			Phase   plan.Phase
			Wave    int
			Objects []planObject
		}
		Findings []struct {
			Reason   finding.Reason
			Severity finding.Severity
			Message  string
			Object   *key
		}
	}
	planObject struct {
		key
		Version string
		Action  plan.Action
		Sync    plan.Sync
		Reason  string
		Hook    bool
		Aside   bool
		// Extra says that the object does not count.
		Extra   bool
		Changes []struct {
			Path          string
			Live, Desired any
			HeldBy        []struct{ Manager, Operation, Subresource, WroteLast string }
		}
	}
)

// Plan says what a sync would do, as far as people are told: without the manifests. The values of Secrets are masked.
func (a Apps) Plan(ctx context.Context, app *v1alpha1.Application, revision string) (plan.Plan, string, error) {
	query := url.Values{"all": {"true"}}
	if revision != "" {
		query.Set("revision", revision)
	}
	said, err := get[planAnswer](ctx, a.Client, request{
		path: under("applications", app.Name, "plan"), query: a.query(query), about: about, name: app.Name,
	})
	if err != nil {
		return plan.Plan{}, "", err
	}
	var out plan.Plan
	for _, w := range said.Waves {
		for _, o := range w.Objects {
			it := o.item()
			it.Phase, it.Wave = w.Phase, w.Wave
			out.Items = append(out.Items, it)
		}
	}
	for _, f := range said.Findings {
		found := finding.Finding{Reason: f.Reason, Severity: f.Severity, Message: f.Message}
		if f.Object != nil {
			found.Key = object.Key(*f.Object)
		}
		out.Findings = append(out.Findings, found)
	}
	return out, said.Revision, nil
}

func (o planObject) item() plan.Item {
	out := plan.Item{
		Key: object.Key(o.key), Version: o.Version, Action: o.Action, Sync: o.Sync, Reason: o.Reason, Hook: o.Hook, Aside: o.Aside,
		Prunable: o.Action == plan.Prune || o.Extra,
	}
	if o.Extra {
		out.Live = &object.Fact{Extra: true}
	}
	for _, c := range o.Changes {
		change := diff.Change{Path: c.Path, Live: c.Live, Desired: c.Desired}
		for _, h := range c.HeldBy {
			change.Holders = append(change.Holders, diff.Holder{
				Manager: h.Manager, Operation: h.Operation, Subresource: h.Subresource, Time: h.WroteLast,
			})
		}
		out.Verdict.Changes = append(out.Verdict.Changes, change)
	}
	return out
}

// Drift are the fields that drifted and were set right, the oldest first.
func (a Apps) Drift(ctx context.Context, app string) ([]plan.Episode, error) {
	said, err := get[struct {
		Items []struct {
			key
			Field, Manager, Revision string
			Seen, Healed             time.Time
		}
	}](ctx, a.Client, request{path: under("applications", app, "drift"), query: a.query(nil), about: about, name: app})
	if err != nil {
		return nil, err
	}
	var out []plan.Episode
	for _, e := range slices.Backward(said.Items) {
		out = append(out, plan.Episode{
			Key: object.Key(e.key), Path: e.Field, Manager: e.Manager, Revision: e.Revision, Seen: e.Seen, Healed: e.Healed,
		})
	}
	return out, nil
}
