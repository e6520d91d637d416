package source

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/reads"
)

// told writes reads as "kind path", with the digest where it says what a path is.
func told(all []reads.Read) []string {
	var out []string
	for _, r := range all {
		text := fmt.Sprintf("%c %s", r.Kind, r.Path)
		if r.Kind == reads.Type {
			text += " " + r.Digest
		}
		out = append(out, text)
	}
	return out
}

func TestTraceTellsRealPaths(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	commit := repo.commit("main", map[string]string{
		"real/deep/f": "f", "real/g": "g", "120000 link": "real", "120000 real/deep/up": "../g", "120000 chain": "link/deep",
		"120000 dangling": "real/none/x", "120000 out": "/etc/passwd", "120000 loop": "loop", "160000 module": strings.Repeat("12", 20),
		"own/a": "a", "120000 own/there": "../real/deep", "120000 own/nowhere": "../none",
	})
	snap := tree(t, newStore(t, nil), repo.url, commit)
	for _, test := range []struct {
		kind reads.Kind
		path string
		want []string
	}{
		{reads.File, "real/g", []string{"f real/g"}},
		{reads.File, "link/g", []string{"k link", "f real/g"}},
		{reads.File, "chain/f", []string{"k chain", "k link", "f real/deep/f"}},
		{reads.File, "chain/up", []string{"k chain", "k link", "k real/deep/up", "f real/g"}},
		{reads.File, "real", []string{"t real folder"}},
		{reads.File, "none", []string{"a none"}},
		{reads.File, "real/none/below", []string{"a real/none"}},
		{reads.File, "real/g/below", []string{"t real/g file"}},
		{reads.File, "dangling", []string{"k dangling", "a real/none"}},
		{reads.File, "module/x", []string{"a module/x"}},
		{reads.Listing, "link", []string{"k link", "l real"}},
		{reads.Listing, ".", []string{"l ."}},
		{reads.Listing, "real/g", []string{"t real/g file"}},
		{reads.Listing, "module", []string{"l module"}},
		{reads.Link, "link", []string{"k link"}},
		{reads.Link, "chain/up", []string{"k chain", "k link", "k real/deep/up"}},
		{reads.Link, "real/g", []string{"t real/g file"}},
		{reads.Type, "link", []string{"k link", "t real folder"}},
		{reads.Absent, "none", []string{"a none"}},
		{reads.Absent, "real", []string{"t real folder"}},
		{reads.Folder, "real/deep", []string{"d real/deep", "f real/g"}},
		{reads.Folder, "own", []string{"a none", "d own", "d real/deep", "f real/g"}},
		{reads.Folder, "real/g", []string{"f real/g"}},
		{reads.Folder, "none", []string{"a none"}},
	} {
		got, err := snap.Trace(test.kind, test.path)
		if diff := cmp.Diff(test.want, told(got)); diff != "" || err != nil {
			t.Errorf("Trace(%c, %q): %v (-want +got)\n%s", test.kind, test.path, err, diff)
		}
		for _, read := range got {
			if same, err := snap.Same(read); err != nil || !same {
				t.Errorf("Same(%+v) on its own commit = %v, %v", read, same, err)
			}
		}
	}
	for path, reason := range map[string]string{"out": "SymlinkEscapes", "loop": "SymlinkLoop"} {
		_, err := snap.Trace(reads.File, path)
		wantFault(t, err, fault.Terminal, reason)
	}
	if _, err := snap.Trace(reads.File, "../x"); err == nil {
		t.Error("a path that leads out was traced")
	}
}

