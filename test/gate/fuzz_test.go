package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/field"
	core "github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/policy"
)

func sortStrings(s []string) { slices.Sort(s) }

// tally is what a run saw.
type tally struct {
	sync.Mutex
	steps, quiet, drift, needless, syncs int
	lies                                 []string
}

func (t *tally) lie(format string, args ...any) {
	t.Lock()
	defer t.Unlock()
	t.lies = append(t.lies, fmt.Sprintf(format, args...))
}

// TestNoLies looks for a step in which the gate is quiet and a dry-run is not,
// and for a sync that leaves behind what Git dropped.
func TestNoLies(t *testing.T) {
	plane := controlplane.Shared(t)
	config, err := plane.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	start := *seed
	if start == 0 {
		start = uint64(time.Now().UnixNano())
	}
	t.Logf("-gate.seed=%d", start)
	total := &tally{}
	deadline := time.Now().Add(*duration)
	var wg sync.WaitGroup
	for i, k := range kinds() {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(start, uint64(i)))
			for n := 0; time.Now().Before(deadline) && t.Context().Err() == nil; n++ {
				ns := fmt.Sprintf("gate-%s-%d", k.gvr.Resource, n)
				if err := makeNamespace(t.Context(), client, ns); err != nil {
					t.Error(err)
					return
				}
				s := &subject{T: t, kind: k, r: r, client: client.Resource(k.gvr).Namespace(ns), namespace: ns, total: total}
				s.life(t.Context(), deadline)
			}
		})
	}
	wg.Wait()
	t.Logf("steps=%d quiet=%d drift=%d needless=%d syncs=%d lies=%d",
		total.steps, total.quiet, total.drift, total.needless, total.syncs, len(total.lies))
	for i, l := range total.lies {
		if i == 10 {
			t.Errorf("and %d more", len(total.lies)-10)
			break
		}
		t.Error(l)
	}
	if total.steps == 0 {
		t.Error("nothing was tried")
	}
}

func makeNamespace(ctx context.Context, client dynamic.Interface, name string) error {
	ns := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	_, err := client.Resource(gvr("", "v1", "namespaces")).Create(ctx, ns, metav1.CreateOptions{})
	return err
}

// subject is one object and all that is known of it.
type subject struct {
	*testing.T
	kind      kind
	r         *rand.Rand
	client    dynamic.ResourceInterface
	namespace string
	total     *tally

	desired  *unstructured.Unstructured
	earlier  *unstructured.Unstructured
	verdicts map[core.Key]diff.Verdict
	log      []string
}

// life is the history of one object: some thirty edits and commits.
func (s *subject) life(ctx context.Context, deadline time.Time) {
	s.verdicts = map[core.Key]diff.Verdict{}
	s.desired = s.manifest()
	s.birth(ctx)
	s.sync(ctx)
	for range 30 {
		if time.Now().After(deadline) || ctx.Err() != nil {
			return
		}
		if s.r.IntN(6) == 0 {
			s.desired = s.manifest()
			s.note("commit")
		} else {
			s.edit(ctx)
		}
		s.check(ctx)
		if s.r.IntN(3) == 0 {
			s.sync(ctx)
		}
	}
}

func (s *subject) note(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *subject) history() string { return strings.Join(s.log, "\n    ") }

func (s *subject) manifest() *unstructured.Unstructured {
	// Through JSON, so that nothing is shared and numbers are what they are.
	raw, err := json.Marshal(s.kind.make(s.r))
	if err != nil {
		s.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		s.Fatal(err)
	}
	u.SetNamespace(s.namespace)
	return core.Stamp(u, "app", s.namespace)
}

// birth sometimes lets somebody else make the object first.
func (s *subject) birth(ctx context.Context) {
	u := s.manifest()
	switch s.r.IntN(4) {
	case 0:
		_, err := s.client.Create(ctx, u, metav1.CreateOptions{FieldManager: pick(s.r, "kubectl-create", "kubectl-client-side-apply")})
		s.note("created by another: %v", err)
	case 1:
		_, err := s.client.Apply(ctx, "it", u, metav1.ApplyOptions{FieldManager: "helm", Force: true})
		s.note("applied by helm: %v", err)
	}
}

