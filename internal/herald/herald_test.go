package herald_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/notice"
	"github.com/towline-cd/towline/internal/herald"
)

const (
	conflict = "Conflict"
	notFound = "NotFound"
	long     = 30 * time.Second
)

// memory is a hub with one application.
type memory struct {
	mu      sync.Mutex
	app     *v1alpha1.Application
	version int
	writes  int
	// allowed is how many writes are let through; then whoever writes does not lead any more.
	allowed int
	// hiccups is how many writes the server does not answer from now on.
	hiccups int
	wrote   chan struct{}
}

func hubOf(t *testing.T, text string) *memory {
	t.Helper()
	m := &memory{app: &v1alpha1.Application{}, allowed: 1 << 20, wrote: make(chan struct{}, 100)}
	if err := yaml.Unmarshal([]byte(text), m.app); err != nil {
		t.Fatal(err)
	}
	m.app.ResourceVersion = "1"
	return m
}

func (m *memory) Application(context.Context, string) (*v1alpha1.Application, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.app == nil {
		return nil, fault.Terminalf(notFound, "it is gone")
	}
	return m.app.DeepCopy(), nil
}

func (m *memory) Fresh(ctx context.Context, name string) (*v1alpha1.Application, error) {
	return m.Application(ctx, name)
}

func (m *memory) Project(context.Context, string) (*v1alpha1.AppProject, error) {
	return nil, fault.Terminalf(notFound, "there is none")
}

func (m *memory) PatchApplication(_ context.Context, _ string, patch []byte) (*v1alpha1.Application, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.writes++; m.writes > m.allowed {
		return nil, fault.Waitingf("NotLeading", "another leads")
	}
	if m.hiccups > 0 {
		m.hiccups--
		return nil, fault.Transientf("Unreachable", "the server does not answer")
	}
	if m.app == nil {
		return nil, fault.Terminalf(notFound, "it is gone")
	}
	var p struct {
		Metadata struct {
			UID             string
			ResourceVersion string
			Annotations     map[string]*string
		}
	}
	if err := json.Unmarshal(patch, &p); err != nil {
		return nil, err
	}
	if p.Metadata.ResourceVersion != m.app.ResourceVersion || p.Metadata.UID != string(m.app.UID) {
		return nil, fault.Transientf(conflict, "it is at %s", m.app.ResourceVersion)
	}
	m.app = m.app.DeepCopy()
	for key, value := range p.Metadata.Annotations {
		if value == nil {
			delete(m.app.Annotations, key)
		} else {
			m.app.Annotations[key] = *value
		}
	}
	m.bump()
	return m.app.DeepCopy(), nil
}

func (m *memory) bump() {
	m.version++
	m.app.ResourceVersion = strconv.Itoa(m.version + 1)
	select {
	case m.wrote <- struct{}{}:
	default:
	}
}

func (m *memory) record() notice.Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return notice.RecordOf(m.app.Annotations)
}

// await waits until the record is as expected.
func (m *memory) await(t *testing.T, what string, holds func(notice.Record) bool) {
	t.Helper()
	limit := time.After(long)
	for !holds(m.record()) {
		select {
		case <-m.wrote:
		case <-time.After(50 * time.Millisecond):
		case <-limit:
			t.Fatalf("the record did not come to be %s: %+v", what, m.record())
		}
	}
}

// set changes how the hub behaves.
func (m *memory) set(change func(*memory)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
}

// inbox is a service that remembers what it was sent.
type inbox struct {
	*httptest.Server
	mu   sync.Mutex
	got  []string
	came chan struct{}
	// answer decides on a request; nil is yes.
	answer func(n int) int
}

func openInbox(t *testing.T) *inbox {
	t.Helper()
	return openInboxAt(t, "127.0.0.1:0")
}

func (b *inbox) take(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.mu.Lock()
	b.got = append(b.got, string(body))
	n, answer := len(b.got), b.answer
	b.mu.Unlock()
	b.came <- struct{}{}
	if answer != nil {
		w.WriteHeader(answer(n))
	}
}

func (b *inbox) all() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.got)
}

func (b *inbox) await(t *testing.T) {
	t.Helper()
	select {
	case <-b.came:
	case <-time.After(long):
		t.Fatal("no message came")
	}
}

