package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
)

func TestWatchSurvives(t *testing.T) {
	tests := map[string]struct {
		trouble func(t *testing.T, m *memory)
		says    string
	}{
		"the server closing it": {trouble: func(_ *testing.T, m *memory) { m.cut(nil) }},
		"being told that it is too old": {
			trouble: func(t *testing.T, m *memory) { m.cut(status(t, apierrors.NewResourceExpired("too old"))) },
		},
		"lost history": {
			trouble: func(_ *testing.T, m *memory) {
				m.cut(nil)
				m.edit("shop", func(a *v1alpha1.Application) { a.Labels["noise"] = "yes" })
				m.forget()
			},
		},
		"a server that restarts": {
			trouble: func(t *testing.T, m *memory) {
				failures := 3
				m.mu.Lock()
				m.fails = func(verb string) error {
					if failures--; failures >= 0 {
						return fault.Transientf("Unreachable", "watching applications: %w", errors.New("connection refused"))
					}
					return nil
				}
				m.mu.Unlock()
				m.cut(nil)
			},
			says: "the watch broke, trying again: watching applications: connection refused",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				app := shop("shop")
				unwell(app)
				m := newMemory(app)
				go func() {
					time.Sleep(time.Minute)
					test.trouble(t, m)
					// This happens while nobody watches, and must not be missed.
					m.edit("shop", health(v1alpha1.HealthStatusHealthy))
					m.forget()
				}()
				got := (&desk{hub: m, now: time.Now}).run(t, "app", "wait", "shop", "--health", "--timeout", "600")
				wantCode(t, got, 0)
				wantText(t, "stderr", got.err, test.says)
			})
		})
	}
}

func TestWatchGivesUp(t *testing.T) {
	tests := map[string]struct {
		err  error
		code int
		want string
	}{
		"a right that was taken away": {
			err:  fault.Terminalf("Refused", "watching: %w", apierrors.NewForbidden(resource, "", errors.New("no"))),
			code: 4, want: "is forbidden",
		},
		"a server whose lists are always too old": {
			err: apierrors.NewResourceExpired("too old"), code: 20, want: "too old",
		},
		"a server that never comes back": {
			err: fault.Transientf("Unreachable", "watching: %w", errors.New("connection refused")), code: 20,
			want: "connection refused; is the cluster up",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				app := shop("shop")
				unwell(app)
				m := newMemory(app)
				m.fails = func(verb string) error {
					if verb == "watch" {
						return test.err
					}
					return nil
				}
				got := (&desk{hub: m, now: time.Now}).run(t, "app", "wait", "shop")
				wantCode(t, got, test.code)
				wantText(t, "stderr", got.err, test.want)
			})
		})
	}
}

func TestListWatchPrintsChangedRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(shop("shop"), shop("bank"))
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			time.Sleep(time.Second)
			m.edit("shop", func(a *v1alpha1.Application) { a.Labels["noise"] = "yes" })
			m.edit("bank", health(v1alpha1.HealthStatusDegraded))
			m.put(shop("cafe"))
			m.drop("shop")
			time.Sleep(time.Second)
		}()
		got := (&desk{hub: m, stop: ctx}).run(t, "app", "list", "--watch")
		wantCode(t, got, 0)
		want := `NAME   PROJECT   SYNC     HEALTH    REVISION   DESTINATION       AGE
bank   default   Synced   Healthy   1a2b3c4    in-cluster/shop   2d
shop   default   Synced   Healthy   1a2b3c4    in-cluster/shop   2d
bank   default   Synced   Degraded   1a2b3c4    in-cluster/shop   2d
cafe   default   Synced   Healthy    1a2b3c4    in-cluster/shop   2d
shop   -         Deleted   -          -          -                 -
`
		if d := cmp.Diff(want, got.out); d != "" {
			t.Errorf("stdout (-want +got):\n%s", d)
		}
	})
}

func TestGetWatchPrintsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(shop("shop"))
		go func() {
			time.Sleep(time.Second)
			m.edit("shop", func(a *v1alpha1.Application) { a.Labels["noise"] = "yes" })
			m.edit("shop", health(v1alpha1.HealthStatusDegraded))
			time.Sleep(time.Second)
			m.drop("shop")
		}()
		got := (&desk{hub: m}).run(t, "app", "get", "shop", "-w")
		wantCode(t, got, 0)
		if n := strings.Count(got.out, "Name: "); n != 2 {
			t.Errorf("printed %d times, want 2:\n%s", n, got.out)
		}
		wantText(t, "stdout", got.out, "Health:       Degraded")
		wantText(t, "stderr", got.err, `application "shop" is gone`)
	})
}

func TestRefreshWaitsForTheController(t *testing.T) {
	for flag, kind := range map[string]string{"--refresh": "normal", "--hard-refresh": "hard"} {
		t.Run(flag, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				app := shop("shop")
				unwell(app)
				m := newMemory(app)
				m.patched = func(a *v1alpha1.Application) {
					if got := a.Annotations[v1alpha1.AnnotationRefresh]; got != kind {
						t.Errorf("asked for a refresh of kind %q, want %q", got, kind)
					}
					go func() {
						time.Sleep(5 * time.Second)
						m.edit("shop", func(a *v1alpha1.Application) {
							delete(a.Annotations, v1alpha1.AnnotationRefresh)
							a.Status.Sync.Status = v1alpha1.SyncStatusCodeSynced
						})
					}()
				}
				got := (&desk{hub: m, now: time.Now}).run(t, "app", "get", "shop", flag)
				wantCode(t, got, 0)
				wantText(t, "stdout", got.out, "Sync status:  Synced")
			})
		})
	}
}

func TestRefreshWithoutAController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := (&desk{hub: newMemory(shop("shop")), now: time.Now}).run(t, "app", "diff", "shop", "--refresh", "--timeout", "7")
		wantCode(t, got, 20)
		wantText(t, "stderr", got.err, `no answer within 7 seconds; is the controller of namespace "argocd" running?`)
	})
}

func TestListForPrograms(t *testing.T) {
	m := newMemory(shop("shop"), shop("bank"))
	got := (&desk{hub: m}).run(t, "app", "list", "-o", "json")
	wantCode(t, got, 0)
	var apps []v1alpha1.Application
	if err := json.Unmarshal([]byte(got.out), &apps); err != nil {
		t.Fatalf("not a bare list: %v", err)
	}
	if len(apps) != 2 || apps[0].Name != "bank" || apps[0].Kind != "Application" || apps[1].Status.Health.Status != "Healthy" {
		t.Errorf("got %+v", apps)
	}
	if got := (&desk{hub: newMemory()}).run(t, "app", "list", "-o", "json"); got.out != "[]\n" {
		t.Errorf("no applications are %q", got.out)
	}
	yaml := (&desk{hub: m}).run(t, "app", "ls", "-o", "yaml")
	wantText(t, "YAML", yaml.out, "- apiVersion: argoproj.io/v1alpha1\n  kind: Application\n  metadata:\n")
}
