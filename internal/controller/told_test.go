package controller

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/webhook"
	"github.com/towline-cd/towline/internal/engine"
)

const shop = "https://git.example.com/shop.git"

func push(proved bool, refs ...string) webhook.Hint {
	return webhook.Hint{Kind: webhook.Push, Proved: proved, Places: []string{"git.example.com/shop"}, Refs: refs, Default: "main"}
}

// TestAPushIsALook: at once, in the name of all who follow what moved, and not for what nobody follows.
func TestAPushIsALook(t *testing.T) {
	r := &repository{every: time.Hour, commits: map[string]string{shop + "@main": "c1", shop + "@": "c1", "git@git.example.com:shop@main": "c1"}}
	polling(t, r, func(t *testing.T, p *poller) {
		p.track(nil, follower("a", shop, "main"))
		p.track(nil, follower("b", shop, ""))
		p.track(nil, follower("c", "git@git.example.com:shop", "main"))
		p.track(nil, follower("d", "https://git.example.com/other", "main"))
		if n := p.hear(push(true, "refs/heads/feature")); n != 0 {
			t.Errorf("a branch that nobody follows asks for %d looks", n)
		}
		if n := p.hear(push(true, "refs/heads/main")); n != 2 {
			t.Errorf("it asks for %d looks", n)
		}
		pass(time.Millisecond)
		asked, woken := r.took()
		slices.Sort(asked)
		if d := cmp.Diff([]string{"git@git.example.com:shop@main 0s", shop + "@ 0s", shop + "@main 1m0s"}, asked); d != "" {
			t.Errorf("the questions differ (-want +got):\n%s", d)
		}
		if d := cmp.Diff([]string{"a", "b", "c"}, woken); d != "" {
			t.Errorf("the woken differ (-want +got):\n%s", d)
		}
	})
}

// TestWhatAPushSpeaksOfIsFetchedWithTheLook: the last that was said, once, and only on the word of somebody who proved
// himself and knows where the branch stood.
func TestWhatAPushSpeaksOfIsFetchedWithTheLook(t *testing.T) {
	r := &repository{every: time.Hour, commits: map[string]string{shop + "@main": "c1", shop + "@v1": "c1"}}
	polling(t, r, func(t *testing.T, p *poller) {
		p.track(nil, follower("a", shop, "main"))
		p.track(nil, follower("b", shop, "v1"))
		// Each is a row of webhooks that come during one window.
		for _, step := range []struct {
			name  string
			hints []webhook.Hint
			now   string
			want  []string
		}{
			{"wrong about where it stood", []webhook.Hint{told(true, "c0", "c2")}, "c2", nil},
			{"right", []webhook.Hint{told(true, "c2", "c3")}, "c3", []string{shop + "@main c3"}},
			{"the last counts", []webhook.Hint{told(true, "c3", "c4"), told(true, "c3", "c5")}, "c5", []string{shop + "@main c5"}},
			{"one that leaves a move out", []webhook.Hint{told(true, "c5", "c6"), told(true, "c6", "c7")}, "c7", nil},
			{"one that comes late", []webhook.Hint{told(true, "c3", "c5")}, "c8", nil},
			{"without proof", []webhook.Hint{told(false, "c8", "c9")}, "c9", nil},
			{"it is not said", []webhook.Hint{told(true, "c9", "c10"), push(true, "refs/heads/main")}, "c10", nil},
			{"nobody follows it", []webhook.Hint{told(true, "c10", "c11", "refs/heads/nobody")}, "c10", nil},
			{"not what was said", []webhook.Hint{told(true, "c10", "c11")}, "c12", []string{shop + "@main c11"}},
		} {
			pass(2 * strangeWindow)
			// A first one has the repository looked at, so that those that count wait for the window to be over.
			p.hear(push(true, "refs/heads/main"))
			pass(time.Millisecond)
			for _, h := range step.hints {
				p.hear(h)
			}
			r.set(func() { r.commits[shop+"@main"] = step.now })
			pass(2 * strangeWindow)
			r.set(func() {
				if d := cmp.Diff(step.want, r.foreseen); d != "" {
					t.Errorf("%s: what was fetched differs (-want +got):\n%s", step.name, d)
				}
				r.foreseen = nil
			})
		}
	})
}

// told is a push that says between which commits a branch moved.
func told(proved bool, from, to string, refs ...string) webhook.Hint {
	if len(refs) == 0 {
		refs = []string{"refs/heads/main"}
	}
	h := push(proved, refs...)
	h.From, h.To = from, to
	return h
}

// TestManyPushesAreFewLooks: one at once, and one for all that came until the window was over.
func TestManyPushesAreFewLooks(t *testing.T) {
	for _, proved := range []bool{true, false} {
		window := provedWindow
		if !proved {
			window = strangeWindow
		}
		r := &repository{every: time.Hour, commits: map[string]string{shop + "@main": "c1"}}
		polling(t, r, func(t *testing.T, p *poller) {
			p.track(nil, follower("a", shop, "main"))
			asked := 0
			for i := range 1000 {
				if i == 900 {
					r.set(func() { r.commits[shop+"@main"] = "c2" })
				}
				asked += p.hear(push(proved, "refs/heads/main"))
				pass(window / 1001)
			}
			if asked != 2 {
				t.Errorf("%d looks were asked for", asked)
			}
			expect(t, r, []string{shop + "@main 0s"}, []string{"a"})
			pass(window)
			// The last push is seen, though it came while nothing was looked at.
			expect(t, r, []string{shop + "@main 0s"}, []string{"a"})
			pass(10 * window)
			expect(t, r, nil, nil)
		})
	}
}

