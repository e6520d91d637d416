// Package event turns transitions into Kubernetes Events on their Application,
// in Argo CD's words, and reads back those that tell of drift. It must not hold
// up whoever tells it: what it cannot write in time is dropped and counted.
package event

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/transition"
)

// Writer writes events, one after the other, off the way of everybody else.
type Writer struct {
	write func(ctx context.Context, e *corev1.Event) error
	queue chan transition.Transition

	dropped, failed atomic.Int64
}

// queued is how many transitions wait before the next ones are dropped. It is
// a few seconds' worth of a busy fleet.
const queued = 2048

// NewWriter makes a writer to the cluster of the Applications.
func NewWriter(config *rest.Config) (*Writer, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := typed.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for events: %w", err)
	}
	return newWriter(queued, func(ctx context.Context, e *corev1.Event) error {
		_, err := client.Events(e.Namespace).Create(ctx, e, metav1.CreateOptions{FieldManager: v1alpha1.FieldManagerStatus})
		return err
	}), nil
}

func newWriter(queued int, write func(context.Context, *corev1.Event) error) *Writer {
	return &Writer{write: write, queue: make(chan transition.Transition, queued)}
}

// Observe takes a transition. It never blocks.
func (w *Writer) Observe(t transition.Transition) {
	if !told(t) {
		return
	}
	select {
	case w.queue <- t:
	default:
		w.dropped.Add(1)
	}
}

// Lost is how many events were not written: the queue was full, or the server
// did not take them.
func (w *Writer) Lost() (dropped, failed int64) { return w.dropped.Load(), w.failed.Load() }

// Timeouts of one write, and of what is left in the queue at the end.
const (
	writeTimeout = 10 * time.Second
	lastTimeout  = 2 * time.Second
)

// Run writes until ctx ends, and then what is still in the queue.
func (w *Writer) Run(ctx context.Context) {
	// A write outlives ctx by a moment, so that the last events are not lost.
	writing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastTimeout, cancel) })()
	for {
		select {
		case t := <-w.queue:
			w.put(writing, t)
		case <-ctx.Done():
			w.drain(writing)
			return
		}
	}
}

func (w *Writer) drain(ctx context.Context) {
	for {
		select {
		case t := <-w.queue:
			w.put(ctx, t)
		default:
			return
		}
	}
}

func (w *Writer) put(ctx context.Context, t transition.Transition) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := w.write(ctx, eventOf(t)); err != nil {
		w.failed.Add(1)
		slog.WarnContext(ctx, "an event could not be written", "app", t.App.Name, "transition", string(t.Kind), "error", err)
	}
}
