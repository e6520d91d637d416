package chart

import (
	"context"
	"sync"
	"time"

	"github.com/towline-cd/towline/internal/core/fault"
)

// freshEnough is how old an answer may be to say that something does not exist.
const freshEnough = 10 * time.Second

// anyAge is for what does not change, or where the last answer is good enough.
const anyAge = time.Duration(1<<63 - 1)

// shared remembers the last answer to a question and lets callers share the next. Nobody is given the answer to a
// question that was asked before they came and is older than they accept.
type shared[A any] struct {
	mu     sync.Mutex
	last   *answer[A]
	asking *question[A] // sent
	next   *question[A] // to be sent when asking is answered
}

type answer[A any] struct {
	value A
	seen  time.Time // when it was asked for, so that it can only be newer than we say
}

type question[A any] struct {
	asked  time.Time
	done   chan struct{}
	answer *answer[A]
	err    error
}

// fetcher gets an answer; it is given the last one, or nil.
type fetcher[A any] func(ctx context.Context, last *A) (A, error)

// peek is the last answer, or nil.
func (r *shared[A]) peek() *answer[A] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// forget makes the next caller ask.
func (r *shared[A]) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = nil
}

// ask returns an answer that is not older than maxAge, or one to a question that is asked from now on.
func (r *shared[A]) ask(ctx context.Context, s *Store, maxAge time.Duration, fetch fetcher[A]) (*answer[A], error) {
	q, last := r.join(ctx, s, maxAge, fetch)
	if q == nil {
		return last, nil
	}
	select {
	case <-q.done:
		return q.answer, q.err
	case <-ctx.Done():
		return nil, fault.Transientf("Cancelled", "waiting for a repository: %w", context.Cause(ctx))
	}
}

func (r *shared[A]) join(ctx context.Context, s *Store, maxAge time.Duration, fetch fetcher[A]) (*question[A], *answer[A]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := s.now()
	fresh := func(at time.Time) bool { return maxAge > 0 && now.Sub(at) <= maxAge }
	if r.last != nil && fresh(r.last.seen) {
		return nil, r.last
	}
	if r.asking == nil {
		r.asking = &question[A]{asked: now, done: make(chan struct{})}
		go r.answerQuestions(ctx, s, r.asking, fetch)
		return r.asking, nil
	}
	if fresh(r.asking.asked) {
		return r.asking, nil
	}
	if r.next == nil {
		r.next = &question[A]{done: make(chan struct{})}
	}
	return r.next, nil
}

// answerQuestions asks until nobody waits.
func (r *shared[A]) answerQuestions(ctx context.Context, s *Store, q *question[A], fetch fetcher[A]) {
	for q != nil {
		var last *A
		if known := r.peek(); known != nil {
			last = &known.value
		}
		var value A
		if value, q.err = detached(ctx, s, func(ctx context.Context) (A, error) { return fetch(ctx, last) }); q.err == nil {
			q.answer = &answer[A]{value: value, seen: q.asked}
		}
		q = r.settle(q, s.now)
	}
}

// settle hands out the answer and returns the question that has to be asked next, if there is one.
func (r *shared[A]) settle(q *question[A], now func() time.Time) *question[A] {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.err == nil {
		r.last = q.answer
	}
	close(q.done)
	r.asking, r.next = r.next, nil
	if r.asking != nil {
		r.asking.asked = now()
	}
	return r.asking
}

// detached does work that outlives the caller who asked for it first, because others may wait for it. It ends by
// itself, by its timeout, or with the Store; and only so many are done at a time.
func detached[A any](ctx context.Context, s *Store, work func(context.Context) (A, error)) (A, error) {
	var none A
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return none, err
	}
	defer end()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
		return work(ctx)
	case <-ctx.Done():
		return none, fault.Transientf("StoreClosed", "using the store of charts: %w", context.Cause(ctx))
	}
}
