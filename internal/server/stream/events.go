package stream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/towline-cd/towline/internal/server/catalog"
)

// The names of the events that a browser gets.
const (
	eventApplication = "application"
	eventTree        = "tree"
	eventTopic       = "topic"
	eventReset       = "reset"
)

// Bounds of one stream.
const (
	maxTrees  = 8
	maxTopics = 16
)

// Events is the one stream that a browser needs: rows of applications, the trees
// of those that are open, and the names of what else changed. It goes on after
// the event that the client got last; where that is not possible the client is
// told to read everything again.
func (s *Streams) Events(w http.ResponseWriter, r *http.Request) {
	f, err := filterOf(r)
	if err != nil {
		fail(w, err)
		return
	}
	b := &browser{session: s.open(r, f), trees: map[catalog.Key]*pacer{}}
	if err := b.subscribe(r); err != nil {
		fail(w, err)
		return
	}
	since, told := s.since(r)
	// Whoever has an application open shows more of it than a row has.
	b.client.wants = func(e *event) bool { return (!e.same || b.trees[e.key()] != nil) && b.concerns(e) }
	behind, found, err := s.Hub.join(b.client, since)
	if err != nil {
		fail(w, err)
		return
	}
	defer s.Hub.leave(b.client)
	b.wire = newWire(w, true, s.Patience)
	if err := b.begin(behind, found, told); err != nil {
		return
	}
	b.client.rouse()
	b.run(r.Context(), b.handle)
}

// browser writes what a browser reads.
type browser struct {
	*session
	trees map[catalog.Key]*pacer
}

// subscribe reads what is wanted besides the applications.
func (b *browser) subscribe(r *http.Request) error {
	q := r.URL.Query()
	trees, topics := list(q, "tree"), list(q, "topic")
	if len(trees) > maxTrees || len(topics) > maxTopics {
		return fmt.Errorf("a stream may have %d trees and %d topics; open another for more", maxTrees, maxTopics)
	}
	b.client.trees, b.client.topics = map[catalog.Key]bool{}, map[string]bool{}
	for _, text := range trees {
		namespace, name, found := strings.Cut(text, "/")
		if !found {
			namespace, name = b.Namespace, text
		}
		key := catalog.Key{Namespace: namespace, Name: name}
		b.trees[key] = &pacer{}
		b.client.trees[key] = true
	}
	for _, topic := range topics {
		if b.caller.Topic == nil || !b.caller.Topic(topic) {
			return errForbidden
		}
		// Whatever happened before: the client reads it once.
		b.client.topics[topic] = true
	}
	return nil
}

// since reads where the client is: the header that browsers send when they
// connect again, or the parameter with what the list said. told is false when
// the client says nothing.
func (s *Streams) since(r *http.Request) (at *place, told bool) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("since")
	}
	if text == "" {
		return nil, false
	}
	epoch, seq, err := parseID(text)
	if err != nil || epoch != s.Hub.epoch {
		return nil, true
	}
	return &place{seq: seq}, true
}

// ID names a place in the stream of events: the answer to a list has it, so that
// a client can listen from there on.
func (h *Hub) ID(seq uint64) string { return h.epoch + "-" + strconv.FormatUint(seq, 10) }

func parseID(text string) (epoch string, seq uint64, err error) {
	at := strings.LastIndexByte(text, '-')
	if at < 0 {
		return "", 0, errors.New("no number")
	}
	seq, err = strconv.ParseUint(text[at+1:], 10, 64)
	return text[:at], seq, err
}

// begin sends what was missed, or says that it is not known.
func (b *browser) begin(behind []entry, found, told bool) error {
	for _, e := range behind {
		if err := b.tell(e); err != nil {
			return err
		}
	}
	if told && !found {
		if err := b.reset(b.client.place(), "the changes since are not remembered"); err != nil {
			return err
		}
	}
	// The headers go out, so that the client knows that it is connected.
	return b.wire.beat()
}

func (b *browser) handle(ctx context.Context, todo batch) error {
	t, err := b.turn(b.look(), todo.entries)
	if err != nil {
		return err
	}
	if len(t.gone)+len(t.come) > 0 {
		if err := b.reset(todo.seen, "what you may see has changed"); err != nil {
			return err
		}
		todo.entries = nil
	}
	if t.blind() {
		_ = b.wire.flush()
		return errGone
	}
	if todo.lost {
		if err := b.reset(todo.seen, "changes came faster than they were read"); err != nil {
			return err
		}
		todo.entries = nil
	}
	for _, e := range todo.entries {
		if err := b.tell(e); err != nil {
			return err
		}
	}
	for _, topic := range todo.topics {
		if b.caller.Topic == nil || !b.caller.Topic(topic) {
			continue
		}
		if err := b.wire.event(eventTopic, "", []byte(`{"topic":`), quoted(topic), []byte(`}`)); err != nil {
			return err
		}
	}
	for _, key := range todo.trees {
		if err := b.tree(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

func (b *browser) tell(e entry) error {
	t, row := b.seen(e)
	if row == nil {
		return nil
	}
	return b.wire.event(eventApplication, b.Hub.ID(e.seq), []byte(`{"type":"`+string(t)+`","application":`), row.JSON, []byte(`}`))
}

func (b *browser) tree(ctx context.Context, key catalog.Key) error {
	row, found := b.Catalog.Row(key)
	if !found || !b.eye.Load().SeesRow(row) {
		return nil
	}
	data, err := b.trees[key].next(ctx, b.session, key)
	if err != nil || data == nil {
		return err
	}
	return b.wire.event(eventTree, "", []byte(`{"namespace":`), quoted(key.Namespace), []byte(`,"name":`), quoted(key.Name),
		[]byte(`,"tree":`), data, []byte(`}`))
}

// reset has the client read everything again, and go on from there.
func (b *browser) reset(seq uint64, why string) error {
	for _, p := range b.trees {
		p.last = nil
	}
	return b.wire.event(eventReset, b.Hub.ID(seq), []byte(`{"reason":`), quoted(why), []byte(`}`))
}
