package e2e_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// set creates or changes an ApplicationSet whose applications are called by
// name, take path, and live in the test's destination.
func (f *fixture) set(name, generators, appName, path string, more ...string) {
	f.Helper()
	manifest := f.setText(name, generators, appName, path, more...)
	if out, err := f.kubectlTry(manifest, "apply", "-f", "-"); err != nil {
		f.Fatalf("creating ApplicationSet %s: %v\n%s", name, err, out)
	}
}

func (f *fixture) setText(name, generators, appName, path string, more ...string) string {
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata:
  name: %s
  namespace: %s
spec:
  goTemplate: true
  goTemplateOptions: ["missingkey=error"]
  generators:
%s
  template:
    metadata: {name: %q}
    spec:
      project: default
      destination: {server: "https://kubernetes.default.svc", namespace: %s}
      source: {repoURL: %q, path: %q, targetRevision: main}
      syncPolicy: %s
%s`, name, f.control, indent(generators, "  "), appName, f.dest, f.git.URL("home"), path, automated, strings.Join(more, "\n"))
}

func indent(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+by)
}

// gitFolders is a generator over the folders of the home repository.
func (f *fixture) gitFolders(patterns ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- git:\n    repoURL: %q\n    revision: main\n    directories:\n", f.git.URL("home"))
	for _, p := range patterns {
		fmt.Fprintf(&b, "    - path: %q\n", p)
	}
	return b.String()
}

// generated are the names of the applications that there are.
func (f *fixture) generated() []string {
	f.Helper()
	list, err := f.hub.Applications(f.Context(), metav1.ListOptions{})
	f.must(err)
	out := []string{}
	for _, app := range list.Items {
		out = append(out, app.Name)
	}
	slices.Sort(out)
	return out
}

func (f *fixture) awaitGenerated(want ...string) {
	f.Helper()
	want = slices.Sorted(slices.Values(want))
	var last []string
	eventually(f.T, "the applications are "+strings.Join(want, " "), func() bool {
		last = f.generated()
		return slices.Equal(last, want)
	})
}

// condition is what a set says of itself.
func (f *fixture) condition(set string, kind v1alpha1.ApplicationSetConditionType) v1alpha1.ApplicationSetCondition {
	f.Helper()
	s, err := f.hub.ApplicationSet(f.Context(), set)
	f.must(err)
	for _, c := range s.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return v1alpha1.ApplicationSetCondition{}
}

func (f *fixture) awaitCondition(set string, kind v1alpha1.ApplicationSetConditionType, status v1alpha1.ApplicationSetConditionStatus, says string) {
	f.Helper()
	var last v1alpha1.ApplicationSetCondition
	defer func() {
		if f.Failed() {
			f.Logf("the last %s of %s was %s: %s", kind, set, last.Status, last.Message)
		}
	}()
	eventually(f.T, fmt.Sprintf("%s of %s is %s and says %q", kind, set, status, says), func() bool {
		last = f.condition(set, kind)
		return last.Status == status && strings.Contains(last.Message, says)
	})
}

// deletes are the requests of towline that deleted something of a kind.
func (f *fixture) deletes(resource string) int {
	f.Helper()
	n := 0
	for _, r := range f.requests() {
		if r.Verb == "delete" && r.Resource == resource {
			n++
		}
	}
	return n
}

// quick makes looks come soon.
func (f *fixture) quick() {
	f.settings(map[string]string{v1alpha1.KeyTimeoutReconciliation: "1s", v1alpha1.KeyTimeoutReconciliationJitter: "0", v1alpha1.KeyPruneSettle: "3s"})
}

func configMapFile(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {colour: blue}\n", name)
}

// calm waits until towline has asked for nothing for a second.
func (f *fixture) calm() {
	f.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		before := len(f.requests())
		time.Sleep(time.Second)
		if len(f.requests()) == before {
			return
		}
	}
	f.Fatal("towline does not come to rest")
}

// TestSets: folders become applications, and go when their folders go, within
// the budget; a commit elsewhere costs nothing.
func TestSets(t *testing.T) {
	f := setup(t)
	f.quick()
	files := map[string]string{"README.md": "home\n"}
	folders := []string{"monitoring/loki", "monitoring/tempo", "my-apps/media/jellyfin", "my-apps/home/blog", "infrastructure/gateway"}
	for _, dir := range folders {
		name := dir[strings.LastIndex(dir, "/")+1:]
		files[dir+"/one.yaml"] = configMapFile(name)
	}
	f.must(f.git.Create("home", files))
	f.start()
	f.set("infrastructure", "- list:\n    elements:\n    - {path: infrastructure/gateway}\n", "{{ base .path }}", "{{ .path }}")
	f.set("monitoring", f.gitFolders("monitoring/*"), "{{ .path.basename }}", "{{ .path.path }}")
	f.set("my-apps", f.gitFolders("my-apps/*/*"), "my-{{ .path.basename }}", "{{ .path.path }}")
	f.awaitGenerated("gateway", "loki", "tempo", "my-jellyfin", "my-blog")
	for _, name := range f.generated() {
		f.await(name, "synced", settled)
	}
	f.awaitCondition("monitoring", v1alpha1.ApplicationSetConditionResourcesUpToDate, v1alpha1.ApplicationSetConditionStatusTrue, "")

	f.calm()

	// A commit that no set read anything of.
	before := len(f.requests())
	hello := "hello\n"
	_, err := f.git.Commit("home", "main", "say hello", map[string]*string{"README.md": &hello})
	f.must(err)
	time.Sleep(3 * time.Second)
	for _, r := range f.requests()[before:] {
		if r.Verb == "patch" || r.Verb == "update" || r.Verb == "create" {
			t.Errorf("a commit elsewhere cost %s of %s %s", r.Verb, r.Resource, r.Name)
		}
	}

	// A folder comes, another goes.
	came := configMapFile("prometheus")
	_, err = f.git.Commit("home", "main", "prometheus comes, tempo goes",
		map[string]*string{"monitoring/prometheus/one.yaml": &came, "monitoring/tempo/one.yaml": nil})
	f.must(err)
	f.awaitGenerated("gateway", "loki", "prometheus", "my-jellyfin", "my-blog")
	f.awaitObject(configMaps, "tempo", absent)
	f.await("prometheus", "synced", settled)

	// An element goes off a list: it is all of them, so it takes two looks.
	f.set("infrastructure", "- list: {elements: []}\n", "{{ base .path }}", "{{ .path }}")
	f.awaitCondition("infrastructure", v1alpha1.ApplicationSetConditionResourcesUpToDate, v1alpha1.ApplicationSetConditionStatusUnknown, "gateway")
	if !slices.Contains(f.generated(), "gateway") {
		t.Error("the only application of a set went at once")
	}
	f.awaitGenerated("loki", "prometheus", "my-jellyfin", "my-blog")

	// A person's edit of what a set made does not last.
	f.kubectl("-n", f.control, "patch", "application", "loki", "--type=merge", "-p", `{"spec":{"source":{"path":"elsewhere"}}}`)
	f.await("loki", "as generated", func(app *v1alpha1.Application) bool { return app.Spec.Source.Path == "monitoring/loki" })

	// The set goes, and all that it made.
	f.kubectl("-n", f.control, "delete", "applicationset", "my-apps", "--wait=false")
	f.awaitGenerated("loki", "prometheus")
	f.awaitObject(configMaps, "blog", absent)
}

// TestSetsKeepWhatTheyDoNotKnow: nothing that goes wrong with a repository makes
// an application go.
func TestSetsKeepWhatTheyDoNotKnow(t *testing.T) {
	f := setup(t)
	f.quick()
	files := map[string]string{}
	var names []string
	for i := range 6 {
		name := fmt.Sprintf("app-%d", i)
		names = append(names, name)
		files["apps/"+name+"/one.yaml"] = configMapFile(name)
	}
	f.must(f.git.Create("home", files))
	first, err := f.git.Revision("home", "main")
	f.must(err)
	one := configMapFile("app-6")
	second, err := f.git.Commit("home", "main", "one more", map[string]*string{"apps/app-6/one.yaml": &one})
	f.must(err)
	names = append(names, "app-6")
	f.start()
	f.set("apps", f.gitFolders("apps/*"), "{{ .path.basename }}", "{{ .path.path }}")
	f.awaitGenerated(names...)

	good := func() {
		f.awaitCondition("apps", v1alpha1.ApplicationSetConditionErrorOccurred, v1alpha1.ApplicationSetConditionStatusFalse, "")
	}
	faults := map[string]struct {
		begin, end func()
		says       string
	}{
		"the server answers 500": {func() { f.git.SetDown(true) }, func() { f.git.SetDown(false) }, "home"},
		"the server answers 401": {func() { f.git.RequireLogin("a", "b") }, func() { f.git.RequireLogin("", "") }, "home"},
		"the branch is gone": {
			func() {
				f.must(f.git.SetRef("home", "refs/heads/other", second))
				f.must(f.git.SetRef("home", "refs/heads/main", ""))
			},
			func() { f.must(f.git.SetRef("home", "refs/heads/main", second)) }, "main",
		},
		"no refs at all": {
			func() {
				f.must(f.git.SetRef("home", "refs/heads/other", ""))
				f.must(f.git.SetRef("home", "refs/heads/main", ""))
			},
			func() { f.must(f.git.SetRef("home", "refs/heads/main", second)) }, "main",
		},
	}
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		fault := faults[name]
		good()
		fault.begin()
		f.kubectl("-n", f.control, "annotate", "applicationset", "apps", v1alpha1.AnnotationApplicationSetRefresh+"=true", "--overwrite")
		f.awaitCondition("apps", v1alpha1.ApplicationSetConditionErrorOccurred, v1alpha1.ApplicationSetConditionStatusTrue, fault.says)
		// Whoever tries again does not find good what was known before.
		time.Sleep(time.Second)
		if c := f.condition("apps", v1alpha1.ApplicationSetConditionErrorOccurred); c.Status != v1alpha1.ApplicationSetConditionStatusTrue {
			t.Errorf("while %s its ErrorOccurred is %s again: %s", name, c.Status, c.Message)
		}
		if got := f.generated(); !cmp.Equal(got, names) {
			t.Errorf("while %s there are %v", name, got)
		}
		fault.end()
		f.kubectl("-n", f.control, "annotate", "applicationset", "apps", v1alpha1.AnnotationApplicationSetRefresh+"=true", "--overwrite")
	}
	good()
	if out, errOut, code := f.towline("appset", "approve", "apps", "--yes"); code != 20 || !strings.Contains(errOut, "holds nothing back") {
		t.Errorf("approving what nobody asked for ended with %d:\n%s%s", code, out, errOut)
	}

	// A branch that was set back is not a commit that removes.
	f.must(f.git.SetRef("home", "refs/heads/main", first))
	f.awaitCondition("apps", v1alpha1.ApplicationSetConditionResourcesUpToDate, v1alpha1.ApplicationSetConditionStatusUnknown, "rewound")
	time.Sleep(4 * time.Second)
	if got := f.generated(); !cmp.Equal(got, names) {
		t.Errorf("after a rewind there are %v", got)
	}
	// A person says that it is meant.
	if out, errOut, code := f.towline("appset", "approve", "apps", "--yes"); code != 0 || !strings.Contains(errOut, "rewound") {
		t.Fatalf("approving ended with %d:\n%s%s", code, out, errOut)
	}
	f.awaitGenerated(names[:6]...)
	if n := f.deletes("applications"); n != 1 {
		t.Errorf("%d applications were deleted, not one", n)
	}
}

// TestSetRenames: an application that is called otherwise takes the objects of
// the old one over; none of them goes.
func TestSetRenames(t *testing.T) {
	f := setup(t)
	f.quick()
	f.must(f.git.Create("home", map[string]string{"apps/blog/web.yaml": workload("blog", "")}))
	f.start()
	f.set("apps", f.gitFolders("apps/*"), "{{ .path.basename }}", "{{ .path.path }}")
	f.await("blog", "synced", settled)
	uid := f.object(deployments, "blog").GetUID()
	f.set("apps", f.gitFolders("apps/*"), "new-{{ .path.basename }}", "{{ .path.path }}")
	f.awaitGenerated("new-blog")
	f.await("new-blog", "synced", settled)
	if got := f.object(deployments, "blog"); got == nil || got.GetUID() != uid {
		t.Error("the Deployment is another one")
	}
	if n := f.deletes("deployments"); n != 0 {
		t.Errorf("%d Deployments were deleted", n)
	}
}

// TestBootOfSets: the whole home of an app-of-apps: the last three waves are
// ApplicationSets, and each waits for all that the one before it made.
func TestBootOfSets(t *testing.T) {
	b := newBoot(t, nil)
	files := b.home()
	kinds := map[int][2]string{4: {"infrastructure", "infrastructure"}, 5: {"monitoring", "monitoring"}, 6: {"my-apps", "my-apps/media"}}
	for wave, kind := range kinds {
		for _, name := range bootWaves[wave] {
			delete(files, "root/"+name+".yaml")
			dir := kind[1] + "/" + name
			for file, text := range files {
				if rest, ok := strings.CutPrefix(file, "parts/"+name+"/"); ok {
					files[dir+"/"+rest] = text
					delete(files, file)
				}
			}
		}
		generator := b.gitFolders(kind[0] + "/*")
		path := "{{ .path.path }}"
		name := "{{ .path.basename }}"
		switch wave {
		case 4:
			generator = "- list:\n    elements:\n"
			for _, name := range bootWaves[wave] {
				generator += fmt.Sprintf("    - {path: %q}\n", kind[1]+"/"+name)
			}
			name, path = "{{ base .path }}", "{{ .path }}"
		case 6:
			generator = b.gitFolders("my-apps/*/*")
		}
		text := b.setText(kind[0], generator, name, path)
		files["root/"+kind[0]+".yaml"] = strings.Replace(text, "metadata:\n",
			fmt.Sprintf("metadata:\n  annotations: {argocd.argoproj.io/sync-wave: %q}\n", fmt.Sprint(wave)), 1)
	}
	b.must(b.git.Create("home", files))
	revision, err := b.git.Revision("home", "main")
	b.must(err)
	b.start()
	began := time.Now()
	b.application("root", "home", "root", automated)
	b.booted(revision)
	t.Logf("booted in %s", time.Since(began).Round(10*time.Millisecond))
	b.inOrder(t)
}
