// Package cluster is a target cluster: an index of facts about its live
// objects, kept by watches, and the few writes that a sync makes. It must not
// decide anything about applications, and it keeps no bodies of live objects.
package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

// Options say how a cluster is watched.
type Options struct {
	// Changed is called for each change of a live object that matters, from
	// the goroutine of its watch: it must not block.
	Changed func(Change)
	// Viewed is called when View may say something else than before: a kind
	// came, went, broke or recovered. It must not block.
	Viewed func()
	// Doubted says of an object that any change of it matters, whatever we own
	// of it. It must be quick.
	Doubted func(object.Key) bool
	// Exclusions and Inclusions are resource.exclusions and
	// resource.inclusions. Exclusions that are nil are the default ones.
	Exclusions, Inclusions []Filter
	// Server is how the cluster is named in Exclusions and Inclusions; empty is
	// the address that it is reached by.
	Server string
	// Namespaces are the only ones that are watched; nil is all of them. Then
	// ClusterResources says whether objects without a namespace are watched too.
	Namespaces       []string
	ClusterResources bool
	// Tracker reads the marks of applications.
	Tracker object.Tracker
	// Judge gives objects their health; nil means by the rules of their kinds.
	Judge Judge
}

// Cluster is one target cluster. Run keeps its index; until Ready is closed
// the index is not complete and nothing may be decided from it.
type Cluster struct {
	// Client makes requests as ourselves.
	*Client
	server    string
	config    *rest.Config
	discovery discovery.DiscoveryInterface
	shapes    schemas
	index     *index
	names     *names
	tracker   object.Tracker
	judge     Judge
	viewed    func()
	// rediscover wakes Run when the kinds may have changed.
	rediscover chan struct{}
	// reread wakes Run when kinds are stale.
	reread chan struct{}
	ready  chan struct{}
	view   atomic.Pointer[plan.View]
	// namespaces are the only ones that are watched; nil is all of them.
	namespaces []string
	confined   bool
	// trouble is why the cluster could not be discovered; nil once it was.
	trouble atomic.Pointer[error]

	mu sync.RWMutex
	// identity is who the cluster is; empty until it was asked.
	identity string
	// chosen is what filters were made from.
	chosen  [2][]Filter
	filters filters
	catalog catalog
	watches map[watched]*kindWatch
	// others make requests as other users, the one that was asked for last at the end.
	others []*Client
	// stale are the kinds to be read anew.
	stale map[schema.GroupKind]struct{}
}

// New makes a cluster with the default options. notify is called for each
// change of a live object that matters, from the goroutine of its watch: it
// must not block.
func New(config *rest.Config, notify func(Change)) (*Cluster, error) {
	return Open(config, Options{Changed: notify})
}

// Open makes a cluster.
func Open(config *rest.Config, o Options) (*Cluster, error) {
	config = rest.CopyConfig(config)
	// The server's priority and fairness paces us; a second limit on our side
	// would only hide it.
	config.QPS = -1
	// What the server warns of (a deprecated field, a port twice) is about the
	// user's manifests; a log line of ours tells nobody.
	config.WarningHandler = rest.NoWarnings{}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a discovery client: %w", err)
	}
	if o.Changed == nil {
		o.Changed = func(Change) {}
	}
	if o.Judge == nil {
		o.Judge = ownRules{}
	}
	if o.Viewed == nil {
		o.Viewed = func() {}
	}
	if o.Server == "" {
		o.Server = config.Host
	}
	c := &Cluster{
		server: o.Server, config: config, discovery: d,
		names:      newNames(),
		tracker:    o.Tracker,
		judge:      o.Judge,
		viewed:     o.Viewed,
		rediscover: make(chan struct{}, 1),
		reread:     make(chan struct{}, 1),
		stale:      map[schema.GroupKind]struct{}{},
		ready:      make(chan struct{}),
		chosen:     [2][]Filter{o.Exclusions, o.Inclusions},
		filters:    newFilters(o.Server, o.Exclusions, o.Inclusions),
		watches:    map[watched]*kindWatch{},
		namespaces: o.Namespaces,
		confined:   o.Namespaces != nil && !o.ClusterResources,
	}
	c.filters.confined = c.confined
	if c.Client, err = newClient(c, config); err != nil {
		return nil, err
	}
	c.view.Store(&plan.View{})
	c.index = newIndex(o.Changed)
	c.index.served = c.Rediscover
	if o.Doubted != nil {
		c.index.doubted = o.Doubted
	}
	return c, nil
}

// Ready is closed once every kind was read for the first time, or could not be.
func (c *Cluster) Ready() <-chan struct{} { return c.ready }

// Rediscover asks Run to look again for what the cluster serves.
func (c *Cluster) Rediscover() {
	select {
	case c.rediscover <- struct{}{}:
	default:
	}
}

// SetFilters changes which kinds are watched, while Run runs. Exclusions that
// are nil are the default ones.
func (c *Cluster) SetFilters(exclusions, inclusions []Filter) {
	c.mu.Lock()
	same := reflect.DeepEqual(c.chosen, [2][]Filter{exclusions, inclusions})
	c.chosen, c.filters = [2][]Filter{exclusions, inclusions}, newFilters(c.server, exclusions, inclusions)
	c.filters.confined = c.confined
	c.mu.Unlock()
	if !same {
		c.Rediscover()
	}
}

// View is what the cluster serves and what of it is watched. It is shared:
// nobody may change it.
func (c *Cluster) View() plan.View { return *c.view.Load() }

