package script

import (
	"context"
	"errors"
	"time"
)

var (
	errTime  = errors.New("it took longer than its time limit")
	errSteps = errors.New("it took more steps than its limit")
)

// budget is a context that ends after a number of steps or at a time: the jq
// library asks it before each instruction. Nobody outside cancels it, since
// the decisions that a run is part of never wait.
type budget struct {
	left int
	stop time.Time
	end  chan struct{}
	err  error
}

var _ context.Context = (*budget)(nil)

func newBudget(l Limits) *budget {
	return &budget{left: l.Steps, stop: time.Now().Add(l.Timeout), end: make(chan struct{})}
}

// Done counts a step.
func (b *budget) Done() <-chan struct{} {
	if b.err != nil {
		return b.end
	}
	b.left--
	switch {
	case b.left < 0:
		b.err = errSteps
	case b.left%1024 == 0 && time.Now().After(b.stop):
		b.err = errTime
	default:
		return b.end
	}
	close(b.end)
	return b.end
}

// Err says which limit was reached.
func (b *budget) Err() error { return b.err }

// Deadline is when the time is over.
func (b *budget) Deadline() (time.Time, bool) { return b.stop, true }

// Value is nothing: a script gets the document alone.
func (b *budget) Value(any) any { return nil }
