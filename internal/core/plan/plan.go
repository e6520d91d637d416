// Package plan decides what a sync does: which objects to ask the server
// about, what differs, what to apply, prune or leave alone, in which order,
// and what the next step is. It must not read or write anything: all it knows
// comes in as values, and the same values give the same plan.
package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/policy"
)

// Action is what a sync would do with one object. The words are the same in
// plans, logs, events, the API and the CLI.
type Action string

// The actions.
const (
	Create    Action = "create"
	Update    Action = "update"
	Unchanged Action = "unchanged"
	Prune     Action = "prune"
	Skip      Action = "skip"
	Deny      Action = "deny"
	// RunHook makes the object of a hook.
	RunHook Action = "run"
)

// Sync is the verdict on one object, in Argo CD's words.
type Sync string

// The verdicts. An object that takes no part has none.
const (
	Synced    Sync = "Synced"
	OutOfSync Sync = "OutOfSync"
	Unknown   Sync = "Unknown"
)

// Phase is the part of a sync that an object belongs to.
type Phase string

// The phases, in the order in which they run.
const (
	PreSync  Phase = "PreSync"
	InSync   Phase = "Sync"
	PostSync Phase = "PostSync"
	SyncFail Phase = "SyncFail"

	// These two belong to the deletion of an application, and the last is the
	// mark of an object that is left alone.
	PreDelete  Phase = "PreDelete"
	PostDelete Phase = "PostDelete"
	skipped    Phase = "Skip"
)

// App is what a plan needs to know of its application.
type App struct {
	// Instance is the name in the tracking marks of the application's objects.
	Instance string
	// Self is the application's own object: it may manage itself, and is never
	// pruned by itself.
	Self object.Key
	// CreateNamespace is the destination namespace if the application asks for
	// it to be made.
	CreateNamespace string
	// Options are the application's sync options, or the operation's.
	Options Options
	// Force makes anew whatever cannot be changed.
	Force bool
	// Webhooks says that what webhooks would make of a manifest counts as well,
	// and not only what we own (compare-options: IncludeMutationWebhook=true).
	Webhooks bool
}

// Scope says where objects of a kind live.
type Scope int

// The scopes. The zero value is the honest one.
const (
	ScopeUnknown Scope = iota
	ScopeNamespaced
	ScopeCluster
)

// Input is all that a plan is made of.
type Input struct {
	App     App
	Project policy.Project
	// Desired is a complete render: an error on the way to it must not come
	// here as a smaller set.
	Desired object.Set
	// Repeated are the keys that the render produced more than once.
	Repeated []object.Key
	// Hooks are the manifests that run at a point of a sync.
	Hooks []*unstructured.Unstructured
	// Mark is how objects are marked.
	Mark Mark
	// Run is the attempt that the plan is made for, if it is made for one.
	Run Run
	// Removing says that the application is being deleted.
	Removing bool
	// LeftOut says which parts of the source this version could not render.
	// While there are any nothing is pruned: what is missing may be in them.
	LeftOut []string
	// Live are the facts of the objects that carry the application's mark and
	// of those that stand under a desired key.
	Live []object.Fact
	// Rules say which differences do not count.
	Rules diff.Rules
	// Verdicts are earlier answers. Only one that fits the pair at hand is used.
	Verdicts map[object.Key]diff.Verdict
	// Cluster is what the destination serves, Server and ClusterName are what
	// the destination is called. ClusterProject is the only project that it is
	// for; "" is for all.
	Cluster             View
	Server, ClusterName string
	ClusterProject      string
}

// View is what a cluster serves, as far as it told.
type View struct {
	// Version moves with every change of the view, and Content names what it says
	// (see Digest); zero is that nobody did.
	Version uint64
	Content object.Digest
	// Scopes tells where objects of a kind live. A kind that the cluster does
	// not serve is missing.
	Scopes map[schema.GroupKind]Scope
	// Blind are the kinds whose objects are not watched, each with the reason.
	Blind map[schema.GroupKind]string
	// Stale are those of the blind kinds that the server no longer lets anybody
	// read: what is known of their objects is of another time. A server that
	// does not answer at all says nothing of a kind.
	Stale map[schema.GroupKind]string
	// Unread are those of the blind kinds of which the server is still to tell:
	// it is slow or silent, and has refused nothing.
	Unread map[schema.GroupKind]bool
	// Excluded are those of the blind kinds that are left out on purpose: what
	// is of these kinds was never applied.
	Excluded map[schema.GroupKind]bool
	// Schemas names the schema of each kind that a CRD defines: with another
	// schema the server may answer differently.
	Schemas map[schema.GroupKind]string
	// Kube is what a render may know of the cluster. It is shared.
	Kube *manifest.Kube
	// Namespaces are the only ones whose objects are looked at; nil is all.
	Namespaces []string
	// Identity is who the cluster is, and the version of its server: a confirmed
	// pair is the word of both. Empty is nobody knows.
	Identity string
	// Gaps are the API groups that discovery could not read. While one of them
	// is among the groups of the application's objects nothing is pruned: an
	// object may only look as if Git had dropped it.
	Gaps []string
}

