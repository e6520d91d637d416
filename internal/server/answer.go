package server

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/towline-cd/towline/internal/core/journal"
)

// answer is what is being told to a request: everything that leaves the server passes it.
type answer struct {
	writer  http.ResponseWriter
	request *http.Request
	route   *Route
	req     *Request
	peer    bool
	id      string
	began   time.Time
	status  int
	size    int
	cause   error
}

func newAnswer(w http.ResponseWriter, r *http.Request) *answer {
	id := rand.Text()[:12]
	w.Header().Set("X-Request-Id", id)
	return &answer{writer: w, request: r, id: id, began: time.Now()}
}

func (a *answer) header() http.Header { return a.writer.Header() }

// Streamed is an answer that is told bit by bit.
type Streamed interface {
	// Stream tells with each call of tell, until it returns.
	Stream(req *Request, tell func(any) error) error
}

// Raw is an answer that is no JSON. It holds nothing that anybody wrote into a cluster or a repository.
type Raw struct {
	Type string
	Body []byte
}

// give tells what a handler returned.
func (a *answer) give(value any) {
	switch v := value.(type) {
	case Streamed:
		a.stream(v)
	case *Raw:
		a.header().Set("Content-Type", v.Type)
		a.write(http.StatusOK, v.Body)
	case http.Handler:
		a.status = http.StatusOK
		v.ServeHTTP(a.writer, a.request)
	case sent:
		a.setCookies(v.cookies)
		a.header().Set("Location", v.to)
		a.write(http.StatusSeeOther, nil)
	case signedIn:
		a.setCookies(v.cookies)
		a.give(Session{Token: v.token})
	default:
		body, err := a.encode(value)
		if err == nil && safe(a.request.Method) {
			body, err = fields(body, a.req.Text("fields"))
		}
		if err != nil {
			a.fail(&Fault{Code: Internal, Message: "the answer could not be written", cause: err})
			return
		}
		a.header().Set("Content-Type", "application/json")
		a.write(http.StatusOK, body)
	}
}

func (a *answer) setCookies(list []*http.Cookie) {
	for _, c := range list {
		http.SetCookie(a.writer, c)
	}
}

// encode makes the bytes of an answer: this is the door that everything goes through.
func (a *answer) encode(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	// Browsers are told the type, and nosniff: there is no HTML to be afraid of.
	enc.SetEscapeHTML(true)
	if err := enc.Encode(value); err != nil {
		return nil, fmt.Errorf("encoding a %T: %w", value, err)
	}
	return withoutLogins(b.Bytes()), nil
}

// restTime is how long the rest of a body may take to come that nobody reads.
const restTime = time.Second

// write sends a body, compressed where that pays and the client can.
func (a *answer) write(status int, body []byte) {
	h := a.header()
	if a.request.Body != nil && a.request.Body != http.NoBody {
		// What was not read is read by net/http before it sends the answer, so that the connection can be used again.
		// Whoever does not send it has the connection closed; not every connection can be bounded, and those of tests
		// need not.
		_ = http.NewResponseController(a.writer).SetReadDeadline(time.Now().Add(restTime))
	}
	h.Add("Vary", "Accept-Encoding")
	if a.request.Method != http.MethodHead && len(body) >= worthwhile && accepts(a.request) {
		h.Set("Content-Encoding", "gzip")
		a.writer.WriteHeader(status)
		a.status, a.size = status, len(body)
		z := gzip.NewWriter(a.writer)
		_, _ = z.Write(body)
		_ = z.Close()
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	a.writer.WriteHeader(status)
	a.status, a.size = status, len(body)
	if a.request.Method != http.MethodHead {
		_, _ = a.writer.Write(body)
	}
}

// worthwhile is from how many bytes on an answer is compressed.
const worthwhile = 1 << 10

func accepts(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, q, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(name, "gzip") && strings.ReplaceAll(q, " ", "") != "q=0" {
			return true
		}
	}
	return false
}

// fail tells an error.
func (a *answer) fail(err error) {
	f := told(err)
	a.cause = err
	if a.status != 0 {
		return
	}
	message := a.hushed(f.Message)
	body, err := a.encode(problem{Error: message, Code: f.Code, Message: message})
	if err != nil {
		body = []byte(`{"error":"unknown","code":2,"message":"unknown"}`)
	}
	if f.Code == Unauthenticated {
		a.header().Set("Www-Authenticate", "Bearer")
	}
	a.header().Set("Content-Type", "application/json")
	a.write(f.status(), body)
}

// stream tells bit by bit, each a line of JSON with its result, as the gateway of gRPC does.
func (a *answer) stream(s Streamed) {
	control := http.NewResponseController(a.writer)
	_ = errors.Join(control.SetWriteDeadline(time.Time{}), control.SetReadDeadline(time.Time{}))
	tell := func(value any) error {
		if a.status == 0 {
			a.header().Set("Content-Type", "application/json")
			a.header().Set("X-Accel-Buffering", "no")
			a.writer.WriteHeader(http.StatusOK)
			a.status = http.StatusOK
		}
		line, err := a.encode(struct {
			Result any `json:"result"`
		}{value})
		if err != nil {
			return err
		}
		a.size += len(line)
		if _, err := a.writer.Write(line); err != nil {
			return err
		}
		return control.Flush()
	}
	err := s.Stream(a.req, tell)
	switch {
	case err != nil && a.status == 0:
		a.fail(err)
	case err != nil:
		f := told(err)
		a.cause = err
		if line, err := a.encode(map[string]any{"error": streamProblem{
			Code: f.Code, HTTPCode: f.status(), Message: a.hushed(f.Message), HTTPStatus: http.StatusText(f.status()),
		}}); err == nil {
			_, _ = a.writer.Write(line)
		}
	case a.status == 0:
		a.header().Set("Content-Type", "application/json")
		a.write(http.StatusOK, nil)
	}
}

