// Package controller wakes the engine: it turns changes of applications, of
// live objects and of repositories into work for one application at a time,
// the most urgent first. It must not decide what the work is, and no worker
// ever sleeps: what has to wait goes back to the queue.
package controller

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/workqueue"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/webhook"
	"github.com/towline-cd/towline/internal/engine"
)

// Reconciler does the work for one application.
type Reconciler interface {
	Reconcile(ctx context.Context, name string) (engine.Result, error)
}

// Options are what a controller is made of.
type Options struct {
	// Namespace is the control namespace.
	Namespace  string
	Reconciler Reconciler
	Resolver   Resolver
	// Foreseer fetches what webhooks speak of while that is asked for; nil means
	// that nobody does.
	Foreseer Foreseer
	// Poll says how often repositories are looked at, and the jitter that is
	// added at random.
	Poll func() (every, jitter time.Duration)
	// Touched says whom a move of a revision concerns; nil is all who follow it.
	Touched Touched
	Workers int
	// Auditor checks one object of an application against the server, every
	// AuditEvery; zero means never.
	Auditor    Auditor
	AuditEvery time.Duration
	// Projects lets projects go; nil means that nobody does.
	Projects ProjectReconciler
	// SetWorkers is how many ApplicationSets are worked on at once; zero is the
	// default.
	SetWorkers int
	// Sets generates ApplicationSets; nil means that nobody does.
	Sets SetReconciler
	// Place names the cluster of a destination; nil means that all are one. If
	// there are several, the applications of one have half of the workers at most,
	// and there are half as many more: one that is held up takes nothing away from
	// the others.
	Place func(v1alpha1.ApplicationDestination) string
	// Metrics counts what happens in the queues; nil means that nobody does.
	Metrics workqueue.MetricsProvider
}

// queueName is Argo CD's, which dashboards select by.
const queueName = "app_reconciliation_queue"

// Auditor asks the server about an object that nothing was asked about.
type Auditor interface {
	Audit(ctx context.Context, name string) (right bool, err error)
}

// Controller is the queue of applications and its workers.
type Controller struct {
	Options
	lanes  *lanes
	queue  workqueue.TypedRateLimitingInterface[string]
	poller *poller
	// projects are those to look at.
	projects workqueue.TypedRateLimitingInterface[string]
	sets     *sets
	// running is set when the first reading of the hub is behind us.
	running atomic.Bool

	mu sync.Mutex
	// apps are those that there are, each with where it is deployed to.
	apps map[string]v1alpha1.ApplicationDestination
	// to are the applications by where they are deployed to.
	to map[target]map[string]struct{}
}

// New makes a controller.
func New(o Options) *Controller {
	l := newLanes()
	l.workers = o.Workers
	queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: queueName, Queue: l, MetricsProvider: o.Metrics})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{
		Name: queueName, Queue: queue, MetricsProvider: o.Metrics,
	})
	c := &Controller{
		Options: o,
		apps:    map[string]v1alpha1.ApplicationDestination{},
		to:      map[target]map[string]struct{}{},
		lanes:   l,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, 2*time.Minute),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: queueName, DelayingQueue: delaying}),
	}
	c.projects = workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, 2*time.Minute),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: projectQueueName, MetricsProvider: o.Metrics})
	c.sets = newSets(o.Metrics)
	c.poller = newPoller(pollerOptions{
		resolver: o.Resolver, foreseer: o.Foreseer, every: o.Poll, touched: o.Touched, key: c.key,
		wake: c.followed,
	})
	return c
}

// key is what an application is called.
func (c *Controller) key(app *v1alpha1.Application) string {
	return object.AppName(c.Namespace, app.Namespace, app.Name)
}

// Enqueue asks for a look at an application, by object.AppName.
func (c *Controller) Enqueue(app string, cause Cause) {
	c.lanes.want(app, cause)
	c.queue.Add(app)
}

// ApplicationChanged tells of a change of an application; old is nil when it
// came, app when it went. The engine's own writes of the status ask for
// nothing.
func (c *Controller) ApplicationChanged(old, app *v1alpha1.Application) {
	c.poller.track(old, app)
	c.remember(old, app)
	c.leaves(old, app)
	c.memberChanged(old, app)
	switch {
	case app == nil:
		c.Enqueue(c.key(old), Resync)
	case old == nil && !c.running.Load():
		c.Enqueue(c.key(app), Resync)
	case old == nil || asks(old, app):
		c.Enqueue(c.key(app), User)
	}
}

