package api_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
)

const (
	// guessers try at the same time, each so often.
	guessers, guesses = 40, 25
	// strangers are names that are no account; each is tried once.
	strangers = 4000
	// mostTries is how many wrong passwords of one account are looked at in a window.
	mostTries = 5
	// mostGrowth is what all of it may add to the memory of the server, in MiB; a name kept for each stranger would be seen.
	mostGrowth = 64
)

// TestGuessingIsBounded guesses passwords of one account at the same time, and again after a restart, and tries names that
// are no account. What the server looked at stands in its log.
func TestGuessingIsBounded(t *testing.T) {
	s := newStage(t)
	s.start()
	right := s.initialPassword()
	s.guessAll(guessers*guesses, func(n int) (name, password string) { return "admin", fmt.Sprint("wrong-", n) })
	if tried := s.tries(); tried == 0 || tried > mostTries {
		t.Errorf("%d of %d guesses were looked at; at most %d may be", tried, guessers*guesses, mostTries)
	}
	if code := s.guess(t.Context(), "admin", right); code == http.StatusOK {
		t.Error("the right password is let in after too many wrong ones: a guesser would know when to stop")
	}
	// Who restarts the server, or waits for its update, begins no new count.
	s.stop()
	s.log = newJournal()
	s.run()
	s.guessAll(guessers, func(n int) (name, password string) { return "admin", fmt.Sprint("again-", n) })
	if tried := s.tries(); tried > 0 {
		t.Errorf("after a restart %d more guesses were looked at", tried)
	}
	before := s.resident()
	s.guessAll(strangers, func(n int) (name, password string) { return fmt.Sprint("stranger-", n), "wrong" })
	after := s.resident()
	t.Logf("memory before %d names that are no account %d MiB, after them %d MiB", strangers, before, after)
	if after > before+mostGrowth {
		t.Errorf("%d names that are no account took %d MiB", strangers, after-before)
	}
}

// tries are the passwords of the administrator that the server looked at and found wrong.
func (s *stage) tries() int {
	return len(regexp.MustCompile(`msg="a login failed" account=admin .*cause="wrong password"`).FindAllString(s.log.String(), -1))
}

// guessAll tries that many logins, many at a time, and expects none to be let in.
func (s *stage) guessAll(n int, login func(n int) (name, password string)) {
	s.Helper()
	turns := make(chan int)
	var all sync.WaitGroup
	for range guessers {
		all.Go(func() {
			for i := range turns {
				name, password := login(i)
				if code := s.guess(s.Context(), name, password); code == http.StatusOK || code == 0 {
					s.Errorf("guess %d as %s: %d", i, name, code)
				}
			}
		})
	}
	for i := range n {
		turns <- i
	}
	close(turns)
	all.Wait()
}

// guess tries to sign in; 0 is no answer.
func (s *stage) guess(ctx context.Context, name, password string) (code int) {
	body := strings.NewReader(fmt.Sprintf(`{"username":%q,"password":%q}`, name, password))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+"/api/v1/session", body)
	if err != nil {
		return 0
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(r)
	if err != nil {
		return 0
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// resident is the memory of the server in MiB, or 0 where that cannot be read.
func (s *stage) resident() (mib int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		return 0
	}
	found := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(text)
	if found == nil {
		return 0
	}
	var kib int
	_, err = fmt.Sscan(string(found[1]), &kib)
	s.must(err)
	return kib >> 10
}
