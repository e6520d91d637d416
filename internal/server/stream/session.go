package stream

import (
	"cmp"
	"context"
	"net/http"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/server/catalog"
)

// Caller is who listens.
type Caller struct {
	// Name is what the streams of one caller are counted by.
	Name string
	// Eye is asked for before each batch, so that a change of the policy holds from
	// the next message on.
	Eye func() catalog.Eye
	// Still tells whether the caller may listen at all: the token is valid, the
	// session goes on. It is asked at least every few seconds; nil is always.
	Still func() bool
	// Topic tells whether the caller may hear that something else changed; nil is
	// never.
	Topic func(topic string) bool
}

// Applications finds whole applications.
type Applications interface {
	// Application finds one by what it is called: NAME, or NAMESPACE/NAME outside of
	// the control namespace.
	Application(ctx context.Context, name string) (*v1alpha1.Application, error)
}

// Options are what streams are made of.
type Options struct {
	Hub          *Hub
	Catalog      *catalog.Catalog
	Applications Applications
	// Namespace is the control namespace.
	Namespace string
	// Who says who asks; the route has checked that somebody does.
	Who func(*http.Request) Caller
	// Member is what an application is called in a message; "application" by
	// default. A stream of ApplicationSets has "applicationSet", a catalog of stubs
	// (see Stub), and an Encode that finds the set by the name of its stub.
	Member string
	// Encode writes an application as it may be shown, without line breaks.
	Encode func(*v1alpha1.Application) ([]byte, error)
	// Tree writes the resource tree of an application as it may be shown, without
	// line breaks.
	Tree func(ctx context.Context, key catalog.Key) ([]byte, error)

	// Recheck is how often a stream asks whether it may go on, Idle after which
	// silence it says that it lives, Pace how often a tree is written at most, and
	// Patience how long a client may take to read. Zero takes the default.
	Recheck, Idle, Pace, Patience time.Duration
}

// Streams are the handlers.
type Streams struct{ Options }

// New makes them.
func New(o Options) *Streams {
	for _, d := range []struct{ at, value *time.Duration }{
		{&o.Recheck, new(5 * time.Second)},
		{&o.Idle, new(15 * time.Second)},
		{&o.Pace, new(250 * time.Millisecond)},
		{&o.Patience, new(30 * time.Second)},
	} {
		if *d.at <= 0 {
			*d.at = *d.value
		}
	}
	o.Member = cmp.Or(o.Member, application)
	return &Streams{Options: o}
}

// application is what a message calls an application.
const application = "application"

// Stub is an ApplicationSet as far as a catalog must know it: what it is called,
// and whom it belongs to.
func Stub(set *v1alpha1.ApplicationSet) *v1alpha1.Application {
	app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{
		Name: set.Name, Namespace: set.Namespace, UID: set.UID, Labels: set.Labels,
		ResourceVersion: set.ResourceVersion, CreationTimestamp: set.CreationTimestamp,
	}}
	app.Spec.Project = set.Spec.Template.Spec.Project
	return app
}

// session is one stream that is open.
type session struct {
	*Streams
	caller Caller
	filter filter
	client *client
	wire   *wire
	eye    atomic.Pointer[catalog.Eye]
	// checked is when the right to listen was asked for last.
	checked time.Time
}

func (s *Streams) open(r *http.Request, f filter) *session {
	caller := s.Who(r)
	out := &session{Streams: s, caller: caller, filter: f, client: newClient(caller.Name), checked: time.Now()}
	out.look()
	return out
}

// look asks what the caller may see now. Where that may have changed it returns
// what it was before; else nil.
func (s *session) look() (before *catalog.Eye) {
	eye := s.caller.Eye()
	before = s.eye.Swap(&eye)
	if before == nil || before.Key == eye.Key && before.All == eye.All {
		return nil
	}
	return before
}

func (s *session) sees(row *catalog.Row) bool {
	return s.filter.takes(row) && s.eye.Load().SeesRow(row)
}

// concerns is the quick look at a change, while others wait: only what costs
// nothing to find out counts.
func (s *session) concerns(e *event) bool {
	return s.maySee(e.before) || s.maySee(e.after)
}

func (s *session) maySee(row *catalog.Row) bool {
	if row == nil || !s.filter.takes(row) {
		return false
	}
	eye := s.eye.Load()
	return eye.All || eye.May != nil || eye.Projects[row.Project]
}

// still tells whether the stream may go on.
func (s *session) still() bool {
	s.checked = time.Now()
	return s.caller.Still == nil || s.caller.Still()
}

// fresh is for how long an answer of Still is good while messages flow.
const fresh = time.Second

// run hands batches to a function until the stream ends: the client is gone, the
// hub closes, the right to listen is lost, or the function says so.
func (s *session) run(ctx context.Context, handle func(context.Context, batch) error) {
	recheck := time.NewTicker(s.Recheck)
	defer recheck.Stop()
	idle := time.NewTicker(s.Idle)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.client.over:
			return
		case <-recheck.C:
			if !s.still() {
				return
			}
			// Who may see more or less than before has to know.
			s.client.rouse()
		case <-idle.C:
			if !s.wire.wrote && s.wire.beat() != nil {
				return
			}
			s.wire.wrote = false
		case <-s.client.wake:
			b := s.client.take()
			if (b.doubted || time.Since(s.checked) > fresh) && !s.still() {
				return
			}
			if handle(ctx, b) != nil || s.wire.flush() != nil {
				return
			}
		}
	}
}