// asks reports whether a change of an application asks for something.
func asks(old, app *v1alpha1.Application) bool {
	return !equality.Semantic.DeepEqual(old.Spec, app.Spec) ||
		!equality.Semantic.DeepEqual(old.Operation, app.Operation) && app.Operation != nil ||
		app.Annotations[v1alpha1.AnnotationRefresh] != "" && annotated(old, app, v1alpha1.AnnotationRefresh) ||
		slices.ContainsFunc(asking, func(name string) bool { return annotated(old, app, name) }) ||
		(old.DeletionTimestamp == nil) != (app.DeletionTimestamp == nil) ||
		terminating(app) && !terminating(old)
}

// asking are the annotations whose change asks for a look.
var asking = []string{
	v1alpha1.AnnotationSkipReconcile, v1alpha1.AnnotationDeletionApproved,
	v1alpha1.AnnotationHoldUntil, v1alpha1.AnnotationRejected,
}

func annotated(old, app *v1alpha1.Application, name string) bool {
	return old.Annotations[name] != app.Annotations[name]
}

func terminating(app *v1alpha1.Application) bool {
	s := app.Status.OperationState
	return s != nil && s.Phase == v1alpha1.OperationTerminating
}

// Run works until ctx ends. The caches that the engine reads must be complete.
func (c *Controller) Run(ctx context.Context) {
	c.running.Store(true)
	var wg sync.WaitGroup
	for range c.Workers + c.spare() {
		wg.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	wg.Go(func() { c.poller.run(ctx) })
	wg.Go(func() { c.audit(ctx) })
	wg.Go(func() { c.runProjects(ctx) })
	wg.Go(func() { c.runSets(ctx) })
	<-ctx.Done()
	c.queue.ShutDown()
	c.projects.ShutDown()
	c.sets.queue.ShutDown()
	c.poller.stop()
	wg.Wait()
}

func (c *Controller) next(ctx context.Context) bool {
	name, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(name)
	defer c.lanes.done(name)
	result, err := c.reconcile(ctx, name)
	switch {
	case ctx.Err() != nil:
	case err != nil && fault.ClassOf(err) != fault.Transient:
		// Trying again would not help; the event that does will come.
		c.queue.Forget(name)
		slog.WarnContext(ctx, "reconciling failed", "app", name, "error", err)
	case err != nil:
		slog.WarnContext(ctx, "reconciling failed, trying again", "app", name, "error", err, "tries", c.queue.NumRequeues(name)+1)
		c.queue.AddRateLimited(name)
	default:
		c.queue.Forget(name)
		if result.After > 0 {
			c.queue.AddAfter(name, result.After)
		}
	}
	return true
}

// reconcile is the boundary that a poison application does not cross: the
// others go on.
func (c *Controller) reconcile(ctx context.Context, name string) (result engine.Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			slog.ErrorContext(ctx, "reconciling panicked", "app", name, "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("reconciling application %q: %v", name, r)
		}
	}()
	return c.Reconciler.Reconcile(engine.Because(ctx, c.lanes.because(name).String()), name)
}

// Hint says that somebody looked at a repository and saw it move, so that those
// who follow it need not wait for its turn. It does not block.
func (c *Controller) Hint(repoURL string) { c.poller.hint(repoURL) }

// Told takes what a webhook says, and answers how many looks that asks for which
// nobody had asked for yet: at repositories, and at the sets that list pull
// requests there. It does not block.
func (c *Controller) Told(h webhook.Hint) int {
	if h.Kind == webhook.Nothing {
		return 0
	}
	asked := c.hearSets(h)
	if h.Kind != webhook.Pull {
		asked += c.poller.hear(h)
	}
	return asked
}

// RepositoriesChanged wakes the applications of the repositories of which
// something else is known now.
func (c *Controller) RepositoriesChanged(concerns func(repoURL string) bool) {
	for _, holder := range c.poller.following(concerns) {
		c.followed(holder)
	}
}
