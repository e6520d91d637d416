package account_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/towline-cd/towline/internal/core/account"
)

func anybody(string) bool { return true }

var limits = account.Limits{
	Account: account.Limit{Tries: 5, Window: 5 * time.Minute}, Source: account.Limit{Tries: 9, Window: 5 * time.Minute},
}

func TestEndedSessionsAreRememberedUntilTheyWouldEnd(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	s := (&account.Sessions{}).Clone()
	s.End("admin", account.Digest("one"), now.Add(time.Hour))
	s.Tidy(anybody, limits, now.Add(59*time.Minute))
	if !s.Ended("admin", "one", now) || s.Ended("admin", "two", now) || s.Ended("bob", "one", now) {
		t.Errorf("the ended sessions are %+v", s)
	}
	text, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	read, err := account.ReadSessions(text)
	if err != nil || !read.Ended("admin", "one", now) {
		t.Errorf("%v: written and read they are %+v", err, read)
	}
	s.Tidy(anybody, limits, now.Add(time.Hour+2*time.Second))
	if len(s.Ends) > 0 {
		t.Errorf("what is over is remembered: %+v", s)
	}
	s.End("gone", account.Digest("one"), now.Add(100*time.Hour))
	s.Tidy(func(name string) bool { return name != "gone" }, limits, now)
	if len(s.Ends) > 0 {
		t.Errorf("an account that is gone is remembered: %+v", s)
	}
}

// Whoever ends more sessions than there is room for ends all of their own, and none of anybody else.
func TestTheTableStaysSmall(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	s := (&account.Sessions{}).Clone()
	for i := range 100 {
		for j := range 200 {
			s.End(fmt.Sprint("user", i), account.Digest(fmt.Sprint(i, " ", j)), now.Add(time.Hour))
		}
	}
	for i := range 100_000 {
		s.End("greedy", account.Digest(fmt.Sprint("greedy", i)), now.Add(time.Hour))
	}
	s.End("bob", account.Digest("bob"), now.Add(time.Hour))
	s.Tidy(anybody, limits, now)
	text, err := s.Text()
	if err != nil || len(text) > 700_000 {
		t.Errorf("%v: it has %d bytes, and a secret may have 1 MiB", err, len(text))
	}
	for i := range 100 {
		for j := range 200 {
			if !s.Ended(fmt.Sprint("user", i), fmt.Sprint(i, " ", j), now) {
				t.Fatalf("session %d of user %d was forgotten", j, i)
			}
		}
	}
	if !s.Ended("greedy", "greedy99999", now) || s.Ended("greedy", "later", now.Add(time.Second)) {
		t.Error("the sessions of the one with too many are not over, or later ones are")
	}
	if !s.Ended("bob", "bob", now) || s.Ended("bob", "another", now) {
		t.Error("somebody else's sessions are over, too")
	}
	s.Tidy(anybody, limits, now.Add(2*time.Hour))
	if len(s.Ends) > 0 {
		t.Errorf("%d accounts are remembered for ever", len(s.Ends))
	}
}

// Whatever order tries come in, no window has more of them than the limit says.
func TestNoWindowHasMoreTriesThanTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := account.Limit{Tries: rapid.IntRange(1, 6).Draw(t, "tries"), Window: 10 * time.Second}
		now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
		var f account.Failure
		var tries []time.Time
		for range 200 {
			now = now.Add(time.Duration(rapid.IntRange(0, 4000).Draw(t, "pause")) * time.Millisecond)
			if !l.Allows(f, 0, now) {
				continue
			}
			f = account.Failure{Count: l.Standing(f, now).Count + 1, Last: now.UnixMilli()}
			tries = append(tries, now)
		}
		for i := range tries {
			if j := i + l.Tries; j < len(tries) && tries[j].Sub(tries[i]) <= l.Window {
				t.Fatalf("%d tries within %s", l.Tries+1, tries[j].Sub(tries[i]))
			}
		}
	})
}
