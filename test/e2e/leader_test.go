package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/test/workshop"
)

// Several replicas, and one that acts: real processes, each with a user of its
// own, so that the audit log tells who wrote what.

var leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// replica is one process of several.
type replica struct {
	f    *fixture
	user string
	cmd  *exec.Cmd
	log  *lockedBuffer
	// done is closed when the process has ended.
	done chan struct{}
}

// replica starts one more, and waits until it says a word.
func (f *fixture) replica(name, word string, args ...string) *replica {
	f.Helper()
	user := f.user + "-" + name
	kubeconfig, err := f.plane.KubeconfigFor(user, "system:masters")
	f.must(err)
	r := f.replicaAs(kubeconfig, name, word, args...)
	r.user = user
	return r
}

// replicaAs does so as whom a kubeconfig is for.
func (f *fixture) replicaAs(kubeconfig, name, word string, args ...string) *replica {
	f.Helper()
	r := &replica{f: f, user: name, log: &lockedBuffer{}, done: make(chan struct{})}
	said := make(chan struct{})
	r.log.notify(word, said)
	common := []string{"--kubeconfig", kubeconfig, "--namespace", f.control, "--log-level", "debug", "--metrics-address", "127.0.0.1:0"}
	r.cmd = exec.CommandContext(context.Background(), program(f.T), slices.Concat(args[:1], common, args[1:])...)
	// Each is a host of its own, as pods are.
	r.cmd.Env = append(os.Environ(), "POD_NAME="+name)
	r.cmd.Stderr = r.log
	r.cmd.SysProcAttr = workshop.Bound()
	f.must(r.cmd.Start())
	go func() {
		_ = r.cmd.Wait()
		close(r.done)
	}()
	f.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		<-r.done
		if f.Failed() {
			f.Logf("the log of replica %s:\n%s", name, r.log.String())
		}
	})
	select {
	case <-said:
	case <-time.After(patience):
		f.Fatalf("replica %s did not say %q", name, word)
	}
	return r
}

// acting are the arguments of a replica that may act.
func (f *fixture) acting(command string, lease ...string) []string {
	args := append([]string{command, "--data", f.TempDir(), "--peer-listen", "127.0.0.1:0"}, lease...)
	if command == "run" {
		args = append(args, "--listen", "127.0.0.1:0", "--insecure")
	}
	return args
}

func (r *replica) signal(s os.Signal) {
	r.f.Helper()
	r.f.must(r.cmd.Process.Signal(s))
}

// awaits arms the log for a word that is to come.
func (r *replica) awaits(word string) (wait func()) {
	said := make(chan struct{})
	r.log.notify(word, said)
	return func() {
		r.f.Helper()
		select {
		case <-said:
		case <-time.After(patience):
			r.f.Fatalf("%s did not say %q", r.user, word)
		}
	}
}

// The places that a replica answers at.
var (
	ofMetrics = regexp.MustCompile(`msg="serving metrics" address=(\S+)`)
	ofPeople  = regexp.MustCompile(`msg="serving the API" address=(\S+)`)
)

// ask sends a request to a place of the replica; with a body it is a POST.
func (r *replica) ask(place *regexp.Regexp, path, token, body string) (code int, answer string, err error) {
	at := place.FindStringSubmatch(r.log.String())
	if at == nil {
		return 0, "", fmt.Errorf("%s does not serve", r.user)
	}
	ctx, cancel := context.WithTimeout(r.f.Context(), 10*time.Second)
	defer cancel()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+at[1]+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// read asks for something that is to be answered.
func (r *replica) read(path string) (string, error) { return well(r.ask(ofMetrics, path, "", "")) }

func well(code int, answer string, err error) (string, error) {
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%d: %s", code, answer)
	}
	return answer, err
}

