package plan

import (
	"fmt"

	"github.com/towline-cd/towline/internal/core/health"
)

// group is one wave of one phase: what may be done at once.
type group struct {
	items    []Item
	all      []Item
	progress Progress
	// last says that nothing comes after it that has not begun.
	last bool
}

// next is what is left to do in the group, if anything.
func (g group) next() (Step, bool) {
	for _, look := range []func() (Step, bool){
		g.notes, g.released, g.unread, g.prune, g.before, g.apply, g.running, g.failed, g.going, g.unhealthy,
	} {
		if s, ok := look(); ok {
			return s, true
		}
	}
	return Step{}, false
}

// notes are the hooks that ended and are not recorded as such.
func (g group) notes() (Step, bool) {
	s := Step{Do: DoNote}
	for _, it := range g.items {
		o, recorded := g.progress.Done[it.Task()]
		if !it.Hook || !recorded || o.Result != Running {
			continue
		}
		end, over := Outcome{Code: CodeSynced, Result: Failed, Message: "its object was deleted before its result was known"}, true
		if it.ours() {
			end, over = ended(it)
		}
		if over {
			s.Items, s.Notes = append(s.Items, it), append(s.Notes, end)
		}
	}
	return s, len(s.Items) > 0
}

// released are the hooks that are recorded and held back for nothing now.
func (g group) released() (Step, bool) {
	s := Step{Do: DoRelease}
	for _, it := range g.items {
		if o := g.progress.Done[it.Task()]; it.Hook && it.ours() && it.Live.Held && (o.Result == Succeeded || o.Result == Failed) {
			s.Items = append(s.Items, it)
		}
	}
	return s, len(s.Items) > 0
}

// unread waits for kinds that the cluster is still to tell of. To go on without
// their objects would be to do the next wave before this one.
func (g group) unread() (Step, bool) {
	items := g.pending(func(it Item) bool { return it.Unread })
	if len(items) == 0 {
		return Step{}, false
	}
	names := make([]string, len(items))
	for i, it := range items {
		names[i] = it.Key.String()
	}
	return Step{Do: DoWait, Message: fmt.Sprintf("%s waits until it is known what the cluster has of %s: %s",
		g.name(), list(names), items[0].Reason)}, true
}

// pending are the items of the group that are not recorded.
func (g group) pending(which func(Item) bool) []Item {
	var out []Item
	for _, it := range g.items {
		if _, done := g.progress.Done[it.Task()]; !done && which(it) {
			out = append(out, it)
		}
	}
	return out
}

// prune comes before applying, so that a new object may take an old one's port
// or name.
func (g group) prune() (Step, bool) {
	items := g.pending(func(it Item) bool { return it.Prunable })
	if len(items) == 0 {
		return Step{}, false
	}
	if g.progress.Prune {
		if s, ok := held(items, g.all, g.progress); ok {
			return s, true
		}
	}
	return Step{Do: DoPrune, Items: items}, true
}

// before clears the way for hooks that are made anew each time.
func (g group) before() (Step, bool) {
	if g.progress.DryRun {
		return Step{}, false
	}
	var old []Item
	var going []string
	for _, it := range g.pending(func(it Item) bool { return it.Hook && it.Policy.Before && it.Live != nil && !it.ours() }) {
		if it.Live.Deleting && !it.Live.Held {
			going = append(going, it.Key.String())
			continue
		}
		old = append(old, it)
	}
	if len(old) > 0 {
		return Step{Do: DoClear, Items: old}, true
	}
	return Step{Do: DoWait, Message: g.name() + " waits for the hooks of an earlier sync to be gone: " + list(going)}, len(going) > 0
}

