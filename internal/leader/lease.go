package leader

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// sight is what was last seen of the lease.
type sight struct {
	// lease is nil if there is none, or nobody knows.
	lease *coordinationv1.Lease
	// known says that it was read at all.
	known bool
	// at is when this version of it was first seen here. How long it holds is
	// counted from then: the clocks of others may be wrong.
	at time.Time
	// gone says that somebody deleted the lease. Whoever held it may not know yet.
	gone bool
}

func holder(l *coordinationv1.Lease) string {
	if l == nil || l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

func duration(l *coordinationv1.Lease) time.Duration {
	if l == nil || l.Spec.LeaseDurationSeconds == nil {
		return 0
	}
	return time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second
}

// see takes a reading of the lease; nil is none.
func (e *Elector) see(l *coordinationv1.Lease) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case l == nil && e.seen.lease != nil:
		e.seen.gone = true
	case l == nil:
		e.seen = sight{known: true, at: e.now()}
	case e.seen.lease != nil && !newer(l, e.seen.lease):
		// The watch tells of what we wrote after we know it.
		return
	default:
		e.seen = sight{lease: l, known: true, at: e.now()}
	}
	close(e.changed)
	e.changed = make(chan struct{})
}

// newer says that a reading is younger than another. Versions that are no numbers
// cannot be compared; then it counts.
func newer(l, than *coordinationv1.Lease) bool {
	a, err := strconv.ParseUint(l.ResourceVersion, 10, 64)
	b, other := strconv.ParseUint(than.ResourceVersion, 10, 64)
	return err != nil || other != nil || a > b
}

// Follow keeps watching the lease until ctx ends, so that whoever waits for it
// knows at once when it is let go, and everybody knows who leads.
func (e *Elector) Follow(ctx context.Context) {
	for ctx.Err() == nil {
		began := e.now()
		err := e.read(ctx)
		if err == nil {
			err = e.watch(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			if last := e.blind.Swap(&err); last == nil || (*last).Error() != err.Error() {
				slog.WarnContext(ctx, "the lease cannot be watched; trying on", "error", err)
			}
		}
		if err != nil || e.now().Sub(began) < e.Retry {
			pause(ctx, e.Retry)
		}
	}
}

// pause waits, for ctx at most.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// read looks at the lease.
func (e *Elector) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.Deadline)
	defer cancel()
	l, err := e.leases.Get(ctx, e.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		e.see(nil)
		return nil
	}
	if err != nil {
		return e.explain("reading", err)
	}
	e.see(l)
	return nil
}

// watch tells of changes until the server ends it.
func (e *Elector) watch(ctx context.Context) error {
	o := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, e.Name).String()}
	e.mu.Lock()
	if e.seen.lease != nil && !e.seen.gone {
		o.ResourceVersion = e.seen.lease.ResourceVersion
	}
	e.mu.Unlock()
	w, err := e.watching.Watch(ctx, o)
	if err != nil {
		return e.explain("watching", err)
	}
	defer w.Stop()
	// Whatever was wrong is over.
	e.blind.Store(nil)
	for ev := range w.ResultChan() {
		l, ok := ev.Object.(*coordinationv1.Lease)
		switch {
		case ev.Type == watch.Error:
			// The reading is too old; the next one is not.
			return nil
		case !ok:
		case ev.Type == watch.Deleted:
			e.see(nil)
		default:
			e.see(l)
		}
	}
	return nil
}

// explain says what cannot be done with the lease, and the way out.
func (e *Elector) explain(doing string, err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%s lease %q in namespace %q: %w; "+
			"let the account get, watch, create and update leases of coordination.k8s.io there", doing, e.Name, e.Namespace, err)
	}
	return fmt.Errorf("%s lease %q in namespace %q: %w", doing, e.Name, e.Namespace, err)
}

// free says whether the lease may be taken, or how long that has to wait at
// most.
func (e *Elector) free() (wait time.Duration, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.seen
	switch {
	case !s.known:
		return e.Duration, false
	case holder(s.lease) == "":
		return 0, true
	case holder(s.lease) == e.Identity && e.Heir:
		// It is ours from another life.
		return 0, true
	}
	wait = duration(s.lease) - elapsed(s.at, e.now())
	return wait, wait <= 0
}

