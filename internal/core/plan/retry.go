package plan

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// The defaults of a retry, Argo CD's.
const (
	retryFirst   = 5 * time.Second
	retryFactor  = 2
	retryCap     = 3 * time.Minute
	retryOnItsOn = 5
)

// Retry is the decision on another attempt of an operation that failed.
type Retry struct {
	Strategy v1alpha1.RetryStrategy
	// Count is how many attempts followed the first one so far.
	Count int
	// Final says that another attempt would end the same, unless something
	// changes first.
	Final bool
}

// Next says whether there is another attempt, and how long it waits.
func (r Retry) Next() (time.Duration, bool) {
	if r.Final || r.Strategy.Limit >= 0 && int64(r.Count) >= r.Strategy.Limit {
		return 0, false
	}
	first, factor, most := retryFirst, float64(retryFactor), retryCap
	if b := r.Strategy.Backoff; b != nil {
		first, most = span(b.Duration, first), span(b.MaxDuration, most)
		if b.Factor != nil {
			factor = float64(*b.Factor)
		}
	}
	wait := float64(first) * math.Pow(factor, float64(r.Count))
	return time.Duration(min(wait, float64(most))), true
}

// span reads a duration; a bare number is seconds.
func span(s string, otherwise time.Duration) time.Duration {
	if n, err := strconv.Atoi(s); err == nil {
		return time.Duration(n) * time.Second
	}
	if d, err := time.ParseDuration(s); err == nil {
		return d
	}
	return otherwise
}

// RetryOf is how an automated sync of an application is repeated.
func RetryOf(app *v1alpha1.Application) v1alpha1.RetryStrategy {
	if p := app.Spec.SyncPolicy; p != nil && p.Retry != nil {
		return *p.Retry
	}
	return v1alpha1.RetryStrategy{Limit: retryOnItsOn}
}

// Retried adds to a message how often it was tried.
func Retried(message string, count int) string {
	switch count {
	case 0:
		return message
	case 1:
		return message + " (retried 1 time)."
	default:
		return fmt.Sprintf("%s (retried %d times).", message, count)
	}
}
