package cluster

import (
	"maps"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/internal/core/object"
)

// Change is a difference between two readings of an object that matters to
// somebody: New is nil when it is gone, Old when it came.
type Change struct {
	Old, New *object.Fact
}

// index keeps the facts of every watched object, by kind, application, owner
// and namespace. It keeps no bodies. A fact is not changed once it is here, so
// whoever reads takes pointers along and lets go of the lock.
type index struct {
	notify func(Change)
	// served is called when the kinds that the cluster serves may have changed.
	served func()
	// doubted says of an object that any change of it matters.
	doubted func(object.Key) bool

	mu      sync.RWMutex
	kinds   map[schema.GroupKind]*shelf
	byApp   map[string]*group
	byOwner map[string]*group
	byPlace map[string]*group

	lag lag
}

// shelf holds one kind.
type shelf struct {
	facts map[place]*object.Fact
	// parts are its watches: one of the whole kind, or one for each namespace
	// where only some are watched.
	parts map[string]*part
	// moved is closed at the next news of the kind; nil while nobody waits.
	moved chan struct{}
}

// part is what one watch tells. seen is how far it has come.
type part struct {
	seen uint64
	feed *feed
}

// everywhere is the part of a watch of the whole kind.
const everywhere = ""

// place is where an object of a known kind is.
type place struct{ namespace, name string }

func placeOf(k object.Key) place { return place{k.Namespace, k.Name} }

// feed is the right of one watch to tell about its kind. A watch that was
// stopped may still have something to say; by then its feed is over.
type feed struct {
	kind schema.GroupKind
	// namespace is the only one that it tells of; empty is all.
	namespace string
}

func newIndex(notify func(Change)) *index {
	return &index{
		notify:  notify,
		served:  func() {},
		doubted: func(object.Key) bool { return false },
		kinds:   map[schema.GroupKind]*shelf{},
		byApp:   map[string]*group{},
		byOwner: map[string]*group{},
		byPlace: map[string]*group{},
	}
}

// open gives the kind to a new watch. What is known of it stays.
func (ix *index) open(gk schema.GroupKind) *feed { return ix.openIn(gk, everywhere) }

// openIn gives one namespace of the kind to a new watch.
func (ix *index) openIn(gk schema.GroupKind, namespace string) *feed {
	fd := &feed{kind: gk, namespace: namespace}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	s, ok := ix.kinds[gk]
	if !ok {
		s = &shelf{facts: map[place]*object.Fact{}, parts: map[string]*part{}}
		ix.kinds[gk] = s
	}
	p, ok := s.parts[namespace]
	if !ok {
		p = &part{}
		s.parts[namespace] = p
	}
	p.feed = fd
	return fd
}

// forget drops a kind that is not watched any more.
func (ix *index) forget(gk schema.GroupKind) {
	ix.mu.Lock()
	s, ok := ix.kinds[gk]
	if !ok {
		ix.mu.Unlock()
		return
	}
	var changes []Change
	for _, f := range s.facts {
		changes = append(changes, Change{Old: f})
		ix.unlink(f)
	}
	delete(ix.kinds, gk)
	s.wake()
	ix.mu.Unlock()
	ix.tell(changes)
}

// watched takes a reading from the watch.
func (ix *index) watched(fd *feed, f *object.Fact) {
	ix.mu.Lock()
	s, p := ix.shelf(fd)
	if s == nil {
		ix.mu.Unlock()
		return
	}
	old := s.facts[placeOf(f.Key)]
	// A write of ours may be ahead of the watch, with another object even.
	stale := old != nil && older(f.ResourceVersion, old.ResourceVersion)
	if !stale {
		ix.put(s, old, f)
	}
	s.advance(p, f.ResourceVersion)
	ix.lag.saw(f.Key, f.ResourceVersion)
	ix.mu.Unlock()
	if !stale {
		ix.tell([]Change{{Old: old, New: f}})
	}
}