const shop = `
metadata:
  name: shop
  namespace: argocd
  uid: u1
  annotations:
    notifications.argoproj.io/subscribe.on-degraded.hook: ""
status: {health: {status: Degraded}}
`

func hookConfig(urls ...string) map[string]string {
	data := map[string]string{
		"trigger.on-degraded": "- {when: app.status.health.status == 'Degraded', send: [t]}",
		"trigger.on-deleted":  "- {when: app.metadata.deletionTimestamp != nil, oncePer: app.metadata.uid, send: [t]}",
		"template.t":          "message: '{{.app.metadata.name}} is {{.app.status.health.status}}'",
	}
	for i, url := range urls {
		name := "hook"
		if i > 0 {
			name = fmt.Sprintf("hook%d", i+1)
		}
		data["service.webhook."+name] = "url: " + url
	}
	return data
}

// play starts a herald for a hub.
func play(t *testing.T, m *memory, by string, data map[string]string) (h *herald.Herald, told func() []string, stop func()) {
	t.Helper()
	var mu sync.Mutex
	var lines []string
	config := herald.Parse(notice.Source{Namespace: "argocd", Data: data})
	for _, p := range config.Problems {
		t.Errorf("the configuration: %s", p)
	}
	h = herald.New(herald.Options{
		Namespace: "argocd", By: by, Hub: m, Conflict: conflict, NotFound: notFound,
		Configs: func(string) []*notice.Config { return []*notice.Config{config} },
		Tell: func(_ *v1alpha1.Application, message string) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, message)
		},
		Now: time.Now,
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.Run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(stop)
	h.Wake("shop")
	return h, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(lines)
	}, stop
}

// in is that the one message on its way is in a phase.
func in(phase notice.Phase) func(notice.Record) bool {
	return func(r notice.Record) bool {
		for _, c := range r.Claims {
			return c.Phase == phase
		}
		return false
	}
}

func toldOnce(r notice.Record) bool { return len(r.Told) == 1 && len(r.Claims) == 0 }

// TestEachOnceWhoeverLeads takes the lead from a process after each of its writes, and gives it to another: one message comes,
// and the record says so.
func TestEachOnceWhoeverLeads(t *testing.T) {
	services := map[string]func(url string) map[string]string{
		"one that cannot tell": func(url string) map[string]string { return hookConfig(url) },
		"one that can": func(url string) map[string]string {
			data := hookConfig()
			data["service.pagerdutyv2.hook"] = "{serviceKeys: {'': k}, apiURL: '" + url + "'}"
			return data
		},
	}
	for name, configure := range services {
		for writes := range 4 {
			t.Run(fmt.Sprintf("%s after %d writes", name, writes), func(t *testing.T) {
				box, m := openInbox(t), hubOf(t, shop)
				data := configure(box.URL)
				m.allowed = writes
				_, _, stop := play(t, m, "first", data)
				time.Sleep(200 * time.Millisecond) // the first does what it can; what it leaves is the same if it does less
				stop()
				m.set(func(m *memory) { m.allowed = 1 << 20 })
				_, told, stop := play(t, m, "second", data)
				m.await(t, "one message that was told", toldOnce)
				stop()
				ids := map[string]bool{}
				for _, body := range box.all() {
					var event struct {
						Key string `json:"dedup_key"`
					}
					if json.Unmarshal([]byte(body), &event) != nil {
						event.Key = strconv.Itoa(len(ids))
					}
					ids[event.Key] = true
				}
				if len(ids) != 1 {
					t.Errorf("%d messages came: %q", len(ids), box.all())
				}
				unsure := writes == 2 && strings.Contains(name, "cannot")
				if got := strings.Contains(strings.Join(told(), "\n"), "may be missing"); got != unsure {
					t.Errorf("it is told that a message may be missing: %v", told())
				}
			})
		}
	}
}

// TestNothingIsToldTwice looks at an application again and again.
func TestNothingIsToldTwice(t *testing.T) {
	box, m := openInbox(t), hubOf(t, shop)
	h, _, stop := play(t, m, "one", hookConfig(box.URL))
	m.await(t, "one message that was told", toldOnce)
	for range 5 {
		h.Wake("shop")
	}
	stop()
	if got := box.all(); !slices.Equal(got, []string{"shop is Degraded"}) {
		t.Errorf("what came is %q", got)
	}
	if m.writes != 3 {
		t.Errorf("that took %d writes, not due, sending and told", m.writes)
	}
}

