package e2e_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// spread is an ApplicationSet over the clusters of an environment, in the older
// language: a web application for each, from an overlay of its environment.
func (f *fleet) spread() {
	f.Helper()
	manifest := fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: multi-cluster-apps, namespace: %s}
spec:
  generators:
  - clusters:
      selector: {matchLabels: {environment: production}}
  template:
    metadata: {name: '{{name}}-web-app'}
    spec:
      project: default
      destination: {server: '{{server}}', namespace: %s}
      source: {repoURL: %q, path: 'k8s/overlays/{{metadata.labels.environment}}', targetRevision: main}
      syncPolicy: {automated: {prune: true, selfHeal: true}}
`, f.control, deployNamespace, f.git.URL("web-app"))
	if out, err := f.kubectlTry(manifest, "apply", "-f", "-"); err != nil {
		f.Fatalf("creating the ApplicationSet: %v\n%s", err, out)
	}
}

// sets: an ApplicationSet makes an application for each cluster that a label
// selects. One more cluster is one more application; a secret that is deleted
// and comes back takes nothing away.
func (f *fleet) sets(t *testing.T) {
	f.must(f.git.Create("web-app", map[string]string{"k8s/overlays/production/web.yaml": configMapFile("web-app")}))
	label := func(g *goal, to string) {
		f.kubectl("-n", f.control, "label", "secret", "cluster-"+g.name, "environment="+to, "--overwrite")
	}
	label(f.targets[0], "production")
	label(f.targets[1], "production")
	label(f.targets[2], "staging")
	f.spread()
	web := func(g *goal) string { return g.name + "-web-app" }
	for _, g := range f.targets[:2] {
		f.await(web(g), "synced", isSynced)
		if _, err := g.CoreV1().ConfigMaps(deployNamespace).Get(t.Context(), "web-app", metav1.GetOptions{}); err != nil {
			t.Errorf("%s has no web-app: %v", g.name, err)
		}
	}
	if _, err := f.hub.Application(t.Context(), web(f.targets[2])); err == nil {
		t.Error("a cluster of another environment has one too")
	}
	label(f.targets[2], "production")
	f.await(web(f.targets[2]), "synced", isSynced)

	// The secret goes and comes back.
	secret := f.kubectl("-n", f.control, "get", "secret", "cluster-"+f.targets[1].name, "-o", "yaml")
	before := f.generated()
	f.kubectl("-n", f.control, "delete", "secret", "cluster-"+f.targets[1].name)
	f.awaitCondition("multi-cluster-apps", v1alpha1.ApplicationSetConditionResourcesUpToDate,
		v1alpha1.ApplicationSetConditionStatusUnknown, web(f.targets[1]))
	time.Sleep(2 * time.Second)
	if d := cmp.Diff(before, f.generated()); d != "" {
		t.Errorf("without the secret there are other applications (-before +now):\n%s", d)
	}
	if out, err := f.kubectlTry(withoutVersion(secret), "create", "-f", "-"); err != nil {
		t.Fatal(out)
	}
	f.awaitCondition("multi-cluster-apps", v1alpha1.ApplicationSetConditionResourcesUpToDate, v1alpha1.ApplicationSetConditionStatusTrue, "")
	f.await(web(f.targets[1]), "synced", isSynced)
	if n := f.deletes("applications"); n != 0 {
		t.Errorf("%d applications were deleted", n)
	}
}

// TestRollingSync: the applications of a set are synced step by step, each step
// when the one before it is healthy.
func TestRollingSync(t *testing.T) {
	b := newBoot(t, nil)
	files := map[string]string{}
	for _, name := range []string{"blog", "kyverno", "prometheus"} {
		files["apps/"+name+"/web.yaml"] = workload(name, "")
	}
	b.must(b.git.Create("home", files))
	b.start()
	text := b.setText("apps", `- list:
    elements:
    - {name: kyverno, stage: first}
    - {name: prometheus, stage: second}
    - {name: blog, stage: third}
`, "{{ .name }}", "apps/{{ .name }}", `  strategy:
    type: RollingSync
    rollingSync:
      steps:
      - matchExpressions: [{key: stage, operator: In, values: [first]}]
      - matchExpressions: [{key: stage, operator: In, values: [second]}]
      - matchExpressions: [{key: stage, operator: In, values: [third]}]
