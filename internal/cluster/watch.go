package cluster

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

// watched is what a watch is about: a kind, or one namespace of it.
type watched struct {
	kind      schema.GroupKind
	namespace string
}

// kindWatch is the running watch of one kind, or of one namespace of it.
type kindWatch struct {
	kind   kind
	client dynamic.ResourceInterface
	stop   context.CancelFunc
	ended  <-chan struct{}
	// settled is closed when the kind was read, or could not be.
	settled chan struct{}

	// The rest is guarded by the cluster's lock.

	isSettled bool
	// problem is why the kind cannot be read; empty while it can. stale says
	// that this is the server's word, and not its silence; unread that it may
	// still come.
	problem       string
	stale, unread bool
}

// stallTime is how long a kind may send nothing and not say why, before the
// others go on without it.
const stallTime = 5 * time.Second

// retryBackoff paces the attempts at a kind that cannot be read: soon at first,
// since most troubles are short, and then so seldom that nobody notices.
func retryBackoff() *wait.Backoff {
	return &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Cap: 30 * time.Second, Steps: 7}
}

// starting is what a new watch takes over.
type starting struct {
	// old is the watch before it; nil is none.
	old      *kindWatch
	watching *sync.WaitGroup
}

// watch starts the watch of a kind in a namespace, or everywhere. It runs with
// the lock held. Where the kind was watched in another version what is known of
// it stays known.
func (c *Cluster) watch(ctx context.Context, k kind, namespace string, from *starting) *kindWatch {
	ctx, cancel := context.WithCancel(ctx)
	w := &kindWatch{
		kind: k, client: c.dynamic.Resource(k.gvr()),
		stop: cancel, ended: ctx.Done(), settled: make(chan struct{}),
	}
	if namespace != everywhere {
		w.client = c.dynamic.Resource(k.gvr()).Namespace(namespace)
	}
	if from.old != nil && from.old.isSettled {
		// What was wrong before is wrong until something else is heard.
		w.isSettled, w.problem, w.stale = true, from.old.problem, from.old.stale
		close(w.settled)
	}
	s := &store{
		kind: k, index: c.index, feed: c.index.openIn(k.GroupKind(), namespace), names: c.names,
		tracker: c.tracker, judge: c.judge,
		synced: func() { c.note(ctx, w, nil) },
	}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := w.client.List(ctx, o)
			c.noteError(ctx, w, err)
			return list, heard(err)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			stream, err := w.client.Watch(ctx, o)
			c.noteError(ctx, w, err)
			if err == nil && o.SendInitialEvents == nil {
				// It goes on where it was; a first reading has to come to its end.
				c.note(ctx, w, nil)
			}
			return stream, heard(err)
		},
	}
	proto := &unstructured.Unstructured{}
	proto.SetGroupVersionKind(k.GroupVersionKind)
	r := cache.NewReflectorWithOptions(lw, proto, s, cache.ReflectorOptions{Name: k.String(), Backoff: retryBackoff()})
	from.watching.Go(func() { r.RunWithContext(ctx) })
	from.watching.Go(func() { c.awaitStall(ctx, w, s.received.Load) })
	return w
}

// heard is an error as the reflector hears it, which logs all but the end of a
// stream. That the whole cluster is known to be silent is not news of a kind.
func heard(err error) error {
	if destination.Lost(err) && fault.ClassOf(err) == fault.Waiting {
		return io.EOF
	}
	return err
}

// awaitStall gives up waiting for a kind that neither sends nor fails.
func (c *Cluster) awaitStall(ctx context.Context, w *kindWatch, received func() int64) {
	tick := time.NewTicker(stallTime)
	defer tick.Stop()
	for before := int64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-w.settled:
			return
		case <-tick.C:
		}
		if n := received(); n > before {
			before = n
			continue
		}
		c.noteStall(ctx, w)
		return
	}
}

// noteStall records why a kind is not read yet.
func (c *Cluster) noteStall(ctx context.Context, w *kindWatch) {
	err := w.probe(ctx)
	if err == nil {
		err = errUnsent
	}
	if apierrors.IsNotFound(err) {
		c.Rediscover()
	}
	if ctx.Err() == nil {
		c.note(ctx, w, &stallError{err})
	}
}

// stallError is why a kind was not read when somebody asked. It is no news of
// one that was read meanwhile.
type stallError struct{ error }

