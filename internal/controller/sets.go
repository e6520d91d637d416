package controller

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/engine"
)

// SetReconciler does the work for one ApplicationSet.
type SetReconciler interface {
	ReconcileSet(ctx context.Context, name string, l engine.SetLook) (engine.SetResult, error)
}

// setQueueName is the name of controller-runtime's queue in Argo CD, which
// dashboards select by.
const setQueueName = "applicationset"

// setWorkers is how many ApplicationSets are worked on at once, unless the
// options say otherwise.
const setWorkers = 4

// sets is the queue of ApplicationSets. It tells a change of a set from a change
// in how its applications are: the latter generates nothing.
type sets struct {
	queue workqueue.TypedRateLimitingInterface[string]

	mu sync.Mutex
	// whole are the sets that are to be generated, not only reported on.
	whole map[string]struct{}
	// sizes is how many applications a set has.
	sizes map[string]int
	// timers are the next looks that sets asked for by themselves.
	timers map[string]*time.Timer
	// topics are what sets want to be told of by webhooks, by set, and listeners
	// the sets by topic; turns are when those are generated for it.
	topics    map[string][]string
	listeners map[string]map[string]struct{}
	turns     turns
}

func newSets(metrics workqueue.MetricsProvider) *sets {
	return &sets{
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, 2*time.Minute),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: setQueueName, MetricsProvider: metrics}),
		whole: map[string]struct{}{}, sizes: map[string]int{}, timers: map[string]*time.Timer{},
		topics: map[string][]string{}, listeners: map[string]map[string]struct{}{}, turns: newTurns(),
	}
}

// EnqueueSet asks for an ApplicationSet to be generated, by object.AppName.
func (c *Controller) EnqueueSet(name string) {
	if c.Sets == nil {
		return
	}
	c.sets.want(name)
	c.sets.queue.Add(name)
}

func (s *sets) want(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.whole[name] = struct{}{}
}

// look takes what is wanted of a set.
func (s *sets) look(name string) engine.SetLook {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, whole := s.whole[name]
	delete(s.whole, name)
	if whole {
		s.turns.begin(name, time.Now())
	}
	return engine.SetLook{Progress: !whole}
}

// gather is how long changes in the state of applications are gathered into one
// write of their set; a large set takes longer to write, and changes more often.
func (s *sets) gather(name string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return 250*time.Millisecond + time.Duration(s.sizes[name])*100*time.Microsecond
}

// later plans the next look that a set asks for, instead of the one before.
func (s *sets) later(name string, after time.Duration, look func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.timers[name]; ok {
		t.Stop()
	}
	s.timers[name] = time.AfterFunc(after, look)
}

// forget drops what is planned for a set that is gone.
func (s *sets) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.timers[name]; ok {
		t.Stop()
		delete(s.timers, name)
	}
	s.turns.forget(name)
}

func (s *sets) count(name string, by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sizes[name] += by; s.sizes[name] <= 0 {
		delete(s.sizes, name)
	}
}

// SetChanged tells of a change of an ApplicationSet; old is nil when it came,
// set when it went. Our own writes of the status ask for nothing.
func (c *Controller) SetChanged(old, set *v1alpha1.ApplicationSet) {
	switch {
	case set == nil:
		c.sets.forget(c.setKey(old))
		c.EnqueueSet(c.setKey(old))
	case old == nil, old.Generation != set.Generation, (old.DeletionTimestamp == nil) != (set.DeletionTimestamp == nil),
		set.Annotations[v1alpha1.AnnotationApplicationSetRefresh] != "" && setAnnotated(old, set, v1alpha1.AnnotationApplicationSetRefresh),
		setAnnotated(old, set, v1alpha1.AnnotationDeletionApproved):
		c.EnqueueSet(c.setKey(set))
	}
}

// setKey is what a set is called.
func (c *Controller) setKey(set *v1alpha1.ApplicationSet) string {
	return object.AppName(c.Namespace, set.Namespace, set.Name)
}

func setAnnotated(old, set *v1alpha1.ApplicationSet, name string) bool {
	return old.Annotations[name] != set.Annotations[name]
}

// memberChanged looks at the ApplicationSet of an application: it is generated
// again when somebody else changed what it made, and told of when only the state
// of that did.
func (c *Controller) memberChanged(old, app *v1alpha1.Application) {
	if c.Sets == nil {
		return
	}
	was, is := c.setOf(old), c.setOf(app)
	if was != is {
		c.left(was)
		c.joined(is)
		return
	}
	switch {
	case is == "":
	case madeDiffer(old, app):
		c.EnqueueSet(is)
	case stateDiffers(old, app):
		c.sets.queue.AddAfter(is, c.sets.gather(is))
	}
}

