package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/login"
	"github.com/towline-cd/towline/internal/core/wish"
)

// serving is a hub behind an API server, which knows whoever asks by another name than their machine does.
type serving struct {
	*memory
	asked []string
}

func (s *serving) start(ctx context.Context, name string, patch func(*v1alpha1.Application) map[string]any) (*v1alpha1.Application, error) {
	app, err := s.Application(ctx, name)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(patch(app))
	if err != nil {
		return nil, err
	}
	return s.PatchApplication(ctx, name, text)
}

func (s *serving) Sync(ctx context.Context, name string, w wish.Sync) (*v1alpha1.Application, error) {
	s.asked = append(s.asked, fmt.Sprintf("sync %s: prune %t, options %v", name, w.Prune, w.Options))
	w.By = "jane@example.com"
	return s.start(ctx, name, func(app *v1alpha1.Application) map[string]any { return wish.Start(app, w.Operation(app)) })
}

func (s *serving) Rollback(ctx context.Context, name string, id int64, prune bool) (*v1alpha1.Application, error) {
	s.asked = append(s.asked, fmt.Sprintf("rollback %s to %d: prune %t", name, id, prune))
	return s.start(ctx, name, func(app *v1alpha1.Application) map[string]any {
		return wish.Rollback{To: app.Status.History[id], By: "jane@example.com"}.Patch(app)
	})
}

func (s *serving) Terminate(_ context.Context, name string) error {
	s.asked = append(s.asked, "terminate "+name)
	return nil
}

func (s *serving) Remove(_ context.Context, name string, uid types.UID, r wish.Removal) error {
	s.asked = append(s.asked, fmt.Sprintf("remove %s (%s): %+v", name, uid, r))
	return nil
}

func (s *serving) ChangeApplication(ctx context.Context, name string, p wish.Patch) (*v1alpha1.Application, error) {
	s.asked = append(s.asked, fmt.Sprintf("change %s: %t %s", name, p.JSON, p.Text))
	return s.Application(ctx, name)
}

// noLogins is the file of somebody who never signed in.
type noLogins struct{}

func (noLogins) Read(string) (login.Book, error) { return login.Book{}, nil }
func (noLogins) Write(string, login.Book) error  { return nil }

// A server is asked for what people want, and not written to; the operation that is watched is the one that it made.
func TestAServerIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := deployedTwice()
		app.Spec.SyncPolicy.Automated = nil
		m := newMemory(app)
		m.patched = play(m)
		s := &serving{memory: m}
		run := func(args ...string) answer {
			t.Helper()
			d := &desk{hub: s, now: time.Now, logins: noLogins{}}
			return d.run(t, append([]string{"app", "--server", "cd.example.com"}, args...)...)
		}
		got := run("sync", "shop", "--prune", "--replace")
		wantCode(t, got, 0)
		wantText(t, "stderr", got.err, "Running: waiting for Deployment.apps shop/web", "Succeeded: successfully synced")
		got = run("rollback", "shop", "0")
		wantCode(t, got, 0)
		wantText(t, "stdout", got.out, "Phase:        Succeeded")
		got = run("terminate-op", "shop")
		wantCode(t, got, 20)
		wantText(t, "stderr", got.err, "none is in progress")
		m.edit("shop", func(app *v1alpha1.Application) { app.Operation = &v1alpha1.Operation{} })
		wantCode(t, run("terminate-op", "shop"), 0)
		wantCode(t, run("patch", "shop", "--patch", "[]"), 0)
		wantCode(t, run("delete", "shop", "--yes", "--propagation-policy", "background"), 0)
		want := []string{
			"sync shop: prune true, options [CreateNamespace=true Replace=true]", "rollback shop to 0: prune false", "terminate shop",
			"change shop: true []", "remove shop (uid-of-shop): {Cascade:true Background:true}",
		}
		if d := cmp.Diff(want, s.asked); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}
