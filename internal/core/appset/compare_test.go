package appset_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/test/story"
)

// TestCompare plays the data files: given what a set generates and the Applications that it owns, when they are compared,
// time passes and things happen, then these are the changes.
func TestCompare(t *testing.T) { story.Play(t, "testdata/compare/*.txtar", playYard) }

// TestStatus plays the data files on what a set says of itself.
func TestStatus(t *testing.T) { story.Play(t, "testdata/status/*.txtar", playYard) }

// TestRollout plays the data files on rolling syncs.
func TestRollout(t *testing.T) { story.Play(t, "testdata/rollout/*.txtar", playYard) }

// short is an Application as the data files write it.
type short struct {
	Name, Path, Revision, Cluster, Server, Namespace, Project string

	Labels, Annotations map[string]string
	Finalizers          []string
	Automated, Prune    bool
	// Sync and Health are of its status, which is about the spec that it has unless Compared says otherwise.
	Sync, Health, Synced string
	Compared             *bool
	Deleting             bool
}

func (s short) app() *v1alpha1.Application {
	app := &v1alpha1.Application{}
	app.Name, app.Namespace = s.Name, "argocd"
	app.Labels, app.Annotations, app.Finalizers = s.Labels, s.Annotations, s.Finalizers
	if s.Finalizers == nil {
		app.Finalizers = []string{v1alpha1.FinalizerResources}
	}
	if s.Path == "" {
		s.Path = s.Name
	}
	if s.Cluster == "" && s.Server == "" {
		s.Cluster = "prod"
	}
	app.Spec.Project = "default"
	if s.Project != "" {
		app.Spec.Project = s.Project
	}
	app.Spec.Source = &v1alpha1.ApplicationSource{RepoURL: "https://git.example.com/apps.git", Path: s.Path, TargetRevision: s.Revision}
	app.Spec.Destination = v1alpha1.ApplicationDestination{Name: strings.Trim(s.Cluster, "-"), Server: s.Server, Namespace: s.Namespace}
	if s.Automated {
		app.Spec.SyncPolicy = &v1alpha1.SyncPolicy{Automated: &v1alpha1.SyncPolicyAutomated{}}
		if s.Prune {
			app.Spec.SyncPolicy.Automated.Prune = new(true)
		}
	}
	app.Status.Sync.Status, app.Status.Health.Status = v1alpha1.SyncStatusCode(s.Sync), v1alpha1.HealthStatusCode(s.Health)
	app.Status.Sync.Revision = s.Synced
	if s.Sync != "" && (s.Compared == nil || *s.Compared) {
		compare(app)
	}
	if s.Deleting {
		app.DeletionTimestamp = new(metav1.NewTime(start))
	}
	return app
}

// compare makes the status of an Application be about the spec that it has.
func compare(app *v1alpha1.Application) {
	app.Status.Sync.ComparedTo = v1alpha1.ComparedTo{Source: *app.Spec.Source, Destination: app.Spec.Destination}
}

// yard is where a set and its Applications are, for a data file.
type yard struct {
	t       *testing.T
	part    map[string][]byte
	in      appset.Input
	changes appset.Changes
	rollout *appset.RolloutResult
	trouble string   // that something could not be found out
	failed  []string // writes that failed
	out     strings.Builder
}

func playYard(t *testing.T, part map[string][]byte) string {
	t.Helper()
	y := &yard{t: t, part: part}
	set := part["given/set"]
	y.in = appset.Input{
		Set: setOf(t, set), Now: start, Policy: v1alpha1.ApplicationsSyncPolicySync, Projects: map[string]bool{"default": true},
		Others: map[string]string{}, Missing: map[string]time.Time{},
		Clusters: []appset.Cluster{{Name: "prod", Server: "https://prod.example.com"}},
		Exprs:    map[string]diff.NamedExpr{},
	}
	y.generates("given/generated")
	y.becomes("given/owned")
	for line := range strings.Lines(string(part["when"])) {
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintf(&y.out, "> %s\n", line)
			y.when(line)
		}
	}
	return y.out.String()
}

