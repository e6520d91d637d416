package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
)

const (
	// Up to so many names a watch each is cheaper than one on everything.
	fewNames = 16
	// A watch that breaks is made anew so often in a row before giving up.
	maxBreaks = 10
	// A watch that lives shorter than that was never of use.
	shortLife = time.Second
)

// change is the newest state of one application. App is nil when it is gone.
// A change with an error is the last one; one with a notice is only to be said.
type change struct {
	name   string
	app    *v1alpha1.Application
	err    error
	notice string
}

// next waits for the next change, or for a tick, which has no name.
func (s *session) next(ctx context.Context, changes <-chan change, tick <-chan time.Time) (change, error) {
	select {
	case <-ctx.Done():
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
			return change{}, cause
		}
		return change{}, &told{text: "interrupted", err: context.Canceled}
	case c := <-changes:
		return c, s.explain(c.name, c.err)
	case <-tick:
		return change{}, nil
	}
}

// follow streams the state of the named applications, as it is now and
// whenever it changes, until the context ends. It survives what happens to
// long watches: the server closing them, and history that is gone.
func (s *session) follow(ctx context.Context, names []string) <-chan change {
	out := make(chan change)
	if len(names) > fewNames {
		go (&follower{session: s, names: names, out: out}).run(ctx)
		return out
	}
	for _, n := range names {
		o := metav1.ListOptions{FieldSelector: "metadata.name=" + n}
		go (&follower{session: s, names: []string{n}, options: o, out: out}).run(ctx)
	}
	return out
}

// followAll streams what changes after a list that was made with the options.
func (s *session) followAll(ctx context.Context, o metav1.ListOptions, list *v1alpha1.ApplicationList) <-chan change {
	f := &follower{session: s, options: o, version: list.ResourceVersion, known: map[string]bool{}}
	for _, app := range list.Items {
		f.known[app.Name] = true
	}
	out := make(chan change)
	f.out = out
	go f.run(ctx)
	return out
}

// follower keeps one list and watch going.
type follower struct {
	*session
	// names that are asked for; empty means all that fit the options.
	names   []string
	options metav1.ListOptions
	out     chan<- change
	// known are the applications that were there when last heard of.
	known   map[string]bool
	version string
	breaks  int
}

func (f *follower) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := f.once(ctx)
		if err == nil || ctx.Err() != nil {
			continue
		}
		f.breaks++
		if !f.again(err) {
			f.send(ctx, change{err: err})
			return
		}
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			f.version = "" // usual after a long quiet time: the list tells what was missed
		} else {
			f.send(ctx, change{notice: fmt.Sprintf("the watch broke, trying again: %v", err)})
		}
		f.pause(ctx)
	}
}

// again reports whether a broken watch is worth another try. What fails at
// once, before anything was seen, is the user's to know.
func (f *follower) again(err error) bool {
	return f.known != nil && f.breaks <= maxBreaks && fault.ClassOf(err) == fault.Transient &&
		!apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err)
}

func (f *follower) pause(ctx context.Context) {
	t := time.NewTimer(min(time.Duration(f.breaks)*500*time.Millisecond, 5*time.Second))
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// once lists if there is nothing to go on from, and then watches until the
// stream ends.
func (f *follower) once(ctx context.Context) error {
	if f.version == "" {
		if err := f.list(ctx); err != nil {
			return err
		}
	}
	o := f.options
	o.ResourceVersion = f.version
	o.AllowWatchBookmarks = true
	w, err := f.hub.WatchApplications(ctx, o)
	if err != nil {
		return err
	}
	defer w.Stop()
	began := f.env.Now()
	defer func() {
		if f.env.Now().Sub(began) >= shortLife {
			f.breaks = 0
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case ev, open := <-w.ResultChan():
			if !open && f.env.Now().Sub(began) < shortLife {
				return errors.New("the server closed the watch at once")
			}
			if !open {
				return nil
			}
			if err := f.event(ctx, ev); err != nil {
				return err
			}
		}
	}
}

func (f *follower) list(ctx context.Context) error {
	list, err := f.hub.Applications(ctx, f.options)
	if err != nil {
		return err
	}
	before := f.known
	if before == nil {
		before = nameSet(f.names)
	}
	f.known = map[string]bool{}
	for _, app := range list.Items {
		f.appear(ctx, &app)
	}
	for _, n := range slices.Sorted(maps.Keys(before)) {
		if !f.known[n] {
			f.send(ctx, change{name: n})
		}
	}
	f.version = list.ResourceVersion
	return nil
}

func (f *follower) event(ctx context.Context, ev watch.Event) error {
	if ev.Type == watch.Error {
		return apierrors.FromObject(ev.Object)
	}
	app, ok := ev.Object.(*v1alpha1.Application)
	if !ok {
		return fmt.Errorf("watching applications: the server sent %T", ev.Object)
	}
	f.breaks = 0
	f.version = app.ResourceVersion
	switch ev.Type {
	case watch.Added, watch.Modified:
		f.appear(ctx, app)
	case watch.Deleted:
		delete(f.known, app.Name)
		f.send(ctx, change{name: app.Name})
	default: // a bookmark has only a version
	}
	return nil
}

func (f *follower) appear(ctx context.Context, app *v1alpha1.Application) {
	f.known[app.Name] = true
	f.send(ctx, change{name: app.Name, app: app})
}

func (f *follower) send(ctx context.Context, c change) {
	if c.name != "" && len(f.names) > 0 && !slices.Contains(f.names, c.name) {
		return
	}
	select {
	case <-ctx.Done():
	case f.out <- c:
	}
}

func nameSet(names []string) map[string]bool {
	out := make(map[string]bool, len(names))
	for _, n := range names {
		out[n] = true
	}
	return out
}
