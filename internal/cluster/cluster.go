// Package cluster is a target cluster: an index of facts about its live
// objects, kept by watches, and the few writes that a sync makes. It must not
// decide anything about applications, and it keeps no bodies of live objects.
package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

// Cluster is one target cluster. Run keeps its index; until Ready is closed
// the index is not complete and nothing may be decided from it.
type Cluster struct {
	discovery discovery.DiscoveryInterface
	dynamic   dynamic.Interface
	index     *index
	// rediscover wakes Run when the kinds may have changed.
	rediscover chan struct{}
	ready      chan struct{}

	mu      sync.RWMutex
	catalog catalog
	watches map[schema.GroupKind]*kindWatch
}

// kindWatch is the running watch of one kind.
type kindWatch struct {
	kind    kind
	stop    context.CancelFunc
	settled chan struct{}
	once    sync.Once
	// problem is the last error of the watch; empty while it works.
	problem string
}

func (w *kindWatch) settle() { w.once.Do(func() { close(w.settled) }) }

// New makes a cluster. notify is called for each change of a live object that
// matters, from the goroutine of its watch: it must not block.
func New(config *rest.Config, notify func(Change)) (*Cluster, error) {
	config = rest.CopyConfig(config)
	// The server's priority and fairness paces us; a second limit on our side
	// would only hide it.
	config.QPS = -1
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a discovery client: %w", err)
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	c := &Cluster{
		discovery: d, dynamic: dyn,
		rediscover: make(chan struct{}, 1),
		ready:      make(chan struct{}),
		watches:    map[schema.GroupKind]*kindWatch{},
	}
	c.index = newIndex(func(ch Change) {
		if isCRD(ch) {
			c.Rediscover()
		}
		notify(ch)
	})
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

// settleTime gathers the changes of CRDs that come together into one look.
const settleTime = 200 * time.Millisecond

// Run discovers and watches until ctx ends.
func (c *Cluster) Run(ctx context.Context) error {
	var watching sync.WaitGroup
	defer watching.Wait()
	backoff := wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Cap: 30 * time.Second, Steps: 8}
	first := true
	for {
		retry, err := c.look(ctx, &watching)
		if err != nil {
			slog.ErrorContext(ctx, "discovery failed", "error", err)
			retry = backoff.Step()
		}
		if err == nil && first {
			first = false
			go c.awaitSettled(ctx)
		}
		var again <-chan time.Time
		if retry > 0 {
			again = time.After(retry)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again:
		case <-c.rediscover:
			// A CRD's kind is served a moment after the CRD says so.
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(settleTime):
			}
		}
	}
}

// look discovers once and starts and stops watches to fit. While groups are
// missing it asks to be called again.
func (c *Cluster) look(ctx context.Context, watching *sync.WaitGroup) (time.Duration, error) {
	found, err := discover(c.discovery)
	if err != nil {
		return 0, err
	}
	want := make(map[schema.GroupKind]kind, len(found.watched))
	for _, k := range found.watched {
		want[k.GroupKind()] = k
	}
	c.mu.Lock()
	c.catalog = found
	var dropped []schema.GroupKind
	for gk, w := range c.watches {
		// A group that did not answer is not a group that is gone.
		if k, ok := want[gk]; (!ok && !slices.Contains(found.gaps, gk.Group)) || (ok && k != w.kind) {
			w.stop()
			delete(c.watches, gk)
			if !ok {
				dropped = append(dropped, gk)
			}
		}
	}
	for gk, k := range want {
		if _, ok := c.watches[gk]; !ok {
			c.watches[gk] = c.watch(ctx, k, watching)
		}
	}
	c.mu.Unlock()
	for _, gk := range dropped {
		c.index.forget(gk)
	}
	if len(found.gaps) > 0 {
		slog.WarnContext(ctx, "discovery is incomplete", "groups", found.gaps)
		return 30 * time.Second, nil
	}
	return 0, nil
}

func (c *Cluster) watch(ctx context.Context, k kind, watching *sync.WaitGroup) *kindWatch {
	ctx, cancel := context.WithCancel(ctx)
	w := &kindWatch{kind: k, stop: cancel, settled: make(chan struct{})}
	s := &store{kind: k, index: c.index, synced: func() { c.note(w, nil) }}
	client := c.dynamic.Resource(k.gvr())
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := client.List(ctx, o)
			c.noteError(ctx, w, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			stream, err := client.Watch(ctx, o)
			c.noteError(ctx, w, err)
			return stream, err
		},
	}
	proto := &unstructured.Unstructured{}
	proto.SetGroupVersionKind(k.GroupVersionKind)
	r := cache.NewReflectorWithOptions(lw, proto, s, cache.ReflectorOptions{Name: k.String()})
	watching.Go(func() { r.RunWithContext(ctx) })
	return w
}

// noteError records that a kind cannot be read. The others go on.
func (c *Cluster) noteError(ctx context.Context, w *kindWatch, err error) {
	if err != nil && ctx.Err() == nil {
		c.note(w, err)
	}
}

func (c *Cluster) note(w *kindWatch, err error) {
	c.mu.Lock()
	w.problem = ""
	if err != nil {
		w.problem = err.Error()
	}
	c.mu.Unlock()
	w.settle()
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
		case <-ctx.Done():
			return
		}
	}
	close(c.ready)
}

// Managed lists the facts of the objects that carry an application's mark.
func (c *Cluster) Managed(app string) []object.Fact { return c.index.managed(app) }

// Fact is what is known of one object.
func (c *Cluster) Fact(k object.Key) (object.Fact, bool) { return c.index.get(k) }

// View is what the cluster serves and what of it is watched.
func (c *Cluster) View() plan.View {
	c.mu.RLock()
	defer c.mu.RUnlock()
	blind := c.catalog.blind
	for gk, w := range c.watches {
		if w.problem == "" {
			continue
		}
		// The catalog's own map is shared by every reader.
		blind = maps.Clone(blind)
		blind[gk] = "its kind cannot be watched: " + w.problem
	}
	return plan.View{Scopes: c.catalog.scopes, Blind: blind, Gaps: c.catalog.gaps}
}

func isCRD(ch Change) bool {
	f := ch.New
	if f == nil {
		f = ch.Old
	}
	return f.Key.Group == "apiextensions.k8s.io" && f.Key.Kind == "CustomResourceDefinition"
}
