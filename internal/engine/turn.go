package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/internal/core/flow"
)

// traffic is what is known of the requests to clusters: by whom there are any now, and the least that they took.
type traffic struct {
	mu sync.Mutex
	at map[string]*crossing
}

// crossing is the traffic to one cluster.
type crossing struct {
	mu sync.Mutex
	// least is by sort: as many as there are kinds that we write.
	least map[sort]flow.Least
	// brief are the visits that began a moment ago, and held the turns with requests that wait.
	brief int
	held  map[*turns]struct{}
}

// sort is what requests have in common that take about the same time.
type sort struct {
	verb   string
	kind   schema.GroupKind
	dryRun bool
}

// moment is for how long a visit counts as a brief one. Whoever waits for longer waits for something else than the CPU of
// the server, as for a webhook, and nobody has to step back for that.
const moment = 250 * time.Millisecond

func newTraffic() *traffic { return &traffic{at: map[string]*crossing{}} }

func (t *traffic) to(server string) *crossing {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.at[server]
	if c == nil {
		c = &crossing{least: map[sort]flow.Least{}, held: map[*turns]struct{}{}}
		t.at[server] = c
	}
	return c
}

// visit is what is done for one application, from its beginning to its end. Others step back for it from when its cluster is
// known: what it fetches and renders before its first request needs the CPU too.
type visit struct {
	once  sync.Once
	at    *crossing
	timer *time.Timer
	// brief is guarded by the crossing.
	brief bool
}

type visitKey struct{}

// visiting begins a visit; end ends it.
func visiting(ctx context.Context) (inner context.Context, end func()) {
	v := &visit{}
	return context.WithValue(ctx, visitKey{}, v), v.end
}

func (v *visit) end() {
	v.once.Do(func() {})
	if v.at != nil {
		v.timer.Stop()
		v.over()
	}
}

// arrive is where the visit of a context, if it is one, begins to count.
func (c *crossing) arrive(ctx context.Context) *visit {
	v, _ := ctx.Value(visitKey{}).(*visit)
	if v == nil {
		return nil
	}
	v.once.Do(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.brief++
		v.at, v.brief = c, true
		v.timer = time.AfterFunc(moment, v.over)
	})
	return v
}

// over says that a visit is not a brief one any more. Who stepped back for it goes on.
func (v *visit) over() {
	c := v.at
	c.mu.Lock()
	defer c.mu.Unlock()
	if !v.brief {
		return
	}
	v.brief = false
	if c.brief--; c.brief > 1 {
		return
	}
	for t := range c.held {
		t.pass()
	}
}

// turns let the requests of one visit pass, as many at once as the server has room for. What it has is guarded by the
// crossing.
type turns struct {
	at    *crossing
	mine  *visit
	limit flow.Limit
	out   int
	// waiting are those that wait, the first of them first.
	waiting []chan struct{}
}

func (c *crossing) turns() *turns { return &turns{at: c, limit: flow.Begin()} }

// take waits for a turn. False is that the context ended before: there is none to be given back, and the request will say
// what it says when its context is over.
func (t *turns) take(ctx context.Context) bool {
	v := t.at.arrive(ctx)
	mine := make(chan struct{})
	t.at.mu.Lock()
	t.mine = v
	t.waiting = append(t.waiting, mine)
	t.pass()
	t.at.mu.Unlock()
	select {
	case <-mine:
		return true
	case <-ctx.Done():
	}
	t.at.mu.Lock()
	defer t.at.mu.Unlock()
	at := slices.Index(t.waiting, mine)
	if at < 0 {
		return true // it came at the same moment
	}
	t.waiting = slices.Delete(t.waiting, at, at+1)
	t.pass()
	return false
}

// give ends a turn. A request that failed says nothing of how busy the server is, and has no time.
func (t *turns) give(s sort, took time.Duration) {
	t.at.mu.Lock()
	defer t.at.mu.Unlock()
	t.out--
	if took > 0 {
		least := t.at.least[s].After(took)
		t.at.least[s] = least
		t.limit = t.limit.After(took, least.Time(), t.others())
	}
	t.pass()
}

// others says that others than we are there for a moment.
func (t *turns) others() bool {
	if t.mine != nil && t.mine.at == t.at && t.mine.brief {
		return t.at.brief > 1
	}
	return t.at.brief > 0
}

// pass gives turns to those who wait, as far as there is room.
func (t *turns) pass() {
	for room := t.limit.At(t.others()); len(t.waiting) > 0 && t.out < room; t.out++ {
		close(t.waiting[0])
		t.waiting = t.waiting[1:]
	}
	if len(t.waiting) > 0 {
		t.at.held[t] = struct{}{}
		return
	}
	delete(t.at.held, t)
}