// Whatever a change moves, one of the reads that saw it says so; and what nobody read moves nothing.
func TestSameSeesWhatChanged(t *testing.T) {
	t.Parallel()
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	store := newStore(t, nil)
	base := map[string]string{
		"app/kustomization.yaml": "1", "app/a.yaml": "1", "120000 app/base": "../common", "common/b.yaml": "1", "common/sub/c.yaml": "1",
		"other/x": "1",
	}
	type ask struct {
		kind reads.Kind
		path string
	}
	for name, test := range map[string]struct {
		asked  []ask
		change map[string]string
		same   bool
	}{
		"the file":                        {[]ask{{reads.File, "app/a.yaml"}}, map[string]string{"app/a.yaml": "2"}, false},
		"its neighbour":                   {[]ask{{reads.File, "app/a.yaml"}}, map[string]string{"app/b.yaml": "2"}, true},
		"only its mode":                   {[]ask{{reads.File, "app/a.yaml"}}, map[string]string{"100755 app/a.yaml": "1"}, true},
		"it went":                         {[]ask{{reads.File, "app/a.yaml"}}, map[string]string{"app/a.yaml": "-"}, false},
		"it became a link":                {[]ask{{reads.File, "app/a.yaml"}}, map[string]string{"120000 app/a.yaml": "1"}, false},
		"it became a folder":              {[]ask{{reads.File, "app/a.yaml"}}, map[string]string{"app/a.yaml": "-", "app/a.yaml/x": "1"}, false},
		"its folder became a link":        {[]ask{{reads.File, "app/a.yaml"}}, map[string]string{"moved/a.yaml": "1", "120000 app": "moved"}, false},
		"the file behind a link":          {[]ask{{reads.File, "app/base/b.yaml"}}, map[string]string{"common/b.yaml": "2"}, false},
		"the link":                        {[]ask{{reads.File, "app/base/b.yaml"}}, map[string]string{"120000 app/base": "../other"}, false},
		"the link, spelled otherwise":     {[]ask{{reads.File, "app/base/b.yaml"}}, map[string]string{"120000 app/base": ".././common"}, false},
		"a name in a listing":             {[]ask{{reads.Listing, "app"}}, map[string]string{"app/new": "1"}, false},
		"content below a listing":         {[]ask{{reads.Listing, "app"}}, map[string]string{"app/a.yaml": "2"}, true},
		"a type in a listing":             {[]ask{{reads.Listing, "app"}}, map[string]string{"app/a.yaml": "-", "app/a.yaml/x": "1"}, false},
		"a file below a folder":           {[]ask{{reads.Folder, "common"}}, map[string]string{"common/sub/c.yaml": "2"}, false},
		"a file that a folder's link has": {[]ask{{reads.Folder, "app"}}, map[string]string{"common/sub/c.yaml": "2"}, false},
		"elsewhere":                       {[]ask{{reads.Folder, "app"}, {reads.Listing, "common"}}, map[string]string{"other/x": "2", "more/y": "1"}, true},
		"what was absent came":            {[]ask{{reads.File, "app/Chart.yaml"}}, map[string]string{"app/Chart.yaml": "1"}, false},
		"its folder came":                 {[]ask{{reads.File, "charts/x/Chart.yaml"}}, map[string]string{"charts/x/Chart.yaml": "1"}, false},
		"absent, its folder went":         {[]ask{{reads.File, "common/none"}}, map[string]string{"common": "-"}, true},
		"absent, its folder is a link":    {[]ask{{reads.File, "common/none"}}, map[string]string{"120000 common": "other"}, false},
		"a file where a folder was meant": {[]ask{{reads.File, "other/x/y"}}, map[string]string{"other/x": "-", "other/x/y": "1"}, false},
		"the type stays":                  {[]ask{{reads.Type, "app"}}, map[string]string{"app/a.yaml": "2"}, true},
		"the type changes":                {[]ask{{reads.Type, "other/x"}}, map[string]string{"other/x": "-", "other/x/y": "1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			branch := strings.NewReplacer(" ", "-", ",", "", "'", "").Replace(name)
			before := tree(t, store, repo.url, repo.commit(branch, base))
			after := tree(t, store, repo.url, repo.commit(branch, test.change))
			var all []reads.Read
			for _, one := range test.asked {
				found, err := before.Trace(one.kind, one.path)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, found...)
			}
			same := true
			for _, read := range all {
				one, err := after.Same(read)
				if err != nil {
					t.Fatal(err)
				}
				same = same && one
			}
			if same != test.same {
				t.Errorf("the reads %v are the same: %v, want %v", told(all), same, test.same)
			}
			if len(all) == 0 {
				t.Error("nothing was read")
			}
		})
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	store := newStore(t, nil)
	of := manifest.Origin{RepoURL: repo.url}
	last := repo.commit("main", map[string]string{
		"a/x": "1", "a/y": "1", "b/deep/z": "1", "same/s": "1", "120000 l": "a", "f": "1", "a.b/q": "1", "160000 m": strings.Repeat("12", 20),
	})
	for _, step := range []struct {
		change map[string]string
		want   []string
	}{
		{map[string]string{"a/x": "2"}, []string{"a/x"}},
		{map[string]string{"a/new": "1"}, []string{"a/new !"}},
		{map[string]string{"b/deep/z": "-"}, []string{"b !", "b/deep !", "b/deep/z !"}},
		{map[string]string{"c/d/e": "1", "a/y": "2"}, []string{"a/y", "c !", "c/d !", "c/d/e !"}},
		{map[string]string{"f": "-", "f/g": "1"}, []string{"f !", "f/g !"}},
		{map[string]string{"120000 l": "c"}, []string{"l"}},
		{map[string]string{"l": "c"}, []string{"l !"}},
		{map[string]string{"100755 a/x": "2"}, []string{"a/x"}},
		{map[string]string{"a.b/q": "2", "a/x": "3"}, []string{"a.b/q", "a/x"}},
		{map[string]string{"160000 m": strings.Repeat("34", 20)}, []string{"m"}},
		{map[string]string{"m": "file"}, []string{"m !"}},
		{map[string]string{}, nil},
	} {
		next := repo.commit("main", step.change)
		for _, way := range [][2]string{{last, next}, {next, last}} {
			changes, err := store.Changes(t.Context(), of, way[0], way[1])
			var got []string
			for _, c := range changes {
				text := c.Path
				if c.Shape {
					text += " !"
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(step.want, got); diff != "" || err != nil {
				t.Errorf("after %v: %v (-want +got)\n%s", step.change, err, diff)
			}
		}
		last = next
	}
	if _, err := store.Changes(t.Context(), of, last, strings.Repeat("ab", 20)); fault.ReasonOf(err) != "CommitNotFound" {
		t.Errorf("Changes to a commit that is not there = %v", err)
	}
}

// Only the folders that differ are read, however many there are.
func TestChangesCostFollowsTheChange(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("apps/%d/a.yaml", i)] = fmt.Sprint(i)
	}
	old := repo.commit("main", files)
	now := repo.commit("main", map[string]string{"apps/7/a.yaml": "new"})
	store := newStore(t, nil)
	left, right := tree(t, store, repo.url, old), tree(t, store, repo.url, now)
	c := comparison{old: left, now: right}
	if err := c.roots(); err != nil || len(c.found) != 1 {
		t.Fatalf("%v, %v", c.found, err)
	}
	for _, snap := range []*snapshot{left, right} {
		if len(snap.seen) != 3 {
			t.Errorf("%d folders were read, want 3", len(snap.seen))
		}
	}
	if _, err := fs.Stat(right, "apps/7"); err != nil {
		t.Fatal(err)
	}
}
