package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/test/workshop"
)

// receiver is whom notifications go to. It counts what it took, by the text.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	took  map[string]int
	came  chan string
	holds chan struct{}
	// refuses says that nothing is taken, and refused counts that.
	refuses bool
	refused map[string]int
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{took: map[string]int{}, refused: map[string]int{}, came: make(chan string, 100)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		text := string(body)
		r.mu.Lock()
		holds, refuses := r.holds, r.refuses
		if refuses {
			r.refused[text]++
		} else {
			r.took[text]++
		}
		r.mu.Unlock()
		if refuses {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		r.came <- text
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

// refuse says whether the next messages are taken at all.
func (r *receiver) refuse(refuses bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuses = refuses
}

func (r *receiver) count(text string) (took, refused int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.took[text], r.refused[text]
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

// due is that nothing was told of a revision, and that it is on the application to be told.
func due(revision string) func(*v1alpha1.Application) bool {
	return func(app *v1alpha1.Application) bool {
		var claims map[string]struct{ Phase string }
		_ = json.Unmarshal([]byte(app.Annotations[v1alpha1.AnnotationNotifying]), &claims)
		for key, claim := range claims {
			if strings.HasPrefix(key, revision+":") {
				return claim.Phase == "due"
			}
		}
		return false
	}
}

// telling is an application that goes out of sync with each revision, of which somebody is told.
type telling struct {
	*fixture
	r *receiver
	// all are the revisions.
	all []string
}

// tell makes one, and does not start towline.
func tell(t *testing.T) *telling {
	t.Helper()
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
	revision, err := f.git.Revision("shop", "main")
	f.must(err)
	f.application("shop", "shop", "shop", "{}")
	return &telling{fixture: f, r: r, all: []string{revision}}
}

// commit makes a revision, and has it seen.
func (n *telling) commit() string {
	n.Helper()
	text := strings.Replace(settingsV1, "metadata:", fmt.Sprintf("# %d\nmetadata:", len(n.all)), 1)
	next, err := n.git.Commit("shop", "main", "next", map[string]*string{"shop/settings.yaml": &text})
	n.must(err)
	n.all = append(n.all, next)
	n.refresh("shop")
	return next
}

// refusedCommit makes a revision that the receiver does not want to hear of, and waits until it has said so three times and
// the application says that it is due: the next try is four seconds away then.
func (n *telling) refusedCommit() string {
	n.Helper()
	n.r.refuse(true)
	next := n.commit()
	eventually(n.T, "the refusals", func() bool {
		_, refused := n.r.count("shop " + next)
		return refused >= 3
	})
	n.await("shop", "due again", due(next))
	return next
}

// once checks that each revision was told once.
func (n *telling) once() {
	n.Helper()
	for _, revision := range n.all {
		if took, _ := n.r.count("shop " + revision); took != 1 {
			n.Errorf("revision %s was told %d times", revision, took)
		}
	}
}

// missing counts the messages that are said to be missing perhaps.
func missing(log *lockedBuffer) int { return strings.Count(log.String(), "may be missing") }

// TestNotificationsComeOnce has an application go out of sync again and again, and ends the process that tells of it at the
// worst times: with the message under way, and between the refusals of a service that is down, by a kill and by a polite word.
// Each revision is told once.
func TestNotificationsComeOnce(t *testing.T) {
	f := tell(t)
	f.start()
	f.await("shop", "told", told(f.all[0]))

	f.r.hold(true)
	next := f.commit()
	f.awaitNotice(f.r, "shop "+next) // the receiver has it, and has not said so
	f.kill()
	f.r.hold(false)
	f.start()
	app := f.await("shop", "told", told(next))
	out := f.kubectl("-n", f.control, "get", "events", "--field-selector", "involvedObject.name="+app.Name, "-o", "jsonpath={.items[*].message}")
	if !strings.Contains(out, "may be missing") {
		t.Errorf("nobody is told that it is not known whether the message came: %s", out)
	}

	unsure := missing(f.log)
	for _, end := range []func(){f.kill, f.stop} {
		next = f.refusedCommit()
		end()
		f.r.refuse(false)
		f.start()
		f.await("shop", "told", told(next))
	}
	f.r.hold(true)
	next = f.commit()
	f.awaitNotice(f.r, "shop "+next)
	time.AfterFunc(time.Second, func() { f.r.hold(false) }) // a slow one, that answers while the process ends
	f.stop()
	f.start()
	f.await("shop", "told", told(next))
	if n := missing(f.log); n != unsure {
		t.Errorf("%d messages more are said to be missing perhaps", n-unsure)
	}
	f.once()
}

// TestNotificationsComeOnceWhoeverLeads changes the replica that leads: by a kill and by a polite word, with a message under way
// and between refusals.
func TestNotificationsComeOnceWhoeverLeads(t *testing.T) {
	f := tell(t)
	leads := f.replica("one", "msg=ready", f.acting("run", shortLease...)...)
	f.await("shop", "told", told(f.all[0]))
	replicas := 1
	change := func(s os.Signal, meanwhile func()) {
		f.Helper()
		replicas++
		heir := f.replica(fmt.Sprintf("number-%d", replicas), `msg="standing by"`, f.acting("run", shortLease...)...)
		ready := heir.awaits("msg=ready")
		meanwhile()
		leads.signal(s)
		<-leads.done
		ready()
		leads = heir
	}

	var next string
	change(syscall.SIGKILL, func() {
		f.r.hold(true)
		next = f.commit()
		f.awaitNotice(f.r, "shop "+next)
	})
	f.r.hold(false)
	f.await("shop", "told by the other", told(next))
	if missing(leads.log) == 0 {
		t.Error("nobody is told that it is not known whether the message came")
	}
	change(syscall.SIGTERM, func() {
		f.r.hold(true)
		next = f.commit()
		f.awaitNotice(f.r, "shop "+next)
		time.AfterFunc(time.Second, func() { f.r.hold(false) })
	})
	f.await("shop", "told by the one that went", told(next))
	for _, s := range []os.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		change(s, func() { next = f.refusedCommit() })
		f.r.refuse(false)
		f.await("shop", "told by the one that came", told(next))
		if missing(leads.log) != 0 {
			t.Errorf("after %s a message is said to be missing perhaps", s)
		}
	}
	f.once()
}

// TestNotificationsOffline tries the triggers and templates that we ship on files, without a cluster, and sends one message.
func TestNotificationsOffline(t *testing.T) {
	t.Parallel()
	f, r, dir := &fixture{T: t}, newReceiver(t), t.TempDir()
	catalog, err := os.ReadFile(filepath.Join(workshop.Root(), "config", "notifications", "catalog.yaml"))
	f.must(err)
	config, app := filepath.Join(dir, "cm.yaml"), filepath.Join(dir, "app.yaml")
	f.must(os.WriteFile(config, fmt.Appendf(catalog, "\n  service.webhook.hook: '{url: %q}'\n", r.URL), 0o600))
	f.must(os.WriteFile(app, []byte("metadata: {name: shop, namespace: argocd}\nstatus: {operationState: {phase: Failed, message: no room}}\n"), 0o600))
	for _, test := range []struct{ args, want string }{
		{"trigger run on-sync-failed " + app, "true"},
		{"trigger run on-sync-running " + app, "false"},
		{"template notify app-sync-failed " + app, "failed: no room"},
		{"template notify app-sync-failed " + app + " --recipient hook", "sent to hook"},
	} {
		args := append([]string{"admin", "notifications"}, strings.Fields(test.args+" --config-map "+config)...)
		out, errs, code := f.command(args...)
		if code != 0 || !strings.Contains(out, test.want) {
			t.Errorf("%s ends with %d:\n%s%s", test.args, code, out, errs)
		}
	}
	select {
	case text := <-r.came:
		if !strings.Contains(text, "failed: no room") {
			t.Errorf("what came is %q", text)
		}
	default:
		t.Error("nothing came")
	}
}
