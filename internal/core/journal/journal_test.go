package journal_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/journal"
	"github.com/towline-cd/towline/internal/core/object"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// chain seals records, a second apart.
func chain(t *testing.T, records ...journal.Record) (lines [][]byte, head journal.Head) {
	t.Helper()
	for i, r := range records {
		r.Time = noon.Add(time.Duration(i) * time.Second)
		line, next, err := journal.Seal(head, r)
		if err != nil {
			t.Fatal(err)
		}
		lines, head = append(lines, line), next
	}
	return lines, head
}

func four(t *testing.T) ([][]byte, journal.Head) {
	t.Helper()
	return chain(t, journal.Record{Kind: journal.Opened}, journal.Record{Kind: journal.Began, App: "shop"},
		journal.Record{Kind: journal.Objects, App: "shop", Objects: []journal.Deed{
			journal.On(object.Key{Kind: "ConfigMap", Namespace: "shop", Name: "old"}, journal.Delete),
		}},
		journal.Record{Kind: journal.Ended, App: "shop"})
}

// TestTampering: whatever is done to the lines is found, and told once.
func TestTampering(t *testing.T) {
	cases := map[string]struct {
		do   func(lines [][]byte) [][]byte
		want []string
	}{
		"nothing": {func(l [][]byte) [][]byte { return l }, nil},
		"a word changed": {
			func(l [][]byte) [][]byte { l[2] = bytes.Replace(l[2], []byte(`"old"`), []byte(`"new"`), 1); return l },
			[]string{"x:3: record 3: the line was changed: it does not fit its digest"},
		},
		"changed and sealed again": {
			func(l [][]byte) [][]byte {
				r, _, _ := journal.Read(l[2])
				r.Objects = nil
				l[2], _, _ = journal.Seal(journal.Head{Seq: 2, Hash: r.Prev}, r)
				return l
			},
			[]string{"x:4: record 4: the record before it is not the one that it was written after"},
		},
		"one removed": {
			func(l [][]byte) [][]byte { return slices.Delete(l, 2, 3) },
			[]string{"x:3: record 4: the records 3 to 3 are missing before it"},
		},
		"two exchanged": {
			func(l [][]byte) [][]byte { l[1], l[2] = l[2], l[1]; return l },
			[]string{
				"x:2: record 3: the records 2 to 2 are missing before it",
				"x:3: record 2: it is out of its order: record 3 stands before it",
				"x:4: record 4: the records 3 to 3 are missing before it",
			},
		},
		"the end cut off": {
			func(l [][]byte) [][]byte { return l[:2] },
			[]string{"the end: the log had 4 records, and ends with 2"},
		},
		"the last line torn": {
			func(l [][]byte) [][]byte { l[3] = l[3][:len(l[3])/2]; return l },
			[]string{
				"x:4: the line has no digest at its end: it is cut off, or not from us",
				"the end: the log had 4 records, and ends with 3",
			},
		},
		"the beginning cut off": {
			func(l [][]byte) [][]byte { return l[1:] },
			[]string{"the beginning: the records 1 to 1 are missing, and none of the others says that they were dropped"},
		},
		"one put in": {
			func(l [][]byte) [][]byte { return slices.Insert(l, 2, l[1]) },
			[]string{"x:3: record 2: it is out of its order: record 2 stands before it"},
		},
		"not from us": {
			func(l [][]byte) [][]byte { return slices.Insert(l, 1, []byte("hello\n")) },
			[]string{"x:2: the line is cut off"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			lines, head := four(t)
			var check journal.Check
			for i, line := range c.do(lines) {
				check.Line("x:"+string(rune('1'+i)), line)
			}
			check.End(head)
			var got []string
			for _, p := range check.Problems {
				got = append(got, p.String())
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestDropped: what a record says was dropped is not missed.
func TestDropped(t *testing.T) {
	lines, _ := chain(t, journal.Record{Kind: journal.Opened}, journal.Record{Kind: journal.Ended}, journal.Record{Kind: journal.Dropped, Through: 1})
	var check journal.Check
	for _, line := range lines[1:] {
		check.Line("x", line)
	}
	if check.End(); len(check.Problems) > 0 {
		t.Errorf("it finds %v", check.Problems)
	}
}

func TestHead(t *testing.T) {
	_, head := four(t)
	again, err := journal.ParseHead(head.String() + "\n")
	if err != nil || again != head {
		t.Errorf("%v came back as %v, %v", head, again, err)
	}
	for _, text := range []string{"", "4", "4:abc", "x:" + head.Hash} {
		if _, err := journal.ParseHead(text); err == nil {
			t.Errorf("%q is taken for a head", text)
		}
	}
}

// TestWhoDeletedIt: the deletion, the operation and the request are brought together, though the request is written last.
func TestWhoDeletedIt(t *testing.T) {
	old := journal.On(object.Key{Kind: "ConfigMap", Namespace: "shop", Name: "old"}, journal.Delete)
	old.UID, old.Proof = "u1", &journal.Proof{Reason: journal.Undesired, Mark: "shop"}
	other := journal.On(object.Key{Kind: "ConfigMap", Namespace: "shop", Name: "other"}, journal.Delete)
	failed := old
	failed.Failed = "Forbidden"
	jane := journal.Who{Subject: "sub-1", Name: "jane", Address: "10.0.0.1", Token: "t1", Request: "r1"}
	lines, _ := chain(t,
		journal.Record{Kind: journal.Began, App: "shop", Operation: "1", By: journal.Who{Subject: "jane"}, Revisions: []string{"abc"}},
		journal.Record{Kind: journal.Objects, App: "shop", Operation: "1", By: journal.Who{Subject: "jane"}, Objects: []journal.Deed{failed}},
		journal.Record{Kind: journal.Objects, App: "shop", Operation: "1", By: journal.Who{Subject: "jane"}, Objects: []journal.Deed{old, other}},
		journal.Record{Kind: journal.Request, By: jane, Asked: &journal.Asked{Does: "POST /api/v1/applications/{name}/sync", Object: "default/shop", Status: 200}},
	)
	q := journal.Deletions{Filter: journal.Filter{Object: "configmap/old", Namespace: "shop"}}
	for i, line := range lines {
		r, _, err := journal.Read(line)
		if err != nil {
			t.Fatal(err)
		}
		if i == len(lines)-1 {
			r.Time = noon // when it was asked
		}
		q.See(r)
	}
	if len(q.Answers) != 1 {
		t.Fatalf("there are %d answers: %+v", len(q.Answers), q.Answers)
	}
	a := q.Answers[0]
	if a.Deed.UID != "u1" || a.Began == nil || a.Began.Revisions[0] != "abc" || a.Asked == nil || !cmp.Equal(a.Asked.By, jane) {
		t.Errorf("the answer is %+v, began %+v, asked %+v", a.Deed, a.Began, a.Asked)
	}
}

func TestFilter(t *testing.T) {
	r := journal.Record{
		Kind: journal.Objects, App: "shop", Time: noon, By: journal.Who{Subject: "jane"}, Revisions: []string{"abcdef"},
		Objects: []journal.Deed{
			{Action: journal.Create, Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"},
			{Action: journal.Delete, Kind: "ConfigMap", Namespace: "shop", Name: "old"},
		},
	}
	cases := map[string]struct {
		filter journal.Filter
		want   string
	}{
		"all":            {journal.Filter{}, "web old"},
		"kind":           {journal.Filter{Kinds: []string{"objects"}}, "web old"},
		"another kind":   {journal.Filter{Kinds: []string{"began"}}, "-"},
		"application":    {journal.Filter{App: "shop"}, "web old"},
		"another one":    {journal.Filter{App: "hop"}, "-"},
		"somebody":       {journal.Filter{Subject: "jane"}, "web old"},
		"somebody else":  {journal.Filter{Subject: "joe"}, "-"},
		"an object":      {journal.Filter{Object: "deployment.apps/web"}, "web"},
		"a kind":         {journal.Filter{Object: "ConfigMap"}, "old"},
		"a name":         {journal.Filter{Object: "/web"}, "web"},
		"an action":      {journal.Filter{Actions: []string{"delete"}}, "old"},
		"nothing like":   {journal.Filter{Object: "Secret"}, "-"},
		"elsewhere":      {journal.Filter{Namespace: "x"}, "-"},
		"since":          {journal.Filter{Since: noon}, "web old"},
		"since later":    {journal.Filter{Since: noon.Add(1)}, "-"},
		"until":          {journal.Filter{Until: noon.Add(-1)}, "-"},
		"a short commit": {journal.Filter{Revision: "abc"}, "web old"},
		"another commit": {journal.Filter{Revision: "bc"}, "-"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			found, ok := c.filter.Match(r)
			var names []string
			for _, d := range found.Objects {
				names = append(names, d.Name)
			}
			got := strings.Join(names, " ")
			if !ok {
				got = "-"
			}
			if got != c.want {
				t.Errorf("it finds %q instead of %q", got, c.want)
			}
		})
	}
}
