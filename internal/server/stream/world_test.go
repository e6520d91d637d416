package stream_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/server/catalog"
	"github.com/towline-cd/towline/internal/server/stream"
)

// world is a server of streams with what it is fed by.
type world struct {
	catalog *catalog.Catalog
	hub     *stream.Hub
	server  *httptest.Server

	mu   sync.Mutex
	apps map[string]*v1alpha1.Application
	eye  catalog.Eye
	tree string

	revoked atomic.Bool
}

type tuning struct {
	limits stream.Limits
	idle   time.Duration
}

func newWorld(t *testing.T, tune tuning) *world {
	t.Helper()
	w := &world{apps: map[string]*v1alpha1.Application{}, eye: catalog.Eye{All: true}, tree: `{"nodes":[]}`}
	w.hub = stream.NewHub("epoch", tune.limits)
	w.catalog = catalog.New(catalog.Options{Changed: w.hub.Changed})
	s := stream.New(stream.Options{
		Hub: w.hub, Catalog: w.catalog, Applications: w, Namespace: "argocd",
		Who: func(r *http.Request) stream.Caller {
			return stream.Caller{
				Name: r.Header.Get("Caller"),
				Eye: func() catalog.Eye {
					w.mu.Lock()
					defer w.mu.Unlock()
					return w.eye
				},
				Still: func() bool { return !w.revoked.Load() },
				Topic: func(topic string) bool { return topic != "secrets" },
			}
		},
		Encode: func(app *v1alpha1.Application) ([]byte, error) { return json.Marshal(app) },
		Tree: func(context.Context, catalog.Key) ([]byte, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return []byte(w.tree), nil
		},
		Recheck: 50 * time.Millisecond, Idle: tune.idle, Pace: time.Millisecond,
	})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /applications", s.WatchApplications)
	mux.HandleFunc("GET /applications/{name}/resource-tree", s.WatchTree)
	mux.HandleFunc("GET /events", s.Events)
	w.server = httptest.NewServer(mux)
	t.Cleanup(func() {
		w.hub.Close()
		w.server.Close()
	})
	return w
}

func (w *world) Application(_ context.Context, name string) (*v1alpha1.Application, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if app := w.apps[name]; app != nil {
		return app, nil
	}
	return nil, errors.New("not found")
}

func (w *world) put(t *testing.T, name, project, version string) {
	t.Helper()
	a := &v1alpha1.Application{}
	a.Name, a.Namespace, a.ResourceVersion = name, "argocd", version
	a.Spec.Project = project
	a.Labels = map[string]string{"version": version}
	w.mu.Lock()
	w.apps[name] = a
	w.mu.Unlock()
	if err := w.catalog.Upsert(a); err != nil {
		t.Error(err)
	}
}

func (w *world) remove(name string) {
	w.mu.Lock()
	delete(w.apps, name)
	w.mu.Unlock()
	w.catalog.Remove(catalog.Key{Namespace: "argocd", Name: name})
}

func (w *world) look(e catalog.Eye) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.eye = e
}

// listener reads a stream.
type listener struct {
	t      *testing.T
	body   io.ReadCloser
	reader *bufio.Reader
	status int
	header http.Header
}

// listen connects; headers come in pairs.
func (w *world) listen(t *testing.T, path string, headers ...string) *listener {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return &listener{t: t, body: answer.Body, reader: bufio.NewReader(answer.Body), status: answer.StatusCode, header: answer.Header}
}

// line is the next line that says something, "" at the end.
func (l *listener) line() string {
	l.t.Helper()
	for {
		text, err := l.reader.ReadString('\n')
		if errors.Is(err, context.DeadlineExceeded) {
			l.t.Fatal("nothing came")
		}
		if err != nil {
			return ""
		}
		if text = strings.TrimSpace(text); text != "" && text != ":" {
			return text
		}
	}
}

// message is what an Argo CD client makes of a line: the type, the name, the
// project and the version.
func (l *listener) message() string {
	l.t.Helper()
	text := strings.TrimPrefix(l.line(), "data: ")
	if text == "" {
		return "end"
	}
	var m struct {
		Result struct {
			Type        string
			Application v1alpha1.Application
		}
		Error *struct{ Message string }
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		l.t.Fatalf("reading %q: %v", text, err)
	}
	if m.Error != nil {
		return "error"
	}
	a := m.Result.Application
	return strings.Join([]string{m.Result.Type, a.Name, a.Spec.Project, a.Labels["version"]}, " ")
}

// event is the next server-sent event: its name, id and a short form of what it
// says.
func (l *listener) event() string {
	l.t.Helper()
	name, id := "", ""
	for {
		text := l.line()
		switch {
		case text == "":
			return "end"
		case strings.HasPrefix(text, "event: "):
			name = strings.TrimPrefix(text, "event: ")
		case strings.HasPrefix(text, "id: "):
			id = strings.TrimPrefix(text, "id: ")
		case strings.HasPrefix(text, "data: "):
			var m struct {
				Type, Topic, Reason string
				Name                string
				Application         v1alpha1.Application
				Tree                json.RawMessage
			}
			if err := json.Unmarshal([]byte(strings.TrimPrefix(text, "data: ")), &m); err != nil {
				l.t.Fatal(err)
			}
			parts := []string{name, id, m.Type, m.Application.Name, m.Application.Labels["version"], m.Topic, m.Name, string(m.Tree)}
			return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
		}
	}
}

func expect(t *testing.T, got string, want string) {
	t.Helper()
	if got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
}