// streamProblem is how a stream says that it ends early.
type streamProblem struct {
	Code       Code   `json:"grpc_code"`
	HTTPCode   int    `json:"http_code"`
	Message    string `json:"message"`
	HTTPStatus string `json:"http_status"`
}

// caught turns a panic into an answer: one request must not end the process that syncs.
func (s *Server) caught(a *answer) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v) //nolint:forbidigo // it is how net/http is told to drop the connection
	}
	slog.ErrorContext(a.request.Context(), "a handler failed badly", "request", a.id, "panic", fmt.Sprint(v), "stack",
		string(debug.Stack()))
	a.fail(&Fault{Code: Internal, Message: "something went wrong; the log has it under request " + a.id})
}

// finish logs the request. Paths and parameters may hold what is nobody's business, so the route stands for them.
func (s *Server) finish(a *answer) {
	pattern, subject := "none", ""
	if a.route != nil {
		pattern = a.route.Pattern
	}
	if a.req != nil {
		subject = a.req.Caller.Subject
	}
	level := slog.LevelDebug
	if !safe(a.request.Method) && (a.route == nil || !a.route.Hook) {
		level = slog.LevelInfo
	}
	attrs := []any{
		"request", a.id, "method", a.request.Method, "route", pattern, "status", a.status, "bytes", a.size,
		"took", time.Since(a.began).Round(time.Microsecond), "subject", subject,
	}
	if a.cause != nil && a.status >= http.StatusInternalServerError {
		level = slog.LevelWarn
		attrs = append(attrs, "error", a.hushed(logged(a.cause)))
	}
	slog.Log(a.request.Context(), level, "request answered", attrs...)
	s.Answered(a.request.Method, pattern, a.status, time.Since(a.began))
	s.audit(a)
}

// who is on whose behalf a request is.
func (a *answer) who() journal.Who {
	c := a.req.Caller
	who := journal.Who{Subject: c.Subject, Groups: c.Groups, Address: a.req.from(), Token: c.TokenID, Request: a.id}
	if c.Username != c.Subject {
		who.Name = c.Username
	}
	return who
}

// worthWriting says that a request has a place in the journal. Strangers must not be able to fill it: what they sent was
// not let in, or is a hint to look that changes nothing. That they tried to sign in is told, as often as the limit lets them.
func worthWriting(a *answer) bool {
	switch {
	case a.route.Hook, a.status == http.StatusTooManyRequests:
		return false
	default:
		return a.route.Open || a.status != http.StatusUnauthorized
	}
}

// audit says who wanted to change what, from where, and what came of it. Nothing of what was sent is said.
func (s *Server) audit(a *answer) {
	if a.req == nil || safe(a.request.Method) || a.route.Reads || a.req.passed {
		return
	}
	req := a.req
	attrs := []any{
		"request", a.id, "subject", req.Caller.Subject, "groups", req.Caller.Groups, "token", req.Caller.TokenID, "from", req.from(),
		"does", a.request.Method + " " + a.route.Pattern, "rights", req.verbs, "object", a.hushed(oneLine(req.object)), "status", a.status,
	}
	slog.InfoContext(a.request.Context(), "audit", append(attrs, req.noted...)...)
	if !worthWriting(a) {
		return
	}
	asked := &journal.Asked{
		Does: a.request.Method + " " + a.route.Pattern, Rights: req.verbs, Object: a.hushed(oneLine(req.object)), Status: a.status,
	}
	for i := 0; i+1 < len(req.noted); i += 2 {
		if asked.Notes == nil {
			asked.Notes = map[string]string{}
		}
		asked.Notes[fmt.Sprint(req.noted[i])] = a.hushed(oneLine(fmt.Sprint(req.noted[i+1])))
	}
	// It is of the time when it was asked: what came of it may be written already.
	s.Journal(journal.Record{Kind: journal.Request, Time: a.began, By: a.who(), Asked: asked})
}

// hushed is a text for the log, without what must not be told.
func (a *answer) hushed(text string) string {
	var hidden []string
	if a.req != nil {
		hidden = a.req.hidden
	}
	return hush(text, hidden)
}

// compressed lets a handler of its own be compressed like everything else.
type compressed struct{ http.Handler }

// ServeHTTP compresses what the handler writes, where the client can.
func (c compressed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Accept-Encoding")
	if !accepts(r) || r.Method == http.MethodHead {
		c.Handler.ServeHTTP(w, r)
		return
	}
	z := &zipped{ResponseWriter: w}
	defer z.close()
	c.Handler.ServeHTTP(z, r)
}

// zipped compresses from the first byte of the body on.
type zipped struct {
	http.ResponseWriter
	zip   *gzip.Writer
	began bool
}

// WriteHeader begins the answer: its length is another one now.
func (z *zipped) WriteHeader(status int) {
	if !z.began {
		z.began = true
		z.Header().Del("Content-Length")
		z.Header().Set("Content-Encoding", "gzip")
		z.zip = gzip.NewWriter(z.ResponseWriter)
	}
	z.ResponseWriter.WriteHeader(status)
}

// Write compresses.
func (z *zipped) Write(p []byte) (int, error) {
	if !z.began {
		z.WriteHeader(http.StatusOK)
	}
	return z.zip.Write(p)
}

func (z *zipped) close() {
	if z.zip != nil {
		_ = z.zip.Close()
	}
}
