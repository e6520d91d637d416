package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/server/catalog"
	"github.com/towline-cd/towline/internal/server/fields"
)

// errLost ends a stream whose client was too slow and cannot be told so.
var errLost = errors.New("too slow")

// WatchApplications is Argo CD's stream of applications: what there is, and then
// each change. With a resourceVersion it begins with what changed since.
func (s *Streams) WatchApplications(w http.ResponseWriter, r *http.Request) {
	f, err := filterOf(r)
	if err != nil {
		fail(w, err)
		return
	}
	selection, err := fields.Parse(r.URL.Query().Get("fields"))
	if err != nil {
		fail(w, err)
		return
	}
	a := &apps{session: s.open(r, f)}
	a.withType, a.body = true, selection
	if !selection.All() {
		_, a.withType = selection.Below("result", "type")
		a.body, a.withBody = selection.Below("result", s.Member)
	} else {
		a.withBody = true
	}
	version, err := strconv.ParseUint(r.URL.Query().Get("resourceVersion"), 10, 64)
	var since *place
	if err == nil && version > 0 {
		since = &place{version: version, byVersion: true}
	}
	a.client.wants = a.concerns
	behind, found, err := s.Hub.join(a.client, since)
	if err != nil {
		fail(w, err)
		return
	}
	defer s.Hub.leave(a.client)
	a.wire = newWire(w, wantsEvents(r), s.Patience)
	if err := a.begin(r.Context(), start{since: since, behind: behind, found: found}); err != nil {
		return
	}
	a.run(r.Context(), a.handle)
}

// start is where a stream begins.
type start struct {
	since  *place
	behind []entry
	found  bool
}

// apps writes whole applications.
type apps struct {
	*session
	withType, withBody bool
	body               fields.Selection
}

// begin tells what the client does not know yet.
func (a *apps) begin(ctx context.Context, at start) error {
	if at.found && a.filter.name == "" {
		for _, e := range at.behind {
			if err := a.tell(ctx, e); err != nil {
				return err
			}
		}
		return a.wire.flush()
	}
	page, err := a.Catalog.Find(a.filter.query(*a.eye.Load()))
	if err != nil {
		return err
	}
	// What came in the meantime is in the page.
	a.client.skip(page.Seq)
	for _, row := range page.Rows {
		if at.since != nil && a.filter.name == "" && row.Version <= at.since.version {
			continue
		}
		if err := a.send(ctx, catalog.Added, row, nil); err != nil {
			return err
		}
	}
	return a.wire.flush()
}

func (a *apps) handle(ctx context.Context, b batch) error {
	before := a.look()
	if b.lost {
		// These clients know no word for it: they connect again, and read everything.
		_ = a.wire.message([]byte(`{"error":{"grpc_code":` + strconv.Itoa(codeAborted) + `,"http_code":409,` +
			`"message":"changes came faster than they were read; connect again","http_status":"Conflict"}}`))
		_ = a.wire.flush()
		return errLost
	}
	told, err := a.turned(ctx, before, b.entries)
	if err != nil {
		return err
	}
	for _, e := range b.entries {
		if told[e.key] {
			continue
		}
		if err := a.tell(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// turned tells what another policy means for the client: what it may not see
// any more is gone, and what it may see now is new. Of the applications that it
// returns there is nothing more to tell. Whoever has lost all is not kept.
func (a *apps) turned(ctx context.Context, before *catalog.Eye, waiting []entry) (map[catalog.Key]bool, error) {
	t, err := a.turn(before, waiting)
	if err != nil {
		return nil, err
	}
	told := map[catalog.Key]bool{}
	for _, row := range t.gone {
		told[row.Key] = true
		// The row may be newer than the right to see it, so that only its name is told.
		name, err := a.body.Cut(bare(row.Key))
		if err != nil {
			return nil, err
		}
		if err := a.line(catalog.Deleted, name); err != nil {
			return nil, err
		}
	}
	if t.blind() {
		_ = a.wire.flush()
		return nil, errGone
	}
	for _, row := range t.come {
		told[row.Key] = true
		if err := a.send(ctx, catalog.Added, row, nil); err != nil {
			return nil, err
		}
	}
	return told, nil
}

// seen is what a change is for one client: who could not see an application
// before hears of a new one, and who cannot see it any more that it is gone.
func (s *session) seen(e entry) (t catalog.Type, row *catalog.Row) {
	var after *catalog.Row
	if e.event != nil {
		after = e.event.after
	} else if now, found := s.Catalog.Row(e.key); found {
		after = now
	}
	before, sees := s.sees(e.before), s.sees(after)
	switch {
	case before && sees:
		return catalog.Modified, after
	case sees:
		return catalog.Added, after
	case before:
		return catalog.Deleted, e.before
	}
	return "", nil
}

func (a *apps) tell(ctx context.Context, e entry) error {
	t, row := a.seen(e)
	switch {
	case row == nil:
		return nil
	case t == catalog.Deleted || e.event == nil:
		return a.send(ctx, t, row, nil)
	}
	return a.send(ctx, t, row, e.event.body)
}

// send writes one application. Without a body the present one is fetched; what
// is gone by now is told by its row, and its end by the next change.
func (a *apps) send(ctx context.Context, t catalog.Type, row *catalog.Row, of *body) error {
	if !a.withBody {
		return a.line(t, nil)
	}
	if of == nil && t != catalog.Deleted {
		app, err := a.Applications.Application(ctx, object.AppName(a.Namespace, row.Key.Namespace, row.Key.Name))
		if err == nil {
			of = &body{app: app}
		}
	}
	data, err := a.encoded(row, of)
	if err != nil {
		slog.WarnContext(ctx, "An application cannot be told of", "app", row.Key.String(), "error", err)
		return nil
	}
	return a.line(t, data)
}

// encoded is the body, or what is left of an application.
func (a *apps) encoded(row *catalog.Row, of *body) ([]byte, error) {
	switch {
	case of != nil:
		return of.encoded(a.body.String(), a.encode)
	case a.Member == application:
		return a.body.Cut(row.JSON)
	}
	// The row of a stub says nothing of what it stands for.
	return a.body.Cut(bare(row.Key))
}

// bare is an object of which only the name is told.
func bare(key catalog.Key) []byte {
	return bytes.Join([][]byte{
		[]byte(`{"metadata":{"name":`), quoted(key.Name), []byte(`,"namespace":`), quoted(key.Namespace), []byte(`}}`),
	}, nil)
}

func (a *apps) encode(app *v1alpha1.Application) ([]byte, error) {
	data, err := a.Encode(app)
	if err != nil {
		return nil, err
	}
	return a.body.Cut(data)
}

func (a *apps) line(t catalog.Type, app []byte) error {
	kind, member := []byte(`{"result":{"type":"`+string(t)+`"`), []byte(`"`+a.Member+`":`)
	switch {
	case a.withType && a.withBody:
		return a.wire.message(kind, []byte(`,`), member, app, []byte(`}}`))
	case a.withBody:
		return a.wire.message([]byte(`{"result":{`), member, app, []byte(`}}`))
	case a.withType:
		return a.wire.message(kind, []byte(`}}`))
	}
	return a.wire.message([]byte(`{"result":{}}`))
}

// quoted is a text as JSON.
func quoted(text string) []byte {
	// A text can always be encoded.
	data, _ := json.Marshal(text)
	return data
}
