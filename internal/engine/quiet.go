package engine

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/policy"
)

// quiet remembers, for each application, what the last look was made from, if
// that look found nothing to do and nothing to say. While all of that is the
// same, another look would find the same.
type quiet struct {
	mu   sync.Mutex
	last map[string]mark
	// unread are the applications that this process has not looked at, since the
	// mark of another one held, and of which nobody has asked what they read.
	unread map[string]struct{}
}

// mark names everything that a look at an application depends on.
type mark struct {
	// seen means the same in every process that runs the same program with the
	// same settings; lasting says that it names both.
	seen    object.Seen
	lasting bool
	// others are the objects that do not carry the application's mark and that
	// the look before had to do with.
	others object.Digest
	// The rest is for this process alone.
	ignore  *Ignore
	tenancy *policy.Tenancy
	view    uint64
}

func (m mark) equal(other mark) bool {
	return m.seen.Equal(other.seen) && m.lasting == other.lasting && m.others == other.others &&
		m.ignore == other.ignore && m.tenancy == other.tenancy && m.view == other.view
}

func newQuiet() *quiet { return &quiet{last: map[string]mark{}, unread: map[string]struct{}{}} }

// same says whether the last look was made from this; known is false if there
// was none in this process.
func (q *quiet) same(app string, now mark) (same, known bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	last, known := q.last[app]
	return known && last.equal(now), known
}

// keep remembers a look that was quiet, or that there was one that was not.
func (q *quiet) keep(app string, now mark, was bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.unread, app)
	if !was {
		now = mark{}
	}
	q.last[app] = now
}

// adopt takes over the look of another process.
func (q *quiet) adopt(app string, now mark) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last[app] = now
	q.unread[app] = struct{}{}
}

// recalled are those of the applications whose reads were never asked for. They
// are asked for once: whoever is not known after that is woken, and looked at.
func (q *quiet) recalled(apps []string) (out []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.unread) == 0 {
		return nil
	}
	for _, app := range apps {
		if _, ok := q.unread[app]; ok {
			delete(q.unread, app)
			out = append(out, app)
		}
	}
	return out
}

func (q *quiet) forget(app string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.last, app)
	delete(q.unread, app)
}

// still says that the last look at an application would find the same now: the
// last one of this process or, until there is one, that of the process before.
func (e *Engine) still(ctx context.Context, app *v1alpha1.Application, now mark) bool {
	name := e.key(app)
	same, known := e.quiet.same(name, now)
	if known || !now.lasting {
		return same
	}
	kept, ok := e.Pairs.Mark(name)
	if !ok || kept.Sum != now.seen.Sum || len(kept.Revisions) != len(now.seen.Revisions) ||
		kept.APIs != "" && kept.APIs != now.seen.APIs {
		return false
	}
	// The mark that was kept stays: what was rendered is known by its commits.
	e.quiet.adopt(name, now)
	if slices.Equal(kept.Revisions, now.seen.Revisions) || e.unmoved(ctx, app, kept.Revisions, now.seen.Revisions) {
		return true
	}
	e.quiet.forget(name)
	return false
}

// unmoved says that commits since a look of another process changed nothing that
// the application read.
func (e *Engine) unmoved(ctx context.Context, app *v1alpha1.Application, was, is []string) bool {
	for i, s := range app.Sources() {
		if was[i] == is[i] {
			continue
		}
		if s.Chart != "" || len(e.Touched(ctx, manifest.OriginOf(app, s), was[i], is[i], []string{e.key(app)})) > 0 {
			return false
		}
	}
	return true
}

// settle remembers how a look ended, for the next process too where nothing but
// the mark has to be known to follow what happens from there on.
func (e *Engine) settle(ctx context.Context, o *observation, now mark, was bool) {
	name := e.key(o.app)
	if len(e.wants.of(name)) == 0 && e.places.of(name) == (corner{}) {
		// Whatever the look before had to do with: this one had to do with what
		// carries the mark, and that is in the sum.
		now.others = object.Digest{}
	}
	e.quiet.keep(name, now, was)
	if !was || !now.lasting || !e.simple(o) {
		return
	}
	if !slices.ContainsFunc(o.rendered, func(r *rendered) bool { return r != nil && r.APIs != "" }) {
		now.seen.APIs = ""
	}
	if err := e.Pairs.SetMark(name, now.seen); err != nil {
		slog.WarnContext(ctx, "a look could not be remembered; a restart will look again", "app", name, "error", err)
	}
}

// simple says that an application is Synced, that what it was rendered from is
// named by its revisions alone, and that none of its objects has to be watched
// otherwise than by its mark.
func (e *Engine) simple(o *observation) bool {
	name := e.key(o.app)
	if o.app.Status.Sync.Status != v1alpha1.SyncStatusCodeSynced || len(e.wants.of(name)) > 0 || len(e.doubts.of(name)) > 0 ||
		e.places.of(name) != (corner{}) || e.waits(name) {
		return false
	}
	for i, r := range o.rendered {
		s := o.content.Sources[i]
		if r == nil && gives(s) || r != nil && (r.Result.Reads == nil || len(r.Needs) > 0 || !r.Made.IsZero()) {
			return false
		}
		// Who may sign is not a part of the mark.
		if o.cluster.project == nil || policy.Integrity(*o.cluster.project, s.RepoURL).Mode != v1alpha1.SourceIntegrityGPGModeNone {
			return false
		}
	}
	return true
}