func (c *Controller) left(set string) {
	if set != "" {
		c.sets.count(set, -1)
		c.EnqueueSet(set)
	}
}

func (c *Controller) joined(set string) {
	if set != "" {
		c.sets.count(set, 1)
		c.sets.queue.AddAfter(set, c.sets.gather(set))
	}
}

// setOf is the ApplicationSet that made an application, which is where that is.
func (c *Controller) setOf(app *v1alpha1.Application) string {
	if app == nil {
		return ""
	}
	if o := metav1.GetControllerOf(app); o != nil && o.Kind == v1alpha1.ApplicationSetKind {
		return object.AppName(c.Namespace, app.Namespace, o.Name)
	}
	return ""
}

// madeDiffer says whether what a set writes is another.
func madeDiffer(old, app *v1alpha1.Application) bool {
	return !equality.Semantic.DeepEqual(old.Spec, app.Spec) || !equality.Semantic.DeepEqual(old.Labels, app.Labels) ||
		!equality.Semantic.DeepEqual(old.Finalizers, app.Finalizers) ||
		!equality.Semantic.DeepEqual(old.OwnerReferences, app.OwnerReferences) ||
		annotationsDiffer(old.Annotations, app.Annotations) || (old.DeletionTimestamp == nil) != (app.DeletionTimestamp == nil)
}

// annotationsDiffer leaves out those that the engine writes itself.
func annotationsDiffer(old, now map[string]string) bool {
	differs := func(a, b map[string]string) bool {
		for name, value := range a {
			if other, ok := b[name]; (!ok || other != value) && name != v1alpha1.AnnotationRefresh {
				return true
			}
		}
		return false
	}
	return differs(old, now) || differs(now, old)
}

// stateDiffers says whether an application is in another state as far as its set
// is concerned.
func stateDiffers(old, app *v1alpha1.Application) bool {
	phase := func(a *v1alpha1.Application) v1alpha1.OperationPhase {
		if a.Status.OperationState == nil {
			return ""
		}
		return a.Status.OperationState.Phase
	}
	return old.Status.Sync.Status != app.Status.Sync.Status || old.Status.Health.Status != app.Status.Health.Status ||
		old.Status.Sync.Revision != app.Status.Sync.Revision || phase(old) != phase(app)
}

func (c *Controller) runSets(ctx context.Context) {
	var wg sync.WaitGroup
	for range cmp.Or(c.SetWorkers, setWorkers) {
		wg.Go(func() {
			for c.nextSet(ctx) {
			}
		})
	}
	wg.Wait()
}

func (c *Controller) nextSet(ctx context.Context) bool {
	name, shutdown := c.sets.queue.Get()
	if shutdown {
		return false
	}
	defer c.sets.queue.Done(name)
	look := c.sets.look(name)
	result, err := c.reconcileSet(ctx, name, look)
	if result.Follows != nil {
		c.poller.followSet(engine.SetHolder(name), result.Follows)
		c.sets.listen(name, result.Topics)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil && fault.ClassOf(err) == fault.Transient:
		slog.WarnContext(ctx, "reconciling an ApplicationSet failed, trying again", "applicationset", name, "error", err)
		if !look.Progress {
			c.sets.want(name)
		}
		c.sets.queue.AddRateLimited(name)
	case err != nil:
		c.sets.queue.Forget(name)
		slog.WarnContext(ctx, "reconciling an ApplicationSet failed", "applicationset", name, "error", err)
		fallthrough
	default:
		c.sets.queue.Forget(name)
		if result.After > 0 {
			c.sets.later(name, result.After, func() {
				if ctx.Err() == nil {
					c.EnqueueSet(name)
				}
			})
		}
	}
	return true
}

// reconcileSet is the boundary that a poison set does not cross.
func (c *Controller) reconcileSet(ctx context.Context, name string, l engine.SetLook) (result engine.SetResult, err error) {
	defer func() {
		if r := recover(); r != nil {
			slog.ErrorContext(ctx, "reconciling an ApplicationSet panicked", "applicationset", name, "panic", r,
				"stack", string(debug.Stack()))
			err = fmt.Errorf("reconciling ApplicationSet %q: %v", name, r)
		}
	}()
	return c.Sets.ReconcileSet(ctx, name, l)
}

// followed wakes whoever follows a repository: an application or a set.
func (c *Controller) followed(holder string) {
	if name, ok := strings.CutPrefix(holder, engine.SetHolder("")); ok {
		c.EnqueueSet(name)
		return
	}
	c.Enqueue(holder, Webhook)
}
