package server

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/towline-cd/towline/internal/core/webhook"
)

// Hooks is what is done with webhooks.
type Hooks interface {
	// Secrets are what senders prove themselves by.
	Secrets() *webhook.Secrets
	// Told passes on what a webhook says, and answers how many looks that asks for which nobody had asked for yet. It
	// does not block.
	Told(h webhook.Hint) int
}

const (
	// hookTime is how long a webhook may take to come.
	hookTime = 10 * time.Second
	// defaultHook is how large a webhook may be, as in Argo CD.
	defaultHook = 50 << 20
	// smallHook is a webhook like most are. At most largeHooks larger ones are taken in at once: what strangers can
	// make us hold in memory is bounded.
	smallHook  = 64 << 10
	largeHooks = 4
	// repeatTime is for how long the same webhook is not taken again, and mostHooks how many are remembered for that.
	repeatTime = 10 * time.Second
	mostHooks  = 4096
	// quietTime is how often it is said at most that webhooks are refused.
	quietTime = 10 * time.Second
)

// hooks are what is remembered of webhooks.
type hooks struct {
	large chan struct{}
	// strangers counts those who prove nothing, by where they come from.
	strangers *limiter
	// time is how long a webhook may take to come.
	time time.Duration

	mu sync.Mutex
	// seen are those that were taken, and ring their digests in the order in which they came.
	seen map[[sha256.Size]byte]time.Time
	ring [][sha256.Size]byte
	next int
	// refused are those that were since it was last said, and open the senders of whom it was said that anybody can
	// speak in their name.
	refused  int
	lastSaid time.Time
	open     map[webhook.Provider]bool
}

func newHooks() *hooks {
	return &hooks{
		large: make(chan struct{}, largeHooks), strangers: newLimiter(openRate, openBurst), time: hookTime,
		seen: map[[sha256.Size]byte]time.Time{}, open: map[webhook.Provider]bool{},
	}
}

// repeated says that a webhook came a moment ago.
func (h *hooks) repeated(digest [sha256.Size]byte, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, known := h.seen[digest]
	return known && now.Sub(at) < repeatTime
}

// remember notes that a webhook was taken. The oldest are forgotten for it.
func (h *hooks) remember(digest [sha256.Size]byte, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.seen[digest]; !known {
		if len(h.ring) < mostHooks {
			h.ring = append(h.ring, digest)
		} else {
			delete(h.seen, h.ring[h.next])
			h.ring[h.next] = digest
			h.next = (h.next + 1) % mostHooks
		}
	}
	h.seen[digest] = now
}

// hookRoutes are those of webhooks.
func (s *Server) hookRoutes() []*Route {
	return []*Route{{
		Method: http.MethodPost, Pattern: "/api/webhook", Summary: "Take the webhook of a forge or a registry", Open: true, Hook: true,
		Handle: s.webhook, Out: nothing{},
	}}
}

// webhook takes a webhook. What is cheap comes first: the headers, and whether they can prove anything; then the body as
// it comes, and its signature; then whether the same came a moment ago. Only then is it read.
func (s *Server) webhook(req *Request) (any, error) {
	if s.Hooks == nil {
		return nil, absent("this address for webhooks")
	}
	if req.peer {
		return s.passedOn(req)
	}
	letter, refused := webhook.Open(req.Header, s.Hooks.Secrets())
	if refused != nil {
		return nil, s.refuse(req, refused)
	}
	if !letter.Proved && !s.hooks.strangers.take(sourceOf(req.Request), s.Now()) {
		return nil, s.refuse(req, errStrangers)
	}
	body := buffer()
	defer release(body)
	if err := s.hookBody(req, body); err != nil {
		return nil, err
	}
	digest, refused := letter.Check(body.Bytes())
	if refused != nil {
		return nil, s.refuse(req, refused)
	}
	if s.hooks.repeated(digest, s.Now()) {
		return nothing{}, nil
	}
	hint, refused := letter.Read(body.Bytes())
	if refused != nil {
		return nil, s.refuse(req, refused)
	}
	s.sayOpen(req, hint)
	if hint.Kind == webhook.Nothing {
		return nothing{}, nil
	}
	if s.Forward != nil && s.Leading != nil && !s.Leading() {
		return s.passOn(hint, digest)
	}
	s.tell(req, hint)
	s.hooks.remember(digest, s.Now())
	return nothing{}, nil
}

func (s *Server) tell(req *Request, hint webhook.Hint) {
	if looks := s.Hooks.Told(hint); looks > 0 {
		slog.InfoContext(req.Context, "a webhook asks for a look", "provider", string(hint.Provider), "kind", string(hint.Kind),
			"place", hint.Places[0], "refs", hint.Refs[:min(len(hint.Refs), 4)], "proved", hint.Proved, "looks", looks)
	}
}

