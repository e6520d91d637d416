package plan

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/policy"
)

// Removing is all that the deletion of an application's objects depends on.
type Removing struct {
	// Managed are the facts of the objects that carry its mark.
	Managed []object.Fact
	Self    object.Key
	Project policy.Project
	// Place is the destination.
	Place   policy.Place
	Options Options
	// Approved says that a person approved the deletion after it was asked for.
	Approved bool
	// Scopes tells where objects of a kind live.
	Scopes map[schema.GroupKind]Scope
}

// Removal is what the deletion of an application does with its objects.
type Removal struct {
	// Delete are to be deleted now, in this order.
	Delete []object.Fact
	// Going are on their way out already.
	Going []object.Fact
	// Kept stay, because they ask for it or because they must. Forbidden are
	// those of them that the project does not let anybody touch.
	Kept, Forbidden []object.Fact
	// Later are to be deleted when what goes now is gone.
	Later []object.Fact
	// Unconfirmed wait for a person.
	Unconfirmed []object.Fact
}

// Over says that nothing is left to delete.
func (r Removal) Over() bool {
	return len(r.Delete)+len(r.Going)+len(r.Later)+len(r.Unconfirmed) == 0
}

// Remove decides what goes with an application: everything that carries its
// mark, except what asks to stay, CRDs (their deletion would take every object
// of their kind along), what the project forbids, and the application itself. The last wave goes first, and the next one when it is
// gone; within a wave what was applied last goes first.
func Remove(in Removing) Removal {
	var out Removal
	for _, f := range in.Managed {
		keep := in.Options.deleting(f.Options)
		ask := keep == v1alpha1.SyncOptionValueConfirm || in.Options.pruning(f.Options) == v1alpha1.SyncOptionValueConfirm
		switch {
		case f.Owned, f.Key == in.Self, f.Key.GroupKind() == crdKind, f.Keep, keep == v1alpha1.SyncOptionValueFalse:
			out.Kept = append(out.Kept, f)
		case !in.permitted(f.Key):
			out.Kept, out.Forbidden = append(out.Kept, f), append(out.Forbidden, f)
		case f.Deleting:
			out.Going = append(out.Going, f)
		case ask && !in.Approved:
			out.Unconfirmed = append(out.Unconfirmed, f)
		default:
			out.Delete = append(out.Delete, f)
		}
	}
	out.order()
	return out
}

func (in Removing) permitted(k object.Key) bool {
	namespaced := in.Scopes[k.GroupKind()] != ScopeCluster && k.Namespace != ""
	return policy.Write(in.Project, in.Place, k, namespaced).Allowed
}

// order leaves only the last wave to be deleted now.
func (r *Removal) order() {
	all := slices.Concat(r.Delete, r.Going, r.Unconfirmed)
	if len(all) == 0 {
		return
	}
	last := slices.MaxFunc(all, func(a, b object.Fact) int { return cmp.Compare(a.Wave, b.Wave) }).Wave
	var now []object.Fact
	for _, f := range r.Delete {
		if f.Wave == last {
			now = append(now, f)
			continue
		}
		r.Later = append(r.Later, f)
	}
	r.Delete = now
	slices.SortFunc(r.Delete, func(a, b object.Fact) int {
		return cmp.Or(cmp.Compare(rank(b.Key.Kind), rank(a.Key.Kind)), object.Compare(a.Key, b.Key))
	})
}

// RemovalHooks decides the next step of the hooks of one point of an
// application's deletion. How far they are is told by their objects: each
// carries the run that made it.
func RemovalHooks(p Plan, phase Phase) Step {
	var items []Item
	for _, it := range p.Items {
		if it.Hook && it.Phase == phase {
			items = append(items, it)
		}
	}
	for len(items) > 0 {
		n := waveEnd(items)
		g := group{items: items[:n], all: items, progress: Progress{Done: map[Task]Outcome{}}}
		if reason := g.asFound(); reason != "" {
			return Step{Do: DoFail, Message: reason}
		}
		for _, look := range []func() (Step, bool){g.before, g.apply, g.running, g.failed} {
			if s, ok := look(); ok {
				return s
			}
		}
		items = items[n:]
	}
	return Step{Do: DoDone}
}

// asFound notes how far the group's hooks are by their objects, or says why
// one may not run.
func (g group) asFound() (denied string) {
	for _, it := range g.items {
		if it.Action == Deny {
			return it.Reason
		}
		if !it.ours() {
			continue
		}
		g.progress.Done[it.Task()] = Outcome{Code: CodeSynced, Result: Running}
		if o, over := ended(it); over {
			g.progress.Done[it.Task()] = o
		}
	}
	return ""
}

// RemovalCleanup are the hooks of one point of an application's deletion that
// are still held, or that do not stay once they succeeded.
func RemovalCleanup(p Plan, phase Phase) (release, gone []Item) {
	for _, it := range p.Items {
		switch {
		case !it.Hook || it.Phase != phase || !it.ours():
		case it.Policy.Succeeded && !it.Live.Deleting:
			gone = append(gone, it)
		case it.Live.Held:
			release = append(release, it)
		}
	}
	return release, gone
}

// Unseen says which of an application's objects cannot be looked for, each
// with the reason. While there are any, that none is found proves nothing.
func Unseen(had []v1alpha1.ResourceStatus, view View) []string {
	var out []string
	for _, r := range had {
		k := object.Key{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
		why := view.Hidden(k)
		if view.Excluded[k.GroupKind()] {
			why = ""
		}
		if slices.Contains(view.Gaps, r.Group) {
			why = fmt.Sprintf("the cluster does not answer for API group %q", r.Group)
		}
		if why != "" {
			out = append(out, fmt.Sprintf("%s: %s", k, why))
		}
	}
	slices.Sort(out)
	return out
}

// Applied is the outcome of an apply that the server took.
func Applied(it Item, answer *unstructured.Unstructured, dryRun bool) Outcome {
	verb := "configured"
	switch {
	case it.Live == nil:
		verb = "created"
	case answer.GetResourceVersion() == it.Live.ResourceVersion:
		verb = "unchanged"
	}
	o := Outcome{Code: CodeSynced, Message: lower(it.Key) + " " + verb}
	if it.Hook {
		o.Result = Running
	}
	if dryRun {
		o.Message += " (dry run)"
	}
	return o
}
