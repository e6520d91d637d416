package cli_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// redraw is what stands between two pictures.
const redraw = "\r\x1b[J"

func TestSyncDrawsOverItselfOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(shop("shop"))
		m.patched = play(m)
		got := (&desk{hub: m, now: time.Now, errTerm: true, env: map[string]string{"NO_COLOR": "1"}}).run(t, "app", "sync", "shop")
		wantCode(t, got, 0)
		frames := strings.Split(got.err, redraw)
		if last := frames[len(frames)-1]; last != "" {
			t.Errorf("the picture was left on the screen: %q", last)
		}
		for _, f := range frames[:len(frames)-1] {
			body := strings.TrimRight(f, "\x1b[0123456789A")
			for line := range strings.SplitSeq(body, "\n") {
				if n := len([]rune(line)); n > 72 {
					t.Errorf("a line of %d columns would wrap: %q", n, line)
				}
			}
		}
		wantText(t, "the picture", got.err,
			"shop  Running  2s  running hooks\n  ◌ Job.batch shop/migrate PreSync hook Running\n",
			"shop  Running  5s  waiting for Deployment.apps shop/web\n  ✔ Job.batch shop/migrate PreSync hook Succeeded\n"+
				"  ✔ Deployment.apps shop/web Synced: configured\n\x1b[3A")
		if n := strings.Count(got.err, "shop  Running"); n < 5 {
			t.Errorf("the clock stood still: %d pictures in 5 seconds", n)
		}
	})
}

func TestSyncNeverDrawsMoreThanTheScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(shop("shop"))
		m.patched = func(*v1alpha1.Application) {
			go func() {
				var all []v1alpha1.ResourceResult
				for range 40 {
					all = append(all, web(v1alpha1.ResultCodeSynced, "", strings.Repeat("long ", 40)))
				}
				all = append(all, web(v1alpha1.ResultCodeSyncFailed, "", "quota exceeded"))
				advance(m, "shop", v1alpha1.OperationRunning, strings.Repeat("wordy ", 40), all...)
				time.Sleep(time.Second)
				advance(m, "shop", v1alpha1.OperationFailed, "one failed", all...)
			}()
		}
		got := (&desk{hub: m, now: time.Now, errTerm: true, env: map[string]string{"NO_COLOR": "1"}}).run(t, "app", "sync", "shop")
		wantCode(t, got, 20)
		for frame := range strings.SplitSeq(got.err, redraw) {
			if n := strings.Count(frame, "\n"); n > 11 {
				t.Errorf("a picture of %d lines on a screen of 12", n)
			}
		}
		wantText(t, "the picture", got.err, "  ✗ Deployment.apps shop/web SyncFailed: quota exceeded\n", "  … and 32 more\n\x1b[11A")
	})
}

func TestSyncOfMoreThanTheScreenHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		args := []string{"app", "sync"}
		for i := range 20 {
			app := shop(fmt.Sprintf("app-%02d", i))
			m.put(app)
			args = append(args, app.Name)
		}
		m.patched = func(app *v1alpha1.Application) {
			go func() {
				phase := v1alpha1.OperationSucceeded
				switch app.Name {
				case "app-18":
					phase = v1alpha1.OperationFailed
				case "app-19":
					time.Sleep(10 * time.Second)
				}
				advance(m, app.Name, phase, "")
			}()
		}
		got := (&desk{hub: m, now: time.Now, errTerm: true, env: map[string]string{"NO_COLOR": "1"}}).run(t, args...)
		wantCode(t, got, 20)
		for frame := range strings.SplitSeq(got.err, redraw) {
			if n := strings.Count(frame, "\n"); n > 11 {
				t.Errorf("a picture of %d lines on a screen of 12", n)
			}
		}
		wantText(t, "the picture", got.err, "app-18  Failed  5s\napp-19  Pending  5s", "… and 10 more applications\n\x1b[11A")
	})
}