// written takes the server's answer to a write of ours, so that the next look
// already sees it. Where the watch has come past it, the watch knows better:
// the object may be gone again. Of a kind that is not watched nothing is kept,
// for nobody would say when it goes.
func (ix *index) written(f object.Fact) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	s := ix.kinds[f.Key.GroupKind()]
	rv, ok := version(f.ResourceVersion)
	if s == nil || !ok {
		return
	}
	if p := s.part(f.Key.Namespace); p == nil || p.seen >= rv {
		return
	}
	old := s.facts[placeOf(f.Key)]
	if old != nil && older(f.ResourceVersion, old.ResourceVersion) {
		return
	}
	// Nobody is told: whoever wrote knows.
	ix.put(s, old, &f)
	ix.lag.wrote(f.Key, f.ResourceVersion)
}

// deleted takes the server's answer to a deletion of ours: the reading that the
// fact is was the last. Where the watch has not come to that reading yet it
// would bring the object back, so it is left to the watch to tell. Unlike a
// write, a deletion is told at once: the watch's own news of it will find
// nothing.
func (ix *index) deleted(f object.Fact) {
	ix.mu.Lock()
	s := ix.kinds[f.Key.GroupKind()]
	rv, ok := version(f.ResourceVersion)
	if s == nil || !ok {
		ix.mu.Unlock()
		return
	}
	old := s.facts[placeOf(f.Key)]
	p := s.part(f.Key.Namespace)
	drop := p != nil && p.seen >= rv && old != nil && old.UID == f.UID && old.ResourceVersion == f.ResourceVersion
	if drop {
		ix.drop(s, old)
		s.wake()
	}
	ix.mu.Unlock()
	if drop {
		ix.tell([]Change{{Old: old}})
	}
}

// gone takes a deletion from the watch; rv is that of the deletion. An object
// that came after it stays.
func (ix *index) gone(fd *feed, k object.Key, rv string) {
	ix.mu.Lock()
	s, p := ix.shelf(fd)
	if s == nil {
		ix.mu.Unlock()
		return
	}
	old := s.facts[placeOf(k)]
	drop := old != nil && !older(rv, old.ResourceVersion)
	ix.lag.saw(k, rv)
	if drop {
		ix.drop(s, old)
	}
	s.advance(p, rv)
	ix.mu.Unlock()
	if drop {
		ix.tell([]Change{{Old: old}})
	}
}

// replace makes a kind's facts exactly these, read at rv: what is not among
// them is gone, except for what we wrote after that reading.
func (ix *index) replace(fd *feed, facts []*object.Fact, rv string) {
	current := make(map[place]struct{}, len(facts))
	for _, f := range facts {
		current[placeOf(f.Key)] = struct{}{}
	}
	ix.mu.Lock()
	s, p := ix.shelf(fd)
	if s == nil {
		ix.mu.Unlock()
		return
	}
	// A watch never lists what is older than what it has told. If it does, the
	// server's history is another one now (restored from a backup), and
	// versions from before say nothing.
	at, ok := version(rv)
	restart := ok && at < p.seen
	if restart {
		p.seen = 0
	}
	var changes []Change
	for at, old := range s.facts {
		if fd.namespace != everywhere && at.namespace != fd.namespace {
			continue
		}
		if _, stays := current[at]; stays || !restart && older(rv, old.ResourceVersion) {
			continue
		}
		ix.drop(s, old)
		changes = append(changes, Change{Old: old})
	}
	for _, f := range facts {
		old := s.facts[placeOf(f.Key)]
		if old != nil && !restart && (older(f.ResourceVersion, old.ResourceVersion) || same(old, f)) {
			continue
		}
		ix.put(s, old, f)
		changes = append(changes, Change{Old: old, New: f})
	}
	s.advance(p, rv)
	ix.mu.Unlock()
	ix.tell(changes)
}

// touch tells everybody who has an object of the kind to look again.
func (ix *index) touch(gk schema.GroupKind) {
	ix.mu.RLock()
	var facts []*object.Fact
	if s := ix.kinds[gk]; s != nil {
		facts = slices.Collect(maps.Values(s.facts))
	}
	ix.mu.RUnlock()
	for _, f := range facts {
		if f.App != "" {
			ix.notify(Change{Old: f, New: f})
		}
	}
}

// bookmark moves a kind's progress without an object.
func (ix *index) bookmark(fd *feed, rv string) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if s, p := ix.shelf(fd); s != nil {
		s.advance(p, rv)
	}
}

// tell passes on what matters, without the lock.
func (ix *index) tell(changes []Change) {
	for _, c := range changes {
		if serves(c) {
			ix.served()
		}
		if c.New == nil || matters(c.Old, c.New, ix.doubted) {
			ix.notify(c)
		}
	}
}

