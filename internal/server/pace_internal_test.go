package server

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
)

func running(began time.Time, results ...v1alpha1.ResourceResult) *v1alpha1.Application {
	app := &v1alpha1.Application{}
	app.Status.OperationState = &v1alpha1.OperationState{
		StartedAt: metav1.NewTime(began), SyncResult: &v1alpha1.SyncOperationResult{Resources: results},
	}
	return app
}

func finished(app *v1alpha1.Application, at time.Time) *v1alpha1.Application {
	end := metav1.NewTime(at)
	app.Status.OperationState.FinishedAt = &end
	return app
}

func TestPaceOfASyncThatWasSeen(t *testing.T) {
	began := time.Unix(1000, 0)
	now := began
	p := newPaces(func() time.Time { return now })
	job := v1alpha1.ResourceResult{Kind: "Job", Name: "migrate", SyncPhase: "PreSync", HookPhase: v1alpha1.OperationRunning}
	web := v1alpha1.ResourceResult{Kind: "Deployment", Name: "web", SyncPhase: "Sync", HookPhase: v1alpha1.OperationRunning}

	p.see("shop", running(began, job))
	now = began.Add(3 * time.Second)
	done := job
	done.HookPhase = v1alpha1.OperationSucceeded
	p.see("shop", running(began, done, web))
	now = began.Add(8 * time.Second)
	p.see("shop", finished(running(began, done, web), now))
	now = began.Add(time.Minute)
	p.see("shop", finished(running(began, done, web), now))

	of := p.of("shop", began)
	for _, c := range []struct {
		of         v1alpha1.ResourceResult
		from, till int
	}{{job, 0, 3}, {web, 3, 8}} {
		got, seen := of(c.of)
		if want := (span{began.Add(time.Duration(c.from) * time.Second), began.Add(time.Duration(c.till) * time.Second)}); !seen || got != want {
			t.Errorf("%s: %v %v, want %v", c.of.Name, seen, got, want)
		}
	}
	if _, seen := p.of("shop", began.Add(time.Hour))(job); seen {
		t.Error("the times are told of another sync")
	}
}

func TestPacesAreBounded(t *testing.T) {
	p := newPaces(time.Now)
	one := v1alpha1.ResourceResult{Kind: "ConfigMap", Name: "a"}
	p.see("old", finished(running(time.Unix(1, 0), one), time.Unix(2, 0)))
	if len(p.by) != 0 {
		t.Error("a sync that nobody saw run has no times")
	}
	for i := range mostPaces + 10 {
		p.see(fmt.Sprintf("app-%d", i), running(time.Unix(1, 0), one))
	}
	if len(p.by) != mostPaces || len(p.order) != mostPaces || p.by["app-0"] != nil {
		t.Errorf("%d syncs are remembered, in an order of %d", len(p.by), len(p.order))
	}
	p.see("app-20", nil)
	if len(p.by) != mostPaces-1 || len(p.order) != mostPaces-1 {
		t.Error("an application that is gone is remembered")
	}
}
