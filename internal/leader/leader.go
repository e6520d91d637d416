// Package leader sees to it that of several replicas one acts: it holds a
// Lease, refuses the writes of a process that does not (Fence), and lets the
// others pass on what only the acting one can answer (Peers, Forward). It must
// not know what is done by whoever leads.
//
// It is not client-go's leaderelection: that asks every two seconds whether the
// lease is free where a watch tells at once, cannot say where the holder is to
// be reached, ends the process that lost, and leaves a gap between "not renewed
// in time" and the last write, which is what the fence is for.
package leader

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	typed "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Options are what an elector is made of.
type Options struct {
	// Config is how the API server is reached; not through the fence.
	Config    *rest.Config
	Namespace string
	// Name is that of the lease; empty is the usual one.
	Name string
	// Identity is by whom the lease is held. With Heir, whoever had the same
	// before is dead for certain, and what was held is taken over at once.
	Identity string
	Heir     bool
	// Address is where the others reach this process while it leads; nil or empty
	// is nowhere.
	Address func() string
	// Fence is told when writes may be made.
	Fence *Fence
	Times
}

// Times are how long things take.
type Times struct {
	// Duration is how long others wait for a holder that is not heard of. It
	// counts in whole seconds.
	Duration time.Duration
	// Deadline is how long after its last renewal a holder acts; the rest of
	// Duration is the distance to whoever comes next.
	Deadline time.Duration
	// Retry is how often the lease is renewed, and how soon what failed is tried
	// again.
	Retry time.Duration
}

// UsualTimes are those that controllers of Kubernetes have.
func UsualTimes() Times {
	return Times{Duration: 15 * time.Second, Deadline: 10 * time.Second, Retry: 2 * time.Second}
}

func (t Times) check() error {
	switch {
	case t.Duration < time.Second || t.Duration%time.Second != 0:
		return fmt.Errorf("a lease of %s: it must be whole seconds, at least one", t.Duration)
	case t.Deadline >= t.Duration:
		return fmt.Errorf("a lease of %s that is renewed within %s: the second must be shorter, "+
			"or two replicas would act at once", t.Duration, t.Deadline)
	case t.Retry <= 0 || 2*t.Retry > t.Deadline:
		return fmt.Errorf("a lease that is renewed every %s within %s: that must be two tries at least", t.Retry, t.Deadline)
	}
	return nil
}

// Elector takes part in who leads, or only looks on.
type Elector struct {
	Options
	now func() time.Time
	// leases is by a connection of its own: one that hangs is closed when a try
	// has failed, and a watch would keep it open.
	leases, watching typed.LeaseInterface
	// idle closes connections that nobody uses: the next try is to have a new
	// one.
	idle  func()
	fence *Fence
	// leading says that lead runs.
	leading atomic.Bool
	// blind is why the lease is not seen, and barred why it cannot be had; nil
	// while nothing is wrong.
	blind, barred atomic.Pointer[error]

	mu   sync.Mutex
	seen sight
	// changed is closed when seen is another.
	changed chan struct{}
}

// New makes an elector.
func New(o Options) (*Elector, error) {
	if o.Name == "" {
		o.Name = v1alpha1.LeaseController
	}
	if o.Fence == nil {
		o.Fence = NewFence(o.Times)
	}
	if o.Address == nil {
		o.Address = func() string { return "" }
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	config := rest.CopyConfig(o.Config)
	config.QPS = -1
	watching, err := typed.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client to watch leases: %w", err)
	}
	// client-go shares connections between configurations that dial alike.
	config.Dial = (&net.Dialer{Timeout: o.Deadline / 2}).DialContext
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for leases: %w", err)
	}
	group, err := typed.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("making a client for leases: %w", err)
	}
	return &Elector{
		Options: o, now: time.Now, fence: o.Fence, changed: make(chan struct{}),
		leases: group.Leases(o.Namespace), watching: watching.Leases(o.Namespace),
		idle: func() { utilnet.CloseIdleConnectionsFor(client.Transport) },
	}, nil
}

// Leading says that this process leads.
func (e *Elector) Leading() bool { return e.leading.Load() }

// Problem is why it is not known who leads, or why it cannot be this process;
// nil while nothing is wrong.
func (e *Elector) Problem() error {
	for _, p := range []*error{e.blind.Load(), e.barred.Load()} {
		if p != nil {
			return *p
		}
	}
	return nil
}

// Leader is who leads.
type Leader struct {
	Identity string
	// Address is empty if it is reached nowhere.
	Address string
	// Here says that it is this process.
	Here bool
}

// Leader is who leads as far as is known; false means that nobody does.
func (e *Elector) Leader() (Leader, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.seen.lease
	if holder(l) == "" || elapsed(e.seen.at, e.now()) > duration(l) {
		return Leader{}, false
	}
	here := e.leading.Load() && holder(l) == e.Identity
	return Leader{Identity: holder(l), Address: l.Annotations[v1alpha1.AnnotationAddress], Here: here}, true
}