// signIn gets a token of the administrator, which counts for all replicas.
func (r *replica) signIn() string {
	r.f.Helper()
	limit := time.Now().Add(patience)
	for {
		password, err := r.f.kubectlTry("", "-n", r.f.control, "get", "secret", v1alpha1.SecretInitialAdmin, "-o",
			`go-template={{.data.password | base64decode}}`)
		var session struct{ Token string }
		if err == nil {
			var answer string
			body := fmt.Sprintf(`{"username":"admin","password":%q}`, password)
			if answer, err = well(r.ask(ofPeople, "/api/v1/session", "", body)); err == nil {
				r.f.must(json.Unmarshal([]byte(answer), &session))
				return session.Token
			}
		}
		if time.Now().After(limit) {
			r.f.Fatalf("nobody can sign in: %v", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// reads are what every replica answers, whoever leads.
var reads = []func(r *replica, token string) error{
	func(r *replica, _ string) error {
		_, err := r.read("/readyz")
		return err
	},
	func(r *replica, _ string) error {
		_, err := r.read("/metrics")
		return err
	},
	func(r *replica, token string) error {
		_, err := well(r.ask(ofPeople, "/api/v1/applications?fields=items.metadata.name", token, ""))
		return err
	},
	func(r *replica, token string) error {
		_, err := well(r.ask(ofPeople, "/api/v1/projects/default", token, ""))
		return err
	},
}

// reading makes all reads again and again until the returned function is
// called, which says how many there were and fails the test for each that was
// not answered.
func (r *replica) reading(token string) (stop func() int) {
	ctx, cancel := context.WithCancel(r.f.Context())
	type result struct {
		made   int
		failed []error
	}
	out := make(chan result, 1)
	go func() {
		var sum result
		for ctx.Err() == nil {
			for _, read := range reads {
				sum.made++
				if err := read(r, token); err != nil {
					sum.failed = append(sum.failed, err)
				}
			}
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
			}
		}
		out <- sum
	}()
	return func() int {
		r.f.Helper()
		cancel()
		sum := <-out
		for _, err := range sum.failed {
			r.f.Errorf("a read was not answered: %v", err)
		}
		return sum.made
	}
}

// awaitHolder watches the lease until a replica holds it, and says when that
// was seen.
func (f *fixture) awaitHolder(name string) time.Time {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), patience)
	defer cancel()
	client := f.dynamic.Resource(leases).Namespace(f.control)
	for ctx.Err() == nil {
		w, err := client.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + v1alpha1.LeaseController})
		f.must(err)
		for ev := range w.ResultChan() {
			u, ok := ev.Object.(*unstructured.Unstructured)
			if !ok {
				break
			}
			holder, _, _ := unstructured.NestedString(u.Object, "spec", "holderIdentity")
			if strings.HasPrefix(holder, name+"_") {
				w.Stop()
				return time.Now()
			}
		}
		w.Stop()
	}
	f.Fatalf("replica %s did not come to hold the lease", name)
	return time.Time{}
}

// many applications, each with a hook and some objects in two waves.
const (
	throng = 50
	each   = 4
)

func throngName(i int) string { return fmt.Sprintf("throng-%02d", i) }

func (f *fixture) throngFiles() map[string]string {
	files := map[string]string{}
	for i := range throng {
		app := throngName(i)
		for j := range each {
			files[fmt.Sprintf("%s/%d.yaml", app, j)] = fmt.Sprintf(
				"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-%d, annotations: {argocd.argoproj.io/sync-wave: \"%d\"}}\ndata: {n: \"%d\"}\n",
				app, j, j/2, j)
		}
		files[app+"/hook.yaml"] = fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: %s-hook, annotations: {argocd.argoproj.io/hook: PreSync}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: "example.com/job:1"}
`, app)
	}
	return files
}

// throng makes the applications, and waits until a part of their objects stands.
func (f *fixture) startThrong() (revision string) {
	f.Helper()
	f.must(f.git.Create("throng", f.throngFiles()))
	revision, err := f.git.Revision("throng", "main")
	f.must(err)
	ctx, cancel := context.WithTimeout(f.Context(), patience)
	defer cancel()
	w, err := f.dynamic.Resource(configMaps).Namespace(f.dest).Watch(ctx, metav1.ListOptions{ResourceVersion: "0"})
	f.must(err)
	defer w.Stop()
	var all strings.Builder
	for i := range throng {
		fmt.Fprintf(&all, `---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: %s}
spec:
  project: default
  destination: {server: "https://kubernetes.default.svc", namespace: %s}
  source: {repoURL: %q, path: %s, targetRevision: main}
  syncPolicy: {automated: {prune: true, selfHeal: true}}
