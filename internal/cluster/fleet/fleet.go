// Package fleet is all the clusters that applications are deployed to: it opens
// each when somebody needs it, keeps it while its entry is there, reaches it by
// the present credentials, and knows which of them do not answer. It must not
// know applications, and a cluster that is in trouble must cost no other.
package fleet

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cluster"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
)

// Options are what a fleet is made of.
type Options struct {
	Access
	// Watch says how clusters are watched, asked for each that is opened. Its
	// Changed, Viewed, Doubted, Server and Namespaces are the fleet's own.
	Watch func() cluster.Options
	Events
	Now func() time.Time
	// Every is how often a cluster is asked whether it is there, and Patience
	// how long it has for an answer; zero means the usual.
	Every, Patience time.Duration
}

// Events tell of what happens, with the server as its entry has it. They must
// not block.
type Events struct {
	Changed func(server string, c *cluster.Cluster, ch cluster.Change)
	Viewed  func(server string)
	Doubted func(server string, k object.Key) bool
	// Turned tells that a cluster can be worked with, or not any more: For says
	// something else than before.
	Turned func(destination.Cluster)
}

const (
	usualEvery    = 10 * time.Second
	usualPatience = 5 * time.Second
	// probeOpen is how often a silent cluster is asked: what comes back is to be
	// seen soon.
	probeOpen = 2 * time.Second
	// again is how soon a look that failed is made once more.
	again = time.Second
)

// Fleet is all clusters.
type Fleet struct {
	Options
	// changed wakes Run when clusters are to be started or stopped.
	changed chan struct{}

	mu      sync.RWMutex
	set     *destination.Set
	members map[string]*member // by the key of the server
	// leaving are those that Run has to stop.
	leaving []*member
}

// New makes a fleet of no clusters.
func New(o Options) *Fleet {
	if o.Every == 0 {
		o.Every = usualEvery
	}
	if o.Patience == 0 {
		o.Patience = usualPatience
	}
	return &Fleet{
		Options: o, changed: make(chan struct{}, 1), set: destination.NewSet(nil, false), members: map[string]*member{},
	}
}

// Set says which clusters there are. The one that we run in is opened at once,
// the others when somebody asks for them.
func (f *Fleet) Set(set *destination.Set) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.set = set
	for key, m := range f.members {
		if _, stays := set.Get(key); !stays {
			f.leaving = append(f.leaving, m)
			delete(f.members, key)
		}
	}
	for _, entry := range set.All() {
		key := destination.Key(entry.Server)
		m, ok := f.members[key]
		if ok && (m.entry.Load().Reach() != entry.Reach() || m.entry.Load().Own() != entry.Own()) {
			// What is watched is another thing now, or it is reached by another door.
			f.leaving = append(f.leaving, m)
			next := f.join(key, entry)
			if m.wanted {
				f.open(next)
			}
			continue
		}
		if !ok {
			m = f.join(key, entry)
		} else {
			f.update(m, entry)
		}
		if entry.Own() && !m.wanted {
			f.open(m)
		}
	}
	f.wake()
}

// join makes a member; the caller holds the lock.
func (f *Fleet) join(key string, entry destination.Cluster) *member {
	m := newMember(f, entry)
	f.members[key] = m
	return m
}

// update takes a new reading of an entry; the caller holds the lock.
func (f *Fleet) update(m *member, entry destination.Cluster) {
	old := m.entry.Swap(&entry)
	if !m.wanted {
		return
	}
	if m.cluster == nil {
		// It could not be opened as it was.
		f.open(m)
		return
	}
	if entry.Broken == "" && old.Connection() != entry.Connection() {
		w, err := f.way(entry)
		m.broken = err
		if err == nil {
			m.link.use(w)
			m.cluster.Recover()
		}
	}
	if old.Refresh != entry.Refresh && entry.Refresh != "" {
		m.cluster.Reread()
	}
}

// open makes the cluster of a member ready to be run; the caller holds the lock.
func (f *Fleet) open(m *member) {
	m.wanted = true
	entry := *m.entry.Load()
	w, err := f.way(entry)
	if err == nil {
		m.link.use(w)
		m.cluster, err = cluster.Open(&rest.Config{
			Host: m.host(f.Access), UserAgent: f.UserAgent, Transport: m.link,
		}, f.options(m, entry))
	}
	if m.broken = err; err != nil {
		m.cluster = nil
	}
}

// options are how a member is watched.
func (f *Fleet) options(m *member, entry destination.Cluster) cluster.Options {
	o := f.Watch()
	o.Server, o.Namespaces, o.ClusterResources = entry.Server, entry.Namespaces, entry.ClusterResources
	o.Changed = func(ch cluster.Change) { f.Changed(m.server(), m.cluster, ch) }
	o.Doubted = func(k object.Key) bool { return f.Doubted(m.server(), k) }
	o.Viewed = func() {
		select {
		case <-m.cluster.Ready():
			f.Viewed(m.server())
		default:
			// Why it cannot be read may have become known.
			if m.cluster.Problem() != nil {
				f.Turned(*m.entry.Load())
			}
		}
	}
	return o
}

