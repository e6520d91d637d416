// Package herald tells people what becomes of applications: it looks at each that changed, has core/notice decide which
// messages are due, and hands them to the services. It must not decide by itself, and it never holds up whoever syncs: looks
// and deliveries have workers of their own, each service has queues of its own, so that a dead one delays nobody else.
//
// # Each message once
//
// What was told is on the application, in Argo CD's own record (notified.notifications.argoproj.io), so that either program
// goes on where the other stopped. Between "due" and "told" a message is on the application too (towline.io/notifying), in
// one of these phases, each written before the next thing is done, behind the fence of the leader, and for a version of the
// application that nobody has changed since:
//
//	due      it was decided; the service does not have it. Whoever leads next sends it, even if the trigger does not hold any more.
//	sending  the way to the service is open, and the message is about to leave. Only that process learns whether it was taken.
//	(told)   the service took it.
//	failed   the service refused it for good, or for too long. It is due again with another configuration.
//
// A message is claimed ("sending") no sooner than the connection stands, and for a mail when all but its last line is there: a
// service whose name is not found, that refuses the connection or that does not pick up has nothing, and the message stays
// "due". An answer that says no puts it back to "due" at once, before the wait for the next try, and the lane stays at that
// until it is written. A process that is asked to end waits five seconds for an answer that is on its way, and leads until then.
//
// # What cannot be had
//
// Between the claim and the record of the answer lie two writes and the answer itself, usually some milliseconds. A process
// that is killed in them leaves a question that nobody can answer, since no protocol has two sides agree over a way on which
// the last word may be lost. For services that drop a message that they have had before (PagerDuty, Opsgenie and Alertmanager
// by a key, GitHub because what we say of a commit is found again) the phase is left out and the message is simply sent again:
// there it is exactly once. For all others it is not sent again: our own death says nothing about the service, which most
// likely took what was on its way. That is at most once, and that it may be missing is told by an event on the application
// and in the log. A message carries the same id each time (Idempotency-Key of a webhook, Message-ID of a mail).
//
// A service that does not answer while we live is the other case: most likely it did not take the message. It goes back to
// "due" and is tried again, later and later, for three quarters of an hour. That is at least once.
package herald

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/notice"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/herald/channel"
)

// Hub is where applications are read and written.
type Hub interface {
	// Application is from memory, which sees its own writes; Fresh is from the server.
	Application(ctx context.Context, name string) (*v1alpha1.Application, error)
	Fresh(ctx context.Context, name string) (*v1alpha1.Application, error)
	Project(ctx context.Context, name string) (*v1alpha1.AppProject, error)
	PatchApplication(ctx context.Context, name string, patch []byte) (*v1alpha1.Application, error)
}

// Options are what a herald is made of.
type Options struct {
	// Namespace is the control namespace, and By who this is: another each time that somebody begins to lead.
	Namespace, By string
	Hub           Hub
	// Conflict and NotFound are the reasons of the hub's faults.
	Conflict, NotFound string
	// Configs are those that count for the applications of a namespace.
	Configs func(namespace string) []*notice.Config
	// Commit looks up a commit of an application's source; nil is that nobody can.
	Commit func(ctx context.Context, app *v1alpha1.Application, sha string) (notice.Commit, error)
	// Certificates and Proxy are for the ways to services.
	Certificates func(host string) []string
	Proxy        func(*http.Request) (*url.URL, error)
	// Tell tells of a message that was not sent, on the application.
	Tell func(app *v1alpha1.Application, message string)
	// Sent and Ran count; nil is that nobody does.
	Sent func(trigger, service string, succeeded bool)
	Ran  func(trigger string, held bool)
	Now  func() time.Time
}

// Herald sends messages while this process leads.
type Herald struct {
	Options
	queue   workqueue.TypedRateLimitingInterface[string]
	threads channel.Threads

	mu    sync.Mutex
	books map[string]*book
	// graves are applications that are gone, and may have a last word.
	graves map[string]*v1alpha1.Application
	// said is what was last told of an application's subscriptions.
	said  map[string]string
	lanes map[lane]workqueue.TypedDelayingInterface[*parcel]
	ways  map[service]way
	// work runs in the lanes, until closing.
	work    sync.WaitGroup
	sending context.Context
	closed  bool
}

