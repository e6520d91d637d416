package cli_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/api/v1alpha1"
)

func unwell(a *v1alpha1.Application) {
	a.Status.Sync.Status = v1alpha1.SyncStatusCodeOutOfSync
	a.Status.Health = v1alpha1.HealthStatus{Status: v1alpha1.HealthStatusProgressing, Message: "1 of 3 replicas"}
	a.Status.OperationState = &v1alpha1.OperationState{Phase: v1alpha1.OperationRunning, Message: "waiting for web"}
}

func health(code v1alpha1.HealthStatusCode) func(*v1alpha1.Application) {
	return func(a *v1alpha1.Application) { a.Status.Health.Status = code }
}

func TestWaitTellsTransitionsAndTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := shop("shop")
		unwell(app)
		m := newMemory(app)
		go func() {
			time.Sleep(2 * time.Second)
			m.edit("shop", func(a *v1alpha1.Application) { a.Labels["noise"] = "yes" })
			m.edit("shop", func(a *v1alpha1.Application) { a.Status.Sync.Status = v1alpha1.SyncStatusCodeSynced })
			time.Sleep(2 * time.Second)
			m.edit("shop", func(a *v1alpha1.Application) { a.Status.OperationState.Phase = v1alpha1.OperationSucceeded })
			time.Sleep(2 * time.Second)
			m.edit("shop", func(a *v1alpha1.Application) {
				a.Status.Health = v1alpha1.HealthStatus{Status: v1alpha1.HealthStatusHealthy}
			})
		}()
		got := (&desk{hub: m, now: time.Now}).run(t, "app", "wait", "shop", "--timeout", "60")
		wantCode(t, got, 0)
		want := `00:00:00  shop  OutOfSync at 1a2b3c4, Progressing: 1 of 3 replicas, operation Running: waiting for web
00:00:02  shop  Synced at 1a2b3c4, Progressing: 1 of 3 replicas, operation Running: waiting for web
00:00:04  shop  Synced at 1a2b3c4, Progressing: 1 of 3 replicas
00:00:06  shop  Synced at 1a2b3c4, Healthy
`
		if d := cmp.Diff(want, got.err); d != "" {
			t.Errorf("stderr (-want +got):\n%s", d)
		}
		wantText(t, "stdout", got.out, "NAME", "shop   default   Synced   Healthy   1a2b3c4    in-cluster/shop")
		if m.lists != 1 || m.opened != 1 {
			t.Errorf("%d lists and %d watches: that is polling", m.lists, m.opened)
		}
	})
}

func TestWaitConditions(t *testing.T) {
	tests := map[string]struct {
		now  func(*v1alpha1.Application)
		args []string
		// lacks is empty when there is nothing to wait for.
		lacks string
	}{
		"all is well":              {},
		"sync is missing":          {now: unwell, args: []string{"--sync"}, lacks: "sync status Synced (is OutOfSync)"},
		"health is missing":        {now: unwell, args: []string{"--health"}, lacks: "health Healthy (is Progressing: 1 of 3 replicas)"},
		"an operation runs":        {now: unwell, args: []string{"--operation"}, lacks: "the end of the operation (Running: waiting for web)"},
		"three things are missing": {now: unwell, lacks: "sync status Synced (is OutOfSync) and health Healthy (is Progressing: 1 of 3 replicas) and the end"},
		"only the health counts": {
			now:  func(a *v1alpha1.Application) { unwell(a); a.Status.Health.Status = v1alpha1.HealthStatusHealthy },
			args: []string{"--health"},
		},
		"suspended will do":     {now: health(v1alpha1.HealthStatusSuspended), args: []string{"--health", "--suspended"}},
		"degraded will do":      {now: health(v1alpha1.HealthStatusDegraded), args: []string{"--degraded"}},
		"degraded was expected": {args: []string{"--degraded"}, lacks: "health Degraded (is Healthy)"},
		"suspended is not well": {now: health(v1alpha1.HealthStatusSuspended), lacks: "health Healthy (is Suspended)"},
		"an operation was asked for": {
			now:   func(a *v1alpha1.Application) { a.Operation = &v1alpha1.Operation{} },
			lacks: "the operation to begin and end",
		},
		"a verdict on another spec": {
			now:   func(a *v1alpha1.Application) { a.Spec.Source.TargetRevision = "next" },
			lacks: "a comparison of the present spec",
		},
		"a verdict from before a refresh": {
			now:   func(a *v1alpha1.Application) { a.Annotations = map[string]string{v1alpha1.AnnotationRefresh: "normal"} },
			lacks: "the refresh that was asked for",
		},
		"deletion": {args: []string{"--delete"}, lacks: "its deletion"},
		"nothing is known": {
			now:   func(a *v1alpha1.Application) { a.Status = v1alpha1.ApplicationStatus{} },
			lacks: "sync status Synced (is -) and health Healthy (is -)",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				app := shop("shop")
				if test.now != nil {
					test.now(app)
				}
				args := append([]string{"app", "wait", "shop", "--timeout", "30"}, test.args...)
				got := (&desk{hub: newMemory(app), now: time.Now}).run(t, args...)
				if test.lacks == "" {
					wantCode(t, got, 0)
					return
				}
				wantCode(t, got, 20)
				wantText(t, "stderr", got.err, `error: not done after 30 seconds: application "shop" still waits for `+test.lacks)
			})
		})
	}
}

func TestWaitForMany(t *testing.T) {
	for _, n := range []int{3, 40} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory(shop("other"))
				args := []string{"app", "wait", "--health"}
				for i := range n {
					app := shop(fmt.Sprintf("app-%02d", i))
					unwell(app)
					m.put(app)
					args = append(args, app.Name)
				}
				go func() {
					for i := range n {
						time.Sleep(time.Second)
						m.edit(fmt.Sprintf("app-%02d", i), health(v1alpha1.HealthStatusHealthy))
					}
				}()
				wantCode(t, (&desk{hub: m, now: time.Now}).run(t, args...), 0)
			})
		})
	}
}

func TestWaitForTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(shop("shop"))
		go func() {
			time.Sleep(time.Second)
			m.drop("shop")
		}()
		got := (&desk{hub: m, now: time.Now}).run(t, "app", "wait", "shop", "ghost", "--delete")
		wantCode(t, got, 0)
		wantText(t, "stderr", got.err, "00:00:00  ghost  gone", "00:00:01  shop  gone")
	})
}

func TestWaitForWhatIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := (&desk{hub: newMemory(), now: time.Now}).run(t, "app", "wait", "ghost")
		wantCode(t, got, 20)
		wantText(t, "stderr", got.err, `application "ghost" not found in namespace "argocd"; "towline app list" shows what is there`)
	})
}
