// Package listing answers requests for lists of applications over HTTP: what
// Argo CD's clients send, and pages, search, orders and counts for those that
// know of them. It must not decide who may see what; the eye that it is given
// does.
package listing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/server/catalog"
	"github.com/towline-cd/towline/internal/server/fields"
)

// Applications finds whole applications.
type Applications interface {
	// Application finds one by what it is called: NAME, or NAMESPACE/NAME outside of
	// the control namespace.
	Application(ctx context.Context, name string) (*v1alpha1.Application, error)
}

// Options are what lists are made of.
type Options struct {
	Catalog      *catalog.Catalog
	Applications Applications
	// Namespace is the control namespace.
	Namespace string
	// Eye says what the caller may see.
	Eye func(*http.Request) catalog.Eye
	// Encode writes an application as it may be shown.
	Encode func(*v1alpha1.Application) ([]byte, error)
	// Cursor names a place in the stream of events; nil leaves it out.
	Cursor func(seq uint64) string
}

// Lists are the handlers.
type Lists struct{ Options }

// New makes them.
func New(o Options) *Lists { return &Lists{Options: o} }

// pool has the buffers that answers are put together in.
var pool = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooled is the largest buffer that is kept.
const maxPooled = 1 << 20

// Applications lists applications: whole ones, as Argo CD does, or rows for
// those who ask for anything that Argo CD does not have.
func (l *Lists) Applications(w http.ResponseWriter, r *http.Request) {
	p, err := parse(r.URL.Query())
	if err != nil {
		fail(w, err)
		return
	}
	p.query.Eye = l.Eye(r)
	page, err := l.Catalog.Find(p.query)
	if err != nil {
		fail(w, err)
		return
	}
	buffer, ok := pool.Get().(*bytes.Buffer)
	if !ok {
		buffer = new(bytes.Buffer)
	}
	defer func() {
		if buffer.Cap() <= maxPooled {
			buffer.Reset()
			pool.Put(buffer)
		}
	}()
	a := &answer{Lists: l, w: w, buffer: buffer, fields: p.fields}
	w.Header().Set("Content-Type", "application/json")
	if err := a.write(r.Context(), page, p.whole); err != nil && !a.began {
		fail(w, err)
	}
}

// answer is a list that is being written.
type answer struct {
	*Lists
	w      http.ResponseWriter
	buffer *bytes.Buffer
	fields fields.Selection
	// began says that a part was sent: it is too late for an error.
	began bool
	some  bool
}

// spill is how much is gathered before it is sent. A page of rows is less, and
// goes out with its length.
const spill = 512 << 10

func (a *answer) write(ctx context.Context, page catalog.Page, whole bool) error {
	a.buffer.WriteByte('{')
	if err := a.member("metadata", meta{Version: version(page.Version), Continue: page.Continue}); err != nil {
		return err
	}
	if err := a.items(ctx, page.Rows, whole); err != nil {
		return err
	}
	if !whole {
		if err := a.more(page); err != nil {
			return err
		}
	}
	a.buffer.WriteString("}\n")
	if !a.began {
		a.w.Header().Set("Content-Length", strconv.Itoa(a.buffer.Len()))
	}
	return a.send()
}

// meta is the metadata of a list.
type meta struct {
	Version  string `json:"resourceVersion,omitempty"`
	Continue string `json:"continue,omitempty"`
}

func version(v uint64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatUint(v, 10)
}

// more is what Argo CD's lists do not have.
func (a *answer) more(page catalog.Page) error {
	if err := a.member("total", page.Total); err != nil {
		return err
	}
	if a.Cursor != nil {
		if err := a.member("cursor", a.Cursor(page.Seq)); err != nil {
			return err
		}
	}
	if page.Facets == nil {
		return nil
	}
	return a.member("facets", page.Facets)
}

// member adds a member of the answer, if it is wanted.
func (a *answer) member(name string, v any) error {
	selection, wanted := a.fields.Below(name)
	if !wanted {
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if data, err = selection.Cut(data); err != nil {
		return err
	}
	a.name(name)
	a.buffer.Write(data)
	return nil
}

func (a *answer) name(name string) {
	if a.some {
		a.buffer.WriteByte(',')
	}
	a.some = true
	a.buffer.WriteByte('"')
	a.buffer.WriteString(name)
	a.buffer.WriteString(`":`)
}

func (a *answer) items(ctx context.Context, rows []*catalog.Row, whole bool) error {
	selection, wanted := a.fields.Below("items")
	if !wanted {
		return nil
	}
	a.name("items")
	a.buffer.WriteByte('[')
	written := 0
	for _, row := range rows {
		data := row.JSON
		if whole {
			app, err := a.Options.Applications.Application(ctx, object.AppName(a.Namespace, row.Key.Namespace, row.Key.Name))
			if err != nil {
				// It went after the page was made.
				continue
			}
			if data, err = a.Encode(app); err != nil {
				return err
			}
		}
		data, err := selection.Cut(data)
		if err != nil {
			return err
		}
		if written > 0 {
			a.buffer.WriteByte(',')
		}
		a.buffer.Write(data)
		written++
		if a.buffer.Len() >= spill {
			if err := a.send(); err != nil {
				return err
			}
			a.began = true
		}
	}
	a.buffer.WriteByte(']')
	return nil
}

func (a *answer) send() error {
	_, err := a.w.Write(a.buffer.Bytes())
	a.buffer.Reset()
	a.began = true
	return err
}

// The codes of gRPC, which clients find in errors.
const (
	codeInvalid  = 3
	codeInternal = 13
)

func fail(w http.ResponseWriter, err error) {
	status, code, text := http.StatusInternalServerError, codeInternal, "the list cannot be written"
	if invalid, ok := errors.AsType[*catalog.InvalidError](err); ok {
		status, code, text = http.StatusBadRequest, codeInvalid, invalid.Text
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// When the client is gone there is nobody to tell.
	_ = json.NewEncoder(w).Encode(map[string]any{"error": text, "code": code, "message": text})
}