// take makes the lease ours.
func (e *Elector) take(ctx context.Context) error {
	e.mu.Lock()
	seen := e.seen
	e.mu.Unlock()
	began := e.now()
	at := metav1.NewMicroTime(began)
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: e.Name, Namespace: e.Namespace}}
	if seen.lease != nil && !seen.gone {
		l = seen.lease.DeepCopy()
	}
	turns := int32(0)
	if l.Spec.LeaseTransitions != nil {
		turns = *l.Spec.LeaseTransitions
	}
	if was := holder(l); was != e.Identity && l.ResourceVersion != "" {
		turns++
	}
	l.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: &e.Identity, LeaseDurationSeconds: new(int32(e.Duration / time.Second)),
		AcquireTime: &at, RenewTime: &at, LeaseTransitions: &turns,
	}
	return e.write(ctx, l, began)
}

// renew says that the lease is still ours.
func (e *Elector) renew(ctx context.Context) error {
	e.mu.Lock()
	seen := e.seen
	e.mu.Unlock()
	if seen.gone || seen.lease == nil {
		// Somebody deleted it: it is made again before anybody else may take it.
		return e.take(ctx)
	}
	if holder(seen.lease) != e.Identity {
		return errTaken
	}
	began := e.now()
	at := metav1.NewMicroTime(began)
	l := seen.lease.DeepCopy()
	l.Spec.RenewTime = &at
	return e.write(ctx, l, began)
}

// write stores the lease as ours, if nobody else wrote it since it was seen.
func (e *Elector) write(ctx context.Context, l *coordinationv1.Lease, began time.Time) error {
	l.Annotations = maps.Clone(l.Annotations)
	if l.Annotations == nil {
		l.Annotations = map[string]string{}
	}
	delete(l.Annotations, v1alpha1.AnnotationAddress)
	if address := e.Address(); address != "" {
		l.Annotations[v1alpha1.AnnotationAddress] = address
	}
	var written *coordinationv1.Lease
	var err error
	if l.ResourceVersion == "" {
		written, err = e.leases.Create(ctx, l, metav1.CreateOptions{})
	} else {
		written, err = e.leases.Update(ctx, l, metav1.UpdateOptions{})
	}
	if err != nil {
		return err
	}
	e.see(written)
	e.fence.renew(began)
	return nil
}

// releaseTime is how long letting go of the lease may take.
const releaseTime = 3 * time.Second

// release lets go of the lease, so that another may take it at once.
func (e *Elector) release(ctx context.Context) {
	e.mu.Lock()
	seen := e.seen
	e.mu.Unlock()
	if seen.gone || holder(seen.lease) != e.Identity {
		return
	}
	// Whoever wants to end must still let go.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	err := e.vacate(ctx, seen.lease)
	if apierrors.IsConflict(err) {
		// A renewal may have arrived whose answer nobody waited for.
		if err = e.read(ctx); err == nil {
			e.mu.Lock()
			seen = e.seen
			e.mu.Unlock()
			if seen.gone || holder(seen.lease) != e.Identity {
				return
			}
			err = e.vacate(ctx, seen.lease)
		}
	}
	if err != nil {
		slog.WarnContext(ctx, "the lease could not be let go; others wait until it has run out", "error", e.explain("releasing", err))
	}
}

// vacate writes that nobody holds the lease.
func (e *Elector) vacate(ctx context.Context, l *coordinationv1.Lease) error {
	at := metav1.NewMicroTime(e.now())
	l = l.DeepCopy()
	delete(l.Annotations, v1alpha1.AnnotationAddress)
	l.Spec.HolderIdentity, l.Spec.RenewTime, l.Spec.LeaseDurationSeconds = new(""), &at, new(int32(1))
	written, err := e.leases.Update(ctx, l, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	e.see(written)
	return nil
}