// Hidden is why an object could not be seen if it were there; empty while it
// could.
func (v View) Hidden(k object.Key) string {
	if why := v.Blind[k.GroupKind()]; why != "" {
		return why
	}
	return v.outside(k)
}

// outside is why an object's namespace is not looked at; empty while it is.
func (v View) outside(k object.Key) string {
	if v.Namespaces == nil || v.Scopes[k.GroupKind()] != ScopeNamespaced || slices.Contains(v.Namespaces, k.Namespace) {
		return ""
	}
	return fmt.Sprintf("namespace %q is not among those of the cluster that are managed; add it to namespaces in the cluster's secret",
		k.Namespace)
}

// Question is a pair of manifest and live object that only the server can
// judge.
type Question struct {
	Object object.Object
	Live   object.Fact
	// Rules are those that are about this object.
	Rules diff.Rules
	// Replace says that the object is replaced by its manifest as a whole.
	Replace bool
	// Webhooks says that what webhooks would make of it counts.
	Webhooks bool
}

// Answer is what the server said: the object as it stands and as it would be.
type Answer struct {
	Live      *unstructured.Unstructured
	Predicted *unstructured.Unstructured
	// Earlier is the manifest that was applied before this one, where somebody
	// else holds fields too; nil where it has nothing to say.
	Earlier *unstructured.Unstructured
	// Cleared are the ways to the fields that stand in the way of the manifest:
	// the prediction is a merge without them, and a sync takes them over first.
	Cleared [][]string
	// Replaced says that the prediction is of a replacement. Refusal is what the
	// server said to one that it did not take: the prediction is then that of an
	// apply, and what differs cannot be made true.
	Replaced bool
	Refusal  string
	// Webhooks says that all of the prediction counts, not only what we own.
	Webhooks bool
	// Problem says why there is no prediction.
	Problem string
	// Rejected says that the server will not take the manifest as it stands.
	Rejected bool
}

// Item is one object of a plan.
type Item struct {
	Key     object.Key
	Version string
	Action  Action
	Sync    Sync
	Phase   Phase
	Wave    int
	// Desired has no body for an object that Git does not have.
	Desired object.Object
	// Live is nil for an object that is not there.
	Live    *object.Fact
	Verdict diff.Verdict
	// Pair names the manifest together with the rules that it is judged by.
	Pair object.Digest
	// Reason says why an object is skipped, denied or not known.
	Reason string
	// Rule names the reason why an object that Git does not have stays.
	Rule string
	// Prunable says that the object is only there because of an earlier
	// revision.
	Prunable bool
	// Aside says that the object is made on the way and is not part of the
	// application: it has no place in its status.
	Aside bool
	// Members are the applications that an ApplicationSet generated.
	Members []object.Fact
	// Handling is how the object is written.
	Handling Handling
	// Served says that the cluster serves the object's kind, and Expected that
	// this sync brings the kind.
	Served, Expected bool
	// Late says that the object is pruned after everything else.
	Late bool
	// Unread says that the cluster is still to tell of objects of this kind: it
	// is waited for, and not passed over.
	Unread bool
	// Misfit says how the manifest does not fit the shape of its kind.
	Misfit string
	// Confirm says that a person has to approve the object's deletion.
	Confirm bool
	// Hook says that the object runs at its phase. Run names the run that makes
	// it, and Policy says when it goes.
	Hook   bool
	Run    string
	Policy Policy
}

// Plan is what a sync would do, in the order in which it would.
type Plan struct {
	Items    []Item
	Findings []finding.Finding
	// Exclusive says that the application does not put up with sharing objects.
	Exclusive bool
	// Before and After say that hooks run before and after the application's
	// deletion.
	Before, After bool
}

