package flow

import (
	"testing"
	"time"
)

// TestAsManyAsHelp: a server answered one request alone, and then one who has as many under way as the limit says.
func TestAsManyAsHelp(t *testing.T) {
	const ms = time.Millisecond
	cases := map[string]struct {
		// took is the time of the nth request where there are so many at once.
		took     func(n, at int) time.Duration
		from, to int
		busy     bool
		// epochs is for how long; none is for one.
		epochs int
	}{
		"far away, and with room for all":   {func(int, int) time.Duration { return 80 * ms }, most, most, false, 3},
		"two CPUs, so that the third waits": {func(_, at int) time.Duration { return 3 * ms * time.Duration(max(at, 2)) / 2 }, 3, 4, true, 1},
		"two CPUs, and others have taken both": {
			func(n, at int) time.Duration { return 3 * ms * time.Duration(max(at+6*min(n/100, 1), 2)) / 2 }, fewest, fewest, true, 1,
		},
		"each fourth object is large": {func(n, _ int) time.Duration { return 3 * ms * time.Duration(1+9*(n%4/3)) }, most, most, false, 3},
		"each second object is large, which looks as if it was busy": {
			func(n, _ int) time.Duration { return 3 * ms * time.Duration(1+9*(n%2)) }, fewest, most, true, 1,
		},
		"a webhook has become slow, and is slow for all": {
			func(n, _ int) time.Duration { return 3 * ms * time.Duration(1+30*min(n/100, 1)) }, most, most, false, 3,
		},
		"it was busy, and is not any more": {
			func(n, at int) time.Duration { return 3 * ms * time.Duration(1+max(0, at*(1-n/700))) }, most, most, false, 3,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			limit, least := Begin(), Least{}.After(c.took(0, 1))
			if limit.At(true) != most {
				t.Errorf("begins with %d", limit.At(true))
			}
			for n := range epoch * max(c.epochs, 1) {
				took := c.took(n, limit.At(false))
				least = least.After(took)
				limit = limit.After(took, least.Time(), false)
			}
			if got := limit.At(false); got < c.from || got > c.to {
				t.Errorf("%d at once, want %d to %d", got, c.from, c.to)
			}
			if got := limit.At(true) == 1; got != c.busy {
				t.Errorf("steps back: %t, want %t", got, c.busy)
			}
		})
	}
}

// TestWhatFailedSaysNothing: a request without a time does not count.
func TestWhatFailedSaysNothing(t *testing.T) {
	limit := Begin()
	for range 100 {
		limit = limit.After(0, time.Millisecond, false)
		limit = limit.After(time.Millisecond, 0, false)
	}
	if limit != Begin() {
		t.Errorf("got %+v", limit)
	}
}

// TestOneAtATimeIsNotForEver: one who stepped back tries now and then whether there is room, and stays back if there is not.
func TestOneAtATimeIsNotForEver(t *testing.T) {
	const base = 3 * time.Millisecond
	limit, now, more := Begin(), 0, 0
	busy := func(at int) time.Duration { return base * time.Duration(at) }
	for n := range 2000 {
		if at := limit.At(true); at != 1 {
			more++
		}
		took := base
		if n < 1000 {
			took = busy(limit.At(true))
		}
		limit = limit.After(took, base, true)
		if n == 999 {
			now, more = more, 0
		}
	}
	if now < 20 || now > 250 {
		t.Errorf("%d of 1000 were more than one at a time while it was busy", now)
	}
	if more < 900 {
		t.Errorf("only %d of 1000 when it was not any more", more)
	}
}

// TestTheLeastIsForgotten: after two epochs nothing is left of a time that was never seen again.
func TestTheLeastIsForgotten(t *testing.T) {
	least := Least{}.After(time.Millisecond)
	for n := range 2 * epoch {
		least = least.After(time.Second)
		if want := n < 2*epoch-1; (least.Time() == time.Millisecond) != want {
			t.Fatalf("after %d more it is %s", n+1, least.Time())
		}
	}
}