func (s *subject) live(ctx context.Context) *unstructured.Unstructured {
	u, err := s.client.Get(ctx, "it", metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return u
}

// judge is what the product does: the facts, the questions, the answers.
func (s *subject) judge(ctx context.Context, live *unstructured.Unstructured) (it plan.Item, asked bool) {
	set, _ := core.NewSet([]core.Object{core.NewObject(s.desired)})
	in := plan.Input{
		App: plan.App{Instance: "app"}, Desired: set, Verdicts: s.verdicts,
		Project: policy.Project{NamespaceWhitelistNil: true, Destinations: []policy.Destination{{Server: "*", Namespace: "*"}}},
		Server:  v1alpha1.InClusterServer, Mark: plan.Mark{Destination: s.namespace},
		Live: []core.Fact{core.FactOf(live, v1alpha1.FieldManagerApply)},
	}
	answers := map[core.Key]plan.Answer{}
	for _, q := range plan.Ask(in) {
		asked = true
		a := plan.Answer{Live: live}
		predicted, err := s.dryRun(ctx)
		if err != nil {
			a.Problem, a.Rejected = err.Error(), true
		}
		a.Predicted = predicted
		if diff.Foreign(live, v1alpha1.FieldManagerApply) {
			a.Earlier = s.earlier
		}
		answers[q.Object.Key] = a
	}
	p := plan.Compute(in, answers)
	it = p.Items[0]
	if it.Action == plan.Deny {
		s.Fatal(it.Reason)
	}
	s.verdicts = map[core.Key]diff.Verdict{it.Key: it.Verdict}
	return it, asked
}

func (s *subject) dryRun(ctx context.Context) (*unstructured.Unstructured, error) {
	return s.client.Apply(ctx, "it", s.desired, metav1.ApplyOptions{
		FieldManager: v1alpha1.FieldManagerApply, Force: true, DryRun: []string{metav1.DryRunAll},
	})
}

// check compares the product's verdict with the plain truth.
func (s *subject) check(ctx context.Context) {
	live := s.live(ctx)
	if live == nil {
		return
	}
	it, asked := s.judge(ctx, live)
	predicted, err := s.dryRun(ctx)
	again := s.live(ctx)
	if err != nil || again == nil || again.GetResourceVersion() != live.GetResourceVersion() {
		return
	}
	truth := diff.Compare(live, predicted)
	left := s.left(live)
	s.total.Lock()
	s.total.steps++
	switch {
	case !asked:
		s.total.quiet++
	case it.Sync == plan.Synced:
		s.total.needless++
	default:
		s.total.drift++
	}
	s.total.Unlock()
	if it.Sync == plan.Synced && (len(truth) > 0 || len(left) > 0) {
		s.total.lie("%s: said Synced (asked: %t), but an apply would change %v and %v is left behind\n    %s",
			s.namespace, asked, truth, left, s.history())
	}
}

// left is the plain form of the second witness: whole top-level entries of
// data, labels and annotations that the manifest before had with this value
// and this one does not have.
func (s *subject) left(live *unstructured.Unstructured) []string {
	if s.earlier == nil {
		return nil
	}
	var out []string
	for _, path := range [][]string{{"data"}, {"metadata", "labels"}, {"metadata", "annotations"}} {
		before, _, _ := unstructured.NestedMap(s.earlier.Object, path...)
		now, _, _ := unstructured.NestedMap(s.desired.Object, path...)
		stands, _, _ := unstructured.NestedMap(live.Object, path...)
		for k, v := range before {
			if _, wanted := now[k]; !wanted && stands[k] == v {
				out = append(out, strings.Join(path, ".")+"."+k)
			}
		}
	}
	return out
}

// sync makes the manifest true as the engine does, and looks at the result.
func (s *subject) sync(ctx context.Context) {
	if live := s.live(ctx); live != nil {
		it, _ := s.judge(ctx, live)
		if len(it.Verdict.Left) > 0 && s.takeOver(ctx, it.Verdict.Left) != nil {
			return
		}
	}
	u, err := s.client.Apply(ctx, "it", s.desired, metav1.ApplyOptions{FieldManager: v1alpha1.FieldManagerApply, Force: true})
	s.note("sync: %v", err)
	if err != nil {
		return
	}
	s.total.Lock()
	s.total.syncs++
	s.total.Unlock()
	if left := s.left(u); len(left) > 0 {
		s.total.lie("%s: a sync left %v behind\n    %s", s.namespace, left, s.history())
	}
	s.earlier = s.desired
	f := core.FactOf(u, v1alpha1.FieldManagerApply)
	s.verdicts = map[core.Key]diff.Verdict{f.Key: {
		Desired: core.DigestOf(s.desired), Live: f.Digest, Version: f.ResourceVersion, Confirmed: true,
	}}
}

func (s *subject) takeOver(ctx context.Context, ways [][]string) error {
	live := s.live(ctx)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": live.GetResourceVersion(), "managedFields": field.TakeOver(live, v1alpha1.FieldManagerApply, ways),
	}})
	if err != nil {
		return err
	}
	_, err = s.client.Patch(ctx, "it", types.MergePatchType, patch, metav1.PatchOptions{FieldManager: v1alpha1.FieldManagerApply})
	s.note("take over %v: %v", ways, err)
	return err
}
