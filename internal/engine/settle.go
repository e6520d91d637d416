package engine

import (
	"slices"

	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

// settling makes the plan say what is true after the work of a group.
type settling struct {
	o    *observation
	at   map[plan.Task]int
	gone map[plan.Task]bool
}

func settlingOf(o *observation) settling {
	at := make(map[plan.Task]int, len(o.plan.Items))
	for i, it := range slices.Backward(o.plan.Items) {
		at[it.Task()] = i // of several the first
	}
	return settling{o: o, at: at, gone: map[plan.Task]bool{}}
}

// settle is about one object: an applied one is as desired (the server's own
// answer confirms the pair), a pruned one is on its way out.
func (s settling) settle(item plan.Item, d deed) (confirmed diff.Verdict, ok bool) {
	i, known := s.at[item.Task()]
	if !known {
		return diff.Verdict{}, false
	}
	it, f := &s.o.plan.Items[i], d.fact
	switch {
	case d.released:
		f := *it.Live
		f.Held = false
		it.Live = &f
	case it.Hook && d.gone:
		it.Live = standing(s.o, it.Key)
	case it.Hook && f != nil:
		it.Live = f
	case f != nil:
		it.Live = f
		it.Verdict = diff.Verdict{Desired: it.Pair, Live: f.Digest, Version: f.ResourceVersion, Confirmed: true}
		it.Action, it.Reason = plan.Unchanged, ""
		if !it.Aside {
			it.Sync = plan.Synced
		}
		return it.Verdict, true
	case d.gone && !it.Prunable:
		it.Live = standing(s.o, it.Key)
	case d.gone:
		// The request was taken; the object may take its time.
		if it.Live = standing(s.o, it.Key); it.Live == nil {
			s.gone[it.Task()] = true
			return diff.Verdict{}, false
		}
		it.Action, it.Reason = plan.Skip, plan.BeingDeleted
	}
	return diff.Verdict{}, false
}

// end takes what is gone off the plan.
func (s settling) end() {
	if len(s.gone) > 0 {
		s.o.plan.Items = slices.DeleteFunc(slices.Clone(s.o.plan.Items), func(it plan.Item) bool { return s.gone[it.Task()] })
	}
}

// standing is what is left of an object whose deletion the server took: it may
// have to wait for others, and the watch may not have told yet.
func standing(o *observation, k object.Key) *object.Fact {
	f, ok := o.cluster.Fact(k)
	if !ok {
		return nil
	}
	f.Deleting, f.Held = true, false
	return &f
}