// apply is the work of the group that can be done. What needs a kind that is
// about to be served waits for it.
func (g group) apply() (Step, bool) {
	var ready []Item
	var late, gone []string
	for _, it := range g.pending(func(it Item) bool { return !it.Prunable }) {
		switch {
		case it.Missing() && it.Expected && !g.progress.DryRun:
			late = append(late, it.Key.String())
		case it.Handling.Force && it.Live != nil && it.Live.Deleting:
			gone = append(gone, it.Key.String())
		default:
			ready = append(ready, it)
		}
	}
	switch {
	case len(ready) > 0:
		return Step{Do: DoApply, Items: ready}, true
	case len(late) > 0:
		return Step{Do: DoWait, Message: g.name() + " waits for the cluster to serve the kind of " + list(late)}, true
	case len(gone) > 0:
		return Step{Do: DoWait, Message: g.name() + " waits for what is made anew to be gone: " + list(gone)}, true
	}
	return Step{}, false
}

// running are the hooks that the group waits for.
func (g group) running() (Step, bool) {
	var hooks []string
	for _, it := range g.items {
		if o := g.progress.Done[it.Task()]; it.Hook && o.Result == Running {
			hooks = append(hooks, described(it))
		}
	}
	return Step{Do: DoWait, Message: g.name() + " waits for the hook " + list(hooks), Mid: true}, len(hooks) > 0
}

func described(it Item) string {
	if it.Live == nil || it.Live.Health.Message == "" {
		return it.Key.String()
	}
	return fmt.Sprintf("%s: %s", it.Key, it.Live.Health.Message)
}

// failed is what went wrong in the group.
func (g group) failed() (Step, bool) {
	var objects, hooks []string
	final := true
	for _, it := range g.items {
		o := g.progress.Done[it.Task()]
		switch {
		case o.Result == Failed:
			hooks = append(hooks, fmt.Sprintf("%s: %s", it.Key, o.Message))
			final = false
		case o.Code == CodeFailed:
			objects = append(objects, fmt.Sprintf("%s: %s", it.Key, o.Message))
			final = final && o.Final
		}
	}
	switch {
	case len(objects) > 0:
		return Step{Do: DoFail, Message: "one or more objects failed to apply: " + list(append(objects, hooks...)), Final: final}, true
	case len(hooks) > 0:
		return Step{Do: DoFail, Message: "one or more hooks failed: " + list(hooks)}, true
	}
	return Step{}, false
}

// going are the pruned objects that are not gone yet.
func (g group) going() (Step, bool) {
	if g.progress.DryRun {
		return Step{}, false
	}
	var left []string
	for _, it := range g.items {
		if it.Live != nil && g.progress.Done[it.Task()].Code == CodePruned {
			left = append(left, it.Key.String())
		}
	}
	return Step{Do: DoWait, Message: g.name() + " waits for the deletion of " + list(left)}, len(left) > 0
}

// unhealthy holds the waves after this one back until it is healthy. The last
// wave is over when it is applied.
func (g group) unhealthy() (Step, bool) {
	if g.last || g.progress.DryRun {
		return Step{}, false
	}
	var waiting []string
	fail := Step{Do: DoFail}
	var degraded []string
	for _, it := range g.items {
		if it.Prunable || it.Aside || it.Hook || it.Action == Skip {
			continue
		}
		v := g.progress.Gate.judge(it, g.progress)
		switch {
		case v.Status == health.Degraded:
			degraded = append(degraded, fmt.Sprintf("%s is Degraded: %s", it.Key, v.Message))
			fail.Items = append(fail.Items, it)
			fail.Notes = append(fail.Notes, Outcome{Code: CodeFailed, Message: v.Message})
		case v.Status != health.Healthy:
			waiting = append(waiting, fmt.Sprintf("%s: %s", it.Key, v.Message))
		}
	}
	if len(degraded) > 0 {
		fail.Message = g.name() + ": " + list(degraded)
		return fail, true
	}
	return Step{Do: DoWait, Message: g.name() + " waits for " + list(waiting)}, len(waiting) > 0
}

// name is the group as people call it.
func (g group) name() string {
	if p := g.items[0].Phase; p != InSync {
		return fmt.Sprintf("%s wave %d", p, g.items[0].Wave)
	}
	return fmt.Sprintf("wave %d", g.items[0].Wave)
}