`, throngName(i), f.control, f.dest, f.git.URL("throng"), throngName(i))
	}
	if out, err := f.kubectlTry(all.String(), "apply", "-f", "-"); err != nil {
		f.Fatalf("creating the applications: %v\n%s", err, out)
	}
	seen := map[string]bool{}
	for ev := range w.ResultChan() {
		if u, ok := ev.Object.(metav1.Object); ok && strings.HasPrefix(u.GetName(), "throng-") {
			seen[u.GetName()] = true
		}
		if len(seen) >= throng*each/4 {
			return revision
		}
	}
	f.Fatalf("only %d objects came", len(seen))
	return ""
}

// checkThrong waits until all are synced, and checks that nothing was done twice.
func (f *fixture) checkThrong(revision string) {
	f.Helper()
	for i := range throng {
		f.await(throngName(i), "synced", synced(revision))
	}
	standing := map[string]bool{}
	for _, gvr := range []schema.GroupVersionResource{configMaps, jobs} {
		list, err := f.dynamic.Resource(gvr).Namespace(f.dest).List(f.Context(), metav1.ListOptions{})
		f.must(err)
		for _, u := range list.Items {
			standing[gvr.Resource+"/"+u.GetName()] = true
		}
	}
	made, deleted, applied, by := map[string]int{}, map[string]int{}, map[string]int{}, map[string]map[string]bool{}
	for _, e := range f.trailed() {
		if e.Namespace != f.dest || !e.Writes() || e.Code >= 300 || !strings.HasPrefix(e.Name, "throng-") {
			continue
		}
		what := e.Resource + "/" + e.Name
		if e.Code == http.StatusCreated {
			made[what]++
		}
		if e.Verb == "delete" {
			deleted[what]++
		}
		// A hook is also let go of, once it is over.
		if e.Resource == "configmaps" {
			applied[what]++
			if by[what] == nil {
				by[what] = map[string]bool{}
			}
			by[what][e.User] = true
		}
	}
	writers := map[string]int{}
	for i := range throng {
		names := []string{"jobs/" + throngName(i) + "-hook"}
		for j := range each {
			names = append(names, fmt.Sprintf("configmaps/%s-%d", throngName(i), j))
		}
		for _, what := range names {
			// The server may have carried out what it had no one to answer to.
			if n := made[what]; n > 1 || n == 0 && !standing[what] {
				f.Errorf("%s was made %d times, and stands: %v", what, n, standing[what])
			}
			if deleted[what] > 0 {
				f.Errorf("%s was deleted to be made again", what)
			}
			if n := applied[what]; n > 1 {
				f.Errorf("%s was applied %d times, by %v", what, n, by[what])
			}
			for user := range by[what] {
				writers[strings.TrimPrefix(user, f.user+"-")]++
			}
		}
	}
	f.Logf("objects applied by each replica: %v", writers)
	if len(writers) < 2 {
		f.Error("one replica did it all: nothing was under way when the other took over")
	}
}

// trailed are the finished requests of all replicas.
func (f *fixture) trailed() []controlplane.Event {
	f.Helper()
	all, err := f.trail.Events()
	f.must(err)
	return all
}

var shortLease = []string{"--lease-duration", "6s", "--lease-renew-deadline", "4500ms", "--lease-retry-period", "500ms"}

const shortDuration = 6 * time.Second

// TestLeaderIsKilledDuringSyncs cuts the power of the acting replica while 50
// applications are synced. The other one takes over when the lease has run
// out, and does nothing again that was done; meanwhile it answers.
func TestLeaderIsKilledDuringSyncs(t *testing.T) {
	f := alone(t)
	one := f.replica("one", "msg=ready", f.acting("run", shortLease...)...)
	two := f.replica("two", `msg="standing by"`, f.acting("run", shortLease...)...)
	f.must(f.git.Create("shop", map[string]string{"shop/settings.yaml": settingsV1}))
	shop, err := f.git.Revision("shop", "main")
	f.must(err)
	f.application("shown", "shop", "shop", automated)
	f.await("shown", "synced", synced(shop))
	token := one.signIn()
	tree := func() (int, string) {
		code, answer, err := two.ask(ofPeople, "/api/v1/applications/shown/resource-tree", token, "")
		f.must(err)
		return code, answer
	}
	if code, answer := tree(); code != http.StatusOK || !strings.Contains(answer, `"settings"`) {
		t.Errorf("what only the leader knows is not passed on: %d %s", code, answer)
	}
	stop := two.reading(token)
	revision := f.startThrong()
	one.signal(syscall.SIGKILL)
	killed := time.Now()
	if code, answer := tree(); code != http.StatusServiceUnavailable || !strings.Contains(answer, "does not answer") {
		t.Errorf("what only the leader knows, while it is dead: %d %s", code, answer)
	}
	took := f.awaitHolder("two").Sub(killed)
	t.Logf("took over %s after the kill; the lease is %s", took.Round(time.Millisecond), shortDuration)
	if limit := shortDuration + 2*time.Second; took > limit {
		t.Errorf("that is more than %s", limit)
	}
	f.checkThrong(revision)
	t.Logf("%d reads were made of the other replica", stop())
	if state, err := two.read("/readyz"); err != nil || state != "leading\n" {
		t.Errorf("it says %q, %v", state, err)
	}
	if code, answer := tree(); code != http.StatusOK || !strings.Contains(answer, `"settings"`) {
		t.Errorf("what only the leader knows, from itself: %d %s", code, answer)
	}
}

// TestStoppedLeaderWritesNothing stops the acting replica in the middle of 50
// syncs, as a frozen machine would, and lets it go on once another acts.
// Whatever it was about to write it does not. It stands by then, and acts again
// when it is its turn.
func TestStoppedLeaderWritesNothing(t *testing.T) {
	f := alone(t)
	one := f.replica("one", "msg=ready", f.acting("run", shortLease...)...)
	two := f.replica("two", `msg="standing by"`, f.acting("run", shortLease...)...)
	revision := f.startThrong()
	one.signal(syscall.SIGSTOP)
	f.awaitHolder("two")
	stands := one.awaits(`msg="standing by"`)
	one.signal(syscall.SIGCONT)
	stands()
	f.checkThrong(revision)
	if state, err := one.read("/readyz"); err != nil || !strings.HasPrefix(state, "standing by; two_") {
		t.Errorf("the one that slept says %q, %v", state, err)
	}

	var since time.Time
	for _, e := range f.trailed() {
		if e.User == two.user && e.Resource == "leases" && e.Writes() && e.Code < 300 {
			since = e.Time
			break
		}
	}
	before, after := 0, 0
	for _, e := range f.trailed() {
		if e.User != one.user || !e.Writes() {
			continue
		}
		switch {
		case e.Time.Before(since):
			before++
		case e.Resource == "leases":
			// That is how it learns, and the server says no.
			if e.Code < 300 {
				t.Errorf("it took the lease back: %+v", e)
			}
		default:
			after++
			t.Errorf("it wrote after another had taken over: %s %s/%s %s: %d", e.Verb, e.Namespace, e.Name, e.Resource, e.Code)
		}
	}
	t.Logf("the stopped replica made %d writes before the other took over, %d after", before, after)

	ready := one.awaits("msg=ready")
	two.signal(os.Interrupt)
	ready()
	changed := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: throng-00-0}\ndata: {n: again}\n"
	next, err := f.git.Commit("throng", "main", "again", map[string]*string{throngName(0) + "/0.yaml": &changed})
	f.must(err)
	f.refresh(throngName(0))
	f.await(throngName(0), "synced by the first again", synced(next))
}

// TestLeaderThatEndsLetsGo hands over long before the lease runs out, between
// the two forms that a controller has; a server beside them never acts.
func TestLeaderThatEndsLetsGo(t *testing.T) {
	f := alone(t)
	long := []string{"--lease-duration", "600s", "--lease-renew-deadline", "590s"}
	f.must(f.git.Create("shop", map[string]string{"shop/settings.yaml": settingsV1}))
	revision, err := f.git.Revision("shop", "main")
	f.must(err)
	one := f.replica("one", "msg=ready", f.acting("run", long...)...)
	two := f.replica("two", `msg="standing by"`, f.acting("controller", long...)...)
	server := f.replica("server", "msg=ready", "server", "--listen", "")
	if state, err := server.read("/readyz"); err != nil || state != "serving\n" {
		t.Errorf("the server says %q, %v", state, err)
	}
	f.application("handed", "shop", "shop", automated)
	f.await("handed", "synced", synced(revision))
	for r, want := range map[*replica]bool{one: true, two: false, server: false} {
		metrics, err := r.read("/metrics")
		f.must(err)
		if got := strings.Contains(metrics, `argocd_app_info{`); got != want {
			t.Errorf("%s tells of applications: %v", r.user, got)
		}
		if got := strings.Contains(metrics, "\ntowline_leading 1\n"); got != want {
			t.Errorf("%s leads: %v", r.user, got)
		}
	}
	ready := two.awaits("msg=ready")
	one.signal(os.Interrupt)
	began := time.Now()
	ready()
	t.Logf("handed over in %s", time.Since(began).Round(time.Millisecond))
	select {
	case <-one.done:
	case <-time.After(patience):
		t.Error("the first did not end")
	}
	next, err := f.git.Commit("shop", "main", "green", map[string]*string{"shop/settings.yaml": new(settingsV2)})
	f.must(err)
	f.refresh("handed")
	f.await("handed", "synced by the other", synced(next))
	for _, e := range f.trailed() {
		if e.User == server.user && e.Writes() {
			t.Errorf("the server wrote: %s %s/%s", e.Verb, e.Resource, e.Name)
		}
	}
}
