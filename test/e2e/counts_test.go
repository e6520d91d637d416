package e2e_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

// What work costs is counted here, since counts are the same on every machine:
// requests for each object, writes of each Application, renders, looks at the
// repository and fetches.

// tallied is what was counted since the last time.
type tallied struct {
	applies, dryRuns, reads int
	// patches are the writes of Applications, by name.
	patches map[string]int
	// others are requests that are none of these.
	others []controlplane.Event
}

// count goes through the requests from a place on. The log has a request a
// moment after its answer.
func (f *fixture) count(since int) (tallied, int) {
	f.Helper()
	all := f.requests()
	for before := -1; before < len(all); all = f.requests() {
		before = len(all)
		time.Sleep(300 * time.Millisecond)
	}
	out := tallied{patches: map[string]int{}}
	for _, e := range all[since:] {
		switch {
		case e.Resource == v1alpha1.ApplicationResource && e.Verb == "patch":
			out.patches[e.Name]++
		case e.Namespace != f.dest:
			out.others = append(out.others, e)
		case e.DryRun:
			out.dryRuns++
		case e.Writes():
			out.applies++
		default:
			out.reads++
		}
	}
	return out, len(all)
}

// rendered is how many renders were kept. One that is made anew is written to
// the end of a volume; one that is read is not.
func (f *fixture) rendered() (renders int) {
	f.Helper()
	volumes, err := filepath.Glob(filepath.Join(f.data, "renders", "*.pieces"))
	f.must(err)
	for _, name := range volumes {
		data, err := os.ReadFile(name)
		f.must(err)
		// Each has a name of 16 bytes, its size, and what is sealed.
		for ; len(data) >= 20; renders++ {
			data = data[min(len(data), 20+int(binary.BigEndian.Uint32(data[16:]))):]
		}
	}
	return renders
}

const countedApps, countedObjects = 6, 4

func countedName(i int) string { return fmt.Sprintf("counted-%02d", i) }

// countedObject is a file of an application, and what is in it.
func countedObject(i, j int, value string) (path, text string) {
	return fmt.Sprintf("%s/%d.yaml", countedName(i), j),
		fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-%d}\ndata: {v: %q}\n", countedName(i), j, value)
}

// TestCounts: a first sync of many applications from one repository, a refresh
// of all of them without a change, a restart, a push that concerns one, one that
// takes objects away, and a while in which nothing happens.
func TestCounts(t *testing.T) {
	f := setup(t)
	files := map[string]string{}
	for i := range countedApps {
		for j := range countedObjects {
			path, text := countedObject(i, j, "1")
			files[path] = text
		}
	}
	f.must(f.git.Create("fleet", files))
	for i := range countedApps {
		// In the foreground a deletion would wait for the garbage collector.
		f.application(countedName(i), "fleet", countedName(i),
			`{automated: {prune: true, selfHeal: true}, syncOptions: [PrunePropagationPolicy=background]}`)
	}
	// An audit asks about an object now and then; that is for another test.
	f.start("--audit", "0")
	at := f.countFirst()
	at = f.countRestart(at)
	at = f.countPush(at)
	at = f.countStart(at)
	at = f.countRefresh(at)
	at = f.countPrune(at)
	time.Sleep(time.Second)
	idle, _ := f.count(at)
	if idle.applies+idle.dryRuns+idle.reads+len(idle.patches)+len(idle.others) != 0 {
		t.Errorf("idleness costs requests: %+v", idle)
	}
}

// countFirst: one apply for each object, two writes of an Application, one
// render of each, one look and one fetch for all.
func (f *fixture) countFirst() int {
	f.Helper()
	first, err := f.git.Revision("fleet", "main")
	f.must(err)
	for i := range countedApps {
		f.await(countedName(i), "synced", synced(first))
	}
	got, at := f.count(0)
	if got.applies != countedApps*countedObjects || got.dryRuns+got.reads != 0 {
		f.Errorf("the first sync of %d objects made %d applies, %d dry-runs and %d reads",
			countedApps*countedObjects, got.applies, got.dryRuns, got.reads)
	}
	for i := range countedApps {
		if n := got.patches[countedName(i)]; n < 1 || n > 2 {
			f.Errorf("the first sync wrote %s %d times", countedName(i), n)
		}
	}
	if n := f.rendered(); n != countedApps {
		f.Errorf("%d applications were rendered %d times", countedApps, n)
	}
	if asked := f.git.Requests()["fleet"]; asked.Fetch != 1 || asked.ListRefs > 1 {
		f.Errorf("the first sync made %d fetches and %d looks, want one of each", asked.Fetch, asked.ListRefs)
	}
	return at
}

// countRefresh: nothing is asked, and the one write takes the annotation away.
func (f *fixture) countRefresh(at int) int {
	f.Helper()
	f.kubectl("-n", f.control, "annotate", "application", "--all", v1alpha1.AnnotationRefresh+"=normal")
	for i := range countedApps {
		f.await(countedName(i), "refreshed", func(app *v1alpha1.Application) bool { return app.Annotations[v1alpha1.AnnotationRefresh] == "" })
	}
	got, at := f.count(at)
	if got.applies+got.dryRuns+got.reads != 0 {
		f.Errorf("a refresh without a change made %d applies, %d dry-runs and %d reads", got.applies, got.dryRuns, got.reads)
	}
	for i := range countedApps {
		if n := got.patches[countedName(i)]; n != 1 {
			f.Errorf("a refresh without a change wrote %s %d times", countedName(i), n)
		}
	}
	return at
}

