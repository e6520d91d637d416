package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-cd/towline/api/v1alpha1"
)

const (
	listNamespace = "argocd"
	// perProject is how many applications a project has: a larger fleet has more
	// projects.
	perProject = 100
	// sentLabel carries when an update was made, and its number.
	sentLabel = "bench.example.com/sent"
)

// listWorld are applications as a fleet has them, in memory.
type listWorld struct {
	mu      sync.RWMutex
	apps    []*v1alpha1.Application
	byName  map[string]int
	version int
}

func newListWorld(n int) *listWorld {
	w := &listWorld{byName: map[string]int{}, version: n}
	for i := range n {
		app := listApp(i)
		w.byName[app.Name] = i
		w.apps = append(w.apps, app)
	}
	return w
}

func (w *listWorld) all() []*v1alpha1.Application { return w.apps }

// Application finds one, as the hub's cache does.
func (w *listWorld) Application(_ context.Context, name string) (*v1alpha1.Application, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	i, found := w.byName[name]
	if !found {
		return nil, fmt.Errorf("there is no application %q", name)
	}
	return w.apps[i], nil
}

// changed is the application that an update is about.
func changed(number, apps int) int { return number * 7 % apps }

// change makes the next state of an application.
func (w *listWorld) change(number int, now time.Time) *v1alpha1.Application {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := changed(number, len(w.apps))
	app := w.apps[i].DeepCopy()
	w.version++
	app.ResourceVersion = fmt.Sprint(w.version)
	app.Labels[sentLabel] = lettered(now.UnixNano()) + "-" + lettered(int64(number))
	app.Status.Health.Status = listHealth(number)
	app.Status.OperationState.FinishedAt = new(metav1.NewTime(now))
	w.apps[i] = app
	return app
}

// lettered is a number in letters, so that no search for digits finds it.
func lettered(n int64) string {
	text := []byte(strconv.FormatInt(n, 10))
	for i := range text {
		text[i] += 'a' - '0'
	}
	return string(text)
}

func unlettered(text string) (int64, error) {
	digits := []byte(text)
	for i := range digits {
		digits[i] -= 'a' - '0'
	}
	return strconv.ParseInt(string(digits), 10, 64)
}

func projectOf(i int) string { return fmt.Sprintf("team-%03d", i/perProject) }

// What people call their services.
var listNames = []string{"checkout", "payments", "catalogue", "search", "login", "mailer", "reports", "gateway", "stock", "billing"}

func nameOf(i int) string {
	return fmt.Sprintf("%s-%s-%05d", listNames[i%len(listNames)], []string{"eu", "us", "asia"}[i%3], i)
}

func listHealth(i int) v1alpha1.HealthStatusCode {
	switch {
	case i%25 == 0:
		return v1alpha1.HealthStatusDegraded
	case i%31 == 0:
		return v1alpha1.HealthStatusProgressing
	case i%97 == 0:
		return v1alpha1.HealthStatusMissing
	}
	return v1alpha1.HealthStatusHealthy
}

func listApp(i int) *v1alpha1.Application {
	name := nameOf(i)
	created := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i*7919%100_000) * time.Minute)
	app := &v1alpha1.Application{}
	app.APIVersion, app.Kind = v1alpha1.Group+"/"+v1alpha1.Version, v1alpha1.ApplicationKind
	app.Name, app.Namespace = name, listNamespace
	app.UID = types.UID(fmt.Sprintf("6f1d2c3b-0000-4000-8000-%012d", i))
	app.ResourceVersion = fmt.Sprint(i + 1)
	app.CreationTimestamp = metav1.NewTime(created)
	app.Labels = map[string]string{
		"team": projectOf(i), "env": []string{"prod", "staging", "test"}[i%3],
		"app.kubernetes.io/name": listNames[i%len(listNames)], v1alpha1.DefaultInstanceLabel: name,
	}
	source := v1alpha1.ApplicationSource{
		RepoURL: fmt.Sprintf("https://git.example.com/%s/deploy-%d.git", projectOf(i), i%5), Path: "apps/" + name, TargetRevision: "main",
	}
	app.Spec = v1alpha1.ApplicationSpec{
		Project: projectOf(i), Source: &source,
		Destination: v1alpha1.ApplicationDestination{Server: fmt.Sprintf("https://10.0.%d.1:6443", i%50), Namespace: name},
	}
	if i%4 > 0 {
		app.Spec.SyncPolicy = &v1alpha1.SyncPolicy{Automated: &v1alpha1.SyncPolicyAutomated{Prune: new(true), SelfHeal: new(true)}}
	}
	revision := fmt.Sprintf("%040x", uint64(i)*0x9e3779b97f4a7c15)
	app.Status.Sync = v1alpha1.SyncStatus{Status: v1alpha1.SyncStatusCodeSynced, Revision: revision}
	app.Status.Sync.ComparedTo = v1alpha1.ComparedTo{Source: source, Destination: app.Spec.Destination}
	if i%20 == 0 {
		app.Status.Sync.Status = v1alpha1.SyncStatusCodeOutOfSync
	}
	app.Status.Health.Status = listHealth(i)
	finished := metav1.NewTime(created.Add(time.Duration(i%1000) * time.Hour))
	app.Status.OperationState = &v1alpha1.OperationState{
		Phase: v1alpha1.OperationSucceeded, StartedAt: finished, FinishedAt: &finished, Message: "successfully synced (all tasks run)",
	}
	for k := range 12 {
		app.Status.Resources = append(app.Status.Resources, v1alpha1.ResourceStatus{
			Group: "apps", Version: "v1", Kind: "Deployment", Namespace: name, Name: fmt.Sprintf("%s-%d", name, k),
			Status: v1alpha1.SyncStatusCodeSynced, Health: &v1alpha1.HealthStatus{Status: v1alpha1.HealthStatusHealthy},
		})
	}
	return app
}

// bareList and bareRow are a page as ready structs: what a handler that knows
// nothing else encodes.
type bareList struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
		Continue        string `json:"continue"`
	} `json:"metadata"`
	Items []bareRow `json:"items"`
}

type bareRow struct {
	Metadata struct {
		Name              string            `json:"name"`
		Namespace         string            `json:"namespace"`
		UID               string            `json:"uid"`
		CreationTimestamp metav1.Time       `json:"creationTimestamp"`
		Labels            map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		Project     string                          `json:"project"`
		Destination v1alpha1.ApplicationDestination `json:"destination"`
		Source      struct {
			RepoURL        string `json:"repoURL"`
			Path           string `json:"path"`
			TargetRevision string `json:"targetRevision"`
		} `json:"source"`
		SyncPolicy struct {
			Automated struct {
				Prune    bool `json:"prune"`
				SelfHeal bool `json:"selfHeal"`
			} `json:"automated"`
		} `json:"syncPolicy"`
	} `json:"spec"`
	Status struct {
		Sync struct {
			Status   string `json:"status"`
			Revision string `json:"revision"`
		} `json:"sync"`
		Health struct {
			Status string `json:"status"`
		} `json:"health"`
		OperationState struct {
			Phase      string      `json:"phase"`
			StartedAt  metav1.Time `json:"startedAt"`
			FinishedAt metav1.Time `json:"finishedAt"`
		} `json:"operationState"`
	} `json:"status"`
}