func (e *stallError) Unwrap() error { return e.error }

var errUnsent = errors.New("the server has not sent all of its objects yet")

// probe asks for one object, for the reason why the kind cannot be read: the
// server's cache only says that it is not ready.
func (w *kindWatch) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stallTime)
	defer cancel()
	_, err := w.client.List(ctx, metav1.ListOptions{Limit: 1})
	return err
}

// noteError records that a kind cannot be read. The others go on.
func (c *Cluster) noteError(ctx context.Context, w *kindWatch, err error) {
	switch {
	case err == nil, ctx.Err() != nil:
		return
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		// The reflector reads this kind again, and that is all there is to it.
		return
	case apierrors.IsNotFound(err):
		c.Rediscover()
	case apierrors.IsTooManyRequests(err):
		if reason := w.probe(ctx); reason != nil {
			err = reason
		}
	}
	c.note(ctx, w, err)
}

// note records whether a kind can be read.
func (c *Cluster) note(ctx context.Context, w *kindWatch, err error) {
	problem, level := "", slog.LevelWarn
	var lost *url.Error
	switch {
	case errors.As(err, &lost):
		// Every kind says so at once, and the address with its query helps nobody.
		problem, level = "the server does not answer: "+lost.Err.Error(), slog.LevelDebug
	case err != nil:
		problem = err.Error()
	}
	_, late := errors.AsType[*stallError](err)
	c.mu.Lock()
	if late && w.isSettled {
		c.mu.Unlock()
		return
	}
	was, first := w.problem, !w.isSettled
	wasStale := w.stale
	w.problem, w.isSettled, w.stale = problem, true, problem != "" && lost == nil
	w.unread = lost != nil || errors.Is(err, errUnsent)
	turned := w.stale && !wasStale
	c.mu.Unlock()
	if first || was != problem {
		c.project()
	}
	if turned && !first {
		// Whoever has objects of the kind has to hear that nobody sees them.
		c.index.touch(w.kind.GroupKind())
	}
	switch {
	case problem != "" && was == "":
		slog.Log(ctx, level, "a kind cannot be watched", "cluster", c.server, "kind", w.kind.String(), "error", problem)
	case problem == "" && was != "":
		slog.DebugContext(ctx, "a kind can be watched again", "cluster", c.server, "kind", w.kind.String())
	}
	if first {
		// Only now, so that whoever waited finds it in the view.
		close(w.settled)
	}
}

// project makes the view anew. A kind whose first reading is under way is not
// in it yet: to the rest of the program its objects would seem to be missing.
func (c *Cluster) project() {
	c.mu.Lock()
	scopes, blind, stale := maps.Clone(c.catalog.scopes), maps.Clone(c.catalog.blind), map[schema.GroupKind]string{}
	unread := map[schema.GroupKind]bool{}
	for at, w := range c.watches {
		gk := at.kind
		switch {
		case !w.isSettled:
			delete(scopes, gk)
		case w.problem != "":
			blind[gk] = "its kind cannot be watched: " + w.problem
			if w.stale {
				stale[gk] = blind[gk]
			}
			if w.unread {
				unread[gk] = true
			}
		}
	}
	excluded := make(map[schema.GroupKind]bool, len(c.catalog.blind))
	for gk := range c.catalog.blind {
		excluded[gk] = true
	}
	before := c.view.Load()
	next := &plan.View{
		Version: before.Version + 1,
		Scopes:  scopes, Blind: blind, Stale: stale, Unread: unread, Excluded: excluded, Schemas: c.schemas(), Gaps: c.catalog.gaps,
		Kube: c.catalog.kube, Namespaces: c.namespaces, Identity: c.identity,
	}
	if next.Content = next.Digest(); next.Content == before.Content {
		// Whoever looked at the one before need not look again.
		next.Version = before.Version
	}
	c.view.Store(next)
	c.mu.Unlock()
	c.viewed()
}

// schemas names the schemas of the kinds that CRDs define by the generation
// of the CRD.
func (c *Cluster) schemas() map[schema.GroupKind]string {
	out := map[schema.GroupKind]string{}
	for _, k := range c.catalog.watched {
		crd := object.Key{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: k.Resource + "." + k.Group}
		if f, ok := c.index.get(crd); ok {
			out[k.GroupKind()] = f.UID + "/" + strconv.FormatInt(f.Generation, 10)
		}
	}
	return out
}