// settleTime gathers the changes of CRDs that come together into one look.
const settleTime = 200 * time.Millisecond

// gapTime is how long groups that did not answer are left alone.
const gapTime = 30 * time.Second

// Run discovers and watches until ctx ends. A server that cannot be reached,
// or a kind that cannot be read, is tried again and holds up nothing else.
func (c *Cluster) Run(ctx context.Context) error {
	var watching sync.WaitGroup
	defer watching.Wait()
	backoff := newBackoff()
	first := true
	var later []time.Duration
	for {
		pause, err := c.look(ctx, &watching)
		switch {
		case err != nil:
			if c.trouble.Swap(&err) == nil {
				slog.ErrorContext(ctx, "discovery failed", "cluster", c.server, "error", err)
				c.viewed()
			}
			pause = backoff.Step()
		case first:
			first = false
			go c.awaitSettled(ctx)
			fallthrough
		default:
			c.trouble.Store(nil)
			backoff = newBackoff()
			if len(later) > 0 {
				pause, later = later[0], later[1:]
			}
		}
		if c.pause(ctx, pause, &watching) {
			// A CRD says that its kind is served a moment before it is, or goes
			// a moment before its kind does: look more than once.
			later = []time.Duration{500 * time.Millisecond, 2 * time.Second}
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

func newBackoff() wait.Backoff {
	return wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Cap: 30 * time.Second, Steps: 8}
}

// pause waits for the given time (for ever if it is none) or until Rediscover
// was called, which it reports. Meanwhile it reads stale kinds anew.
func (c *Cluster) pause(ctx context.Context, d time.Duration, watching *sync.WaitGroup) bool {
	var over <-chan time.Time
	if d > 0 {
		over = time.After(d)
	}
	for waiting := true; waiting; {
		select {
		case <-ctx.Done():
			return false
		case <-over:
			return false
		case <-c.reread:
			c.readAnew(ctx, watching)
		case <-c.rediscover:
			waiting = false
		}
	}
	select {
	case <-ctx.Done():
	case <-time.After(settleTime):
	}
	return true
}

// readAnew starts the watches of stale kinds again. What is known of their
// objects stays known until then.
func (c *Cluster) readAnew(ctx context.Context, watching *sync.WaitGroup) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at, old := range c.watches {
		if _, ok := c.stale[at.kind]; ok {
			old.stop()
			c.watches[at] = c.watch(ctx, old.kind, at.namespace, &starting{old: old, watching: watching})
		}
	}
	clear(c.stale)
}

// Reread reads everything anew, while Run runs: what the cluster serves, and
// all kinds. What is known stays known until then.
func (c *Cluster) Reread() {
	c.Rediscover()
	c.Rejudge(func(schema.GroupKind) bool { return true })
}

// Recover tries again at once what could not be read, instead of when its turn
// comes. It is for a cluster that answers again.
func (c *Cluster) Recover() {
	c.mu.RLock()
	broken := map[schema.GroupKind]bool{}
	for at, w := range c.watches {
		if w.problem != "" {
			broken[at.kind] = true
		}
	}
	c.mu.RUnlock()
	if c.Problem() != nil {
		c.Rediscover()
	}
	c.Rejudge(func(gk schema.GroupKind) bool { return broken[gk] })
}

// Problem is why the cluster could not be discovered; nil when it was.
func (c *Cluster) Problem() error {
	if p := c.trouble.Load(); p != nil {
		return *p
	}
	return nil
}

// look discovers once and starts and stops watches to fit. While groups are
// missing it asks to be called again.
func (c *Cluster) look(ctx context.Context, watching *sync.WaitGroup) (time.Duration, error) {
	c.mu.RLock()
	chosen, before := c.filters, c.catalog
	c.mu.RUnlock()
	found, err := discover(c.discovery, chosen)
	if err != nil {
		return 0, err
	}
	if err := c.identify(ctx, found.version); err != nil {
		return 0, err
	}
	found.keep(before)
	want := make(map[watched]kind, len(found.watched))
	for _, k := range found.watched {
		for _, namespace := range c.parts(k) {
			want[watched{k.GroupKind(), namespace}] = k
		}
	}
	c.mu.Lock()
	c.catalog = found
	dropped := map[schema.GroupKind]struct{}{}
	for at, w := range c.watches {
		if _, ok := want[at]; !ok {
			w.stop()
			delete(c.watches, at)
			dropped[at.kind] = struct{}{}
		}
	}
	for at, k := range want {
		old, ok := c.watches[at]
		if ok && old.kind == k {
			continue
		}
		if ok {
			old.stop()
		}
		c.watches[at] = c.watch(ctx, k, at.namespace, &starting{old: old, watching: watching})
	}
	c.mu.Unlock()
	for gk := range dropped {
		c.index.forget(gk)
	}
	c.project()
	if len(found.gaps) > 0 {
		slog.WarnContext(ctx, "discovery is incomplete", "groups", found.gaps)
		return gapTime, nil
	}
	return 0, nil
}

func (c *Cluster) awaitSettled(ctx context.Context) {
	c.mu.RLock()
	var pending []*kindWatch
	for _, w := range c.watches {
		pending = append(pending, w)
	}
	c.mu.RUnlock()
	for _, w := range pending {
		select {
		case <-w.settled:
		case <-w.ended:
		case <-ctx.Done():
			return
		}
	}
	close(c.ready)
}
