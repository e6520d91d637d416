// Package flow decides how many requests of one application are under way at a cluster at once: as many as make its work
// faster, and not those that only make everybody wait. A server that is busy answers each of many requests later, and the
// work is done no sooner; the next who comes with one small request waits behind all of them.
//
// It decides from what requests took beside the least that such a request takes there, as congestion control does for
// packets: a cluster that is far away is slow with every request and is asked as much at once as one nearby, and one that
// is busy, with our requests or with those of others, is asked less. It must not know the time, or wait.
package flow

import (
	"slices"
	"time"
)

const (
	// most and fewest are how many requests of one application there may be at once. It begins with the most: whoever has
	// few to make is not held up at all. The fewest are two, so that a server whose times say nothing (one object is a
	// hundred times as large as the other) is still asked for one while it answers the other.
	most, fewest = 8, 2
	// patience is how many requests may wait at the server because of us. Under eager there is room for one more.
	patience, eager = 2.0, 1.0
	// crowded is how many times the least a request takes at a server that is busy.
	crowded = 1.5
	// trial is after how many requests one at a time it is tried again with more.
	trial = 64
	// epoch is after how many requests the least time is learned anew, or what was before a webhook became slow would count
	// for ever. It is many: who sees only a busy server for all of them takes that for the least.
	epoch = 1024
)

// Least is the least time that requests of one sort took, lately: in this epoch and the one before.
type Least struct {
	now, before time.Duration
	seen        int
}

// After is what is known after one more request.
func (l Least) After(took time.Duration) Least {
	if l.seen == epoch {
		l = Least{before: l.now}
	}
	if l.now == 0 || took < l.now {
		l.now = took
	}
	l.seen++
	return l
}

// Time is the least; zero is that none was made.
func (l Least) Time() time.Duration {
	if l.before > 0 && l.before < l.now {
		return l.before
	}
	return l.now
}

// Limit is how many requests may be under way.
type Limit struct {
	at int
	// slow is how many times the least the first seen requests took since it was last decided.
	slow [most]float64
	seen int
	// busy says that requests took longer than they need when it was last decided, and single is how many were made one at a
	// time since.
	busy   bool
	single int
}

// Begin is the limit of one who has not made a request yet.
func Begin() Limit { return Limit{at: most} }

// At is how many there may be. While others have something small to do at a server that is busy, one who has made many
// requests already steps back behind them: one at a time is enough that it goes on.
func (l Limit) At(others bool) int {
	if others && l.busy {
		return 1
	}
	return l.at
}

// After is the limit after a request that was answered, while others were there or not. It is decided anew when as many
// were answered as there may be: all of them were made by the same rule. What is made one at a time does not tell whether
// there is room for more; so that is tried now and then.
func (l Limit) After(took, least time.Duration, others bool) Limit {
	if took <= 0 || least <= 0 {
		return l
	}
	if l.busy && others {
		if l.single++; l.single == trial {
			l.busy, l.single, l.seen = false, 0, 0
		}
		return l
	}
	l.slow[l.seen] = float64(took) / float64(least)
	if l.seen++; l.seen < l.at {
		return l
	}
	// The one in the middle: some objects are large, and some have a webhook.
	slices.Sort(l.slow[:l.seen])
	typical := l.slow[l.seen/2]
	l.seen, l.busy = 0, typical > crowded
	switch waiting := float64(l.at) * (1 - 1/typical); {
	case waiting > patience:
		l.at = max(fewest, l.at-1)
	case waiting < eager:
		l.at = min(most, l.at+1)
	}
	return l
}
