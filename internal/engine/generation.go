package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/policy"
	"github.com/towline-cd/towline/internal/core/reads"
)

// generation is one look at an ApplicationSet.
type generation struct {
	engine   *Engine
	set      *v1alpha1.ApplicationSet
	state    *setState
	clusters []appset.Cluster
	result   appset.Result
	// whole are the applications of a rolling sync with their automation, which
	// they do not get.
	whole []*v1alpha1.Application
	// needs and answers are by their keys; order is that of the asking.
	needs   map[string]appset.Need
	answers map[string]appset.Answer
	order   []string
	// again says that it failed, and that it is tried again soon.
	again bool
	// done are the writes, for the journal.
	done deeds
}

// name is what the set is called.
func (g *generation) name() string { return g.engine.setName(g.set) }

// generate asks for what the generators need until they need no more. An error
// means that not everything is known, and so nothing is.
func (g *generation) generate(ctx context.Context) error {
	g.clusters = g.engine.known()
	g.needs, g.answers = map[string]appset.Need{}, map[string]appset.Answer{}
	world := appset.World{
		Clusters: g.clusters, Answers: g.answers,
		StrictGlobs: g.engine.Settings().Sets.StrictGlobs, Now: g.engine.Now(),
	}
	for range mostRounds {
		g.result = appset.Generate(g.set, world)
		if len(g.result.Needs) == 0 {
			return nil
		}
		if len(g.needs)+len(g.result.Needs) > mostAsked {
			return fault.Terminalf("TooManyNeeds", "its generators ask for more than %d repositories or services", mostAsked)
		}
		for _, need := range g.result.Needs {
			if err := g.answer(ctx, need); err != nil {
				return fmt.Errorf("%s: %w", described(need), err)
			}
		}
	}
	return fault.Terminalf("TooManyNeeds", "what its generators need depends on what they need, more than %d times", mostRounds)
}

// mostAsked bounds how many repositories and services one set may ask.
const mostAsked = 2000

func (o SetOptions) known() []appset.Cluster {
	if o.Known == nil {
		return []appset.Cluster{{Name: v1alpha1.InClusterName, Server: v1alpha1.InClusterServer, Local: true}}
	}
	return o.Known()
}

// described names a need to people.
func described(n appset.Need) string {
	switch {
	case n.Git != nil:
		return fmt.Sprintf("reading %s of %s", n.Git.Revision, policy.Address(n.Git.RepoURL))
	case n.PullRequest != nil:
		return "listing pull requests"
	case n.SCMProvider != nil:
		return "listing repositories"
	case n.Plugin != nil:
		return fmt.Sprintf("asking the plugin of config map %q", n.Plugin.ConfigMapRef.Name)
	case n.Decision != nil:
		return fmt.Sprintf("reading the decision by config map %q", n.Decision.ConfigMapRef)
	}
	return "an unknown need"
}

// asked is who was asked for what. Errors of a forge say that themselves.
func asked(n appset.Need) string {
	switch {
	case n.PullRequest != nil && n.PullRequest.Github != nil:
		return fmt.Sprintf("listing pull requests of %s/%s on GitHub", n.PullRequest.Github.Owner, n.PullRequest.Github.Repo)
	case n.PullRequest != nil && n.PullRequest.Gitlab != nil:
		return fmt.Sprintf("listing merge requests of %s on GitLab", n.PullRequest.Gitlab.Project)
	case n.PullRequest != nil && n.PullRequest.Gitea != nil:
		return fmt.Sprintf("listing pull requests of %s/%s on Gitea", n.PullRequest.Gitea.Owner, n.PullRequest.Gitea.Repo)
	case n.SCMProvider != nil && n.SCMProvider.Github != nil:
		return fmt.Sprintf("listing repositories of %s on GitHub", n.SCMProvider.Github.Organization)
	case n.SCMProvider != nil && n.SCMProvider.Gitlab != nil:
		return fmt.Sprintf("listing projects of %s on GitLab", n.SCMProvider.Gitlab.Group)
	case n.SCMProvider != nil && n.SCMProvider.Gitea != nil:
		return fmt.Sprintf("listing repositories of %s on Gitea", n.SCMProvider.Gitea.Owner)
	}
	return described(n)
}

func gitOrigin(n *appset.GitNeed) manifest.Origin {
	return manifest.Origin{RepoURL: n.RepoURL, Revision: n.Revision, Project: n.Project}
}

// answer gets what a generator has to know.
func (g *generation) answer(ctx context.Context, need appset.Need) error {
	key := need.Key()
	if _, answered := g.answers[key]; answered {
		return fault.Terminalf("NeedUnmet", "it was answered and is still asked for")
	}
	answer, err := g.ask(ctx, need)
	if err != nil {
		return err
	}
	g.needs[key], g.answers[key] = need, answer
	g.order = append(g.order, key)
	return nil
}

func (g *generation) ask(ctx context.Context, need appset.Need) (appset.Answer, error) {
	if need.Git != nil {
		return g.read(ctx, need.Git)
	}
	if g.engine.Oracle == nil {
		return appset.Answer{}, fault.Terminalf("NotHere", "nobody answers that here")
	}
	return g.engine.Oracle.Ask(ctx, g.set, need)
}

// read is a commit and its content. Unlike for an application no earlier commit
// stands in for one that is out of reach: from what is not there nothing follows.
func (g *generation) read(ctx context.Context, n *appset.GitNeed) (appset.Answer, error) {
	e, origin := g.engine, gitOrigin(n)
	commit, _, err := e.Sources.Resolve(ctx, origin, g.maxAge())
	if err != nil {
		return appset.Answer{}, err
	}
	if err := g.verify(ctx, origin, commit); err != nil {
		return appset.Answer{}, err
	}
	tree, err := e.Sources.Tree(ctx, origin, commit)
	if err != nil {
		return appset.Answer{}, err
	}
	return appset.Answer{Commit: commit, Tree: &recorder{FS: tree}}, nil
}