// Find is the entry of a destination, and whether its cluster is open. It asks
// nothing of the cluster.
func (f *Fleet) Find(d v1alpha1.ApplicationDestination) (entry destination.Cluster, open bool, err error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if entry, err = f.set.Find(d); err != nil {
		return entry, false, err
	}
	return entry, f.members[destination.Key(entry.Server)].wanted, nil
}

// For is the cluster of a destination, and its entry. One that nobody asked for
// until now is opened.
func (f *Fleet) For(d v1alpha1.ApplicationDestination) (*cluster.Cluster, destination.Cluster, error) {
	f.mu.RLock()
	entry, err := f.set.Find(d)
	if err != nil {
		f.mu.RUnlock()
		return nil, entry, err
	}
	m := f.members[destination.Key(entry.Server)]
	wanted := m.wanted
	c, err := m.ready(entry)
	f.mu.RUnlock()
	if wanted || entry.Skip || entry.Broken != "" {
		return c, entry, err
	}
	c, err = f.want(m)
	return c, entry, err
}

// want opens a cluster that nobody asked for until now.
func (f *Fleet) want(m *member) (*cluster.Cluster, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !m.wanted {
		f.open(m)
		f.wake()
	}
	return m.ready(*m.entry.Load())
}

func starting(entry destination.Cluster) error {
	return fault.Waitingf(destination.Starting, "cluster %s is being read for the first time", entry)
}

func (f *Fleet) wake() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// Ready is closed when the cluster of a server was read for the first time, or
// is not to be waited for.
func (f *Fleet) Ready(server string) <-chan struct{} {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if m, ok := f.members[destination.Key(server)]; ok && m.cluster != nil {
		return m.cluster.Ready()
	}
	none := make(chan struct{})
	close(none)
	return none
}

// Each calls a function with every cluster that is open.
func (f *Fleet) Each(call func(*cluster.Cluster)) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, m := range f.members {
		if m.cluster != nil {
			call(m.cluster)
		}
	}
}

// State is how it is with a cluster.
type State struct {
	destination.Cluster
	// Open is nil until somebody needed the cluster. Since is when it was opened.
	Open  *cluster.Cluster
	Since time.Time
	// Err is why it cannot be worked with; nil while it can.
	Err error
}

// States are all clusters, by name.
func (f *Fleet) States() []State {
	f.mu.RLock()
	defer f.mu.RUnlock()
	var out []State
	for _, entry := range f.set.All() {
		m := f.members[destination.Key(entry.Server)]
		_, err := m.ready(entry)
		out = append(out, State{Cluster: entry, Open: m.cluster, Since: m.since, Err: err})
	}
	return out
}

// Run keeps the clusters until ctx ends.
func (f *Fleet) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		f.mu.Lock()
		for _, m := range f.members {
			if m.cluster != nil && m.stop == nil {
				f.start(ctx, m, &running)
			}
		}
		for _, m := range f.leaving {
			if m.stop != nil {
				m.stop()
			}
		}
		f.leaving = nil
		f.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-f.changed:
		}
	}
}

// start runs a member; the caller holds the lock.
func (f *Fleet) start(ctx context.Context, m *member, running *sync.WaitGroup) {
	ctx, m.stop = context.WithCancel(ctx)
	m.since = f.Now()
	c, entry := m.cluster, *m.entry.Load()
	slog.InfoContext(ctx, "a cluster is watched", "cluster", entry.Name, "server", entry.Server, "namespaces", entry.Namespaces)
	running.Go(func() {
		if err := c.Run(ctx); err != nil {
			slog.ErrorContext(ctx, "watching a cluster ended", "cluster", entry.Name, "server", entry.Server, "error", err)
		}
	})
	running.Go(func() {
		select {
		case <-c.Ready():
			slog.InfoContext(ctx, "a cluster was read", "cluster", entry.Name, "took", f.Now().Sub(m.since).Round(time.Millisecond))
			f.Turned(*m.entry.Load())
		case <-ctx.Done():
		}
	})
	if m.link.breaker != nil {
		running.Go(func() { f.guard(ctx, m, c) })
	}
}

// guard looks whether a cluster is there, for as long as it is watched.
func (f *Fleet) guard(ctx context.Context, m *member, c *cluster.Cluster) {
	host := m.host(f.Access)
	for pause := time.Duration(0); ; {
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		case <-m.link.suspect:
			timer.Stop()
		}
		err := m.link.look(ctx, host, f.Patience)
		if ctx.Err() != nil {
			return
		}
		pause = f.Every
		if m.link.breaker.fault() != nil {
			pause = probeOpen
		}
		entry := *m.entry.Load()
		switch {
		case err == nil && m.link.breaker.succeeded():
			slog.InfoContext(ctx, "a cluster answers again", "cluster", entry.Name, "server", entry.Server)
			c.Recover()
			f.Turned(entry)
		case err == nil:
		case m.link.breaker.failed(entry.String(), err):
			slog.WarnContext(ctx, "a cluster does not answer", "cluster", entry.Name, "server", entry.Server, "error", err)
			m.link.ground(m.link.breaker.fault())
			f.Turned(entry)
		case m.link.breaker.fault() == nil:
			pause = again
		}
	}
}
