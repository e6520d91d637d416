package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQuantile(t *testing.T) {
	s := sample{5, 1, 4, 2, 3, 10, 9, 8, 7, 6}
	for q, want := range map[float64]float64{0: 1, 0.1: 1, 0.5: 5, 0.9: 9, 0.99: 10, 1: 10} {
		if got := s.quantile(q); got != want {
			t.Errorf("quantile(%v) = %v, want %v", q, got, want)
		}
	}
	if got := (sample{}).median(); got != 0 {
		t.Errorf("the median of nothing = %v, want 0", got)
	}
}

func TestDigits(t *testing.T) {
	for f, want := range map[float64]string{0: "0", 3: "3", 0.7137: "0.714", 1.266: "1.27", 65.71: "65.7", 557.4: "557", 100000: "100000"} {
		if got := digits(f); got != want {
			t.Errorf("digits(%v) = %q, want %q", f, got, want)
		}
	}
}

func TestLastLine(t *testing.T) {
	cases := map[string]struct {
		report func(*report)
		want   string
		err    error
	}{
		"a goal that is met": {
			report: func(r *report) { r.atMost("ratio", 1.3, 1.3); r.note("objects", 5000) },
			want:   "x pass=yes ratio=1.30 objects=5000",
		},
		"one of two goals is missed": {
			report: func(r *report) { r.atMost("requests", 0, 0); r.atMost("ratio", 1.31, 1.3) },
			want:   "x pass=no requests=0 ratio=1.31",
			err:    errGoalMissed,
		},
		"a goal that is a floor": {
			report: func(r *report) { r.atLeast("times", 5, 5) },
			want:   "x pass=yes times=5",
		},
		"a floor that is missed": {
			report: func(r *report) { r.atMost("ratio", 1, 2); r.atLeast("times", 4.9, 5) },
			want:   "x pass=no ratio=1 times=4.90",
			err:    errGoalMissed,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newReport("x")
			c.report(r)
			var out bytes.Buffer
			if err := r.finish(&out, t.TempDir()); !errors.Is(err, c.err) {
				t.Errorf("finish returned %v, want %v", err, c.err)
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if diff := cmp.Diff(c.want, lines[len(lines)-1]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestARunThatIsNotWhatItShouldBeIsNotReported(t *testing.T) {
	r := newReport("x")
	r.atMost("ratio", 1, 2)
	r.assert(false, "%d events were lost", 3)
	var out bytes.Buffer
	folder := t.TempDir()
	err := r.finish(&out, folder)
	if err == nil || errors.Is(err, errGoalMissed) || !strings.Contains(err.Error(), "3 events were lost") {
		t.Errorf("finish returned %v, want a refusal that says why", err)
	}
	if out.Len() > 0 {
		t.Errorf("it printed %q", out.String())
	}
	if _, err := os.Stat(filepath.Join(folder, "x.json")); err == nil {
		t.Error("it wrote a file")
	}
}
