package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/policy"
)

// draft is a plan in the making.
type draft struct {
	in       Input
	live     map[object.Key]object.Fact
	answers  map[object.Key]Answer
	items    []Item
	findings []finding.Finding
	// kinds are those that CRDs among the manifests define.
	kinds map[schema.GroupKind]bool
}

// desired judges an object that Git has.
func (d *draft) desired(o object.Object) {
	it := Item{
		Key: o.Key, Version: o.Body.GroupVersionKind().Version,
		Phase: InSync, Wave: object.Wave(o.Body.GetAnnotations()), Desired: o, Pair: pair(d.in, o),
		Handling: d.in.App.Options.handling(o.Body.GetAnnotations()[v1alpha1.AnnotationSyncOptions]),
		Served:   d.served(o.Key),
	}
	it.Expected = !it.Served && d.brought(o.Key.GroupKind())
	it.Handling.Force = it.Handling.Force || d.in.App.Force
	if v := d.permitted(o.Key); !v.Allowed {
		it.Action, it.Sync, it.Reason = Deny, Unknown, v.Reason
		d.note(finding.Sync, finding.Error, o.Key, v.Reason)
		d.items = append(d.items, it)
		return
	}
	f, ok := d.live[o.Key]
	if why := d.in.Cluster.Hidden(o.Key); !ok && why != "" {
		it.Action, it.Sync, it.Reason = Skip, Unknown, why
		it.Unread = d.in.Cluster.Unread[o.Key.GroupKind()]
		d.note(finding.ExcludedResource, finding.Warning, o.Key, fmt.Sprintf("%s is left out: %s", o.Key, why))
		d.items = append(d.items, it)
		return
	}
	if !ok {
		it.Action, it.Sync = Create, OutOfSync
		d.items = append(d.items, it)
		return
	}
	it.Live = &f
	if f.Child != nil && f.Child.Manual() {
		d.note(finding.ManualChild, finding.Warning, o.Key, fmt.Sprintf(
			"%s is OutOfSync and is not synced by itself, so no wave waits for it; sync it by hand, or turn on its "+
				"syncPolicy.automated", o.Key))
	}
	if why := d.in.Cluster.Stale[o.Key.GroupKind()]; why != "" {
		it.Action, it.Sync, it.Reason = Skip, Unknown, why
		it.Unread = d.in.Cluster.Unread[o.Key.GroupKind()]
		d.note(finding.Comparison, finding.Error, o.Key, fmt.Sprintf("comparing %s: %s", o.Key, why))
		d.items = append(d.items, it)
		return
	}
	if f.App != "" && f.App != d.in.App.Instance {
		d.note(finding.SharedResource, finding.Warning, o.Key, fmt.Sprintf(
			"%s is part of application %q and of %q; remove it from one of the two sources", o.Key, d.in.App.Instance, f.App))
	}
	it.Verdict = d.verdict(it, f)
	it.Action, it.Sync, it.Reason = judge(it.Verdict)
	if it.Reason != "" {
		severity := finding.Warning
		if !it.Verdict.Rejected {
			severity = finding.Error
		}
		d.note(finding.Comparison, severity, o.Key, fmt.Sprintf("comparing %s: %s", o.Key, it.Reason))
	}
	d.items = append(d.items, it)
}

func (d *draft) verdict(it Item, f object.Fact) diff.Verdict {
	if v, ok := d.in.Verdicts[it.Key]; ok && stands(d.in, v, it.Desired, f) {
		v.Confirmed = v.Confirmed && !d.in.App.Webhooks
		return v
	}
	a, ok := d.answers[it.Key]
	if !ok {
		a.Problem = "the server was not asked"
	}
	it.Live = &f
	return Judge(it, a, d.in.Rules)
}

// The rules by which an object that Git does not have is not deleted, or not yet, for those who count.
const (
	RuleDeleting     = "being_deleted"
	RuleOption       = "option"
	RuleIncomplete   = "incomplete_render"
	RuleDiscovery    = "discovery"
	RuleProject      = "project"
	RuleNotAsked     = "not_asked_for"
	RuleConfirmation = "confirmation"
	RuleSecondLook   = "second_look"
)

// BeingDeleted is why an object that Git dropped is left alone.
const BeingDeleted = "is being deleted"