// refuse answers why a webhook is not taken. How many there are is said now and then, not for each.
func (s *Server) refuse(req *Request, r *webhook.Refusal) error {
	h, now := s.hooks, s.Now()
	h.mu.Lock()
	h.refused++
	say, count := now.Sub(h.lastSaid) >= quietTime, h.refused
	if say {
		h.lastSaid, h.refused = now, 0
	}
	h.mu.Unlock()
	if say {
		slog.WarnContext(req.Context, "webhooks are refused", "count", count, "provider", string(r.Provider), "last", r.Message)
	}
	switch {
	case r == errStrangers:
		return &Fault{Code: ResourceExhausted, Message: r.Message}
	case r.Reason == webhook.Unproved:
		return &Fault{Code: Unauthenticated, Message: r.Message}
	default:
		return badRequest(r.Message)
	}
}

// errStrangers is for those who prove nothing, where nobody can, and come too often.
var errStrangers = &webhook.Refusal{
	Reason: webhook.Unproved, Message: "too many webhooks that nobody can prove; set the secret of the sender in argocd-secret",
}

// sayOpen says once of each sender that anybody can speak in its name.
func (s *Server) sayOpen(req *Request, hint webhook.Hint) {
	if hint.Proved {
		return
	}
	s.hooks.mu.Lock()
	said := s.hooks.open[hint.Provider]
	s.hooks.open[hint.Provider] = true
	s.hooks.mu.Unlock()
	if !said {
		slog.WarnContext(req.Context, "webhooks are taken without proof, and slowly; set the secret of this sender in argocd-secret",
			"provider", string(hint.Provider))
	}
}

// hookBuffers are what most bodies are read into: a flood must not keep the collector busy.
var hookBuffers = sync.Pool{New: func() any { return bytes.NewBuffer(make([]byte, 0, 16<<10)) }}

func buffer() *bytes.Buffer {
	b, ok := hookBuffers.Get().(*bytes.Buffer)
	if !ok {
		return &bytes.Buffer{}
	}
	b.Reset()
	return b
}

// release gives a buffer back that nobody reads from any more; large ones are rare and not kept.
func release(b *bytes.Buffer) {
	if b.Cap() <= 2*smallHook {
		hookBuffers.Put(b)
	}
}

// errHalf is for those who are too slow, or give up.
var errHalf = badRequest("the webhook could not be read: it did not come in time, or not all of it")

// hookBody reads the body, within bounds of size, time and number.
func (s *Server) hookBody(req *Request, into *bytes.Buffer) error {
	limit := cmp.Or(s.Settings().MaxWebhook, defaultHook)
	if req.ContentLength > limit {
		return tooLarge(limit)
	}
	// Most bodies come with their headers. Whoever sends one bit by bit does not keep us waiting.
	_ = req.control.SetReadDeadline(time.Now().Add(s.hooks.time))
	small := min(limit, smallHook)
	n, err := into.ReadFrom(io.LimitReader(req.Request.Body, small+1))
	if err != nil {
		return errHalf
	}
	if n <= small {
		return nil
	}
	select {
	case s.hooks.large <- struct{}{}:
		defer func() { <-s.hooks.large }()
	default:
		return &Fault{Code: Unavailable, Message: "too many large webhooks at once; send it again in a moment"}
	}
	if _, err = into.ReadFrom(io.LimitReader(req.Request.Body, limit-n+1)); err != nil {
		return errHalf
	}
	if int64(into.Len()) > limit {
		return tooLarge(limit)
	}
	return nil
}

func tooLarge(limit int64) *Fault {
	return &Fault{
		Code: InvalidArgument, Status: http.StatusRequestEntityTooLarge,
		Message: fmt.Sprintf("the webhook has more than %d bytes; webhook.maxPayloadSizeMB of argocd-cm says how large they may be", limit),
	}
}

// passOn tells the replica that leads what a webhook says. The proof is not passed on: a login must not leave this
// process, and the leader believes its peers.
func (s *Server) passOn(hint webhook.Hint, digest [sha256.Size]byte) (any, error) {
	text, err := json.Marshal(hint)
	if err != nil {
		return nil, fmt.Errorf("encoding what a webhook says: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next := r.Clone(r.Context())
		next.Header = http.Header{"Content-Type": {"application/json"}}
		next.Body, next.ContentLength, next.TransferEncoding = io.NopCloser(bytes.NewReader(text)), int64(len(text)), nil
		// The leader may take longer to answer than the webhook could take to come.
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		seen := &observed{ResponseWriter: w}
		s.Forward.ServeHTTP(seen, next)
		if seen.status == http.StatusOK {
			s.hooks.remember(digest, s.Now())
		}
	}), nil
}

// observed is an answer whose status is noted.
type observed struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes the status.
func (o *observed) WriteHeader(status int) {
	o.status = status
	o.ResponseWriter.WriteHeader(status)
}

// Unwrap is for those who want more of it than this.
func (o *observed) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// passedOn takes what another replica was told.
func (s *Server) passedOn(req *Request) (any, error) {
	if s.Leading != nil && !s.Leading() {
		return nil, &Fault{Code: Unavailable, Message: "this replica does not lead any more", cause: errors.New("a webhook was passed on")}
	}
	var hint webhook.Hint
	if err := req.Body(&hint); err != nil {
		return nil, err
	}
	if hint.Kind == webhook.Nothing || len(hint.Places) == 0 {
		return nothing{}, nil
	}
	s.tell(req, hint)
	return nothing{}, nil
}
