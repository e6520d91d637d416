package identity

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/account"
)

// This file is how the ledger comes into its secret and out of it.

const (
	// sessionsKey is where the secret has it.
	sessionsKey = "sessions.json"
	// writeTimeout bounds one writing, and saveTimeout how long an answer waits
	// for it: while the server of the hub is away, counting goes on in memory.
	writeTimeout = 10 * time.Second
	saveTimeout  = 3 * time.Second
	maxConflicts = 10
	firstRetry   = time.Second
	longestRetry = 30 * time.Second
)

// informing follows secrets by a watch.
func informing(client kubernetes.Interface, namespace string) follower {
	return func(ctx context.Context, name string, e events) error {
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
			informers.WithNamespace(namespace),
			informers.WithTweakListOptions(func(o *metav1.ListOptions) {
				o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
			}))
		informer := factory.Core().V1().Secrets().Informer()
		tell := func(what func(*corev1.Secret), obj any) {
			if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = last.Obj
			}
			if s, ok := obj.(*corev1.Secret); ok {
				what(s)
			}
		}
		registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { tell(e.seen, obj) },
			UpdateFunc: func(_, obj any) { tell(e.seen, obj) },
			DeleteFunc: func(obj any) { tell(e.gone, obj) },
		})
		if err != nil {
			return fmt.Errorf("watching secret %q: %w", name, err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { informer.RunWithContext(ctx) })
		if cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
			e.listed()
		}
		wg.Wait()
		return nil
	}
}

// saw takes what the secret holds now, unless more is known already.
func (l *ledger) saw(ctx context.Context, s *corev1.Secret) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.secret == nil || newer(s.ResourceVersion, l.secret.ResourceVersion) {
		l.take(ctx, s)
	}
}

// lost takes it that somebody deleted the secret, unless it was made anew.
func (l *ledger) lost(ctx context.Context, s *corev1.Secret) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.secret != nil && !newer(l.secret.ResourceVersion, s.ResourceVersion) {
		l.take(ctx, nil)
	}
}

// begin says that what there was has been told.
func (l *ledger) begin(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begun {
		l.take(ctx, nil)
	}
}

// take makes a secret the one that counts; the caller holds the mutex.
func (l *ledger) take(ctx context.Context, s *corev1.Secret) {
	l.secret = s
	l.shared = l.read(ctx, s)
	for key, f := range l.shared.Sources {
		place, err := strconv.Atoi(key)
		if err == nil && place >= 0 && place < len(l.sources) && f.Last >= l.sources[place].failure.Last {
			l.sources[place].failure = f
		}
	}
	l.look()
	if !l.begun {
		l.begun = true
		close(l.ready)
	}
}

// read is what a secret says. If it cannot be read, nobody knows which sessions
// were ended: then all of them are, and everybody signs in again.
func (l *ledger) read(ctx context.Context, s *corev1.Secret) *account.Sessions {
	if s == nil {
		return &account.Sessions{}
	}
	out, err := account.ReadSessions(s.Data[sessionsKey])
	if err != nil {
		slog.ErrorContext(ctx, "the ended sessions cannot be read; all sessions are ended", "secret", s.Name, "key", sessionsKey)
		return &account.Sessions{Before: l.now().Unix() + 1}
	}
	return out
}