// extra judges a live object that Git does not have.
func (d *draft) extra(f object.Fact) {
	if _, ok := d.in.Desired.Get(f.Key); ok || f.App != d.in.App.Instance || f.Owned || f.Hook || f.Key == d.in.App.Self || d.skips(f.Key) {
		return
	}
	options := d.in.App.Options
	it := Item{
		Key: f.Key, Version: f.Version, Action: Prune, Sync: OutOfSync,
		Phase: InSync, Wave: f.Wave, Live: &f, Prunable: true, Served: true,
		Late: options.pruneLast(f.Options),
	}
	switch {
	case f.Deleting:
		it.Action, it.Reason = Skip, BeingDeleted
		it.Rule = RuleDeleting
	case options.pruning(f.Options) == v1alpha1.SyncOptionValueFalse:
		it.Action, it.Reason, it.Rule = Skip, "ignored (no prune)", RuleOption
	case len(d.in.LeftOut) > 0:
		it.Action, it.Reason, it.Rule = Skip, "held: a part of the source could not be rendered, and may have it", RuleIncomplete
	case d.gap(f.Key.Group) != "":
		it.Action, it.Reason = Skip, fmt.Sprintf(
			"held: the cluster does not answer for API group %q, so what Git has of it cannot be told", d.gap(f.Key.Group))
		it.Rule = RuleDiscovery
	default:
		if v := d.permitted(f.Key); !v.Allowed {
			it.Action, it.Reason, it.Rule = Skip, v.Reason, RuleProject
		}
	}
	it.Confirm = options.pruning(f.Options) == v1alpha1.SyncOptionValueConfirm
	d.items = append(d.items, it)
}

// skips says that Git has the object and asks for it to be left alone: it was
// not dropped.
func (d *draft) skips(k object.Key) bool {
	return slices.ContainsFunc(d.in.Hooks, func(u *unstructured.Unstructured) bool {
		types, _, _ := hookTypes(u)
		return slices.Contains(types, skipped) && object.KeyOf(u) == k
	})
}

// served says that the cluster serves the kind of an object.
func (d *draft) served(k object.Key) bool { return d.in.Cluster.Scopes[k.GroupKind()] != ScopeUnknown }

// brought says that a CRD among the manifests, or in the cluster, brings a kind
// that is not served yet.
func (d *draft) brought(gk schema.GroupKind) bool {
	if d.kinds == nil {
		d.kinds = map[schema.GroupKind]bool{}
		for o := range d.in.Desired.All() {
			if o.Key.GroupKind() == crdKind {
				d.kinds[definedBy(o.Body)] = true
			}
		}
	}
	return d.kinds[gk]
}

// definedBy is the kind that a CRD defines.
func definedBy(crd *unstructured.Unstructured) schema.GroupKind {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}
}

// gap names an API group that the cluster could not tell about and that the
// decision to prune an object of this group depends on.
func (d *draft) gap(group string) string {
	for _, g := range d.in.Cluster.Gaps {
		if g == group {
			return g
		}
		for o := range d.in.Desired.All() {
			if o.Key.Group == g {
				return g
			}
		}
	}
	return ""
}

func (d *draft) repeated() {
	for _, k := range d.in.Repeated {
		d.note(finding.RepeatedResource, finding.Warning, k, fmt.Sprintf(
			"%s appeared more than once among the manifests; the last one counts, remove the others", k))
	}
}

func (d *draft) leftOut() {
	for _, what := range d.in.LeftOut {
		d.note(finding.NotHonoured, finding.Warning, object.Key{}, "left out of the source, and nothing is pruned for it: "+what)
	}
}

// namespace adds the destination namespace where the application asks for it
// and nobody has it. It carries no mark: others may live there too.
func (d *draft) namespace() {
	name := d.in.App.CreateNamespace
	k := object.Key{Kind: "Namespace", Name: name}
	_, live := d.live[k]
	_, desired := d.in.Desired.Get(k)
	if name == "" || live || desired || d.in.Desired.Len() == 0 && len(d.items) == 0 {
		return
	}
	if why := d.in.Cluster.Hidden(k); why != "" {
		d.note(finding.ExcludedResource, finding.Warning, k, fmt.Sprintf("%s is not made: %s", k, why))
		return
	}
	body := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
	}}
	it := Item{
		Key: k, Version: "v1", Action: Create, Phase: InSync,
		Desired: object.NewObject(body), Aside: true, Served: true,
	}
	if v := d.permitted(k); !v.Allowed {
		it.Action, it.Reason = Deny, v.Reason
		d.note(finding.Sync, finding.Error, k, fmt.Sprintf(
			"%s=true asks for a namespace that may not be made: %s", v1alpha1.SyncOptionCreateNamespace, v.Reason))
	}
	d.items = append(d.items, it)
}

func (d *draft) permitted(k object.Key) policy.Verdict { return d.in.permits(k) }

// permits says whether the project allows to touch an object.
func (in Input) permits(k object.Key) policy.Verdict {
	at := policy.Place{Server: in.Server, Name: in.ClusterName, Project: in.ClusterProject}
	return policy.Write(in.Project, at, k, in.Cluster.Scopes[k.GroupKind()] != ScopeCluster && k.Namespace != "")
}

func (d *draft) note(r finding.Reason, s finding.Severity, k object.Key, msg string) {
	d.findings = append(d.findings, finding.Finding{Reason: r, Severity: s, Key: k, Message: msg})
}