// book is what this process has in hand for an application.
type book struct {
	mu sync.Mutex
	// held are the messages that are on their way, and told those that were sent and may not be in the record yet.
	held, told map[string]bool
}

// New makes a herald. Run sets it to work.
func New(o Options) *Herald {
	if o.Sent == nil {
		o.Sent = func(string, string, bool) {}
	}
	if o.Ran == nil {
		o.Ran = func(string, bool) {}
	}
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, time.Minute)
	return &Herald{
		Options: o, queue: workqueue.NewTypedRateLimitingQueue(limiter),
		books: map[string]*book{}, graves: map[string]*v1alpha1.Application{}, said: map[string]string{},
		lanes: map[lane]workqueue.TypedDelayingInterface[*parcel]{}, ways: map[service]way{},
	}
}

// Changed says that an application changed; nil is that it was not there before, or is gone. It never blocks.
func (h *Herald) Changed(old, app *v1alpha1.Application) {
	if !notice.Moved(old, app) {
		return
	}
	of := app
	if of == nil {
		of = old
	}
	name := object.AppName(h.Namespace, of.Namespace, of.Name)
	if app == nil {
		h.bury(name, old)
	}
	h.queue.Add(name)
}

// bury keeps an application that is gone for a last look.
func (h *Herald) bury(name string, app *v1alpha1.Application) {
	if app.DeletionTimestamp == nil {
		app = app.DeepCopy()
		app.DeletionTimestamp = new(metav1.NewTime(h.Now()))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.graves[name] = app
}

// Wake has applications looked at.
func (h *Herald) Wake(names ...string) {
	for _, name := range names {
		h.queue.Add(name)
	}
}

const (
	// lookers is how many applications are looked at at once.
	lookers = 2
	// grace is how long a message that is under way has when this process ends.
	grace = 5 * time.Second
	// tick is how often triggers that look at the clock are run.
	tick = time.Minute
)

// Run works until ctx ends, and then lets what is under way come to an end.
func (h *Herald) Run(ctx context.Context) {
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	h.mu.Lock()
	h.sending = sending
	h.mu.Unlock()
	var wg sync.WaitGroup
	for range lookers {
		wg.Go(func() {
			for h.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	timer := time.AfterFunc(grace, cancel)
	defer timer.Stop()
	h.queue.ShutDown()
	wg.Wait()
	h.mu.Lock()
	h.closed = true
	for _, q := range h.lanes {
		q.ShutDown()
	}
	h.mu.Unlock()
	h.work.Wait()
}

// next looks at one application.
func (h *Herald) next(ctx context.Context) bool {
	name, end := h.queue.Get()
	if end {
		return false
	}
	defer h.queue.Done(name)
	if ctx.Err() != nil {
		return true
	}
	again, err := h.look(ctx, name)
	switch {
	case err != nil && ctx.Err() == nil:
		slog.DebugContext(ctx, "notifications of an application wait", "app", name, "error", err)
		h.queue.AddRateLimited(name)
	case err == nil:
		h.queue.Forget(name)
		if again {
			h.queue.AddAfter(name, tick)
		}
	}
	return true
}

// most is how often a look begins anew because somebody else wrote.
const most = 5

// look decides on the messages of one application, and says whether the clock may bring about another.
func (h *Herald) look(ctx context.Context, name string) (again bool, err error) {
	app, err := h.Hub.Application(ctx, name)
	if dead := h.unbury(name, app); dead != nil {
		_, err := h.decide(ctx, name, dead, true)
		h.forget(name)
		if err != nil || app == nil {
			return false, err
		}
	}
	if fault.ReasonOf(err) == h.NotFound && err != nil {
		return false, nil
	}
	for range most {
		if err != nil {
			return false, err
		}
		again, err = h.decide(ctx, name, app, false)
		if fault.ReasonOf(err) != h.Conflict || err == nil {
			return again, err
		}
		app, err = h.Hub.Fresh(ctx, name)
	}
	return false, err
}

// unbury is the application of the name that is gone, if another or none has its place.
func (h *Herald) unbury(name string, now *v1alpha1.Application) *v1alpha1.Application {
	h.mu.Lock()
	defer h.mu.Unlock()
	dead := h.graves[name]
	delete(h.graves, name)
	if dead != nil && now != nil && dead.UID == now.UID {
		return nil
	}
	return dead
}

// forget drops what is known of an application that is gone.
func (h *Herald) forget(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.books, name)
	delete(h.said, name)
}

func (h *Herald) book(name string) *book {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.books[name] == nil {
		h.books[name] = &book{held: map[string]bool{}, told: map[string]bool{}}
	}
	return h.books[name]
}

// idle says that nobody could want to know anything of an application. Most are, and cost no more than this.
func idle(configs []*notice.Config, app *v1alpha1.Application, project map[string]string) bool {
	if len(configs) == 0 {
		return true
	}
	for _, c := range configs {
		if c.Universal() {
			return false
		}
	}
	return !notice.Subscribes(app.Annotations) && !notice.Subscribes(project) &&
		app.Annotations[v1alpha1.AnnotationNotified] == "" && app.Annotations[v1alpha1.AnnotationNotifying] == ""
}

// decide has the messages of an application decided, writes what is to be done, and then has it done. Of one that is gone
// nothing can be written any more.
func (h *Herald) decide(ctx context.Context, name string, app *v1alpha1.Application, gone bool) (again bool, err error) {
	configs := h.Configs(app.Namespace)
	var project map[string]string
	if p, err := h.Hub.Project(ctx, app.ProjectName()); err == nil {
		project = p.Annotations
	}
	if idle(configs, app, project) {
		return false, nil
	}
	look, err := h.lookAt(ctx, app)
	if err != nil {
		return false, err
	}
	look.Project = project
	b := h.book(name)
	b.mu.Lock()
	defer b.mu.Unlock()
	for key := range b.told {
		if _, recorded := look.Record.Told[key]; recorded {
			delete(b.told, key)
		}
	}
	look.Holds = func(key string) bool { return b.held[key] || b.told[key] }
	d := notice.Decide(configs, look)
	parcels, failed, err := h.render(name, look, &d)
	if err != nil {
		return false, err
	}
	if !gone {
		if err := h.write(ctx, name, app, d.Record); err != nil {
			return false, err
		}
	}
	h.report(ctx, name, app, d, failed)
	for _, p := range parcels {
		p.gone = gone
		b.held[p.message.Key] = true
		h.enqueue(p)
	}
	return d.Clocked, nil
}

// lookAt is an application as triggers and templates see it.
func (h *Herald) lookAt(ctx context.Context, app *v1alpha1.Application) (notice.Look, error) {
	typed := app.DeepCopy()
	typed.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion().String(), Kind: v1alpha1.ApplicationKind}
	text, err := json.Marshal(typed)
	if err != nil {
		return notice.Look{}, fmt.Errorf("encoding the application: %w", err)
	}
	l := notice.Look{App: app, Record: notice.RecordOf(app.Annotations), World: notice.World{Now: h.Now()}}
	if err := json.Unmarshal(text, &l.Object); err != nil {
		return notice.Look{}, fmt.Errorf("decoding the application: %w", err)
	}
	if h.Commit != nil {
		l.World.Commit = func(sha string) (notice.Commit, error) { return h.Commit(ctx, app, sha) }
	}
	return l, nil
}

// render writes the messages. One whose template fails is given up; one that waits for something, such as a repository that
// does not answer, has all of them wait for a while.
func (h *Herald) render(name string, l notice.Look, d *notice.Decision) (parcels []*parcel, failed []notice.Problem, err error) {
	for _, m := range d.Messages {
		content, err := m.Config.Render(m.Templates, m.To, l.Object, l.World)
		if err == nil {
			parcels = append(parcels, &parcel{app: name, about: l.App, message: m, content: content})
			continue
		}
		_, classed := errors.AsType[*fault.Error](err)
		if classed && fault.ClassOf(err) != fault.Terminal && h.queue.NumRequeues(name) < patience {
			return nil, nil, err
		}
		failed = append(failed, notice.Problem{Key: v1alpha1.KeyNotifyTriggerPrefix + m.Trigger, Message: fmt.Sprintf(
			"the message to %s is not sent: %v; correct the template", recipient(m.To), err)})
		d.Record = d.Record.GaveUp(m.Key, h.Now())
	}
	return parcels, failed, nil
}

// patience is how often a template is tried that waits for something.
const patience = 6

func recipient(to notice.Destination) string {
	if to.Recipient == "" {
		return to.Service
	}
	return to.Service + ":" + to.Recipient
}
