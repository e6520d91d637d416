package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// receiver is whom notifications go to. It counts what it took, by the text.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	took  map[string]int
	came  chan string
	holds chan struct{}
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{took: map[string]int{}, came: make(chan string, 100)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		r.mu.Lock()
		holds := r.holds
		r.took[string(body)]++
		r.mu.Unlock()
		r.came <- string(body)
		if holds == nil {
			return
		}
		select {
		case <-holds:
		case <-q.Context().Done():
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// hold says whether the next messages are taken without an answer.
func (r *receiver) hold(held bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holds != nil {
		close(r.holds)
		r.holds = nil
	}
	if held {
		r.holds = make(chan struct{})
	}
}

func (r *receiver) count(text string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.took[text]
}

// await waits for a message.
func (f *fixture) awaitNotice(r *receiver, text string) {
	f.Helper()
	limit := time.After(patience)
	for {
		select {
		case got := <-r.came:
			if got == text {
				return
			}
		case <-limit:
			f.Fatalf("the message %q did not come", text)
		}
	}
}

// told is that the record of an application has a message about a revision, and none on its way.
func told(revision string) func(*v1alpha1.Application) bool {
	return func(app *v1alpha1.Application) bool {
		return strings.Contains(app.Annotations[v1alpha1.AnnotationNotified], `"`+revision+`:on-out-of-sync:`) &&
			app.Annotations[v1alpha1.AnnotationNotifying] == ""
	}
}

// TestNotificationsComeOnce has an application go out of sync again and again, and ends the process that tells of it at the
// worst times: with the message under way, and with another replica standing by. Each revision is
// told once.
func TestNotificationsComeOnce(t *testing.T) {
	f := setup(t)
	r := newReceiver(t)
	f.must(f.git.Create("shop", map[string]string{"shop/settings.yaml": settingsV1}))
	_, err := f.dynamic.Resource(configMaps).Namespace(f.control).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": v1alpha1.ConfigMapNotifications},
		"data": map[string]any{
			"service.webhook.hook":   "url: " + r.URL,
			"trigger.on-out-of-sync": "- {when: app.status.sync.status == 'OutOfSync', oncePer: app.status.sync.revision, send: [told]}",
			"template.told":          "{webhook: {hook: {method: POST, body: '{{.app.metadata.name}} {{.app.status.sync.revision}}'}}}",
			"subscriptions":          "- {recipients: [hook], triggers: [on-out-of-sync]}",
		},
	}}, metav1.CreateOptions{})
	f.must(err)
	f.start()
	revision, err := f.git.Revision("shop", "main")
	f.must(err)
	f.application("shop", "shop", "shop", "{}")
	f.await("shop", "told", told(revision))
	all := []string{revision}
	commit := func() string {
		f.Helper()
		text := strings.Replace(settingsV1, "metadata:", fmt.Sprintf("# %d\nmetadata:", len(all)), 1)
		next, err := f.git.Commit("shop", "main", "next", map[string]*string{"shop/settings.yaml": &text})
		f.must(err)
		all = append(all, next)
		f.refresh("shop")
		f.awaitNotice(r, "shop "+next)
		return next
	}

	r.hold(true)
	next := commit() // the receiver has it, and has not said so
	f.kill()
	r.hold(false)
	f.start()
	app := f.await("shop", "told", told(next))
	out := f.kubectl("-n", f.control, "get", "events", "--field-selector", "involvedObject.name="+app.Name, "-o", "jsonpath={.items[*].message}")
	if !strings.Contains(out, "may be missing") {
		t.Errorf("nobody is told that it is not known whether the message came: %s", out)
	}

	f.stop()

	one := f.replica("one", "msg=ready", f.acting("run", shortLease...)...)
	two := f.replica("two", `msg="standing by"`, f.acting("run", shortLease...)...)
	r.hold(true)
	next = commit()
	leads := two.awaits("msg=ready")
	one.signal(syscall.SIGKILL)
	leads()
	r.hold(false)
	f.await("shop", "told by the other", told(next))
	next = commit()
	f.await("shop", "told by the other", told(next))
	for _, revision := range all {
		if n := r.count("shop " + revision); n != 1 {
			t.Errorf("revision %s was told %d times", revision, n)
		}
	}
}
