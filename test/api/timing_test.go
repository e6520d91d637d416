package api_test

import (
	"bytes"
	"net/http"
	"slices"
	"testing"
	"time"
)

// rounds is how often each of two names is asked for. It bounds the time of the test; the medians are steady by then.
const rounds = 1000

// TestAbsentAndForbiddenTakeTheSameTime asks for both in turn. That the answers are the same is what counts; how long
// they take is printed, since the time of a busy machine proves nothing.
func TestAbsentAndForbiddenTakeTheSameTime(t *testing.T) {
	s := newStage(t)
	s.furnish()
	s.start()
	dev := s.giveDev()
	for _, path := range []string{"/api/v1/applications/", "/api/v1/projects/", "/api/v1/applicationsets/"} {
		hidden := map[string]string{"/api/v1/projects/": "default", "/api/v1/applicationsets/": "fleet"}[path]
		if hidden == "" {
			hidden = "vault"
		}
		names := []string{hidden, "a" + hidden[1:]}
		took := make([][]time.Duration, len(names))
		var first []byte
		for range rounds {
			for i, name := range names {
				from := time.Now()
				code, body := s.ask(http.MethodGet, path+name, dev, "")
				took[i] = append(took[i], time.Since(from))
				if first == nil {
					first = body
				}
				if code != http.StatusForbidden || !bytes.Equal(body, first) {
					t.Fatalf("GET %s%s: %d %s, and before %s", path, name, code, body, first)
				}
			}
		}
		median := func(i int) time.Duration {
			slices.Sort(took[i])
			return took[i][len(took[i])/2]
		}
		there, gone := median(0), median(1)
		t.Logf("%s: %d of each; median of what is hidden %s, of what is not there %s, ratio %.3f", path, rounds, there, gone,
			float64(there)/float64(gone))
	}
}