// Ask lists what must be asked of the server before a plan can be computed:
// the pairs of a desired and a live object that no earlier verdict fits. An
// object that is not there needs no question, nor does one that did not change.
func Ask(in Input) []Question {
	if in.Removing {
		return nil
	}
	live := factsByKey(in.Live)
	var out []Question
	for o := range in.Desired.All() {
		f, ok := live[o.Key]
		if !ok || in.Cluster.Stale[o.Key.GroupKind()] != "" {
			continue
		}
		if v, ok := in.Verdicts[o.Key]; ok && stands(in, v, o, f) {
			continue
		}
		// What the project forbids is not asked about either.
		if !in.permits(o.Key).Allowed {
			continue
		}
		out = append(out, Question{
			Object: o, Live: f, Rules: in.Rules.For(o.Key), Replace: Replaces(in.App.Options, o.Body),
			Webhooks: in.App.Webhooks,
		})
	}
	return out
}

// stands reports whether an earlier verdict holds still. Where more counts than
// what we own, it holds for the version that it was given for.
func stands(in Input, v diff.Verdict, o object.Object, f object.Fact) bool {
	v.Confirmed = v.Confirmed && !in.App.Webhooks
	return v.For(pair(in, o), f)
}

// pair names a manifest together with the rules and the schema that it is
// judged by: with others it is another question.
func pair(in Input, o object.Object) object.Digest {
	d := o.Digest
	if rules := in.Rules.For(o.Key); !rules.Empty() {
		d = object.Combine(d, rules.Digest())
	}
	if schema := in.Cluster.Schemas[o.Key.GroupKind()]; schema != "" {
		d = object.Combine(d, object.DigestOfText(schema))
	}
	if Replaces(in.App.Options, o.Body) {
		d = object.Combine(d, object.DigestOfText(v1alpha1.SyncOptionReplace))
	}
	if in.App.Webhooks {
		d = object.Combine(d, object.DigestOfText(v1alpha1.CompareOptionIncludeMutationWebhook))
	}
	return d
}

// Incomplete reports whether the input has kinds that the cluster does not
// serve, or whose objects cannot be seen: another view may give another plan.
func Incomplete(in Input) bool {
	if len(in.Cluster.Gaps) > 0 {
		return true
	}
	for o := range in.Desired.All() {
		gk := o.Key.GroupKind()
		if in.Cluster.Scopes[gk] == ScopeUnknown || in.Cluster.Hidden(o.Key) != "" {
			return true
		}
	}
	return false
}

// Compute makes the plan. Every question of Ask needs its answer; one that is
// missing makes the object Unknown.
func Compute(in Input, answers map[object.Key]Answer) Plan {
	d := draft{in: in, live: factsByKey(in.Live), answers: answers}
	if in.Removing {
		// Only its hooks are left of what Git asks for.
		d.hooks()
		slices.SortFunc(d.items, order)
		return Plan{Items: d.items, Findings: finding.Sort(d.findings)}
	}
	for o := range in.Desired.All() {
		d.desired(o)
	}
	for _, f := range in.Live {
		d.extra(f)
	}
	d.hooks()
	d.repeated()
	d.leftOut()
	d.namespace()
	mirror(d.items)
	bubble(d.items)
	slices.SortFunc(d.items, order)
	return Plan{
		Items: d.items, Findings: finding.Sort(d.findings),
		Before: d.waits(PreDelete), After: d.waits(PostDelete),
		Exclusive: in.App.Options.has(v1alpha1.SyncOptionFailOnSharedResource),
	}
}

// Status is the verdict on the whole application: a known difference weighs
// more than an unknown one, and an unknown one more than any number of equals.
func (p Plan) Status() Sync {
	status := Synced
	for _, it := range p.Items {
		if it.Live != nil && it.Prunable && it.Live.Extra {
			continue
		}
		switch it.Sync {
		case OutOfSync:
			return OutOfSync
		case Unknown:
			status = Unknown
		case Synced:
		}
	}
	return status
}

// Hooks are the hooks of the plan.
func (p Plan) Hooks() []Item {
	var out []Item
	for _, it := range p.Items {
		if it.Hook {
			out = append(out, it)
		}
	}
	return out
}

// Item finds an object of the plan.
func (p Plan) Item(k object.Key) (Item, bool) {
	i := slices.IndexFunc(p.Items, func(it Item) bool { return it.Key == k })
	if i < 0 {
		return Item{}, false
	}
	return p.Items[i], true
}

func factsByKey(facts []object.Fact) map[object.Key]object.Fact {
	out := make(map[object.Key]object.Fact, len(facts))
	for _, f := range facts {
		out[f.Key] = f
	}
	return out
}
