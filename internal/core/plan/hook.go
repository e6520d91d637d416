package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/health"
	"github.com/towline-cd/towline/internal/core/object"
)

// Run is one attempt of an operation. The zero value is a look that runs
// nothing.
type Run struct {
	Started  time.Time
	Attempt  int
	Revision string
}

// id names the run of a hook in one phase. It is written on the hook's object,
// so that whoever comes after a crash knows that this hook was started, and by
// whom: a hook runs at most once.
func (r Run) id(p Phase) string {
	return fmt.Sprintf("%d.%d.%s", r.Started.Unix(), r.Attempt, p)
}

// Policy says when a hook's object is deleted.
type Policy struct {
	Before    bool
	Succeeded bool
	Failed    bool
}

// hookTypes are the points of a sync, or of an application's deletion, at which
// an object asks to run. is says that the object is a hook at all: one with
// types that nobody knows is no part of the desired state either.
func hookTypes(u *unstructured.Unstructured) (types []Phase, unknown []string, is bool) {
	a := u.GetAnnotations()
	if own := a[v1alpha1.AnnotationHook]; own != "" {
		for t := range strings.SplitSeq(own, ",") {
			p := Phase(strings.TrimSpace(t))
			switch {
			case p == "" || slices.Contains(types, p):
			case slices.Contains(phases, p) || p == skipped:
				types = append(types, p)
			default:
				unknown = append(unknown, string(p))
			}
		}
		return types, unknown, true
	}
	if !object.IsHelmHook(a) {
		return nil, nil, false
	}
	for t := range strings.SplitSeq(a[v1alpha1.AnnotationHelmHook], ",") {
		if p, ok := helmHooks[strings.TrimSpace(t)]; ok && !slices.Contains(types, p) {
			types = append(types, p)
		}
	}
	// What is left of Helm's hooks (test, rollback) means nothing to a sync, and
	// Argo CD leaves such objects out as well.
	return types, nil, true
}

// helmHooks says which of Helm's hooks run when.
var helmHooks = map[string]Phase{
	"pre-install": PreSync, "pre-upgrade": PreSync,
	"post-install": PostSync, "post-upgrade": PostSync,
	"pre-delete": PreDelete, "post-delete": PostDelete,
}

// policyOf reads when a hook's object is deleted; without a word about it,
// before it is made again.
func policyOf(u *unstructured.Unstructured) Policy {
	a := u.GetAnnotations()
	var p Policy
	for _, name := range []string{v1alpha1.AnnotationHookDeletePolicy, v1alpha1.AnnotationHelmHookDeletePolicy} {
		for word := range strings.SplitSeq(a[name], ",") {
			switch strings.TrimSpace(word) {
			case string(v1alpha1.HookDeletePolicyBeforeHookCreation), "before-hook-creation":
				p.Before = true
			case string(v1alpha1.HookDeletePolicyHookSucceeded), "hook-succeeded":
				p.Succeeded = true
			case string(v1alpha1.HookDeletePolicyHookFailed), "hook-failed":
				p.Failed = true
			}
		}
	}
	if p == (Policy{}) {
		p.Before = true
	}
	return p
}

// hooks makes an item of each hook for each point at which it runs.
func (d *draft) hooks() {
	for _, u := range d.in.Hooks {
		types, unknown, _ := hookTypes(u)
		for _, word := range unknown {
			d.note(finding.Sync, finding.Warning, object.KeyOf(u), fmt.Sprintf(
				"%s has the hook %q, which nobody knows, so it does not run then; the hooks are PreSync, Sync, PostSync, SyncFail, "+
					"PreDelete, PostDelete and Skip", object.KeyOf(u), word))
		}
		for _, p := range types {
			if p == skipped {
				continue
			}
			if d.in.Removing != (p == PreDelete || p == PostDelete) {
				d.foresee(u, p)
				continue
			}
			d.items = append(d.items, d.hook(u, p))
		}
	}
}

// foresee tells of a hook that the project will not let run when its time comes.
func (d *draft) foresee(u *unstructured.Unstructured, p Phase) {
	if v := d.permitted(object.KeyOf(u)); !v.Allowed && !d.in.Removing {
		d.note(finding.Sync, finding.Warning, object.KeyOf(u), fmt.Sprintf("the %s hook will not run: %s", p, v.Reason))
	}
}

// waits says that a hook waits for a point of the application's deletion.
func (d *draft) waits(p Phase) bool {
	return slices.ContainsFunc(d.in.Hooks, func(u *unstructured.Unstructured) bool {
		types, _, _ := hookTypes(u)
		return slices.Contains(types, p)
	})
}

func (d *draft) hook(u *unstructured.Unstructured, p Phase) Item {
	body := d.hookBody(u, p)
	o := object.NewObject(body)
	it := Item{
		Key: o.Key, Version: body.GroupVersionKind().Version, Action: RunHook,
		Phase: p, Wave: object.Wave(body.GetAnnotations()), Desired: o,
		Hook: true, Policy: policyOf(u), Run: d.in.Run.id(p), Served: d.served(o.Key),
	}
	it.Expected = !it.Served && d.brought(o.Key.GroupKind())
	if f, ok := d.live[o.Key]; ok {
		it.Live = &f
	}
	if v := d.permitted(o.Key); !v.Allowed {
		it.Action, it.Reason = Deny, v.Reason
		d.note(finding.Sync, finding.Warning, o.Key, fmt.Sprintf("the %s hook may not run: %s", p, v.Reason))
	}
	if why := d.in.Cluster.outside(o.Key); why != "" {
		// Nobody would see how it ends.
		it.Action, it.Reason = Deny, why
	}
	return it
}

// hookBody is the hook as it is made: named, if it leaves its name open, with
// the run that makes it and the finalizer that keeps it until its result is
// noted.
func (d *draft) hookBody(u *unstructured.Unstructured, p Phase) *unstructured.Unstructured {
	body := u.DeepCopy()
	run := d.in.Run
	if body.GetName() == "" {
		name := body.GetGenerateName()
		if !run.Started.IsZero() {
			name += strings.ToLower(fmt.Sprintf("%.7s-%s-%d", run.Revision, p, run.Started.Unix()+int64(run.Attempt)))
		}
		body.SetName(name)
		body.SetGenerateName("")
		// The mark has the object's name in it.
		body = d.in.Mark.stamp(body)
	}
	if run.Started.IsZero() {
		return body
	}
	annotations := body.GetAnnotations()
	annotations[v1alpha1.AnnotationRun] = run.id(p)
	body.SetAnnotations(annotations)
	if !slices.Contains(body.GetFinalizers(), v1alpha1.FinalizerHook) {
		body.SetFinalizers(append(body.GetFinalizers(), v1alpha1.FinalizerHook))
	}
	return body
}

// ended is the result of a hook that this run made, as far as it shows.
func ended(it Item) (Outcome, bool) {
	h := it.Live.Health
	switch h.Status {
	case health.Healthy, "":
		return Outcome{Code: CodeSynced, Result: Succeeded, Message: h.Message}, true
	case health.Degraded, health.Unknown:
		return Outcome{Code: CodeSynced, Result: Failed, Message: h.Message}, true
	case health.Suspended, health.Progressing, health.Missing:
	}
	return Outcome{}, false
}