// write writes down what happened, again and again, until ctx ends. What
// happens during one writing comes into the next: however many fail at once,
// there is one writing after the other.
func (l *ledger) write(ctx context.Context) {
	select {
	case <-l.ready:
	case <-ctx.Done():
		return
	}
	wait := firstRetry
	for {
		select {
		case <-l.dirty:
		case <-ctx.Done():
			l.last(ctx)
			return
		}
		err := l.flush(ctx)
		if err == nil {
			wait = firstRetry
			continue
		}
		slog.WarnContext(ctx, "what happened to sessions could not be written down; trying again",
			"secret", v1alpha1.SecretSessions, "error", err, "in", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		wait = min(2*wait, longestRetry)
		l.mu.Lock()
		l.touch()
		l.mu.Unlock()
	}
}

// last writes what is left when the process is asked to end.
func (l *ledger) last(ctx context.Context) {
	select {
	case <-l.dirty:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	if err := l.flush(ctx); err != nil {
		slog.WarnContext(ctx, "what happened to sessions could not be written down", "secret", v1alpha1.SecretSessions, "error", err)
	}
}

// batch is what one writing adds to the secret.
type batch struct {
	tallies map[string]tally
	ending  []ending
	locked  map[string]account.Failure
	round   *round
}

// gather is what there is to write.
func (l *ledger) gather() batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := batch{tallies: map[string]tally{}, ending: l.ending, locked: l.locked, round: l.next}
	for name, t := range l.tallies {
		if t.failed > 0 || t.cleared {
			b.tallies[name] = *t
		} else if t.underway == 0 {
			delete(l.tallies, name)
		}
	}
	l.next, l.locked, l.writing = newRound(), map[string]account.Failure{}, b.tallies
	return b
}

// flush writes once. It begins anew while other replicas are faster.
func (l *ledger) flush(ctx context.Context) error {
	b, start := l.gather(), time.Now()
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	l.mu.Lock()
	base := l.secret
	l.mu.Unlock()
	var err error
	for range maxConflicts {
		var written *corev1.Secret
		written, err = l.put(ctx, base, b)
		if err == nil {
			l.settle(ctx, b, written)
			break
		}
		if !overtaken(err) {
			break
		}
		if base, err = l.fetch(ctx); err != nil {
			break
		}
	}
	if err != nil {
		l.keep(b)
	}
	l.mu.Lock()
	l.took = min(time.Since(start), saveTimeout)
	l.mu.Unlock()
	b.round.err = err
	close(b.round.done)
	return err
}

// fetch reads the secret; nil is that there is none.
func (l *ledger) fetch(ctx context.Context) (*corev1.Secret, error) {
	s, err := l.secrets.Get(ctx, v1alpha1.SecretSessions, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading secret %q: %w", v1alpha1.SecretSessions, err)
	}
	return s, nil
}

// put writes what a secret held and what is to be added.
func (l *ledger) put(ctx context.Context, base *corev1.Secret, b batch) (*corev1.Secret, error) {
	now := l.now()
	state := l.read(ctx, base).Clone()
	for name, t := range b.tallies {
		f := l.limits.Account.Standing(state.Failures[name], now)
		if t.cleared {
			f = account.Failure{}
		}
		state.Failures[name] = account.Failure{Count: f.Count + t.failed, Last: max(f.Last, t.last)}
	}
	for _, e := range b.ending {
		state.End(e.account, e.digest, e.until)
	}
	maps.Copy(state.Sources, b.locked)
	state.Tidy(l.known, l.limits, now)
	text, err := state.Text()
	if err != nil {
		return nil, err
	}
	if base == nil {
		s := newSecret(v1alpha1.SecretSessions)
		s.Data[sessionsKey] = text
		return l.secrets.Create(ctx, s, metav1.CreateOptions{FieldManager: v1alpha1.FieldManagerAction})
	}
	s := base.DeepCopy()
	if string(s.Data[sessionsKey]) == string(text) {
		return base, nil
	}
	if s.Data == nil {
		s.Data = map[string][]byte{}
	}
	s.Data[sessionsKey] = text
	return l.secrets.Update(ctx, s, metav1.UpdateOptions{FieldManager: v1alpha1.FieldManagerAction})
}

// settle takes what was written, and what it has of the tallies off them, at
// once: nothing counts twice.
func (l *ledger) settle(ctx context.Context, b batch, written *corev1.Secret) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writing = nil
	for name, was := range b.tallies {
		// A success in the meantime has begun a new count.
		if t := l.tallyOf(name); t.clears == was.clears {
			t.failed, t.cleared = t.failed-was.failed, false
		}
	}
	l.ending = l.ending[len(b.ending):]
	if l.secret == nil || !newer(l.secret.ResourceVersion, written.ResourceVersion) {
		l.take(ctx, written)
		return
	}
	l.look()
}

// keep puts back what could not be written, apart from what is in the tallies
// still.
func (l *ledger) keep(b batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writing = nil
	for place, f := range b.locked {
		if _, later := l.locked[place]; !later {
			l.locked[place] = f
		}
	}
}

// linger waits as long as the last writing took, for failures that are not
// written down: or a slow server would tell which those are.
func (l *ledger) linger(ctx context.Context) {
	l.mu.Lock()
	took := l.took
	l.mu.Unlock()
	timer := time.NewTimer(took)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// wait waits for a writing, for a while.
func (r *round) wait(ctx context.Context) error {
	if r == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return errors.New("it was not written down in time")
	}
}
