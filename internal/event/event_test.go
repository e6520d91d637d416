package event

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/transition"
)

var (
	noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	shop = &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "argocd", UID: "u", ResourceVersion: "7"}}
)

func operation(phase v1alpha1.OperationPhase, by string, message string) *v1alpha1.OperationState {
	return &v1alpha1.OperationState{
		Phase: phase, Message: message, SyncResult: &v1alpha1.SyncOperationResult{Revision: "abc"},
		Operation: v1alpha1.Operation{
			InitiatedBy: v1alpha1.OperationInitiator{Username: by, Automated: by == ""},
			Sync:        &v1alpha1.SyncOperation{},
		},
	}
}

func partial(s *v1alpha1.OperationState) *v1alpha1.OperationState {
	s.Operation.Sync.Resources = []v1alpha1.SyncOperationResource{{Kind: "ConfigMap", Name: "a"}}
	return s
}

var episodes = []plan.Episode{
	{
		Key: object.Key{Kind: "ConfigMap", Namespace: "shop", Name: "a"}, Path: "data.colour", Manager: "kubectl-edit",
		Revision: "abc", Seen: noon, Healed: noon.Add(120 * time.Millisecond),
	},
	{Key: object.Key{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, Revision: "abc", Seen: noon, Healed: noon.Add(time.Second)},
}

func TestWords(t *testing.T) {
	cases := map[string]struct {
		t    transition.Transition
		want string
	}{
		"automated":  {transition.Transition{Kind: transition.Started, Operation: operation("Running", "", "")}, "Normal OperationStarted: Initiated automated sync to 'abc'"},
		"by hand":    {transition.Transition{Kind: transition.Started, Operation: operation("Running", "jane", "")}, "Normal OperationStarted: jane initiated sync to abc"},
		"heal":       {transition.Transition{Kind: transition.Started, Operation: partial(operation("Running", "", ""))}, "Normal OperationStarted: Initiated automated partial sync to 'abc'"},
		"succeeded":  {transition.Transition{Kind: transition.Completed, Operation: operation("Succeeded", "", "fine")}, "Normal OperationCompleted: Sync operation to abc succeeded"},
		"failed":     {transition.Transition{Kind: transition.Completed, Operation: partial(operation("Failed", "", "no"))}, "Warning OperationCompleted: Partial sync operation to abc failed: no"},
		"sync":       {transition.Transition{Kind: transition.SyncChanged, From: "OutOfSync", To: "Synced"}, "Normal ResourceUpdated: Updated sync status: OutOfSync -> Synced"},
		"health":     {transition.Transition{Kind: transition.HealthChanged, From: "Progressing", To: "Healthy"}, "Normal ResourceUpdated: Updated health status: Progressing -> Healthy"},
		"complained": {transition.Transition{Kind: transition.Complained, To: "SyncError", Message: "no"}, "Warning StatusRefreshed: SyncError: no"},
		"held":       {transition.Transition{Kind: transition.PruneHeld, Message: "about to prune"}, "Warning PruneHeld: about to prune"},
		"deleted":    {transition.Transition{Kind: transition.Deleted}, "Normal ResourceDeleted: Deleted the objects of the application"},
		"drift": {
			transition.Transition{Kind: transition.Healed, Episodes: episodes},
			"Warning Drifted: Drift healed: data.colour of ConfigMap shop/a, changed by kubectl-edit, healed after 120ms; " +
				"Deployment.apps shop/web, which was missing, healed after 1s",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.t.App, c.t.At = shop, noon
			e := eventOf(c.t)
			if got := e.Type + " " + e.Reason + ": " + e.Message; got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if o := e.InvolvedObject; o.Kind != "Application" || o.APIVersion != "argoproj.io/v1alpha1" || o.Name != "shop" || o.UID != "u" {
				t.Errorf("it is about %+v", o)
			}
		})
	}
}

func TestDriftIsReadBack(t *testing.T) {
	e := eventOf(transition.Transition{Kind: transition.Healed, App: shop, At: noon, Episodes: episodes})
	got, err := decode(e.Annotations[v1alpha1.AnnotationDrift])
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(episodes, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestALongMessageIsCut(t *testing.T) {
	e := eventOf(transition.Transition{Kind: transition.PruneHeld, App: shop, At: noon, Message: strings.Repeat("ä", 2000)})
	if len(e.Message) > mostMessage || !strings.HasSuffix(e.Message, "ä…") {
		t.Errorf("%d bytes, ending in %q", len(e.Message), e.Message[len(e.Message)-8:])
	}
}

// TestNobodyWaits: with a server that hangs, telling returns, what does not fit
// is counted, and the end of the process is not held up by it.
func TestNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(3, func(ctx context.Context, _ *corev1.Event) error {
			<-ctx.Done()
			return errors.New("the server hangs")
		})
		change := transition.Transition{Kind: transition.SyncChanged, App: shop, At: noon}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { w.Run(ctx); close(done) }()
		w.Observe(change)
		synctest.Wait()
		for range 10 {
			w.Observe(change)
		}
		w.Observe(transition.Transition{Kind: transition.Refreshed, App: shop})
		if dropped, _ := w.Lost(); dropped != 7 {
			t.Errorf("dropped %d, want 7 of 10 that meet a queue of 3", dropped)
		}
		begun := time.Now()
		cancel()
		<-done
		if took := time.Since(begun); took != lastTimeout {
			t.Errorf("the end of the process took %s", took)
		}
		if _, failed := w.Lost(); failed != 4 {
			t.Errorf("%d failed, want the 4 that were taken", failed)
		}
	})
}

// TestTheLastEventsAreWritten: what was told before the end is not lost.
func TestTheLastEventsAreWritten(t *testing.T) {
	var got int
	w := newWriter(10, func(ctx context.Context, _ *corev1.Event) error {
		got++
		return ctx.Err()
	})
	for range 3 {
		w.Observe(transition.Transition{Kind: transition.SyncChanged, App: shop, At: noon})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.Run(ctx)
	if dropped, failed := w.Lost(); got != 3 || dropped != 0 || failed != 0 {
		t.Errorf("wrote %d, dropped %d, failed %d", got, dropped, failed)
	}
}
