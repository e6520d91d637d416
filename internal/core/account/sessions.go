package account

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Sessions are what has to be remembered of signing in and out: which sessions
// were ended before their time, and how often somebody failed. It is small, and
// stays so whatever anybody does; a new reading is a new value.
type Sessions struct {
	// Before ends the sessions of everybody that were issued before this second.
	Before int64 `json:"before,omitempty"`
	// Ends are the ended sessions, by account.
	Ends map[string]Ends `json:"ended,omitempty"`
	// Failures are those of signing in, by account, and Sources those by where
	// they came from: the place in a table of those.
	Failures map[string]Failure `json:"failures,omitempty"`
	Sources  map[string]Failure `json:"sources,omitempty"`
}

// Ends are the ended sessions of one account; times are seconds since 1970.
type Ends struct {
	// IDs are the digests of the ids, and until when each has to be remembered.
	IDs map[string]int64 `json:"ids,omitempty"`
	// Before ends all that were issued before this second, until Until.
	Before int64 `json:"before,omitempty"`
	Until  int64 `json:"until,omitempty"`
}

// Failure is a row of failures without a success between them.
type Failure struct {
	Count int `json:"count"`
	// Last is the time of the latest, in milliseconds since 1970.
	Last int64 `json:"last"`
}

// Bounds of what is remembered. Whoever ends more sessions than that ends all
// of the account's: nobody can fill the table at the cost of others.
const (
	maxEndsOfOne = 256
	maxEnds      = 8192
	maxSources   = 256
)

// Digest tells the id of a session from others without telling it.
func Digest(id string) string {
	sum := sha256.Sum256([]byte(id))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// ReadSessions reads what was written by Text.
func ReadSessions(text []byte) (*Sessions, error) {
	s := &Sessions{}
	if len(text) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("reading the ended sessions: %w", err)
	}
	return s, nil
}

// Text is what is written down.
func (s *Sessions) Text() ([]byte, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encoding the ended sessions: %w", err)
	}
	return text, nil
}

// Clone is a copy that can be changed.
func (s *Sessions) Clone() *Sessions {
	c := *s
	c.Ends = make(map[string]Ends, len(s.Ends))
	for name, e := range s.Ends {
		e.IDs = maps.Clone(e.IDs)
		c.Ends[name] = e
	}
	c.Failures, c.Sources = maps.Clone(s.Failures), maps.Clone(s.Sources)
	if c.Failures == nil {
		c.Failures = map[string]Failure{}
	}
	if c.Sources == nil {
		c.Sources = map[string]Failure{}
	}
	return &c
}

// Ended says that a session was ended before its time.
func (s *Sessions) Ended(account, id string, issued time.Time) bool {
	if issued.Unix() < s.Before {
		return true
	}
	e, some := s.Ends[account]
	if !some {
		return false
	}
	if issued.Unix() < e.Before {
		return true
	}
	_, ended := e.IDs[Digest(id)]
	return ended
}

// End ends a session by the digest of its id, for as long as it could live.
func (s *Sessions) End(account, digest string, until time.Time) {
	if s.Ends == nil {
		s.Ends = map[string]Ends{}
	}
	e := s.Ends[account]
	if e.IDs == nil {
		e.IDs = map[string]int64{}
	}
	e.IDs[digest] = max(e.IDs[digest], until.Unix()+1)
	s.Ends[account] = e
}

// Tidy drops what has no effect any more, and keeps the rest within bounds.
func (s *Sessions) Tidy(known func(account string) bool, limits Limits, now time.Time) {
	for name, e := range s.Ends {
		maps.DeleteFunc(e.IDs, func(_ string, until int64) bool { return until < now.Unix() })
		if e.Until < now.Unix() {
			e.Before, e.Until = 0, 0
		}
		s.Ends[name] = e
		if len(e.IDs) == 0 && e.Before == 0 || !known(name) {
			// Of an account that is gone no session is valid.
			delete(s.Ends, name)
		}
	}
	maps.DeleteFunc(s.Failures, func(name string, f Failure) bool {
		return !known(name) || limits.Account.Standing(f, now).Count == 0
	})
	maps.DeleteFunc(s.Sources, func(_ string, f Failure) bool { return limits.Source.Standing(f, now).Count == 0 })
	s.bound(now)
}

func (s *Sessions) bound(now time.Time) {
	total := 0
	for name, e := range s.Ends {
		if len(e.IDs) > maxEndsOfOne {
			s.endAll(name, now)
			continue
		}
		total += len(e.IDs)
	}
	for total > maxEnds {
		largest := slices.MaxFunc(slices.Sorted(maps.Keys(s.Ends)), func(a, b string) int {
			return cmp.Compare(len(s.Ends[a].IDs), len(s.Ends[b].IDs))
		})
		total -= len(s.Ends[largest].IDs)
		s.endAll(largest, now)
	}
	if extra := len(s.Sources) - maxSources; extra > 0 {
		oldest := slices.SortedFunc(maps.Keys(s.Sources), func(a, b string) int {
			return cmp.Compare(s.Sources[a].Last, s.Sources[b].Last)
		})
		for _, key := range oldest[:extra] {
			delete(s.Sources, key)
		}
	}
}

// endAll puts one time in place of many ids.
func (s *Sessions) endAll(account string, now time.Time) {
	e := s.Ends[account]
	for _, until := range e.IDs {
		e.Until = max(e.Until, until)
	}
	e.Before, e.IDs = now.Unix()+1, nil
	s.Ends[account] = e
}

// Limit is how often somebody may fail.
type Limit struct {
	Tries int
	// Window is how long after the last failure they count; zero is for ever.
	Window time.Duration
}

// Limits are how often somebody may fail to sign in: for each account, and for
// each place that they come from.
type Limits struct{ Account, Source Limit }

// Standing are the failures that still count.
func (l Limit) Standing(f Failure, now time.Time) Failure {
	if l.Window > 0 && now.UnixMilli()-f.Last > l.Window.Milliseconds() {
		return Failure{}
	}
	return f
}

// Allows says that somebody who failed, and has tries under way, may try once
// more. Tries under way count as if they had failed: whoever asks at once does
// not get more of them than one after the other. Since failures count until a
// whole window has passed without one, no window has more than Tries of them.
func (l Limit) Allows(f Failure, underway int, now time.Time) bool {
	return l.Standing(f, now).Count+underway < l.Tries
}
