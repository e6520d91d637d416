package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
}

// desired judges an object that Git has.
func (d *draft) desired(o object.Object) {
	it := Item{
		Key: o.Key, Version: o.Body.GroupVersionKind().Version,
		Phase: InSync, Wave: waveOf(o.Body), Desired: o, Pair: pair(d.in, o),
	}
	if hooked(o.Body) {
		d.hook(it)
		return
	}
	if v := d.permitted(o.Key); !v.Allowed {
		it.Action, it.Sync, it.Reason = Deny, Unknown, v.Reason
		d.note(finding.Sync, finding.Error, o.Key, v.Reason)
		d.items = append(d.items, it)
		return
	}
	f, ok := d.live[o.Key]
	if why := d.in.Cluster.Blind[o.Key.GroupKind()]; !ok && why != "" {
		it.Action, it.Sync, it.Reason = Skip, Unknown, why
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
	if why := d.in.Cluster.Stale[o.Key.GroupKind()]; why != "" {
		it.Action, it.Sync, it.Reason = Skip, Unknown, why
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

// hook leaves hooks out: they are not part of the desired state, and applying
// one as if it were would run it at the wrong time.
func (d *draft) hook(it Item) {
	if it.Desired.Body.GetAnnotations()[v1alpha1.AnnotationHook] == "Skip" {
		return
	}
	it.Action = Skip
	it.Reason = "hooks are not run by this version"
	d.note(finding.NotHonoured, finding.Warning, it.Key, fmt.Sprintf(
		"%s is a hook, and this version does not run hooks; it was left out of the sync", it.Key))
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

// BeingDeleted is why an object that Git dropped is left alone.
const BeingDeleted = "is being deleted"

// extra judges a live object that Git does not have.
func (d *draft) extra(f object.Fact) {
	if _, ok := d.in.Desired.Get(f.Key); ok || f.App != d.in.App.Instance || f.Owned || f.Key == d.in.App.Self {
		return
	}
	it := Item{
		Key: f.Key, Version: f.Version, Action: Prune, Sync: OutOfSync,
		Phase: InSync, Wave: lastWave(d.in.Desired), Live: &f, Prunable: true,
	}
	switch {
	case f.Deleting:
		it.Action, it.Reason = Skip, BeingDeleted
	case object.Option(f.Options, v1alpha1.SyncOptionPrune) == v1alpha1.SyncOptionValueFalse:
		it.Action, it.Reason = Skip, "ignored (no prune)"
	case object.Option(f.Options, v1alpha1.SyncOptionPrune) == v1alpha1.SyncOptionValueConfirm:
		it.Action, it.Reason = Skip, "held: Prune=confirm is not honoured by this version; delete the object by hand"
		d.note(finding.NotHonoured, finding.Warning, f.Key, fmt.Sprintf("%s is %s", f.Key, it.Reason))
	case len(d.in.LeftOut) > 0:
		it.Action, it.Reason = Skip, "held: a part of the source could not be rendered, and may have it"
	case d.gap(f.Key.Group) != "":
		it.Action, it.Reason = Skip, fmt.Sprintf(
			"held: the cluster does not answer for API group %q, so what Git has of it cannot be told", d.gap(f.Key.Group))
	default:
		if v := d.permitted(f.Key); !v.Allowed {
			it.Action, it.Reason = Skip, v.Reason
		}
	}
	d.items = append(d.items, it)
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
	if name == "" || live || desired || d.in.Desired.Len() == 0 {
		return
	}
	body := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
	}}
	d.items = append(d.items, Item{
		Key: k, Version: "v1", Action: Create, Phase: PreSync,
		Desired: object.NewObject(body), Aside: true,
	})
}

func (d *draft) permitted(k object.Key) policy.Verdict {
	namespaced := d.in.Cluster.Scopes[k.GroupKind()] != ScopeCluster && k.Namespace != ""
	return policy.Object(d.in.Project, k.Group, k.Kind, k.Name, namespaced)
}

func (d *draft) note(r finding.Reason, s finding.Severity, k object.Key, msg string) {
	d.findings = append(d.findings, finding.Finding{Reason: r, Severity: s, Key: k, Message: msg})
}

// helmHooks are the Helm hooks that mean something outside `helm install`.
var helmHooks = []string{
	"pre-install", "pre-upgrade", "post-install", "post-upgrade", "pre-delete", "post-delete",
	"test", "test-success", "pre-rollback", "post-rollback",
}

func hooked(u *unstructured.Unstructured) bool {
	a := u.GetAnnotations()
	if a[v1alpha1.AnnotationHook] != "" {
		return true
	}
	for h := range strings.SplitSeq(a[v1alpha1.AnnotationHelmHook], ",") {
		if slices.Contains(helmHooks, strings.TrimSpace(h)) {
			return true
		}
	}
	return false
}
