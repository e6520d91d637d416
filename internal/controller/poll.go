package controller

import (
	"cmp"
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

// Touched narrows the applications that follow a revision down to those whom
// its move from one commit to another concerns. The first commit may be empty:
// not known.
type Touched func(ctx context.Context, of manifest.Origin, from, to string, apps []string) []string

// Foreseer brings a commit that somebody says will be asked for. Nobody waits for it.
type Foreseer interface {
	Foresee(ctx context.Context, of manifest.Origin, commit string) error
}

// poller looks at each repository in turn, once for all the applications that
// use it, and wakes those whom a move concerns. An application that read
// nothing of what changed costs nothing.
type poller struct {
	pollerOptions
	queue workqueue.TypedDelayingInterface[string]

	mu    sync.Mutex
	repos map[string]map[manifest.Origin]*follow
	// hinted are the repositories that somebody has just looked at: the answer
	// is there and need not be asked for again.
	hinted map[string]struct{}
	// planned are the next turns of the repositories.
	planned map[string]time.Time
	// sets are what ApplicationSets follow.
	sets map[string][]manifest.Origin
	// places are the repositories by where they are, with how many origins each
	// is followed by there; turns are when webhooks have them looked at.
	places map[string]map[string]int
	turns  turns
	// tips are what proved webhooks say that the next look will find.
	tips map[string]tip
}

type pollerOptions struct {
	resolver Resolver
	// foreseer is nil where nothing is fetched before its name is known.
	foreseer Foreseer
	every    func() (every, jitter time.Duration)
	wake     func(app string)
	// key is what an application is called.
	key func(*v1alpha1.Application) string
	// touched is nil where every move concerns everybody.
	touched Touched
}

// followSet follows the repositories of an ApplicationSet, which are known only
// once it was generated, instead of those of the last time.
func (p *poller) followSet(holder string, now []manifest.Origin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range now {
		p.follow(o, holder)
	}
	for _, o := range p.sets[holder] {
		if !slices.Contains(now, o) {
			p.unfollow(o, holder)
		}
	}
	delete(p.sets, holder)
	if len(now) > 0 {
		p.sets[holder] = now
	}
}

// follow is one revision of a repository and who follows it.
type follow struct {
	commit string
	apps   map[string]struct{}
}

func newPoller(o pollerOptions) *poller {
	if o.key == nil {
		o.key = func(app *v1alpha1.Application) string { return app.Name }
	}
	if o.touched == nil {
		o.touched = func(_ context.Context, _ manifest.Origin, _, _ string, apps []string) []string { return apps }
	}
	return &poller{
		pollerOptions: o,
		queue:         workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{Name: "repositories"}),
		repos:         map[string]map[manifest.Origin]*follow{},
		hinted:        map[string]struct{}{},
		planned:       map[string]time.Time{},
		sets:          map[string][]manifest.Origin{},
		places:        map[string]map[string]int{},
		turns:         newTurns(),
		tips:          map[string]tip{},
	}
}

// hint says that somebody looked at a repository and saw it move.
func (p *poller) hint(repo string) {
	p.mu.Lock()
	_, followed := p.repos[repo]
	if followed {
		p.hinted[repo] = struct{}{}
	}
	p.mu.Unlock()
	if followed {
		p.queue.Add(repo)
	}
}