func (y *yard) apps(part string) []*v1alpha1.Application {
	var in []short
	if err := yaml.UnmarshalStrict(y.part[part], &in); err != nil {
		y.t.Fatal(part, err)
	}
	var out []*v1alpha1.Application
	for _, s := range in {
		out = append(out, s.app())
	}
	return out
}

func (y *yard) generates(part string) {
	y.in.Result = appset.Result{Apps: y.apps(part)}
	y.in.Result.Sets = len(y.in.Result.Apps)
	for _, app := range y.in.Result.Apps {
		app.OwnerReferences = []metav1.OwnerReference{appset.OwnerOf(y.in.Set)}
	}
}

// becomes adds Applications, or puts them in the place of those of the same name.
func (y *yard) becomes(part string) {
	for _, app := range y.apps(part) {
		app.OwnerReferences = []metav1.OwnerReference{appset.OwnerOf(y.in.Set)}
		y.gone(app.Name)
		y.in.Owned = append(y.in.Owned, app)
	}
}

func (y *yard) gone(name string) {
	y.in.Owned = slices.DeleteFunc(y.in.Owned, func(a *v1alpha1.Application) bool { return a.Name == name })
}

func (y *yard) owned(name string) *v1alpha1.Application {
	for _, app := range y.in.Owned {
		if app.Name == name {
			return app
		}
	}
	y.t.Fatalf("there is no Application %s", name)
	return nil
}

func (y *yard) duration(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		y.t.Fatal(err)
	}
	return d
}

// when plays a line: a condition, an event, or a look at what follows.
func (y *yard) when(line string) {
	word, rest, _ := strings.Cut(line, " ")
	name, more, _ := strings.Cut(rest, " ")
	switch word {
	case "policy":
		y.in.Policy = v1alpha1.ApplicationsSyncPolicy(rest)
	case "clusters":
		y.in.Clusters = nil
		for c := range strings.FieldsSeq(rest) {
			y.in.Clusters = append(y.in.Clusters, appset.Cluster{Name: c, Server: "https://" + c + ".example.com"})
		}
	case "stays":
		y.in.Stay.Annotations = append(y.in.Stay.Annotations, name)
		y.in.Stay.Labels = append(y.in.Stay.Labels, more)
	case "doubt":
		y.in.Doubts = append(y.in.Doubts, rest)
	case "sure":
		y.in.Doubts = nil
	case "failure":
		y.in.Result = appset.Result{Failure: rest}
	case "trouble":
		y.trouble = rest
	case "note":
		y.in.Result.Notes = append(y.in.Result.Notes, rest)
	case "write-fails":
		y.failed = append(y.failed, rest)
	case "problem":
		y.in.Result.Problems = append(y.in.Result.Problems, appset.Problem{Name: strings.Trim(name, `"`), Message: more})
	case "other":
		y.in.Others[name] = more
	case "jq":
		y.in.Exprs[rest] = diff.NamedExpr{Source: rest, Del: without(strings.Split(rest, ".")[1:])}
	case "jq-broken":
		y.in.Exprs[rest] = diff.NamedExpr{Source: rest, Problem: "it does not parse"}
	case "after":
		y.in.Now = y.in.Now.Add(y.duration(rest))
	case "generates":
		y.generates(rest)
	case "becomes":
		y.becomes(rest)
	case "gone":
		y.gone(rest)
	case "look":
		y.look()
	case "apply":
		y.apply()
	case "status":
		y.status()
	default:
		y.rolling(word, name, more)
	}
}