// TestWhoProvesNothingWaits: strangers have one look in a while, whatever they name; whoever proves it does not wait
// behind them.
func TestWhoProvesNothingWaits(t *testing.T) {
	r := &repository{every: time.Hour, commits: map[string]string{}}
	polling(t, r, func(t *testing.T, p *poller) {
		for i := range 100 {
			repo := fmt.Sprintf("https://git.example.com/%d", i)
			r.set(func() { r.commits[repo+"@main"] = "c1" })
			p.track(nil, follower(fmt.Sprint(i), repo, "main"))
			p.hear(webhook.Hint{Kind: webhook.Push, Places: []string{fmt.Sprintf("git.example.com/%d", i)}})
		}
		pass(time.Second - 1)
		if asked, _ := r.took(); len(asked) != 5 {
			t.Errorf("strangers had %d looks in a second", len(asked))
		}
		p.hear(webhook.Hint{Kind: webhook.Push, Proved: true, Places: []string{"git.example.com/99"}})
		pass(1)
		if asked, _ := r.took(); !slices.Contains(asked, "https://git.example.com/99@main 0s") {
			t.Errorf("who proved it waits: %v", asked)
		}
		pass(time.Minute)
		if asked, _ := r.took(); len(asked) != 93 {
			t.Errorf("%d looks were left", len(asked))
		}
	})
}

// TestPushesWhilePollingIsOff are looks all the same.
func TestPushesWhilePollingIsOff(t *testing.T) {
	r := &repository{commits: map[string]string{shop + "@main": "c1"}}
	polling(t, r, func(t *testing.T, p *poller) {
		p.track(nil, follower("a", shop, "main"))
		pass(time.Hour)
		expect(t, r, nil, nil)
		p.hear(push(true))
		pass(time.Second)
		expect(t, r, []string{shop + "@main 0s"}, []string{"a"})
		pass(time.Hour)
		expect(t, r, nil, nil)
	})
}

// TestPollingGoesOnAfterAHint: a hint that comes when it is the turn of the repository does not end its turns.
func TestPollingGoesOnAfterAHint(t *testing.T) {
	r := &repository{every: time.Minute, commits: map[string]string{shop + "@main": "c1"}}
	polling(t, r, func(t *testing.T, p *poller) {
		p.track(nil, follower("a", shop, "main"))
		time.Sleep(time.Minute)
		p.hint(shop)
		synctest.Wait()
		r.took()
		pass(time.Minute)
		if asked, _ := r.took(); len(asked) == 0 {
			t.Error("nobody looks any more")
		}
	})
}

// TestArtifactsAreFoundByTheirNames: a chart of a registry, and an artifact.
func TestArtifactsAreFoundByTheirNames(t *testing.T) {
	r := &repository{every: time.Hour, commits: map[string]string{"ghcr.io/org@1.*": "1.0.0", "oci://ghcr.io/org/web@1.*": "sha256:1"}}
	polling(t, r, func(t *testing.T, p *poller) {
		chart := follower("chart", "ghcr.io/org", "1.*")
		chart.Spec.Source.Chart = "web"
		other := follower("other", "ghcr.io/org", "1.*")
		other.Spec.Source.Chart = "api"
		p.track(nil, chart)
		p.track(nil, other)
		p.track(nil, follower("plain", "oci://ghcr.io/org/web", "1.*"))
		hint := webhook.Hint{Kind: webhook.Artifact, Proved: true, Places: []string{"ghcr.io/org/web"}, Refs: []string{"refs/tags/1.1.0"}}
		if n := p.hear(hint); n != 2 {
			t.Errorf("it asks for %d looks", n)
		}
		pass(time.Second)
		r.took()
		for _, app := range []string{"chart", "other", "plain"} {
			a := map[string]string{"chart": "ghcr.io/org", "other": "ghcr.io/org", "plain": "oci://ghcr.io/org/web"}[app]
			gone := follower(app, a, "1.*")
			gone.Spec.Source.Chart = map[string]string{"chart": "web", "other": "api"}[app]
			p.track(gone, nil)
		}
		if len(p.places) != 0 {
			t.Errorf("places that nobody follows are kept: %v", p.places)
		}
	})
}

// generator counts how often sets are generated.
type generator struct {
	topics []string
	looks  chan engine.SetLook
}

func (g *generator) ReconcileSet(_ context.Context, _ string, l engine.SetLook) (engine.SetResult, error) {
	g.looks <- l
	return engine.SetResult{Follows: []manifest.Origin{}, Topics: g.topics}, nil
}

// TestPullRequestsGenerateSets: those that list them there, once for all that comes in a window.
func TestPullRequestsGenerateSets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &generator{topics: []string{"pull requests of github.com/org/repo"}, looks: make(chan engine.SetLook, 100)}
		c := New(Options{Sets: g, Workers: 1, Poll: func() (time.Duration, time.Duration) { return 0, 0 }})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx) }()
		c.EnqueueSet("previews")
		synctest.Wait()
		looks := func() (whole int) {
			for len(g.looks) > 0 {
				if l := <-g.looks; !l.Progress {
					whole++
				}
			}
			return whole
		}
		if n := looks(); n != 1 {
			t.Fatalf("it was generated %d times", n)
		}
		hint := webhook.Hint{Kind: webhook.Pull, Proved: true, Places: []string{"github.com/org/repo"}}
		asked := 0
		for range 100 {
			asked += c.Told(hint)
			pass(provedWindow / 101)
		}
		pass(2 * provedWindow)
		if n := looks(); n != 2 || asked != 2 {
			t.Errorf("%d looks were asked for, and it was generated %d times", asked, n)
		}
		hint.Places = []string{"github.com/org/other"}
		if n := c.Told(hint); n != 0 {
			t.Errorf("another repository asks for %d looks", n)
		}
		cancel()
		<-done
	})
}
