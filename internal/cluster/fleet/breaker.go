package fleet

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/fault"
)

// strikes is how many looks in a row must fail before a cluster counts as
// unreachable: one may be a server that is being restarted.
const strikes = 2

// breaker says whether a cluster answers. While it does not, nothing is sent to
// it but the looks that find out.
type breaker struct {
	now func() time.Time
	// seen is when the cluster answered last, in nanoseconds; zero is never.
	seen atomic.Int64
	open atomic.Pointer[fault.Error]

	mu       sync.Mutex
	failures int
}

func newBreaker(now func() time.Time) *breaker { return &breaker{now: now} }

// answered notes that the cluster said something.
func (b *breaker) answered() { b.seen.Store(b.now().UnixNano()) }

// succeeded takes a look that was answered, and reports whether the cluster had
// counted as unreachable.
func (b *breaker) succeeded() (closed bool) {
	b.answered()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures = 0
	return b.open.Swap(nil) != nil
}

// failed takes a look that was not, and reports whether the cluster counts as
// unreachable from now on. What it says then stays the same until the cluster
// answers: applications carry it in their conditions.
func (b *breaker) failed(name string, err error) (opened bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures++
	if b.failures < strikes || b.open.Load() != nil {
		return false
	}
	last := "it was never reached"
	if at := b.seen.Load(); at != 0 {
		last = "last seen " + time.Unix(0, at).UTC().Format(time.RFC3339)
	}
	b.open.Store(&fault.Error{Class: fault.Waiting, Reason: destination.Unreachable, Err: fmt.Errorf(
		"cluster %s cannot be reached: %s; %s. Its applications go on by themselves when it answers",
		name, cause(err), last)})
	return true
}

// fault is why nothing is sent; nil while something is.
func (b *breaker) fault() error {
	if f := b.open.Load(); f != nil {
		return f
	}
	return nil
}

// cause is an error without what changes from one time to the next, such as the
// port that a connection came from.
func cause(err error) string {
	text := err.Error()
	if from, to := strings.Index(text, "read tcp "), strings.Index(text, "->"); from >= 0 && to > from {
		text = text[:from] + "reading from " + text[to+len("->"):]
	}
	return text
}