`)
	text = labelled(text, "{stage: '{{ .stage }}'}")
	if out, err := b.kubectlTry(text, "apply", "-f", "-"); err != nil {
		t.Fatal(out)
	}
	for _, name := range []string{"kyverno", "prometheus", "blog"} {
		b.await(name, "synced", settled)
	}
	b.awaitCondition("apps", v1alpha1.ApplicationSetConditionRolloutProgressing, v1alpha1.ApplicationSetConditionStatusFalse, "")
	b.seen.mu.Lock()
	defer b.seen.mu.Unlock()
	for _, pair := range [][2]string{{"kyverno", "prometheus"}, {"prometheus", "blog"}} {
		well, came := b.seen.healthy["deployments/"+pair[0]], b.seen.created["deployments/"+pair[1]]
		if well == 0 || came < well {
			t.Errorf("%s came at %d, before %s was healthy at %d", pair[1], came, pair[0], well)
		}
	}
}

// ends is when applications were asked to go, and when they were gone, by the
// revisions of etcd that every version is numbered by.
type ends struct {
	mu          sync.Mutex
	asked, gone map[string]int64
}

// watchEnds follows the applications of the control namespace.
func (f *fixture) watchEnds() *ends {
	f.Helper()
	e := &ends{asked: map[string]int64{}, gone: map[string]int64{}}
	w, err := f.hub.WatchApplications(f.Context(), metav1.ListOptions{})
	f.must(err)
	go func() {
		defer w.Stop()
		for ev := range w.ResultChan() {
			app, ok := ev.Object.(*v1alpha1.Application)
			if !ok {
				return
			}
			e.saw(ev.Type, app)
		}
	}()
	return e
}

func (e *ends) saw(what watch.EventType, app *v1alpha1.Application) {
	at, err := strconv.ParseInt(app.ResourceVersion, 10, 64)
	if err != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.asked[app.Name] == 0 && app.DeletionTimestamp != nil {
		e.asked[app.Name] = at
	}
	if what == watch.Deleted {
		e.gone[app.Name] = at
	}
}

// TestReverseDeletion: with deletionOrder Reverse a set that is deleted takes
// its applications along step by step, the last step first, each when the one
// after it is gone with all that it deployed.
func TestReverseDeletion(t *testing.T) {
	f := setup(t)
	stages := map[string][]string{"first": {"database"}, "second": {"api", "queue"}, "third": {"web"}}
	files := map[string]string{}
	elements := "- list:\n    elements:\n"
	for _, stage := range []string{"first", "second", "third"} {
		for _, name := range stages[stage] {
			files["apps/"+name+"/web.yaml"] = workload(name, "")
			elements += fmt.Sprintf("    - {name: %s, stage: %s}\n", name, stage)
		}
	}
	f.must(f.git.Create("home", files))
	f.start()
	text := f.setText("apps", elements, "{{ .name }}", "apps/{{ .name }}", `  strategy:
    type: RollingSync
    deletionOrder: Reverse
    rollingSync:
      steps:
      - matchExpressions: [{key: stage, operator: In, values: [first]}]
      - matchExpressions: [{key: stage, operator: In, values: [second]}]
      - matchExpressions: [{key: stage, operator: In, values: [third]}]
`)
	if out, err := f.kubectlTry(labelled(text, "{stage: '{{ .stage }}'}"), "apply", "-f", "-"); err != nil {
		t.Fatal(out)
	}
	for _, name := range []string{"database", "api", "queue", "web"} {
		f.await(name, "synced", settled)
	}
	seen := f.watchEnds()
	f.kubectl("-n", f.control, "delete", "applicationset", "apps", "--timeout=80s")
	f.awaitGenerated()
	eventually(t, "the watch has seen all ends", func() bool {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		return len(seen.gone) == 4
	})
	for _, step := range [][2]string{{"third", "second"}, {"second", "first"}} {
		for _, before := range stages[step[0]] {
			for _, after := range stages[step[1]] {
				if gone, asked := seen.gone[before], seen.asked[after]; gone == 0 || asked < gone {
					t.Errorf("%s was to go at %d, before %s was gone at %d", after, asked, before, gone)
				}
			}
		}
	}
	t.Logf("asked at %v, gone at %v", seen.asked, seen.gone)
	// The server's own collector had no hand in it: towline asked for each.
	by := map[string]bool{}
	for _, r := range f.requests() {
		if r.Verb == "delete" && r.Resource == "applications" {
			by[r.Name] = true
		}
	}
	if len(by) != 4 {
		t.Errorf("towline asked only for the end of %v", by)
	}
}

// labelled gives the template of a set labels.
func labelled(set, labels string) string {
	return strings.Replace(set, "metadata: {name: \"{{ .name }}\"}", "metadata: {name: \"{{ .name }}\", labels: "+labels+"}", 1)
}

// withoutVersion lets an object that was read be created again.
func withoutVersion(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "  resourceVersion:") && !strings.HasPrefix(line, "  uid:") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}
