package stream

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
)

var (
	errClosing   = errors.New("the server is ending; connect again")
	errTooMany   = errors.New("too many streams are open; close one, or try again later")
	errForbidden = errors.New("permission denied")
)

// The codes of gRPC, which clients find in errors.
const (
	codeInvalid     = 3
	codeForbidden   = 7
	codeExhausted   = 8
	codeAborted     = 10
	codeUnavailable = 14
)

// fail answers a request that did not become a stream.
func fail(w http.ResponseWriter, err error) {
	status, code := http.StatusBadRequest, codeInvalid
	switch {
	case errors.Is(err, errForbidden):
		status, code = http.StatusForbidden, codeForbidden
	case errors.Is(err, errTooMany):
		status, code = http.StatusTooManyRequests, codeExhausted
	case errors.Is(err, errClosing):
		status, code = http.StatusServiceUnavailable, codeUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// When the client is gone there is nobody to tell.
	_ = json.NewEncoder(w).Encode(map[string]any{"error": err.Error(), "code": code, "message": err.Error()})
}

// wire writes to one client, in the form that it reads.
type wire struct {
	w       http.ResponseWriter
	control *http.ResponseController
	// events says that the client reads server-sent events, else lines of JSON.
	events bool
	// patience is how long a write may take.
	patience time.Duration
	buffer   bytes.Buffer
	// wrote says whether anything was written since it was last asked.
	wrote bool
}

// full is how much is gathered before it is written.
const full = 64 << 10

func newWire(w http.ResponseWriter, events bool, patience time.Duration) *wire {
	out := &wire{w: w, control: http.NewResponseController(w), events: events, patience: patience}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if events {
		h.Set("Content-Type", "text/event-stream")
	}
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Content-Type-Options", "nosniff")
	// Proxies that gather an answer before they pass it on would keep a stream for
	// ever.
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return out
}

// wantsEvents tells whether a request asks for server-sent events.
func wantsEvents(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

// message adds the parts of one message, which together are JSON without line
// breaks.
func (o *wire) message(parts ...[]byte) error {
	if o.events {
		o.buffer.WriteString("data: ")
	}
	for _, p := range parts {
		o.buffer.Write(p)
	}
	o.buffer.WriteByte('\n')
	if o.events {
		o.buffer.WriteByte('\n')
	}
	return o.spill()
}

// event adds a named event; an empty id leaves the client where it is.
func (o *wire) event(name, id string, parts ...[]byte) error {
	o.buffer.WriteString("event: ")
	o.buffer.WriteString(name)
	if id != "" {
		o.buffer.WriteString("\nid: ")
		o.buffer.WriteString(id)
	}
	o.buffer.WriteByte('\n')
	return o.message(parts...)
}

// beat says that the stream lives: a comment, or an empty line, which readers of
// JSON skip.
func (o *wire) beat() error {
	if o.events {
		o.buffer.WriteString(":\n\n")
	} else {
		o.buffer.WriteByte('\n')
	}
	return o.flush()
}

func (o *wire) spill() error {
	if o.buffer.Len() < full {
		return nil
	}
	return o.write()
}

func (o *wire) write() error {
	// Where deadlines are not to be had the end of the request must do.
	_ = o.control.SetWriteDeadline(time.Now().Add(o.patience))
	_, err := o.w.Write(o.buffer.Bytes())
	o.buffer.Reset()
	o.wrote = true
	return err
}

// flush sends what was added.
func (o *wire) flush() error {
	if o.buffer.Len() > 0 {
		if err := o.write(); err != nil {
			return err
		}
	}
	// A burst must not keep its buffer for the rest of the stream.
	if o.buffer.Cap() > 4*full {
		o.buffer = bytes.Buffer{}
	}
	err := o.control.Flush()
	// In HTTP/2 a deadline that passes ends the stream, also when nothing is being
	// written.
	_ = o.control.SetWriteDeadline(time.Time{})
	return err
}