// looks are the applications that were looked at since a place in the log.
func (f *fixture) looks(since int) (out []string) {
	for _, m := range lookLine.FindAllStringSubmatch(f.log.String()[since:], -1) {
		out = append(out, m[1])
	}
	return out
}

var lookLine = regexp.MustCompile(`msg=refreshed app=(\S+)`)

// again ends the process and starts it again, and says which applications it
// looked at then.
func (f *fixture) again(meanwhile, settled func()) []string {
	f.Helper()
	f.kill()
	meanwhile()
	since := len(f.log.String())
	f.start(f.flags...)
	settled()
	time.Sleep(time.Second)
	return slices.Compact(slices.Sorted(slices.Values(f.looks(since))))
}

// countStart: who finds everything as it was looks at nothing, also where the
// repository has moved on since without a change of theirs.
func (f *fixture) countStart(at int) int {
	f.Helper()
	if looked := f.again(func() {}, func() {}); len(looked) != 0 {
		f.Errorf("a restart looked at %v, and nothing had changed", looked)
	}
	got, at := f.count(at)
	if got.applies+got.dryRuns+got.reads+len(got.patches) != 0 {
		f.Errorf("a restart made %d applies, %d dry-runs and %d reads, and wrote %v", got.applies, got.dryRuns, got.reads, got.patches)
	}
	return at
}

// countRestart: where something was changed meanwhile that alone is looked at.
func (f *fixture) countRestart(at int) int {
	f.Helper()
	at = f.countStart(at)
	name := countedName(4)
	looked := f.again(func() {
		f.kubectl("-n", f.dest, "patch", "configmap", name+"-0", "--type=merge", "-p", `{"data":{"v":"changed while nobody was there"}}`)
	}, func() {
		f.awaitObject(configMaps, name+"-0", func(u *unstructured.Unstructured) bool {
			v, _, _ := unstructured.NestedString(u.Object, "data", "v")
			return v == "1"
		})
		f.await(name, "idle", func(app *v1alpha1.Application) bool {
			return app.Operation == nil && app.Status.Sync.Status == v1alpha1.SyncStatusCodeSynced
		})
	})
	if !slices.Equal(looked, []string{name}) {
		f.Errorf("a restart looked at %v, and only %s had changed", looked, name)
	}
	got, at := f.count(at)
	if got.applies != 1 || len(got.patches) != 1 {
		f.Errorf("a restart with one changed object made %d applies, and wrote %v", got.applies, got.patches)
	}
	return at
}

// countPush: who read nothing of what changed is not rendered and not written.
func (f *fixture) countPush(at int) int {
	f.Helper()
	f.git.ResetRequests()
	renders := f.rendered()
	path, text := countedObject(3, 1, "2")
	second, err := f.git.Commit("fleet", "main", "one of them", map[string]*string{path: &text})
	f.must(err)
	f.refresh(countedName(3))
	f.await(countedName(3), "synced at the new commit", synced(second))
	if asked := f.git.Requests()["fleet"]; asked.Fetch != 1 || asked.ListRefs != 1 {
		f.Errorf("a push made %d fetches and %d looks, want one of each", asked.Fetch, asked.ListRefs)
	}
	// What comes of it for the others comes a moment later.
	time.Sleep(time.Second)
	if more := f.rendered() - renders; more != 1 {
		f.Errorf("a push that concerns one application made %d renders", more)
	}
	got, at := f.count(at)
	if got.applies != 1 || got.dryRuns > 1 || len(got.patches) != 1 {
		f.Errorf("a push of one object made %d applies and %d dry-runs, and wrote %v", got.applies, got.dryRuns, got.patches)
	}
	return at
}

// countPrune: one deletion for each object, and two writes of its Application:
// the server's answer says that the objects are gone, nobody waits to be told.
func (f *fixture) countPrune(at int) int {
	f.Helper()
	const app, gone = 2, 2
	changes := map[string]*string{}
	for j := range gone {
		path, _ := countedObject(app, j, "1")
		changes[path] = nil
	}
	third, err := f.git.Commit("fleet", "main", "fewer of them", changes)
	f.must(err)
	f.refresh(countedName(app))
	f.await(countedName(app), "synced at the last commit", synced(third))
	got, at := f.count(at)
	if got.applies != gone || got.dryRuns+got.reads != 0 {
		f.Errorf("a prune of %d objects made %d writes, %d dry-runs and %d reads", gone, got.applies, got.dryRuns, got.reads)
	}
	if n := got.patches[countedName(app)]; n != 2 || len(got.patches) != 1 {
		f.Errorf("a prune wrote %v, want %s twice", got.patches, countedName(app))
	}
	return at
}
