package appset_test

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/test/story"
)

// TestGenerate plays the data files: given a set, clusters, repositories and the answers of others, when the set is worked
// out, then these are its Applications.
//
// A part "given/repo/<name>/<path>" is a file of the repository whose URL ends with the name, and "given/answer/<kind>" is
// what a forge, a service or an object says. The lines of "when" are conditions; see stage.when. Of the Applications only
// what differs from one to the other is told, unless "show all" asks for the rest.
func TestGenerate(t *testing.T) {
	story.Play(t, "testdata/generate/*.txtar", func(t *testing.T, part map[string][]byte) string {
		t.Helper()
		st := &stage{t: t, part: part, world: appset.World{Now: start}, shows: map[string]bool{}}
		for line := range strings.Lines(string(part["when"])) {
			if line = strings.TrimSpace(line); line != "" {
				st.when(line)
			}
		}
		return st.tell()
	})
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// stage is where a data file is played.
type stage struct {
	t     *testing.T
	part  map[string][]byte
	world appset.World
	shows map[string]bool
	out   strings.Builder
}

func (st *stage) when(line string) {
	switch word, rest, _ := strings.Cut(line, " "); word {
	case "show":
		// needs, reads, all
		st.shows[rest] = true
	case "strict":
		st.world.StrictGlobs = true
	case "unanswered":
		st.shows["unanswered"] = true
	default:
		st.t.Fatalf("unknown line %q", line)
	}
}

// setOf reads the set of a data file; what every set has need not be written.
func setOf(t *testing.T, data []byte) *v1alpha1.ApplicationSet {
	t.Helper()
	set, err := parseSet(string(data))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func parseSet(text string) (*v1alpha1.ApplicationSet, error) {
	set := &v1alpha1.ApplicationSet{}
	if err := yaml.UnmarshalStrict([]byte(text), set); err != nil {
		return nil, err
	}
	if set.Name == "" {
		set.Name = "fleet"
	}
	if set.Namespace == "" {
		set.Namespace = "argocd"
	}
	set.UID = "uid-of-the-set"
	return set, nil
}

// clustersOf reads the clusters of a data file.
func clustersOf(t *testing.T, data []byte) []appset.Cluster {
	t.Helper()
	var in []struct {
		Name, Server, Project string
		Labels, Annotations   map[string]string
		Local                 bool
	}
	if err := yaml.UnmarshalStrict(data, &in); err != nil {
		t.Fatal(err)
	}
	var out []appset.Cluster
	for _, c := range in {
		out = append(out, appset.Cluster(c))
	}
	return out
}

// tell works the set out as the engine does: what is needed is answered, until nothing is.
func (st *stage) tell() string {
	set := setOf(st.t, st.part["given/set"])
	before := set.DeepCopy()
	st.world.Clusters = clustersOf(st.t, st.part["given/clusters"])
	st.world.Answers = map[string]appset.Answer{}
	trees := map[string]*traced{}
	for round := 1; ; round++ {
		r := appset.Generate(set, st.world)
		if d := diffOf(before, set); d != "" {
			st.t.Fatalf("the set itself was changed:\n%s", d)
		}
		if len(r.Needs) == 0 {
			st.result(r)
			break
		}
		if round > 5 {
			st.t.Fatal("there is always something else that is needed")
		}
		for _, n := range r.Needs {
			if st.shows["needs"] || st.shows["unanswered"] {
				fmt.Fprintf(&st.out, "round %d needs %s\n", round, needWords(n))
			}
			st.world.Answers[n.Key()] = st.answer(n, trees)
		}
		if st.shows["unanswered"] {
			break
		}
	}
	if st.shows["reads"] {
		for _, name := range slices.Sorted(maps.Keys(trees)) {
			for _, read := range slices.Compact(slices.Sorted(slices.Values(trees[name].reads))) {
				fmt.Fprintf(&st.out, "read %s: %s\n", name, read)
			}
		}
	}
	return st.out.String()
}

func needWords(n appset.Need) string {
	if n.Git != nil {
		return fmt.Sprintf("git %s at %s for project %q", n.Git.RepoURL, n.Git.Revision, n.Git.Project)
	}
	return n.Key()
}

// answer is what the data file says.
func (st *stage) answer(n appset.Need, trees map[string]*traced) appset.Answer {
	if n.Git != nil {
		name := strings.TrimSuffix(path.Base(n.Git.RepoURL), ".git")
		if trees[name] == nil {
			trees[name] = st.tree(name)
		}
		return appset.Answer{Commit: "0123456789", Tree: trees[name]}
	}
	kind := ""
	switch {
	case n.PullRequest != nil:
		kind = "pullRequest"
	case n.SCMProvider != nil:
		kind = "scmProvider"
	case n.Plugin != nil:
		kind = "plugin"
	case n.Decision != nil:
		kind = "clusterDecisionResource"
	}
	data, ok := st.part["given/answer/"+kind]
	if !ok {
		st.t.Fatalf("there is no answer for %s", n.Key())
	}
	var a appset.Answer
	if err := yaml.Unmarshal(data, &a.Sets); err != nil {
		st.t.Fatal(err)
	}
	a.MatchKey = strings.TrimSpace(string(st.part["given/answer/matchKey"]))
	return a
}

func (st *stage) tree(name string) *traced {
	files := fstest.MapFS{}
	for part, data := range st.part {
		if file, ok := strings.CutPrefix(part, "given/repo/"+name+"/"); ok {
			files[file] = &fstest.MapFile{Data: data}
		}
	}
	return &traced{files: files}
}

// traced is a tree that writes down what is read of it.
type traced struct {
	files fstest.MapFS
	reads []string
}

func (f *traced) Open(name string) (fs.File, error) {
	f.reads = append(f.reads, "file "+name)
	return f.files.Open(name)
}

func (f *traced) Stat(name string) (fs.FileInfo, error) {
	f.reads = append(f.reads, "name "+name)
	return f.files.Stat(name)
}

func (f *traced) ReadDir(name string) ([]fs.DirEntry, error) {
	f.reads = append(f.reads, "folder "+name)
	return f.files.ReadDir(name)
}

func (st *stage) result(r appset.Result) {
	b := &st.out
	if r.Failure != "" {
		fmt.Fprintf(b, "failure: %s\n", r.Failure)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(b, "problem %q: %s\n", p.Name, p.Message)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(b, "note: %s\n", n)
	}
	if r.Failure == "" {
		fmt.Fprintf(b, "%d sets, %d applications\n", r.Sets, len(r.Apps))
	}
	for _, app := range r.Apps {
		st.app(app)
	}
}

// app tells of an Application. What is the same for all is left out, after it was checked.
func (st *stage) app(app *v1alpha1.Application) {
	if st.shows["all"] {
		data, err := yaml.Marshal(app)
		if err != nil {
			st.t.Fatal(err)
		}
		fmt.Fprintf(&st.out, "---\n%s", data)
		return
	}
	if app.Namespace != "argocd" || len(app.OwnerReferences) != 1 || app.OwnerReferences[0].UID != "uid-of-the-set" {
		st.t.Errorf("%s is not an Application of the set", app.Name)
	}
	fmt.Fprintf(&st.out, "%s\n", app.Name)
	short := map[string]any{}
	if len(app.Labels) > 0 {
		short["labels"] = app.Labels
	}
	if len(app.Annotations) > 0 {
		short["annotations"] = app.Annotations
	}
	if !slices.Equal(app.Finalizers, []string{v1alpha1.FinalizerResources}) {
		short["finalizers"] = app.Finalizers
	}
	data, err := yaml.Marshal(app.Spec)
	if err != nil {
		st.t.Fatal(err)
	}
	spec := map[string]any{}
	if err := yaml.Unmarshal(data, &spec); err != nil {
		st.t.Fatal(err)
	}
	maps.Copy(short, spec)
	for _, k := range []string{"destination", "source"} {
		if m, ok := short[k].(map[string]any); ok && len(m) == 0 {
			delete(short, k)
		}
	}
	if short["project"] == "default" || short["project"] == "" {
		delete(short, "project")
	}
	if data, err = yaml.Marshal(short); err != nil {
		st.t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if line != "{}\n" {
			fmt.Fprintf(&st.out, "  %s", line)
		}
	}
}
