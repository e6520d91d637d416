package engine

import (
	"context"
	"hash/maphash"
	"sync"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
)

// quiet remembers, for each application, what the last look was made from, if
// that look found nothing to do and nothing to say. While all of that is the
// same, another look would find the same.
type quiet struct {
	seed maphash.Seed

	mu   sync.Mutex
	last map[string]uint64
}

func newQuiet() *quiet {
	return &quiet{seed: maphash.MakeSeed(), last: map[string]uint64{}}
}

func (q *quiet) same(app string, mark uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	last, ok := q.last[app]
	return ok && last == mark
}

// keep remembers a look that was quiet, or forgets the one before.
func (q *quiet) keep(app string, mark uint64, was bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.last, app)
	if was {
		q.last[app] = mark
	}
}

// fingerprint names everything that a look at an application depends on: the
// application, its project, the settings, the commit, what the cluster serves,
// and the facts of the objects that it has or wants. ok is false where one of
// them cannot be had without a proper look.
func (e *Engine) fingerprint(ctx context.Context, app *v1alpha1.Application) (mark uint64, ok bool) {
	r, err := e.ruling(ctx, app)
	if err != nil {
		return 0, false
	}
	c, err := e.knock(ctx, app)
	if err != nil {
		return 0, false
	}
	s := e.Settings()
	revisions, err := e.targets(ctx, app)
	if err != nil {
		return 0, false
	}
	var h maphash.Hash
	h.SetSeed(e.quiet.seed)
	texts(&h, app.ResourceVersion, c.place.Project)
	texts(&h, r.versions...)
	texts(&h, r.project.OwnRepos...)
	for _, own := range r.project.OwnClusters {
		texts(&h, own.Server, own.Name)
		texts(&h, own.Namespaces...)
	}
	texts(&h, revisions...)
	maphash.WriteComparable(&h, s.Ignore)
	maphash.WriteComparable(&h, s.Tenancy)
	texts(&h, s.Build.KustomizeOptions)
	maphash.WriteComparable(&h, c.View().Version)
	for _, f := range c.Managed(object.Instance(e.Namespace, app.Namespace, app.Name)) {
		texts(&h, f.UID, f.ResourceVersion)
	}
	for _, k := range e.wants.of(e.key(app)) {
		f, _ := c.Fact(k)
		texts(&h, f.UID, f.ResourceVersion)
	}
	f, _ := c.Fact(object.Key{Kind: "Namespace", Name: app.Spec.Destination.Namespace})
	texts(&h, f.UID)
	e.surroundings(&h, c, e.key(app))
	return h.Sum64(), true
}

func texts(h *maphash.Hash, parts ...string) {
	for _, p := range parts {
		_, _ = h.WriteString(p)
		_ = h.WriteByte(0)
	}
}
