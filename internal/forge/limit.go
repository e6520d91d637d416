package forge

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/repository"
)

const (
	// longestHold bounds what a forge may ask for: the limits that they have begin anew every hour.
	longestHold = time.Hour
	// unknownHold is for a forge that says stop, and not for how long.
	unknownHold = time.Minute
	// maxHolds bounds how many are remembered.
	maxHolds = 1024
)

// limitError is that a forge wants to be left alone for a while.
type limitError struct{ until time.Time }

func (e *limitError) Error() string {
	return "the limit of its API is reached until " + e.until.UTC().Format(time.RFC3339)
}

// Until is when the forge may be asked again.
func (e *limitError) Until() time.Time { return e.until }

// Until is when what failed for a limit of the forge may be tried again; false is for all other errors.
func Until(err error) (time.Time, bool) {
	if limit, ok := errors.AsType[*limitError](err); ok {
		return limit.until, true
	}
	return time.Time{}, false
}

// held refuses to ask a forge that said how long it wants to be left alone.
func (s *session) held() error {
	c, name := s.client, s.holdName()
	c.mu.Lock()
	defer c.mu.Unlock()
	until, ok := c.holds[name]
	if !ok {
		return nil
	}
	if !c.options.Now().Before(until) {
		delete(c.holds, name)
		return nil
	}
	return fault.Transientf("RateLimited", "asking %s: %w", s.place(), &limitError{until: until})
}

// limit reads what an answer says of limits, and remembers it. It is not nil if the answer is a refusal for that reason.
func (s *session) limit(got reply) *limitError {
	now := s.client.options.Now()
	spent := remaining(got.header) == "0"
	stop := got.status == http.StatusTooManyRequests
	if got.status == http.StatusForbidden {
		stop = spent || got.header.Get("Retry-After") != "" || strings.Contains(strings.ToLower(s.words(got)), "rate limit")
	}
	if !stop && !spent {
		return nil
	}
	until, known := reopens(got.header, now)
	if !known && !stop {
		return nil
	}
	s.hold(until)
	if !stop {
		return nil // this one was still answered
	}
	return &limitError{until: until}
}

func (s *session) hold(until time.Time) {
	c := s.client
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.holds) >= maxHolds {
		clear(c.holds) // they say it again
	}
	c.holds[s.holdName()] = until
}

// holdName is the login at the host: that is whom forges count.
func (s *session) holdName() [32]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%x %q %q", s.client.salt, repository.Origin(s.base), s.who()))
}

func remaining(h http.Header) string {
	if left := h.Get("X-RateLimit-Remaining"); left != "" {
		return left
	}
	return h.Get("RateLimit-Remaining")
}

// reopens is when a forge answers again. It tells that by its own clock, so its own date is what it is counted from.
func reopens(h http.Header, now time.Time) (at time.Time, known bool) {
	there := now
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		there = date
	}
	wait := unknownHold
	if after := h.Get("Retry-After"); after != "" {
		if seconds, err := strconv.ParseInt(after, 10, 32); err == nil {
			wait, known = time.Duration(seconds)*time.Second, true
		} else if date, err := http.ParseTime(after); err == nil {
			wait, known = date.Sub(there), true
		}
	}
	for _, name := range []string{"X-RateLimit-Reset", "RateLimit-Reset"} {
		if seconds, err := strconv.ParseInt(h.Get(name), 10, 64); err == nil && !known {
			wait, known = time.Unix(seconds, 0).Sub(there), true
		}
	}
	return now.Add(min(max(wait, time.Second), longestHold)), known
}
