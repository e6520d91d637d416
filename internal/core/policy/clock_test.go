package policy

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Asking minute by minute gives the same turns as computing them, in every zone and over every change of its clock.
func TestWindowsTurnWhenTheySay(t *testing.T) {
	field := func(most int) *rapid.Generator[string] {
		return rapid.OneOf(rapid.Just("*"), rapid.Just("*/7"), rapid.Map(rapid.IntRange(0, most), func(n int) string { return fmt.Sprint(n) }))
	}
	rapid.Check(t, func(t *rapid.T) {
		w := newWindow("team", 0, v1alpha1.SyncWindow{
			Kind:     "deny",
			Schedule: field(59).Draw(t, "minute") + " " + field(23).Draw(t, "hour") + " * * " + field(6).Draw(t, "weekday"),
			Duration: fmt.Sprintf("%dm", rapid.IntRange(1, 600).Draw(t, "length")),
			TimeZone: rapid.SampledFrom([]string{"", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo"}).Draw(t, "zone"),
		})
		// Some minute near a change of clocks in one of the zones.
		day := rapid.SampledFrom([]string{
			"2026-03-08", "2026-03-29", "2026-04-05", "2026-04-24", "2026-10-04", "2026-10-25", "2026-10-30", "2026-11-01",
		}).Draw(t, "day")
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Duration(rapid.IntRange(-600, 1200).Draw(t, "minute of the day")) * time.Minute)
		open := w.openAt(at)
		when, certain := w.turns(at, new(effort(maxLooks)))
		if certain && !when.IsZero() && w.openAt(when) == open {
			t.Fatalf("%s: nothing turns at %s", at, when)
		}
		for later := at; later.Before(at.Add(24*time.Hour)) && (when.IsZero() || later.Before(when)); later = later.Add(time.Minute) {
			if w.openAt(later) != open {
				t.Fatalf("%s: turned at %s, not at %s", at, later, when)
			}
		}
	})
}

// Whatever somebody writes, a question is answered soon: the looks at schedules are counted.
func TestOddWindowsAreAnsweredSoon(t *testing.T) {
	for _, schedule := range []string{"* * * * *", "0 0 29 2 *", "0 0 30 2 *", "0 0 29 2 1", "1-59 * * * *", "* 9-17 * * *", "* * * * 1-5"} {
		for _, duration := range []string{"1ns", "30s", "1m", "1h", "25h", "9000h", "2500000h"} {
			w := newWindow("team", 0, v1alpha1.SyncWindow{Kind: "deny", Schedule: schedule, Duration: duration, TimeZone: "Europe/Berlin"})
			counted := &counting{schedule: w.opens}
			w.opens = counted
			nextAnswer([]Window{w}, time.Date(2026, 3, 29, 1, 2, 3, 4, time.UTC), WindowOp{})
			if counted.n > 2*maxLooks {
				t.Errorf("%q for %s took %d looks", schedule, duration, counted.n)
			}
		}
	}
}

type counting struct {
	schedule interface{ Next(at time.Time) time.Time }
	n        int
}

func (c *counting) Next(at time.Time) time.Time {
	c.n++
	return c.schedule.Next(at)
}
