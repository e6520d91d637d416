package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// repository answers Resolve from a map and counts the questions.
type repository struct {
	mu       sync.Mutex
	commits  map[string]string
	err      error
	asked    []string
	foreseen []string
	woken    []string
	every    time.Duration
	jitter   time.Duration
	touched  Touched
}

func (r *repository) Resolve(_ context.Context, of manifest.Origin, maxAge time.Duration) (string, time.Time, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, fmt.Sprintf("%s@%s %v", of.RepoURL, of.Revision, maxAge))
	if r.err != nil {
		return "", time.Time{}, r.err
	}
	return r.commits[of.RepoURL+"@"+of.Revision], time.Now(), nil
}

func (r *repository) Foresee(_ context.Context, of manifest.Origin, commit string) error {
	r.set(func() { r.foreseen = append(r.foreseen, fmt.Sprintf("%s@%s %s", of.RepoURL, of.Revision, commit)) })
	return nil
}

func (r *repository) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// took returns what was asked and who was woken since the last call.
func (r *repository) took() (asked, woken []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked, woken = r.asked, r.woken
	r.asked, r.woken = nil, nil
	slices.Sort(woken)
	return asked, woken
}

func follower(name, repo, revision string) *v1alpha1.Application {
	return &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.ApplicationSpec{Source: &v1alpha1.ApplicationSource{RepoURL: repo, TargetRevision: revision}},
	}
}

// polling runs a test against a poller in a bubble, where time passes as soon
// as everybody waits.
func polling(t *testing.T, r *repository, test func(t *testing.T, p *poller)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPoller(pollerOptions{
			resolver: r,
			foreseer: r,
			every:    func() (time.Duration, time.Duration) { r.mu.Lock(); defer r.mu.Unlock(); return r.every, r.jitter },
			wake:     func(app string) { r.set(func() { r.woken = append(r.woken, app) }) },
			touched:  r.touched,
		})
		var wg sync.WaitGroup
		wg.Go(func() { p.run(t.Context()) })
		test(t, p)
		p.stop()
		wg.Wait()
	})
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func expect(t *testing.T, r *repository, asked, woken []string) {
	t.Helper()
	a, w := r.took()
	if d := cmp.Diff(asked, a); d != "" {
		t.Errorf("the questions differ (-want +got):\n%s", d)
	}
	if d := cmp.Diff(woken, w); d != "" {
		t.Errorf("the woken differ (-want +got):\n%s", d)
	}
}

func TestPollerAsksOncePerRepositoryAndInterval(t *testing.T) {
	r := &repository{every: 2 * time.Minute, commits: map[string]string{"one@main": "c1", "one@v1": "c1", "two@main": "d1"}}
	polling(t, r, func(t *testing.T, p *poller) {
		for i := range 100 {
			p.track(nil, follower(fmt.Sprintf("app-%02d", i), "one", "main"))
		}
		p.track(nil, follower("tagged", "one", "v1"))
		pass(time.Minute)
		expect(t, r, nil, nil)
		pass(time.Minute)
		asked, woken := r.took()
		// The first revision is asked for anew, the second may be answered from the same look.
		if d := cmp.Diff([]string{"one@main 0s", "one@v1 1m0s"}, asked); d != "" {
			t.Errorf("the questions differ (-want +got):\n%s", d)
		}
		if len(woken) != 101 {
			t.Errorf("the first answer woke %d", len(woken))
		}
		for range 3 {
			pass(2 * time.Minute)
			expect(t, r, []string{"one@main 0s", "one@v1 1m0s"}, nil)
		}
	})
}

func TestPollerWakesOnlyWhomItConcerns(t *testing.T) {
	r := &repository{every: time.Minute, commits: map[string]string{"one@main": "c1", "one@v1": "c1", "two@main": "d1"}}
	polling(t, r, func(t *testing.T, p *poller) {
		p.track(nil, follower("a", "one", "main"))
		p.track(nil, follower("b", "one", "main"))
		p.track(nil, follower("c", "one", "v1"))
		p.track(nil, follower("d", "two", "main"))
		pass(time.Minute)
		r.took()
		r.set(func() { r.commits["one@main"] = "c2" })
		pass(time.Minute)
		if _, woken := r.took(); !slices.Equal(woken, []string{"a", "b"}) {
			t.Errorf("woken are %v", woken)
		}
		pass(time.Minute)
		if _, woken := r.took(); woken != nil {
			t.Errorf("woken again are %v", woken)
		}
	})
}

// TestPollerIgnoresStatusWrites: an application is told as changed whenever
// its status is written. It still follows what it followed, and a repository
// that did not move does not wake it.
func TestPollerIgnoresStatusWrites(t *testing.T) {
	r := &repository{every: time.Minute, commits: map[string]string{"one@main": "c1"}}
	polling(t, r, func(t *testing.T, p *poller) {
		app := follower("a", "one", "main")
		p.track(nil, app)
		pass(time.Minute)
		r.took()
		next := app.DeepCopy()
		next.Status.Sync.Status = v1alpha1.SyncStatusCodeSynced
		p.track(app, next)
		pass(time.Minute)
		expect(t, r, []string{"one@main 0s"}, nil)
	})
}

