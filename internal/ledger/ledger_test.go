package ledger_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/journal"
	"github.com/towline-cd/towline/internal/ledger"
)

func open(t *testing.T, dir string, o ledger.Options) *ledger.Ledger {
	t.Helper()
	o.Now = func() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }
	l, err := ledger.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func shut(t *testing.T, l *ledger.Ledger) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// read is the kinds of all records, and the problems.
func read(t *testing.T, dir string) (kinds, problems []string) {
	t.Helper()
	check, err := ledger.Read(dir, nil, func(r journal.Record) { kinds = append(kinds, string(r.Kind)) })
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range check.Problems {
		problems = append(problems, p.String())
	}
	return kinds, problems
}

func sound(t *testing.T, dir string) []string {
	t.Helper()
	kinds, problems := read(t, dir)
	if len(problems) > 0 {
		t.Errorf("the log has problems: %q", problems)
	}
	return kinds
}

// TestTheChainGoesOn: after a restart, and after a process that had no time to close its log.
func TestTheChainGoesOn(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, ledger.Options{})
	l.Append(journal.Record{Kind: journal.Began})
	shut(t, l)
	l = open(t, dir, ledger.Options{})
	l.Append(journal.Record{Kind: journal.Ended})
	shut(t, l)
	if d := cmp.Diff([]string{"opened", "began", "opened", "ended"}, sound(t, dir)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestOnlyOneWrites(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, ledger.Options{})
	defer shut(t, l)
	if _, err := ledger.Open(dir, ledger.Options{Now: time.Now}); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("a second one is told %v", err)
	}
}

// TestFiles: files follow each other, the oldest go, and the rest is a sound log.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, ledger.Options{Size: 600, Keep: 3})
	for i := range 40 {
		l.Append(journal.Record{Kind: journal.Ended, App: fmt.Sprint("app-", i)})
	}
	shut(t, l)
	names, err := ledger.Files(dir)
	if err != nil || len(names) != 3 {
		t.Errorf("there are %d files, %v", len(names), err)
	}
	sound(t, dir)
	// One that nobody dropped is missed.
	if err := os.Remove(names[0]); err != nil {
		t.Fatal(err)
	}
	if _, problems := read(t, dir); len(problems) == 0 {
		t.Error("nobody misses a file")
	}
}

// TestDamage: what is done to a log between two processes is told by the second, and found ever after.
func TestDamage(t *testing.T) {
	cases := map[string]struct {
		do   func(text []byte) []byte
		want string
	}{
		"truncated": {
			func(text []byte) []byte { return text[:bytes.LastIndexByte(text[:len(text)-1], '\n')+1] },
			"the log had 3 records, and ends with 2",
		},
		"torn": {
			func(text []byte) []byte { return text[:len(text)-10] },
			"the log had 3 records, and ends with 2",
		},
		"changed": {
			func(text []byte) []byte { return bytes.Replace(text, []byte(`"shop"`), []byte(`"ship"`), 1) },
			"the line was changed: it does not fit its digest",
		},
		"the last one changed": {
			func(text []byte) []byte { return bytes.Replace(text, []byte(`"last"`), []byte(`"lost"`), 1) },
			"the line was changed: it does not fit its digest",
		},
		"emptied": {func([]byte) []byte { return nil }, "the log had 3 records, and ends with 0"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := open(t, dir, ledger.Options{})
			l.Append(journal.Record{Kind: journal.Began, App: "shop"})
			l.Append(journal.Record{Kind: journal.Ended, App: "last"})
			shut(t, l)
			names, _ := ledger.Files(dir)
			text, err := os.ReadFile(names[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(names[0], c.do(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, when := range []string{"before", "after"} {
				_, problems := read(t, dir)
				if !strings.Contains(strings.Join(problems, "\n"), c.want) && !(when == "before" && name == "emptied") {
					t.Errorf("%s the next process it is said %q", when, problems)
				}
				l = open(t, dir, ledger.Options{})
				l.Append(journal.Record{Kind: journal.Began})
				shut(t, l)
			}
		})
	}
}

// TestRemoved: a log that was taken away is not begun again as if there had been none.
func TestRemoved(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, ledger.Options{})
	l.Append(journal.Record{Kind: journal.Began})
	shut(t, l)
	names, _ := ledger.Files(dir)
	if err := os.Remove(names[0]); err != nil {
		t.Fatal(err)
	}
	shut(t, open(t, dir, ledger.Options{}))
	if _, problems := read(t, dir); len(problems) == 0 {
		t.Error("nobody misses it")
	}
}

func TestManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, ledger.Options{Size: 4000})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				l.Append(journal.Record{Kind: journal.Objects})
			}
		})
	}
	wg.Wait()
	shut(t, l)
	if n := len(sound(t, dir)); n != 401 || l.Lost() != 0 {
		t.Errorf("there are %d records, and %d lost", n, l.Lost())
	}
}

// TestElsewhere: a log that somebody else keeps can be checked too.
func TestElsewhere(t *testing.T) {
	var b bytes.Buffer
	l := ledger.To(&b, ledger.Options{Now: time.Now})
	l.Append(journal.Record{Kind: journal.Began})
	shut(t, l)
	check, err := ledger.Read("-", &b, func(journal.Record) {}, l.Head())
	if err != nil || check.Records != 2 || len(check.Problems) != 0 {
		t.Errorf("it has %d records, %v, %v", check.Records, check.Problems, err)
	}
	if _, err := ledger.Read(filepath.Join(t.TempDir(), "none"), nil, func(journal.Record) {}); err == nil {
		t.Error("nothing is taken for a log")
	}
}