// without is the jq expression of a plain path, for tests.
func without(way []string) diff.Expr {
	return func(doc map[string]any) (map[string]any, error) {
		if way[0] == "error" {
			return nil, errors.New("it fails")
		}
		out := maps.Clone(doc)
		if len(way) == 1 {
			delete(out, way[0])
			return out, nil
		}
		below, ok := doc[way[0]].(map[string]any)
		if !ok {
			return doc, nil
		}
		next, err := without(way[1:])(below)
		out[way[0]] = next
		return out, err
	}
}

func (y *yard) look() {
	b := &y.out
	c := appset.Compare(y.in)
	y.changes, y.in.Pending, y.in.Missing = c, c.Pending, c.Missing
	for _, u := range c.Update {
		fmt.Fprintf(b, "update %s\n", u.Was.Name)
		y.difference(u.Was, u.Next)
	}
	for _, app := range c.Create {
		fmt.Fprintf(b, "create %s\n", app.Name)
	}
	for _, r := range c.Delete {
		how := "without its objects"
		if r.Cascade {
			how = "as it stands"
		}
		fmt.Fprintf(b, "delete %s %s: %s\n", r.App.Name, how, r.Why)
	}
	for _, h := range c.Held {
		fmt.Fprintf(b, "hold %s", h.Name)
		if !h.Until.IsZero() {
			fmt.Fprintf(b, " for %s", h.Until.Sub(y.in.Now))
		}
		fmt.Fprintf(b, ": %s\n", h.Why)
	}
	for _, p := range c.Problems {
		fmt.Fprintf(b, "problem %q: %s\n", p.Name, p.Message)
	}
	if !c.Again.IsZero() {
		fmt.Fprintf(b, "again in %s\n", c.Again.Sub(y.in.Now))
	}
	if c.Empty() && len(c.Held)+len(c.Problems) == 0 {
		fmt.Fprintf(b, "nothing to do\n")
	}
}

// difference tells what of an Application changes.
func (y *yard) difference(was, next *v1alpha1.Application) {
	a, b := y.flat(was), y.flat(next)
	keys := slices.Collect(maps.Keys(a))
	for k := range b {
		if _, ok := a[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		if a[k] != b[k] {
			fmt.Fprintf(&y.out, "  %s: %q -> %q\n", k, a[k], b[k])
		}
	}
}

func (y *yard) flat(app *v1alpha1.Application) map[string]string {
	data, err := json.Marshal(app)
	if err != nil {
		y.t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(data, &doc); err != nil {
		y.t.Fatal(err)
	}
	out := map[string]string{}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, below := range v {
				walk(at+"/"+k, below)
			}
		case []any:
			for i, below := range v {
				walk(fmt.Sprintf("%s/%d", at, i), below)
			}
		default:
			out[at] = fmt.Sprint(v)
		}
	}
	walk("", doc)
	return out
}

// apply carries the changes out, as the engine does.
func (y *yard) apply() { y.in.Owned = applied(y.in.Owned, y.changes) }

func applied(owned []*v1alpha1.Application, c appset.Changes) []*v1alpha1.Application {
	by := map[string]*v1alpha1.Application{}
	for _, app := range owned {
		by[app.Name] = app
	}
	for _, u := range c.Update {
		by[u.Next.Name] = u.Next
	}
	for _, app := range c.Create {
		by[app.Name] = app.DeepCopy()
	}
	for _, r := range c.Delete {
		delete(by, r.App.Name)
	}
	var out []*v1alpha1.Application
	for _, name := range slices.Sorted(maps.Keys(by)) {
		out = append(out, by[name])
	}
	return out
}

// status tells what the set says of itself, and keeps it for the next time.
func (y *yard) status() {
	s := appset.Status(appset.StatusInput{
		Set: y.in.Set, Now: y.in.Now, Error: y.trouble, Result: y.in.Result, Changes: y.changes, Failed: y.failed,
		Owned: y.in.Owned, Rollout: y.rollout,
	})
	y.in.Set.Status = s
	data, err := yaml.Marshal(s)
	if err != nil {
		y.t.Fatal(err)
	}
	y.out.Write(data)
}