func TestPollerStopsFollowing(t *testing.T) {
	r := &repository{every: time.Minute, commits: map[string]string{"one@main": "c1", "two@main": "d1"}}
	polling(t, r, func(t *testing.T, p *poller) {
		app := follower("a", "one", "main")
		p.track(nil, app)
		pass(time.Minute)
		r.took()
		moved := follower("a", "two", "main")
		p.track(app, moved)
		pass(time.Minute)
		expect(t, r, []string{"two@main 0s"}, []string{"a"})
		p.track(moved, nil)
		pass(10 * time.Minute)
		expect(t, r, nil, nil)
		p.mu.Lock()
		if len(p.repos) != 0 {
			t.Errorf("repositories that nobody follows are kept: %v", p.repos)
		}
		p.mu.Unlock()
		// And begins again.
		p.track(nil, moved)
		pass(time.Minute)
		expect(t, r, []string{"two@main 0s"}, []string{"a"})
	})
}

func TestPollerSwitchedOff(t *testing.T) {
	r := &repository{commits: map[string]string{"one@main": "c1"}}
	polling(t, r, func(t *testing.T, p *poller) {
		p.track(nil, follower("a", "one", "main"))
		pass(time.Hour)
		expect(t, r, nil, nil)
		r.set(func() { r.every = 3 * time.Minute })
		pass(time.Minute)
		expect(t, r, []string{"one@main 0s"}, []string{"a"})
		r.set(func() { r.every = 0 })
		pass(time.Hour)
		expect(t, r, nil, nil)
	})
}

func TestPollerJitter(t *testing.T) {
	r := &repository{every: time.Minute, jitter: time.Minute, commits: map[string]string{"one@main": "c1"}}
	polling(t, r, func(t *testing.T, p *poller) {
		p.track(nil, follower("a", "one", "main"))
		pass(time.Minute - 1)
		expect(t, r, nil, nil)
		pass(time.Minute + 1)
		expect(t, r, []string{"one@main 0s"}, []string{"a"})
	})
}

func TestPollerSurvivesErrors(t *testing.T) {
	r := &repository{every: time.Minute, commits: map[string]string{"one@main": "c1"}}
	polling(t, r, func(t *testing.T, p *poller) {
		p.track(nil, follower("a", "one", "main"))
		pass(time.Minute)
		r.took()
		r.set(func() { r.err = errors.New("no network") })
		pass(3 * time.Minute)
		expect(t, r, []string{"one@main 0s", "one@main 0s", "one@main 0s"}, nil)
		r.set(func() { r.err = nil })
		pass(time.Minute)
		expect(t, r, []string{"one@main 0s"}, nil)
		r.set(func() { r.commits["one@main"] = "c2" })
		pass(time.Minute)
		expect(t, r, []string{"one@main 0s"}, []string{"a"})
	})
}

func TestPollerFollowsCharts(t *testing.T) {
	r := &repository{every: time.Minute, commits: map[string]string{"one@1.*": "1.0.0"}}
	polling(t, r, func(t *testing.T, p *poller) {
		chart := follower("a", "one", "1.*")
		chart.Spec.Source.Chart = "web"
		p.track(nil, chart)
		p.track(nil, &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Name: "no source"}})
		p.track(nil, follower("no repository", "", "main"))
		pass(time.Minute)
		expect(t, r, []string{"one@1.* 0s"}, []string{"a"})
		p.track(chart, nil)
		pass(10 * time.Minute)
		expect(t, r, nil, nil)
	})
}

// TestPollerWakesWhomAMoveConcerns: who that is, is for others to say.
func TestPollerWakesWhomAMoveConcerns(t *testing.T) {
	r := &repository{every: time.Minute, commits: map[string]string{"one@main": "c1"}}
	r.touched = func(_ context.Context, of manifest.Origin, from, to string, apps []string) []string {
		if from == "" {
			return apps
		}
		return []string{of.Revision + " " + from + " " + to + " " + fmt.Sprint(len(apps))}
	}
	polling(t, r, func(t *testing.T, p *poller) {
		p.track(nil, follower("a", "one", "main"))
		p.track(nil, follower("b", "one", "main"))
		pass(time.Minute)
		expect(t, r, []string{"one@main 0s"}, []string{"a", "b"})
		r.set(func() { r.commits["one@main"] = "c2" })
		pass(time.Minute)
		expect(t, r, []string{"one@main 0s"}, []string{"main c1 c2 2"})
	})
}

// TestPollerTakesHints: what somebody else saw is not asked for again.
func TestPollerTakesHints(t *testing.T) {
	r := &repository{every: 10 * time.Minute, commits: map[string]string{"one@main": "c1"}}
	polling(t, r, func(t *testing.T, p *poller) {
		p.track(nil, follower("a", "one", "main"))
		p.hint("two")
		p.hint("one")
		pass(time.Second)
		expect(t, r, []string{"one@main 1m0s"}, []string{"a"})
		pass(10 * time.Minute)
		expect(t, r, []string{"one@main 0s"}, nil)
		pass(10 * time.Minute)
		expect(t, r, []string{"one@main 0s"}, nil)
	})
}

func TestPollerKnowsWhoFollows(t *testing.T) {
	r := &repository{every: time.Hour}
	polling(t, r, func(t *testing.T, p *poller) {
		p.track(nil, follower("b", "one", "main"))
		p.track(nil, follower("a", "one", "v1"))
		p.track(nil, follower("c", "two", "main"))
		got := p.following(func(repo string) bool { return repo == "one" })
		if d := cmp.Diff([]string{"a", "b"}, got); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
	})
}