// The rest runs with the lock held.

// shelf is the one that the feed may write to, and its part of it; nil when its
// time is over.
func (ix *index) shelf(fd *feed) (*shelf, *part) {
	s := ix.kinds[fd.kind]
	if s == nil {
		return nil, nil
	}
	p := s.parts[fd.namespace]
	if p == nil || p.feed != fd {
		return nil, nil
	}
	return s, p
}

// part is the one that tells of a namespace; nil where nobody does.
func (s *shelf) part(namespace string) *part {
	if p, ok := s.parts[everywhere]; ok {
		return p
	}
	return s.parts[namespace]
}

func (s *shelf) advance(p *part, rv string) {
	if n, ok := version(rv); ok {
		p.seen = max(p.seen, n)
	}
	s.wake()
}

func (s *shelf) wake() {
	if s.moved != nil {
		close(s.moved)
		s.moved = nil
	}
}

func (ix *index) put(s *shelf, old, f *object.Fact) {
	if old != nil {
		ix.unlink(old)
	}
	s.facts[placeOf(f.Key)] = f
	if f.App != "" {
		join(ix.byApp, f.App, f)
	}
	if f.Key.Namespace != "" {
		join(ix.byPlace, f.Key.Namespace, f)
	}
	for _, o := range f.Owners {
		join(ix.byOwner, o.UID, f)
	}
}

func (ix *index) drop(s *shelf, f *object.Fact) {
	ix.unlink(f)
	delete(s.facts, placeOf(f.Key))
}

func (ix *index) unlink(f *object.Fact) {
	if f.App != "" {
		leave(ix.byApp, f.App, f)
	}
	if f.Key.Namespace != "" {
		leave(ix.byPlace, f.Key.Namespace, f)
	}
	for _, o := range f.Owners {
		leave(ix.byOwner, o.UID, f)
	}
}

// same says that two readings are one, so that nothing is to be done.
func same(old, f *object.Fact) bool {
	return old.UID == f.UID && old.ResourceVersion == f.ResourceVersion && old.Version == f.Version &&
		old.Digest == f.Digest && old.Health == f.Health && old.App == f.App
}

// matters tells a change that could move a verdict, a health or a plan from
// churn: a new resourceVersion alone is no news.
func matters(old, f *object.Fact, doubted func(object.Key) bool) bool {
	if old == nil || old.UID != f.UID || old.Digest != f.Digest || old.App != f.App ||
		old.Deleting != f.Deleting || old.Health != f.Health || old.Owned != f.Owned {
		return true
	}
	// Others write these too, so the digest of what we own does not cover them.
	if !old.Child.Equal(f.Child) || old.Behind != f.Behind || old.Hook != f.Hook || old.Held != f.Held {
		return true
	}
	if old.Extra != f.Extra || old.Quiet != f.Quiet || old.Options != f.Options || !slices.Equal(old.Images, f.Images) {
		return true
	}
	// Where the gate is off, or the verdict does not stand by it, any change of
	// an application's object may be one.
	return f.App != "" && old.ResourceVersion != f.ResourceVersion && (f.Digest.IsZero() || doubted(f.Key))
}

// serves says whether a change may move what the cluster serves.
func serves(c Change) bool {
	f := c.New
	if f == nil {
		f = c.Old
	}
	gk := f.Key.GroupKind()
	if !slices.Contains(serving, gk) {
		return false
	}
	return c.Old == nil || c.New == nil || c.Old.Generation != c.New.Generation || c.Old.Health != c.New.Health
}

// serving are the kinds whose objects add kinds to a cluster.
var serving = []schema.GroupKind{
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
	{Group: "apiregistration.k8s.io", Kind: "APIService"},
}

// older compares resource versions. Where they are no numbers nothing is older.
func older(a, b string) bool {
	x, ok := version(a)
	if !ok {
		return false
	}
	y, ok := version(b)
	return ok && x < y
}

// version reads a resourceVersion as the number that it is on every server
// that keeps its objects in etcd (and, since 1.35, by contract).
func version(rv string) (uint64, bool) {
	n, err := strconv.ParseUint(rv, 10, 64)
	return n, err == nil
}