// errTaken means that another holds the lease.
var errTaken = errors.New("another replica holds the lease")

// Run leads whenever it can, until ctx ends: lead is called each time with a
// context that ends with the leadership, and must return then. While it tidies
// up after the end of ctx it still leads; then the lease is let go. If lead
// returns an error by itself, so does Run. Follow must run too.
func (e *Elector) Run(ctx context.Context, lead func(context.Context) error) error {
	for {
		if err := e.acquire(ctx); err != nil || ctx.Err() != nil {
			return err
		}
		slog.InfoContext(ctx, "this replica leads", "identity", e.Identity, "lease", e.Duration)
		err := e.reign(ctx, lead)
		if err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// acquire waits until the lease is ours.
func (e *Elector) acquire(ctx context.Context) error {
	for standing := ""; ctx.Err() == nil; {
		e.mu.Lock()
		changed, held := e.changed, holder(e.seen.lease)
		e.mu.Unlock()
		wait, free := e.free()
		if !free && held != "" && held != standing {
			slog.InfoContext(ctx, "standing by", "leader", held)
			standing = held
		}
		if free {
			err := e.attempt(ctx)
			switch {
			case err == nil:
				return nil
			case apierrors.IsNotFound(err):
				return fmt.Errorf("making lease %q: %w; does namespace %q exist?", e.Name, err, e.Namespace)
			case !errors.Is(err, errTaken):
				e.complain(ctx, e.explain("taking", err))
			}
			wait = e.Retry
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
	return nil
}

// complain notes why the lease cannot be had, and says it once.
func (e *Elector) complain(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if last := e.barred.Swap(&err); last == nil || (*last).Error() != err.Error() {
		slog.WarnContext(ctx, "the lease cannot be had; trying on", "error", err)
	}
	e.idle()
}

// attempt takes the lease, or finds that another was faster, which is no news:
// the next look sees it.
func (e *Elector) attempt(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.Deadline)
	defer cancel()
	err := e.take(ctx)
	if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if err := e.read(ctx); err != nil {
		return err
	}
	return errTaken
}

// reign lets lead run for as long as the lease is ours.
func (e *Elector) reign(ctx context.Context, lead func(context.Context) error) error {
	select {
	case <-e.fence.lapsed:
		// That was another time.
	default:
	}
	e.barred.Store(nil)
	e.leading.Store(true)
	term, end := context.WithCancel(ctx)
	defer end()
	over := make(chan error, 1)
	go func() { over <- lead(term) }()
	// Whoever tidies up after the end of ctx leads until that is done.
	held, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	lost := make(chan error, 1)
	go func() { lost <- e.hold(held) }()
	var err error
	select {
	case err = <-over:
		stop()
		<-lost
		e.leading.Store(false)
		e.fence.shut()
		e.release(ctx)
	case cause := <-lost:
		e.fence.shut()
		e.leading.Store(false)
		slog.WarnContext(ctx, "this replica does not lead any more", "identity", e.Identity, "cause", cause)
		end()
		err = <-over
	}
	return err
}

// hold renews the lease until ctx ends or it is lost, and says why.
func (e *Elector) hold(ctx context.Context) error {
	tick := time.NewTicker(e.Retry)
	defer tick.Stop()
	for failed := false; ; {
		e.mu.Lock()
		changed, gone := e.changed, e.seen.gone
		other := !gone && holder(e.seen.lease) != e.Identity
		e.mu.Unlock()
		if other {
			return errTaken
		}
		// One that somebody deleted is made again at once.
		if !gone || failed {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-e.fence.lapsed:
				return fmt.Errorf("the lease was not renewed within %s", e.Deadline)
			case <-changed:
				continue
			case <-tick.C:
			}
		}
		// Whoever slept for too long asks for nothing.
		if e.fence.check() != nil {
			return fmt.Errorf("the lease was not renewed within %s", e.Deadline)
		}
		err := e.prolong(ctx)
		if errors.Is(err, errTaken) {
			return err
		}
		if failed = err != nil; failed && ctx.Err() == nil {
			slog.WarnContext(ctx, "the lease could not be renewed; trying on", "error", e.explain("renewing", err))
			e.idle()
		}
	}
}

// prolong renews the lease. That somebody else wrote it need not mean that they
// hold it.
func (e *Elector) prolong(ctx context.Context) error {
	// A try that hangs must leave time for another.
	ctx, cancel := context.WithTimeout(ctx, e.Deadline/2)
	defer cancel()
	err := e.renew(ctx)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		if err = e.read(ctx); err == nil {
			err = e.renew(ctx)
		}
	}
	return err
}
