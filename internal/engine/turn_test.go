package engine

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// busyServer answers in a time that grows with how many requests it has.
type busyServer struct {
	mu        sync.Mutex
	now, most int
}

func (b *busyServer) serve() {
	b.mu.Lock()
	b.now++
	b.most = max(b.most, b.now)
	took := time.Duration(b.now) * 5 * time.Millisecond
	b.mu.Unlock()
	time.Sleep(took)
	b.mu.Lock()
	b.now--
	b.mu.Unlock()
}

// mostSince is the most at once since it was last asked.
func (b *busyServer) mostSince() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.most
	b.most = b.now
	return out
}

// flood makes requests without end, so many at once, until the context is over.
func flood(ctx context.Context, c *crossing, s *busyServer, atOnce int) *sync.WaitGroup {
	var g sync.WaitGroup
	t := c.turns()
	for range atOnce {
		g.Go(func() {
			for ctx.Err() == nil && t.take(ctx) {
				start := time.Now()
				s.serve()
				t.give(sort{verb: "patch"}, time.Since(start))
			}
		})
	}
	return &g
}

// arriving is a visit that has made its first request.
func arriving(ctx context.Context, c *crossing) (end func()) {
	ctx, end = visiting(ctx)
	t := c.turns()
	t.take(ctx)
	t.give(sort{}, 0)
	return end
}

// TestOneWithMuchToDoStepsBack: the requests of one come down to what a busy server has room for, to one while somebody is
// there for a moment, and up again when he is gone or stays on.
func TestOneWithMuchToDoStepsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newTraffic().to("here"), &busyServer{}
		ctx, stop := context.WithCancel(t.Context())
		mine, left := visiting(ctx)
		g := flood(mine, c, s, 8)
		check := func(when string, atLeast, most int) {
			t.Helper()
			time.Sleep(50 * time.Millisecond)
			s.mostSince()
			time.Sleep(100 * time.Millisecond)
			if got := s.mostSince(); got < atLeast || got > most {
				t.Errorf("%s: %d at once, want %d to %d", when, got, atLeast, most)
			}
		}
		if time.Sleep(time.Microsecond); s.mostSince() != 8 {
			t.Error("does not begin with all it has")
		}
		time.Sleep(time.Second)
		check("alone", 2, 4)
		gone := arriving(ctx, c)
		check("beside another", 1, 1)
		gone()
		check("when he is gone", 2, 4)
		gone = arriving(ctx, c)
		time.Sleep(moment)
		check("when he stays on", 2, 4)
		gone()
		stop()
		g.Wait()
		left()
		if len(c.held) != 0 || c.brief != 0 {
			t.Errorf("left behind: %d held, %d brief", len(c.held), c.brief)
		}
	})
}

// TestATurnThatNobodyTakes: one who gives up waiting keeps nobody from going on.
func TestATurnThatNobodyTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTraffic().to("here").turns()
		for range 8 {
			if !turns.take(t.Context()) {
				t.Fatal("no turn")
			}
		}
		ctx, giveUp := context.WithCancel(t.Context())
		var g sync.WaitGroup
		g.Go(func() {
			if turns.take(ctx) {
				t.Error("a turn for one who gave up")
			}
		})
		synctest.Wait()
		g.Go(func() {
			if !turns.take(t.Context()) {
				t.Error("no turn for one who waited")
			}
		})
		synctest.Wait()
		giveUp()
		synctest.Wait()
		turns.give(sort{}, 0)
		g.Wait()
		if turns.out != 8 || len(turns.waiting) != 0 {
			t.Errorf("%d out, %d waiting", turns.out, len(turns.waiting))
		}
	})
}