// maxAge is how old a look at a repository may be.
func (g *generation) maxAge() time.Duration {
	if g.set.Annotations[v1alpha1.AnnotationApplicationSetRefresh] != "" {
		return 0
	}
	age := g.engine.Settings().MaxAge
	if every := appset.Interval(g.set); every > 0 {
		age = min(age, every/2)
	}
	return age
}

// verify checks what the project demands of the commit.
func (g *generation) verify(ctx context.Context, of manifest.Origin, commit string) error {
	if of.Project == "" {
		return nil
	}
	p, err := g.engine.Hub.Project(ctx, of.Project)
	if fault.ReasonOf(err) == "NotFound" {
		return nil
	}
	if err != nil {
		return err
	}
	demand := policy.Integrity(policy.Of(p), of.RepoURL)
	if demand.Mode == v1alpha1.SourceIntegrityGPGModeNone {
		return nil
	}
	why := "cannot be checked for a signature here"
	if g.engine.Verifier != nil {
		if why, err = g.engine.Verifier.Verify(ctx, of, commit, demand); err != nil {
			return fmt.Errorf("checking the signature of %s: %w", short(commit), err)
		}
	}
	if why != "" {
		return fault.Terminalf("NotSigned", "project %q wants the commits of %s signed, and %s %s",
			of.Project, policy.Address(of.RepoURL), short(commit), why)
	}
	return nil
}

// after is how soon the generators want to be asked again by themselves.
func (g *generation) after() time.Duration {
	return sooner(g.engine.Settings().Sets.Requeue, appset.Interval(g.set))
}

// follows are the repositories whose moves concern the set.
func (g *generation) follows() []manifest.Origin {
	out := []manifest.Origin{}
	for _, key := range g.order {
		if n := g.needs[key].Git; n != nil {
			out = append(out, gitOrigin(n))
		}
	}
	return out
}

// topics are what webhooks may have to say about what the generators asked.
func (g *generation) topics() []string {
	var out []string
	for _, key := range g.order {
		if topic := appset.Topic(g.needs[key]); topic != "" && !slices.Contains(out, topic) {
			out = append(out, topic)
		}
	}
	return out
}

// footprint notes what was read, so that a push elsewhere concerns nobody.
func (g *generation) footprint() {
	prints := map[place]footprint{}
	for _, key := range g.order {
		n := g.needs[key].Git
		if n == nil {
			continue
		}
		r, ok := g.answers[key].Tree.(*recorder)
		p := place{repo: n.RepoURL, revision: n.Revision}
		if !ok || r.lost {
			continue
		}
		prints[p] = footprint{commit: g.answers[key].Commit, reads: append(prints[p].reads, r.reads...)}
	}
	g.engine.footprints.set(SetHolder(g.name()), prints)
}

func (g *generation) close() {
	var failures []error
	for _, a := range g.answers {
		if r, ok := a.Tree.(*recorder); ok {
			if closer, ok := r.FS.(io.Closer); ok {
				failures = append(failures, closer.Close())
			}
		}
	}
	// What was read was read.
	_ = errors.Join(failures...)
}

// recorder is a tree that writes down what is read of it.
type recorder struct {
	fs.FS
	reads []reads.Read
	// lost says that something was read that could not be written down.
	lost bool
}

func (r *recorder) note(kind reads.Kind, name string) {
	traced, ok := r.FS.(manifest.Traced)
	if !ok {
		r.lost = true
		return
	}
	found, err := traced.Trace(kind, name)
	if err != nil {
		r.lost = true
		return
	}
	r.reads = append(r.reads, found...)
}

// Open opens a file; a folder is read by its names.
func (r *recorder) Open(name string) (fs.File, error) {
	kind := reads.File
	if info, err := fs.Stat(r.FS, name); err == nil && info.IsDir() {
		kind = reads.Listing
	}
	r.note(kind, name)
	return r.FS.Open(name)
}

// ReadDir lists a folder.
func (r *recorder) ReadDir(name string) ([]fs.DirEntry, error) {
	r.note(reads.Listing, name)
	return fs.ReadDir(r.FS, name)
}

// ReadFile reads a file.
func (r *recorder) ReadFile(name string) ([]byte, error) {
	r.note(reads.File, name)
	return fs.ReadFile(r.FS, name)
}

// Stat says what there is.
func (r *recorder) Stat(name string) (fs.FileInfo, error) {
	r.note(reads.Type, name)
	return fs.Stat(r.FS, name)
}

// String names a place in the record of a set.
func (p place) String() string { return p.repo + "@" + p.revision }

// record is what a set was last generated from. It is in an annotation, for the
// process that comes after this one.
type record struct {
	Generation int64             `json:"generation"`
	Commits    map[string]string `json:"commits,omitempty"`
}

func recorded(set *v1alpha1.ApplicationSet) record {
	var r record
	// What cannot be read was not written by us, and says nothing.
	_ = json.Unmarshal([]byte(set.Annotations[v1alpha1.AnnotationGenerated]), &r)
	return r
}

// recording is the record that this look leaves.
func (g *generation) recording() record {
	r := record{Generation: g.set.Generation}
	for _, key := range slices.Sorted(slices.Values(g.order)) {
		if n := g.needs[key].Git; n != nil {
			if r.Commits == nil {
				r.Commits = map[string]string{}
			}
			r.Commits[place{repo: n.RepoURL, revision: n.Revision}.String()] = g.answers[key].Commit
		}
	}
	return r
}
