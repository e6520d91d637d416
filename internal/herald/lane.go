package herald

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/address"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/notice"
	"github.com/towline-cd/towline/internal/herald/channel"
)

// service is one of a configuration.
type service struct{ namespace, name string }

// way is an open one, and the configuration that it was opened by.
type way struct {
	version string
	channel channel.Channel
	err     error
}

// lane is a queue of messages for a service, one after the other. The messages for one recipient are in the same one, so that
// they come in their order.
type lane struct {
	service
	number uint32
}

// lanesEach is how many messages a service gets at once.
const lanesEach = 4

// parcel is a message on its way.
type parcel struct {
	app     string
	about   *v1alpha1.Application
	message notice.Message
	content notice.Content
	// gone says that the application is: nothing can be written on it.
	gone  bool
	tries int
}

const (
	// tries is how often a service is asked to take a message: with these waits that is three quarters of an hour.
	tries     = 16
	firstWait = time.Second
	longest   = 5 * time.Minute
	// timeout is for one try.
	timeout = 20 * time.Second
)

func (h *Herald) enqueue(p *parcel) {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(p.message.To.Recipient))
	l := lane{service{p.message.Config.Namespace, p.message.To.Service}, sum.Sum32() % lanesEach}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	q := h.lanes[l]
	if q == nil {
		q = workqueue.NewTypedDelayingQueue[*parcel]()
		h.lanes[l] = q
		sending := h.sending
		h.work.Go(func() {
			for {
				p, end := q.Get()
				if end {
					return
				}
				if wait := h.deliver(sending, p); wait > 0 {
					q.AddAfter(p, wait)
				}
				q.Done(p)
			}
		})
	}
	q.Add(p)
}

// deliver sends a message, and says how long to wait until the next try; zero is that it is done with.
func (h *Herald) deliver(ctx context.Context, p *parcel) (wait time.Duration) {
	if h.ending() {
		// Whoever leads next finds it.
		return 0
	}
	m := p.message
	c, err := h.send(ctx, p)
	switch {
	case err == nil:
		h.Sent(m.Trigger, m.To.Service, true)
		slog.InfoContext(ctx, "notified", "app", p.app, "trigger", m.Trigger, "service", m.To.Service, "recipient", m.To.Recipient)
		h.settle(p, true)
		h.note(ctx, p, func(r notice.Record) (notice.Record, bool) { return r.Sent(m.Key, h.Now()), true })
		return 0
	case c == unwanted:
		h.settle(p, false)
		return 0
	case c == unwritten:
		return h.postpone(ctx, p, err)
	case c == written && ctx.Err() != nil:
		// We cut it short ourselves: nobody knows whether the service has it.
		h.settle(p, false)
		return 0
	}
	return h.failed(ctx, p, c, err)
}

func (h *Herald) ending() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

// settle lets go of a message, which was told or not.
func (h *Herald) settle(p *parcel, told bool) {
	b := h.book(p.app)
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.held, p.message.Key)
	if told {
		b.told[p.message.Key] = true
	}
}

// postpone is for a message that could not be claimed, and so did not leave.
func (h *Herald) postpone(ctx context.Context, p *parcel, err error) time.Duration {
	p.tries++
	if p.tries >= tries || h.ending() {
		slog.WarnContext(ctx, "the record of a notification is not written", "app", p.app, "trigger", p.message.Trigger, "error", err)
		h.settle(p, false)
		return 0
	}
	// The server may have written what it did not say yes to.
	h.note(ctx, p, func(r notice.Record) (notice.Record, bool) { return r.Put(p.message.Key, h.Now()) })
	return pause(p.tries)
}

// pause is longer each time.
func pause(tries int) time.Duration {
	return min(firstWait<<min(tries-1, 20), longest)
}

// claim is how far that of a message came.
type claim int

