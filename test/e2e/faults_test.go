package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/test/workshop"
)

// Killing at every step: a process that dies before and after each of its
// writes loses nothing, and does nothing twice that must happen once.

var (
	every = flag.Int("faults.every", 0, "die at every n-th point of a sync; 0 takes a sample")
	from  = flag.Int("faults.from", 0, "the first point to die at")
)

const (
	// faultPoints is more than a sync of this application has.
	faultPoints = 400
	sampleEvery = 23
)

// mortal is the program with failpoints, built when it is first needed.
var mortal = sync.OnceValues(func() (string, error) { return workshop.Mortal(context.Background(), filepath.Dir(plain)) })

// faultApp is 40 objects in three waves, with hooks at each point.
func faultApp() map[string]string {
	files := map[string]string{}
	for i := range 36 {
		files[fmt.Sprintf("shop/%02d.yaml", i)] = fmt.Sprintf(
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: part-%02d, annotations: {argocd.argoproj.io/sync-wave: %q}}\n", i, fmt.Sprint(i%3))
	}
	for name, hook := range map[string]string{"before": "PreSync", "during": "Sync", "after": "PostSync"} {
		files["shop/"+name+".yaml"] = fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata:
  name: %s
  annotations: {argocd.argoproj.io/hook: %s}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: "example.com/job:1"}
`, name, hook)
	}
	files["shop/web.yaml"] = web
	return files
}

func TestKillAtEveryStep(t *testing.T) {
	step := *every
	if step == 0 {
		step = sampleEvery
	}
	died := 0
	for at := *from; at < faultPoints; at += step {
		alive := false
		t.Run(fmt.Sprintf("at%d", at), func(t *testing.T) { alive = killedAt(t, at) })
		if t.Failed() {
			return
		}
		if alive {
			t.Logf("a sync has less than %d points; died at %d of them", at, died)
			return
		}
		died++
	}
}

// killedAt runs a sync in a process that dies at a point, and has another one
// finish it. It reports whether the first came to its end alive.
func killedAt(t *testing.T, at int) (alive bool) {
	f := alone(t)
	f.must(f.git.Create("shop", faultApp()))
	revision, err := f.git.Revision("shop", "main")
	f.must(err)
	// Installations share the cluster: an application of the same name would
	// take the other's objects for its own.
	name := fmt.Sprintf("mortal-%d", at)
	f.application(name, "shop", "shop", automated)
	alive = f.mortally(at, name, revision)
	f.start()
	f.await(name, "synced", synced(revision))

	made := map[string]int{}
	for _, e := range f.requests() {
		if e.Namespace == f.dest && e.Verb == "patch" && e.Code == 201 {
			made[e.Resource+"/"+e.Name]++
		}
	}
	for what, n := range made {
		if n > 1 {
			t.Errorf("%s was made %d times", what, n)
		}
	}
	for _, hook := range []string{"before", "during", "after"} {
		u := f.object(jobs, hook)
		switch {
		case u == nil:
			t.Errorf("the hook %s is not there", hook)
		case strings.Contains(strings.Join(u.GetFinalizers(), " "), v1alpha1.FinalizerHook):
			t.Errorf("the hook %s is still held", hook)
		}
	}
	for resource, want := range map[schema.GroupVersionResource]int{configMaps: 36, deployments: 1, jobs: 3} {
		list, err := f.dynamic.Resource(resource).Namespace(f.dest).List(t.Context(), metav1.ListOptions{})
		f.must(err)
		got := 0
		for _, u := range list.Items {
			if u.GetAnnotations()[v1alpha1.AnnotationTrackingID] != "" {
				got++
			}
		}
		if got != want {
			t.Errorf("there are %d %s of the application, want %d", got, resource.Resource, want)
		}
	}
	return alive
}

// mortally runs the program until it dies or the sync is over.
func (f *fixture) mortally(at int, name, revision string) (alive bool) {
	f.Helper()
	path, err := mortal()
	f.must(err)
	cmd := exec.CommandContext(context.Background(), path, "run", "--listen", "",
		"--kubeconfig", f.kubeconfig, "--namespace", f.control, "--data", f.data, "--log-level", "debug")
	cmd.Env = append(os.Environ(), fmt.Sprintf("TOWLINE_DIE_AT=%d", at))
	cmd.Stderr = f.log
	cmd.SysProcAttr = workshop.Bound()
	f.must(cmd.Start())
	died := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(died)
	}()
	over := make(chan struct{})
	ctx, cancel := context.WithTimeout(f.Context(), patience)
	defer cancel()
	go func() {
		defer close(over)
		for ctx.Err() == nil {
			app, err := f.hub.Application(ctx, name)
			if err == nil && synced(revision)(app) {
				return
			}
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}()
	select {
	case <-died:
		return false
	case <-over:
	}
	_ = cmd.Process.Kill()
	<-died
	return true
}
