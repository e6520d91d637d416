package stream

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path"
	"time"

	"github.com/towline-cd/towline/internal/server/catalog"
)

var errGone = errors.New("the application is gone")

// WatchTree is Argo CD's stream of the resource tree of an application: the
// tree, and again whenever it looks different. The path has the application's
// name.
func (s *Streams) WatchTree(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	key := catalog.Key{Namespace: cmp.Or(q.Get("appNamespace"), s.Namespace), Name: nameOf(r)}
	t := &tree{session: s.open(r, filter{projects: list(q, "project")}), key: key}
	// What is not there and what may not be seen are the same to the outside.
	if !t.visible() {
		fail(w, errForbidden)
		return
	}
	t.client.trees = map[catalog.Key]bool{key: true}
	// The application's own end is a change as well.
	t.client.wants = func(e *event) bool {
		return e.key() == key && (e.after == nil || e.before == nil || e.before.Project != e.after.Project)
	}
	if _, _, err := s.Hub.join(t.client, nil); err != nil {
		fail(w, err)
		return
	}
	defer s.Hub.leave(t.client)
	t.wire = newWire(w, wantsEvents(r), s.Patience)
	t.client.rouse()
	t.run(r.Context(), t.handle)
}

// nameOf takes the application's name from the path, whose last part is the name
// of the stream: whoever routes requests need not have a word for it.
func nameOf(r *http.Request) string {
	return cmp.Or(r.PathValue("name"), path.Base(path.Dir(r.URL.Path)))
}

// tree writes the resource tree of one application.
type tree struct {
	*session
	key   catalog.Key
	pacer pacer
}

func (t *tree) visible() bool {
	row, found := t.Catalog.Row(t.key)
	return found && t.sees(row)
}

func (t *tree) handle(ctx context.Context, b batch) error {
	t.look()
	if !t.visible() {
		return errGone
	}
	if len(b.trees) == 0 {
		return nil
	}
	data, err := t.pacer.next(ctx, t.session, t.key)
	if err != nil || data == nil {
		return err
	}
	return t.wire.message([]byte(`{"result":`), data, []byte(`}`))
}

// pacer writes a tree when it looks different, and not more often than a person
// can follow: a rollout of many pods changes it hundreds of times.
type pacer struct {
	last []byte
	at   time.Time
	// armed says that the client will be woken again.
	armed bool
}

// next is the tree if there is something new to write. When it is too early for
// it the client is woken again in time.
func (p *pacer) next(ctx context.Context, s *session, key catalog.Key) ([]byte, error) {
	if wait := s.Pace - time.Since(p.at); wait > 0 && !p.at.IsZero() {
		if !p.armed {
			p.armed = true
			// It outlives a stream that ends by no more than the pace.
			time.AfterFunc(wait, func() { s.client.touch(key) })
		}
		return nil, nil
	}
	p.armed = false
	data, err := s.Tree(ctx, key)
	p.at = time.Now()
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		// The tree cannot be had at the moment: the next change asks again.
		slog.WarnContext(ctx, "The resource tree cannot be told of", "app", key.String(), "error", err)
		return nil, nil
	}
	if bytes.Equal(data, p.last) {
		return nil, nil
	}
	p.last = data
	return data, nil
}
