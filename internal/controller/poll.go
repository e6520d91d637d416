package controller

import (
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// Resolver names the commit that a revision of a repository stands for.
type Resolver interface {
	Resolve(ctx context.Context, of manifest.Origin, maxAge time.Duration) (commit string, seen time.Time, err error)
}

// poller looks at each repository in turn, once for all the applications that
// use it, and wakes those whose revision moved. An application whose
// repository did not move costs nothing.
type poller struct {
	resolver Resolver
	every    func() (every, jitter time.Duration)
	wake     func(app string)
	queue    workqueue.TypedDelayingInterface[string]

	mu    sync.Mutex
	repos map[string]map[string]*follow
}

// follow is one revision of a repository and who follows it.
type follow struct {
	commit string
	apps   map[string]struct{}
}

func newPoller(r Resolver, every func() (time.Duration, time.Duration), wake func(string)) *poller {
	return &poller{
		resolver: r, every: every, wake: wake,
		queue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{Name: "repositories"}),
		repos: map[string]map[string]*follow{},
	}
}

// track follows the sources of an application instead of those of its old self.
func (p *poller) track(old, app *v1alpha1.Application) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var now []v1alpha1.ApplicationSource
	if app != nil {
		now = app.Sources()
	}
	for _, s := range now {
		p.follow(s, app.Name)
	}
	if old == nil {
		return
	}
	// What is still followed is not let go in between: what is known of it
	// would be lost with each write of a status.
	for _, s := range old.Sources() {
		if !slices.ContainsFunc(now, func(n v1alpha1.ApplicationSource) bool {
			return n.RepoURL == s.RepoURL && n.TargetRevision == s.TargetRevision
		}) {
			p.unfollow(s, old.Name)
		}
	}
}

func (p *poller) follow(s v1alpha1.ApplicationSource, app string) {
	if s.RepoURL == "" || s.Chart != "" {
		return
	}
	revisions, known := p.repos[s.RepoURL]
	if !known {
		revisions = map[string]*follow{}
		p.repos[s.RepoURL] = revisions
		p.later(s.RepoURL)
	}
	f, ok := revisions[s.TargetRevision]
	if !ok {
		f = &follow{apps: map[string]struct{}{}}
		revisions[s.TargetRevision] = f
	}
	f.apps[app] = struct{}{}
}

func (p *poller) unfollow(s v1alpha1.ApplicationSource, app string) {
	f, ok := p.repos[s.RepoURL][s.TargetRevision]
	if !ok {
		return
	}
	delete(f.apps, app)
	if len(f.apps) == 0 {
		delete(p.repos[s.RepoURL], s.TargetRevision)
	}
	// A repository that nobody follows is dropped at its next turn.
}

// idle is how soon a repository comes up again while polling is switched off,
// only to see whether it still is.
const idle = time.Minute

func (p *poller) later(repo string) {
	every, jitter := p.every()
	if every <= 0 {
		p.queue.AddAfter(repo, idle)
		return
	}
	if jitter > 0 {
		every += rand.N(jitter)
	}
	p.queue.AddAfter(repo, every)
}

func (p *poller) run(ctx context.Context) {
	for {
		repo, shutdown := p.queue.Get()
		if shutdown {
			return
		}
		p.poll(ctx, repo)
		p.queue.Done(repo)
	}
}

func (p *poller) stop() { p.queue.ShutDown() }

func (p *poller) poll(ctx context.Context, repo string) {
	p.mu.Lock()
	revisions := slices.Sorted(maps.Keys(p.repos[repo]))
	if len(revisions) == 0 {
		delete(p.repos, repo)
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	defer p.later(repo)
	if every, _ := p.every(); every <= 0 {
		return
	}
	maxAge := time.Duration(0)
	for _, revision := range revisions {
		commit, _, err := p.resolver.Resolve(ctx, manifest.Origin{RepoURL: repo, Revision: revision}, maxAge)
		if err != nil {
			// The applications say it too, when they are next looked at; what
			// they have stands meanwhile.
			slog.WarnContext(ctx, "polling failed", "repository", repo, "revision", revision, "error", err)
			continue
		}
		// The answer for the first revision answers for the others too.
		maxAge = time.Minute
		for _, app := range p.moved(repo, revision, commit) {
			p.wake(app)
		}
	}
}

// moved notes where a revision stands and returns who should know.
func (p *poller) moved(repo, revision, commit string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, ok := p.repos[repo][revision]
	if !ok || f.commit == commit {
		return nil
	}
	f.commit = commit
	return slices.Sorted(maps.Keys(f.apps))
}