// fingerprint names everything that a look at an application depends on: the
// application, its project, the settings, the commit, what the cluster serves,
// and the facts of the objects that it has or wants. ok is false where one of
// them cannot be had without a proper look.
func (e *Engine) fingerprint(ctx context.Context, app *v1alpha1.Application) (now mark, ok bool) {
	r, err := e.ruling(ctx, app)
	if err != nil {
		return mark{}, false
	}
	c, err := e.knock(ctx, app)
	if err != nil {
		return mark{}, false
	}
	s := e.Settings()
	revisions, err := e.targets(ctx, app)
	if err != nil {
		return mark{}, false
	}
	view := c.View()
	var t object.Words
	t.Add(s.Name, app.ResourceVersion, c.place.Server, c.place.Name, c.place.Project, s.Build.KustomizeOptions)
	t.List(r.versions)
	t.List(r.project.OwnRepos)
	for _, own := range r.project.OwnClusters {
		t.Add(own.Server, own.Name)
		t.List(own.Namespaces)
	}
	managed := c.Managed(object.Instance(e.Namespace, app.Namespace, app.Name))
	for _, f := range managed {
		addFact(&t, &f)
	}
	about := view.About(kindsOf(managed))
	t = append(t, about[:]...)
	f, _ := c.Fact(object.Key{Kind: "Namespace", Name: app.Spec.Destination.Namespace})
	t.Add(f.UID)
	apis := ""
	if view.Kube != nil {
		apis = view.Kube.Digest
	}
	return mark{
		seen:    object.Seen{Sum: t.Digest(), Revisions: revisions, APIs: apis},
		lasting: s.Name != "" && !view.Content.IsZero(), others: e.others(c, e.key(app)),
		ignore: s.Ignore, tenancy: s.Tenancy, view: view.Version,
	}, true
}

// kindsOf are the kinds of some objects, in the order of these.
func kindsOf(facts []object.Fact) []schema.GroupKind {
	var out []schema.GroupKind
	for _, f := range facts {
		if gk := f.Key.GroupKind(); !slices.Contains(out, gk) {
			out = append(out, gk)
		}
	}
	return out
}

// others names the objects without its mark that an application has to do with;
// most have to do with none.
func (e *Engine) others(c Live, app string) object.Digest {
	wants := e.wants.of(app)
	if len(wants) == 0 && e.places.of(app) == (corner{}) {
		return object.Digest{}
	}
	var t object.Words
	for _, k := range wants {
		f, _ := c.Fact(k)
		addFact(&t, &f)
	}
	e.surroundings(&t, c, app)
	return t.Digest()
}

// addFact adds what a look sees of an object. Its health may change though the
// object does not: by the script that judges it.
func addFact(to *object.Words, f *object.Fact) {
	to.Add(f.UID, f.ResourceVersion, string(f.Health.Status), f.Health.Message)
}

// recall notes what applications read that this process has not looked at, as
// far as that is known: the render of a commit, on the shelf, says it. It costs a
// file for each, once, when their repository moves.
func (e *Engine) recall(ctx context.Context, at place, commit string, apps []string) {
	if commit == "" {
		return // the first look at a repository, not a move of it
	}
	for _, name := range e.quiet.recalled(apps) {
		app, err := e.Hub.Application(ctx, name)
		if err != nil {
			continue
		}
		if o, ok := e.recollection(ctx, app, at, commit); ok {
			e.stand(o, o.content.Revisions)
		}
	}
}

// recollection is a look as another process made it when a place was at a commit:
// what was rendered, without the objects.
func (e *Engine) recollection(ctx context.Context, app *v1alpha1.Application, at place, commit string) (*observation, bool) {
	d, err := e.knock(ctx, app)
	if err != nil {
		return nil, false
	}
	o := e.lookOf(app)
	o.cluster = d
	o.rendered = make([]*rendered, len(o.content.Sources))
	o.content.Revisions = make([]string, len(o.content.Sources))
	for i, s := range o.content.Sources {
		o.content.Revisions[i] = commit
		if s.Chart != "" || (place{s.RepoURL, s.TargetRevision}) != at {
			if o.content.Revisions[i], _, err = e.Sources.Resolve(ctx, manifest.OriginOf(app, s), e.Settings().MaxAge); err != nil {
				return nil, false
			}
		}
	}
	for i, s := range o.content.Sources {
		if !gives(s) {
			continue
		}
		r, ok := e.shelved(o, i)
		if !ok {
			return nil, false
		}
		o.rendered[i] = r
	}
	return o, true
}
