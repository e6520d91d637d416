package policy

import (
	"strings"
	"time"
)

// A window is read off the clock on the wall of its zone, as in Argo CD: it is open while that clock shows a time from
// an opening on until its duration later. So "0 22 * * *" for 8h ends at 06:00 in the night of the change of clocks too,
// what falls into an hour that is skipped is not there, and what falls into an hour that comes twice is there twice.
// When a window turns is computed with the zone's rules at that time, not with the offset of today.

// wall is what the clock in the zone shows, as if it were UTC: cron expressions are asked without any zone.
func (w Window) wall(at time.Time) time.Time {
	_, offset := at.In(w.zone).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

func (w Window) openAt(at time.Time) bool {
	wall := w.wall(at)
	opening := w.opens.Next(wall.Add(-w.length))
	return w.length > 0 && !opening.IsZero() && !opening.After(wall)
}

const (
	// maxChanges of the clock are looked past: four years in most zones, and cron itself looks no further than five.
	maxChanges = 8
	// horizon is how far the end of an open window is looked for.
	horizon = 400 * 24 * time.Hour
	// maxLooks at schedules is what one question may cost: some milliseconds.
	maxLooks = 5_000
)

// effort is how many looks at schedules are left; somebody may write windows that open each minute for a century.
type effort int

func (e *effort) spent() bool {
	*e--
	return *e <= 0
}

// turns says when the window, as it is at a time, closes or opens. If it is not certain, it stays as it is at least
// until then; the zero time is never.
func (w Window) turns(at time.Time, left *effort) (when time.Time, certain bool) {
	if w.always() {
		return time.Time{}, true
	}
	open := w.openAt(at)
	for range maxChanges {
		when, certain = w.edge(at, open, left)
		_, change := at.In(w.zone).ZoneBounds()
		if when.IsZero() || change.IsZero() || when.Before(change) {
			return when, certain
		}
		if w.openAt(change) != open {
			return change.UTC(), true
		}
		at = change
	}
	return at.UTC(), false
}

// always is the usual way to write a window that never shuts.
func (w Window) always() bool {
	return w.length >= time.Minute && strings.Join(strings.Fields(w.Spec.Schedule), " ") == "* * * * *"
}

// edge is the next turn if the clock goes on without being changed.
func (w Window) edge(at time.Time, open bool, left *effort) (when time.Time, certain bool) {
	wall := w.wall(at)
	shift := at.UTC().Sub(wall)
	if !open {
		next := w.opens.Next(wall)
		// A window without a length never opens.
		if next.IsZero() || w.length <= 0 {
			return time.Time{}, true
		}
		return next.Add(shift), !left.spent()
	}
	end := w.opens.Next(wall.Add(-w.length)).Add(w.length)
	for end.Sub(wall) < horizon && !left.spent() {
		later := w.prolong(end, left)
		if later.Equal(end) {
			return end.Add(shift), *left > 0
		}
		end = later
	}
	return end.Add(shift), false
}

// prolong finds an opening that was still before the end, or at it, and returns the end of that. It looks near the end
// first, so that minutes which all open for hours take few steps.
func (w Window) prolong(end time.Time, left *effort) time.Time {
	for back := min(time.Minute, w.length); !left.spent(); back = min(2*back, w.length) {
		if next := w.opens.Next(end.Add(-back)); !next.IsZero() && !next.After(end) {
			return next.Add(w.length)
		}
		if back == w.length || back > horizon {
			break
		}
	}
	return end
}