// following are the applications of the repositories that are chosen.
func (p *poller) following(chosen func(repoURL string) bool) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := map[string]struct{}{}
	for repo, origins := range p.repos {
		if !chosen(repo) {
			continue
		}
		for _, f := range origins {
			maps.Copy(found, f.apps)
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// track follows the sources of an application instead of those of its old self.
func (p *poller) track(old, app *v1alpha1.Application) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var now []manifest.Origin
	if app != nil {
		now = originsOf(app)
	}
	for _, o := range now {
		p.follow(o, p.key(app))
	}
	if old == nil {
		return
	}
	// What is still followed is not let go in between: what is known of it
	// would be lost with each write of a status.
	for _, o := range originsOf(old) {
		if !slices.Contains(now, o) {
			p.unfollow(o, p.key(old))
		}
	}
}

func originsOf(app *v1alpha1.Application) []manifest.Origin {
	var out []manifest.Origin
	for _, s := range app.Sources() {
		if s.RepoURL != "" {
			out = append(out, manifest.OriginOf(app, s))
		}
	}
	return out
}

func (p *poller) follow(o manifest.Origin, app string) {
	origins, known := p.repos[o.RepoURL]
	if !known {
		origins = map[manifest.Origin]*follow{}
		p.repos[o.RepoURL] = origins
		p.later(o.RepoURL)
	}
	f, ok := origins[o]
	if !ok {
		f = &follow{apps: map[string]struct{}{}}
		origins[o] = f
		p.settle(o, 1)
	}
	f.apps[app] = struct{}{}
}

func (p *poller) unfollow(o manifest.Origin, app string) {
	f, ok := p.repos[o.RepoURL][o]
	if !ok {
		return
	}
	delete(f.apps, app)
	if len(f.apps) == 0 {
		delete(p.repos[o.RepoURL], o)
		p.settle(o, -1)
	}
	// A repository that nobody follows is dropped at its next turn.
}

// idle is how soon a repository comes up again while polling is switched off,
// only to see whether it still is.
const idle = time.Minute

// later plans the next turn of a repository, unless it is planned; the caller
// holds the lock.
func (p *poller) later(repo string) {
	now := time.Now()
	at, planned := p.planned[repo]
	if !planned || !at.After(now) {
		every, jitter := p.every()
		if every <= 0 {
			every, jitter = idle, 0
		}
		if jitter > 0 {
			every += rand.N(jitter)
		}
		at = now.Add(every)
		p.planned[repo] = at
	}
	p.queue.AddAfter(repo, at.Sub(now))
}

// pollers is how many repositories are looked at at once: a slow one must not
// hold up the others.
const pollers = 8

func (p *poller) run(ctx context.Context) {
	var wg sync.WaitGroup
	for range pollers {
		wg.Go(func() {
			for {
				repo, shutdown := p.queue.Get()
				if shutdown {
					return
				}
				p.poll(ctx, repo)
				p.queue.Done(repo)
			}
		})
	}
	wg.Wait()
}

func (p *poller) stop() { p.queue.ShutDown() }

// fresh is how old the answer of a look may be that others were told of, or
// that was made for another revision of the repository in the same turn.
const fresh = time.Minute

// turnOf is why a repository comes up.
type turnOf int

const (
	// nobodyAsks: it is not its turn, or polling is switched off.
	nobodyAsks turnOf = iota
	// othersLooked, so that the answer is there.
	othersLooked
	// itsTurn by the clock, or because a webhook says so.
	itsTurn
)

// look says why a repository comes up; the caller holds the lock. There may be no
// reason: what somebody asked for was done meanwhile.
func (p *poller) look(repo string, now time.Time) turnOf {
	_, hinted := p.hinted[repo]
	delete(p.hinted, repo)
	wait, told := p.turns.due(repo, now)
	every, _ := p.every()
	switch {
	case told && wait <= 0, every > 0 && !now.Before(p.planned[repo]):
		p.turns.begin(repo, now)
		return itsTurn
	case told:
		p.queue.AddAfter(repo, wait)
	}
	if hinted {
		return othersLooked
	}
	return nobodyAsks
}

// come is what is followed of a repository that comes up, and why it does.
func (p *poller) come(repo string) ([]manifest.Origin, turnOf) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.repos[repo]) == 0 {
		delete(p.repos, repo)
		delete(p.planned, repo)
		delete(p.hinted, repo)
		delete(p.tips, repo)
		p.turns.forget(repo)
		return nil, nobodyAsks
	}
	return slices.SortedFunc(maps.Keys(p.repos[repo]), compareOrigins), p.look(repo, time.Now())
}

// went plans the next turn of a repository that came up.
func (p *poller) went(repo string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.later(repo)
}

func (p *poller) poll(ctx context.Context, repo string) {
	origins, look := p.come(repo)
	if len(origins) == 0 {
		return
	}
	defer p.went(repo)
	maxAge := time.Duration(0)
	switch look {
	case nobodyAsks:
		return
	case othersLooked:
		maxAge = fresh
	case itsTurn:
		p.foresee(ctx, repo)
	}
	for _, origin := range origins {
		commit, _, err := p.resolver.Resolve(ctx, origin, maxAge)
		if err != nil {
			// The applications say it too, when they are next looked at; what
			// they have stands meanwhile.
			slog.WarnContext(ctx, "polling failed", "repository", repo, "revision", origin.Revision, "error", err)
			continue
		}
		// The answer for the first revision answers for the others too.
		maxAge = fresh
		from, apps := p.moved(origin, commit)
		if len(apps) == 0 {
			continue
		}
		// Few of many, so that these are put in order and not those.
		for _, app := range slices.Sorted(slices.Values(p.touched(ctx, origin, from, commit, apps))) {
			p.wake(app)
		}
	}
}

func compareOrigins(a, b manifest.Origin) int {
	return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Chart, b.Chart),
		cmp.Compare(a.Project, b.Project), cmp.Compare(a.TagPrefix, b.TagPrefix))
}

// moved notes where a revision stands and returns where it stood and who
// follows it, in no order, if it moved.
func (p *poller) moved(origin manifest.Origin, commit string) (from string, apps []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, ok := p.repos[origin.RepoURL][origin]
	if !ok || f.commit == commit {
		return "", nil
	}
	from, f.commit = f.commit, commit
	return from, slices.AppendSeq(make([]string, 0, len(f.apps)), maps.Keys(f.apps))
}