const (
	// unasked is that nothing left us, or that the service can tell what it had before and needs no claim.
	unasked claim = iota
	// unwanted is that somebody took the claim off the application: the message is not wanted, or decided on anew.
	unwanted
	// unwritten is that the claim could not be written, so that nothing left us.
	unwritten
	// written is that the record says that we send. From here on only the answer tells whether the service has the message.
	written
)

// send hands a message to the service. It is claimed when the way is open: a service that nobody can reach has nothing.
func (h *Herald) send(ctx context.Context, p *parcel) (c claim, err error) {
	m := p.message
	way, err := h.way(m.Config, m.To.Service)
	if err != nil {
		return unasked, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if !notice.Knows(m.Config.Services[m.To.Service].Type) {
		ctx = channel.WithHanding(ctx, func(ctx context.Context) error {
			ok, err := h.amend(ctx, p, func(r notice.Record) (notice.Record, bool) { return r.Took(m.Key, h.By, h.Now()) })
			switch {
			case err != nil:
				c = unwritten
			case !ok:
				c, err = unwanted, errUnwanted
			default:
				c = written
			}
			return err
		})
	}
	err = way.Send(ctx, channel.Message{Content: p.content, To: m.To, ID: m.ID, Again: m.Again, At: m.At})
	return c, err
}

var errUnwanted = errors.New("the message is not wanted any more")

// note writes what became of a message, and stays at it while the server does not take it: until it stands there, whoever leads
// next has to take the message for one that may be missing.
func (h *Herald) note(ctx context.Context, p *parcel, change func(notice.Record) (notice.Record, bool)) {
	for n := 1; ; n++ {
		_, err := h.amend(ctx, p, change)
		if err == nil {
			return
		}
		if fault.ClassOf(err) == fault.Transient && ctx.Err() == nil {
			select {
			case <-time.After(pause(n) / 10):
				continue
			case <-ctx.Done():
			}
		}
		slog.WarnContext(ctx, "the record of a notification is not written", "app", p.app, "trigger", p.message.Trigger, "error", err)
		return
	}
}

// failed says what becomes of a message that a service did not take. That is written before anything is waited for.
func (h *Herald) failed(ctx context.Context, p *parcel, c claim, err error) time.Duration {
	m := p.message
	p.tries++
	h.Sent(m.Trigger, m.To.Service, false)
	if fault.ClassOf(err) == fault.Terminal || p.tries >= tries {
		h.complain(ctx, p.app, p.about, notice.Problem{Key: v1alpha1.KeyNotifyTriggerPrefix + m.Trigger, Message: fmt.Sprintf(
			"the message to %s is not sent: %v; it is tried again when %s or its secret changes", recipient(m.To), err,
			v1alpha1.ConfigMapNotifications)})
		h.note(ctx, p, func(r notice.Record) (notice.Record, bool) {
			_, there := r.Claims[m.Key]
			return r.GaveUp(m.Key, h.Now()), there
		})
		h.settle(p, false)
		return 0
	}
	if c == written {
		h.note(ctx, p, func(r notice.Record) (notice.Record, bool) { return r.Put(m.Key, h.Now()) })
	}
	slog.WarnContext(ctx, "a notification is tried again", "app", p.app, "trigger", m.Trigger, "service", m.To.Service,
		"recipient", m.To.Recipient, "tries", p.tries, "error", err)
	if later, ok := errors.AsType[*channel.LaterError](err); ok {
		return min(max(later.After, pause(p.tries)), 2*longest)
	}
	return pause(p.tries)
}

// way is the open way to a service.
func (h *Herald) way(c *notice.Config, name string) (channel.Channel, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := service{c.Namespace, name}
	known, ok := h.ways[key]
	if !ok || known.version != c.Version {
		reach := address.Local
		if c.Own {
			reach = address.Private
		}
		known = way{version: c.Version}
		known.channel, known.err = channel.Open(c.Services[name], channel.Options{
			Reach: reach, Certificates: h.Certificates, Proxy: h.Proxy, Threads: &h.threads,
		})
		h.ways[key] = known
	}
	return known.channel, known.err
}