// TestDeadServiceDelaysNobody has one service hang; the messages of the other come.
func TestDeadServiceDelaysNobody(t *testing.T) {
	hang := make(chan struct{})
	dead := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	t.Cleanup(dead.Close)
	defer close(hang)
	box := openInbox(t)
	m := hubOf(t, strings.Replace(shop, `hook: ""`, `hook: a;b;c;d;e;f;g;h
    notifications.argoproj.io/subscribe.on-degraded.hook2: ""`, 1))
	play(t, m, "one", hookConfig(dead.URL, box.URL))
	box.await(t)
	m.await(t, "told by the one that lives", func(r notice.Record) bool { return len(r.Told) == 1 })
}

// TestTriedAgain has a service refuse for a while, and then for good.
func TestTriedAgain(t *testing.T) {
	box, m := openInbox(t), hubOf(t, shop)
	box.answer = func(n int) int {
		if n == 1 {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	}
	_, told, stop := play(t, m, "one", hookConfig(box.URL))
	box.await(t)
	m.await(t, "due again", in(notice.Due))
	m.await(t, "one message that was told", toldOnce)
	stop()
	if len(told()) > 0 || len(box.all()) != 2 {
		t.Errorf("%q came, and it is said %q", box.all(), told())
	}
}

// TestGivenUp tells of a message that a service does not want, and sends it when the configuration is mended.
func TestGivenUp(t *testing.T) {
	box, m := openInbox(t), hubOf(t, shop)
	box.answer = func(n int) int {
		if n == 1 {
			return http.StatusForbidden
		}
		return http.StatusOK
	}
	_, told, stop := play(t, m, "one", hookConfig(box.URL))
	m.await(t, "given up", in(notice.Failed))
	stop()
	if text := strings.Join(told(), "\n"); !strings.Contains(text, "403") || !strings.Contains(text, "trigger.on-degraded") {
		t.Errorf("it is said %q", text)
	}
	_, _, stop = play(t, m, "two", hookConfig(box.URL))
	time.Sleep(100 * time.Millisecond)
	stop()
	if n := len(box.all()); n != 1 {
		t.Errorf("%d tries were made with the same configuration", n)
	}
	play(t, m, "three", hookConfig(box.URL+"/"))
	m.await(t, "one message that was told", toldOnce)
}

// TestLastWord sends the message about an application that is gone by the time that somebody looks.
func TestLastWord(t *testing.T) {
	box, m := openInbox(t), hubOf(t, strings.ReplaceAll(shop, "on-degraded", "on-deleted"))
	h, _, _ := play(t, m, "one", hookConfig(box.URL))
	m.mu.Lock()
	last := m.app
	m.app = nil
	m.mu.Unlock()
	h.Changed(last, nil)
	box.await(t)
}

// TestUnderWayAtTheEnd lets a message that is under way come to its end when the process does.
func TestUnderWayAtTheEnd(t *testing.T) {
	box, m := openInbox(t), hubOf(t, shop)
	box.answer = func(int) int {
		time.Sleep(300 * time.Millisecond)
		return http.StatusOK
	}
	_, _, stop := play(t, m, "one", hookConfig(box.URL))
	box.await(t)
	stop()
	if r := m.record(); !toldOnce(r) {
		t.Errorf("the record is %+v", r)
	}
}

// TestWhatCannotBeFollowed is told once, with the key.
func TestWhatCannotBeFollowed(t *testing.T) {
	m := hubOf(t, strings.ReplaceAll(shop, "on-degraded.hook", "on-nothing.pigeon"))
	box := openInbox(t)
	h, told, stop := play(t, m, "one", hookConfig(box.URL))
	for range 3 {
		time.Sleep(50 * time.Millisecond)
		h.Wake("shop")
	}
	stop()
	want := `notifications.argoproj.io/subscribe.on-nothing.pigeon: there is no trigger "on-nothing" that can be used; there are on-degraded, on-deleted`
	if got := told(); !slices.Equal(got, []string{want}) {
		t.Errorf("it is said %q", got)
	}
}
