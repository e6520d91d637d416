package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/towline-cd/towline/api/v1alpha1"
)

const about = "application"

var api = []string{"api", "v1"}

func under(parts ...string) []string { return append(append([]string{}, api...), parts...) }

// Apps are the Applications of one namespace; where it is empty, those of the server's own.
type Apps struct {
	*Client
	Namespace string
}

func (a Apps) query(more url.Values) url.Values {
	out := url.Values{}
	if a.Namespace != "" {
		out.Set("appNamespace", a.Namespace)
	}
	maps.Copy(out, more)
	return out
}

// Application is one of them.
func (a Apps) Application(ctx context.Context, name string) (*v1alpha1.Application, error) {
	return get[*v1alpha1.Application](ctx, a.Client, request{
		path: under("applications", name), query: a.query(nil), about: about, name: name,
	})
}

// Applications are those that fit.
func (a Apps) Applications(ctx context.Context, o metav1.ListOptions) (*v1alpha1.ApplicationList, error) {
	query, err := selecting(o)
	if err != nil {
		return nil, err
	}
	return get[*v1alpha1.ApplicationList](ctx, a.Client, request{path: under("applications"), query: a.query(query), about: about})
}

// selecting turns the options of a list into a query. A field selector is for one name: nobody here asks for more.
func selecting(o metav1.ListOptions) (url.Values, error) {
	out := url.Values{}
	if o.LabelSelector != "" {
		out.Set("selector", o.LabelSelector)
	}
	if o.FieldSelector != "" {
		selector, err := fields.ParseSelector(o.FieldSelector)
		if err != nil {
			return nil, fmt.Errorf("reading the selector %q: %w", o.FieldSelector, err)
		}
		name, found := selector.RequiresExactMatch("metadata.name")
		if !found {
			return nil, fmt.Errorf("reading the selector %q: a server selects by metadata.name alone", o.FieldSelector)
		}
		out.Set("name", name)
	}
	return out, nil
}

// WatchApplications tells what those that fit are, and what becomes of them.
func (a Apps) WatchApplications(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	query, err := selecting(o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	//nolint:bodyclose // who reads it closes it
	answer, err := a.send(ctx, request{method: http.MethodGet, path: under("stream", "applications"), query: a.query(query), about: about})
	if err != nil {
		cancel()
		return nil, err
	}
	out := &stream{events: make(chan watch.Event), cancel: cancel}
	go out.read(ctx, answer.Body)
	return out, nil
}

// stream is a watch whose events come line by line.
type stream struct {
	events chan watch.Event
	cancel context.CancelFunc
	once   sync.Once
}

// ResultChan has the events; it is closed when the server or we end it.
func (s *stream) ResultChan() <-chan watch.Event { return s.events }

// Stop ends it.
func (s *stream) Stop() { s.once.Do(s.cancel) }

func (s *stream) read(ctx context.Context, from io.ReadCloser) {
	defer close(s.events)
	defer s.cancel()
	defer from.Close()
	lines := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var said struct {
			Result *struct {
				Type        watch.EventType
				Application *v1alpha1.Application
			}
			Error *struct{ Message string }
		}
		if err := json.Unmarshal(line, &said); err != nil || said.Result == nil || said.Result.Application == nil {
			if said.Error != nil {
				s.pass(ctx, watch.Error, &metav1.Status{Status: metav1.StatusFailure, Message: said.Error.Message})
				return
			}
			continue // an empty line says that it is still there
		}
		if !s.pass(ctx, said.Result.Type, said.Result.Application) {
			return
		}
	}
}

func (s *stream) pass(ctx context.Context, what watch.EventType, about runtime.Object) bool {
	select {
	case s.events <- watch.Event{Type: what, Object: about}:
		return true
	case <-ctx.Done():
		return false
	}
}

// PatchApplication merges a change into one of them.
func (a Apps) PatchApplication(ctx context.Context, name string, patch []byte) (*v1alpha1.Application, error) {
	out := &v1alpha1.Application{}
	return out, a.ask(ctx, request{
		method: http.MethodPatch, path: under("applications", name), about: about, name: name,
		body: map[string]any{"name": name, "patch": string(patch), "patchType": "merge", "appNamespace": a.Namespace},
	}, out)
}

// DeleteApplication deletes one of them, if it still is the one that was seen.
func (a Apps) DeleteApplication(ctx context.Context, name string, uid types.UID) error {
	query := a.query(url.Values{"uid": {string(uid)}})
	return a.ask(ctx, request{method: http.MethodDelete, path: under("applications", name), query: query, about: about, name: name}, nil)
}

// Refreshed has one of them looked at anew, and returns when that was done.
func (a Apps) Refreshed(ctx context.Context, name string, hard bool) error {
	kind := "normal"
	if hard {
		kind = "hard"
	}
	query := a.query(url.Values{"refresh": {kind}, "fields": {"metadata.name"}})
	return a.ask(ctx, request{method: http.MethodGet, path: under("applications", name), query: query, about: about, name: name}, nil)
}

// LogOptions say which lines of which pods are wanted.
type LogOptions struct {
	Group, Kind, Namespace, Name, Container string
	Tail                                    int64
	Since                                   int64 // seconds
	Follow, Previous                        bool
	Filter                                  string
	MatchCase                               bool
	Until                                   string // a time
}

// LogLine is a line of a pod.
type LogLine struct {
	Content   string
	PodName   string
	TimeStamp string
	Last      bool
}

// Logs passes on the lines of the pods of an application until they end.
func (a Apps) Logs(ctx context.Context, name string, o LogOptions, each func(LogLine) error) error {
	query := a.query(url.Values{"follow": {strconv.FormatBool(o.Follow)}, "previous": {strconv.FormatBool(o.Previous)}})
	for key, value := range map[string]string{
		"group": o.Group, "kind": o.Kind, "namespace": o.Namespace, "resourceName": o.Name, "container": o.Container, "filter": o.Filter,
		"untilTime": o.Until,
	} {
		if value != "" {
			query.Set(key, value)
		}
	}
	if o.MatchCase {
		query.Set("matchCase", "true")
	}
	if o.Tail > 0 {
		query.Set("tailLines", strconv.FormatInt(o.Tail, 10))
	}
	if o.Since > 0 {
		query.Set("sinceSeconds", strconv.FormatInt(o.Since, 10))
	}
	answer, err := a.send(ctx, request{
		method: http.MethodGet, path: under("applications", name, "logs"), query: query, about: about,
		name: name,
	})
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	decoder := json.NewDecoder(answer.Body)
	for {
		var said struct {
			Result *LogLine
			Error  *struct{ Message string }
		}
		switch err := decoder.Decode(&said); {
		case err == io.EOF:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return fmt.Errorf("reading the log of application %q: %w", name, err)
		case said.Error != nil:
			return fmt.Errorf("reading the log of application %q: %s", name, strings.TrimSpace(said.Error.Message))
		case said.Result == nil || said.Result.Last:
			continue
		}
		if err := each(*said.Result); err != nil {
			return err
		}
	}
}
