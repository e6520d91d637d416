package leader

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

func TestMain(m *testing.M) {
	os.Exit(controlplane.Main(m, controlplane.Options{Name: "leader", Nodes: -1}))
}

// corner is a namespace of the real API server.
type corner struct {
	*testing.T
	config    *rest.Config
	client    *kubernetes.Clientset
	namespace string
}

func newCorner(t *testing.T) *corner {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the control plane; run without -short")
	}
	config, err := controlplane.Shared(t).RESTConfig()
	c := &corner{T: t, config: config}
	c.must(err)
	c.client, err = kubernetes.NewForConfig(config)
	c.must(err)
	space, err := c.client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "leader-"}}, metav1.CreateOptions{})
	c.must(err)
	c.namespace = space.Name
	return c
}

func (c *corner) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// long is a lease that does not run out while a test lasts.
var long = Times{Duration: 600 * time.Second, Deadline: 590 * time.Second, Retry: 500 * time.Millisecond}

// candidate is a replica.
type candidate struct {
	*Elector
	// began and ended are sent to by its terms.
	began, ended chan time.Time
	// quit asks it to end, and done is closed when it has.
	quit func()
	done chan struct{}
}

func (c *corner) candidate(o Options) *candidate {
	c.Helper()
	if o.Namespace = c.namespace; o.Config == nil {
		o.Config = c.config
	}
	if o.Duration == 0 {
		o.Times = long
	}
	e, err := New(o)
	c.must(err)
	ctx, quit := context.WithCancel(c.Context())
	k := &candidate{Elector: e, began: make(chan time.Time, 9), ended: make(chan time.Time, 9), quit: quit, done: make(chan struct{})}
	var wg sync.WaitGroup
	wg.Go(func() { e.Follow(ctx) })
	wg.Go(func() {
		if err := e.Run(ctx, func(ctx context.Context) error {
			k.began <- time.Now()
			<-ctx.Done()
			k.ended <- time.Now()
			return nil
		}); err != nil {
			c.Errorf("%s ended with %v", o.Identity, err)
		}
	})
	go func() {
		wg.Wait()
		close(k.done)
	}()
	c.Cleanup(func() {
		quit()
		<-k.done
	})
	return k
}

// soon waits for something that must come long before a long lease runs out.
func (c *corner) soon(what string, ch <-chan time.Time) time.Time {
	c.Helper()
	select {
	case at := <-ch:
		return at
	case <-time.After(60 * time.Second):
		c.Fatalf("%s: it did not come", what)
		return time.Time{}
	}
}

// never looks whether something came that must not.
func (c *corner) never(what string, ch <-chan time.Time) {
	c.Helper()
	select {
	case <-ch:
		c.Errorf("%s: it came", what)
	default:
	}
}

func (c *corner) lease() *coordinationv1.Lease {
	c.Helper()
	l, err := c.client.CoordinationV1().Leases(c.namespace).Get(c.Context(), v1alpha1.LeaseController, metav1.GetOptions{})
	c.must(err)
	return l
}

// await watches until a replica knows of a leader.
func (c *corner) await(k *candidate, identity string) {
	c.Helper()
	limit := time.After(60 * time.Second)
	for {
		k.mu.Lock()
		changed := k.changed
		k.mu.Unlock()
		if l, _ := k.Leader(); l.Identity == identity {
			return
		}
		select {
		case <-changed:
		case <-limit:
			l, ok := k.Leader()
			c.Fatalf("%s thinks that %v (%v) leads, not %q", k.Identity, l, ok, identity)
		}
	}
}

func TestReleasedLeaseIsTakenAtOnce(t *testing.T) {
	c := newCorner(t)
	one := c.candidate(Options{Identity: "one", Address: func() string { return "10.0.0.1:8083" }})
	c.soon("one leads", one.began)
	two := c.candidate(Options{Identity: "two"})
	c.await(two, "one")
	if l, ok := two.Leader(); !ok || l.Address != "10.0.0.1:8083" || l.Here {
		t.Errorf("two knows of %+v", l)
	}
	c.never("two leads beside one", two.began)
	one.quit()
	c.soon("one ends its term", one.ended)
	c.soon("two leads", two.began)
	if l, ok := two.Leader(); !ok || !l.Here || l.Address != "" {
		t.Errorf("two knows of %+v, which should be itself, reached nowhere", l)
	}
	if l := c.lease(); *l.Spec.LeaseTransitions != 1 {
		t.Errorf("the lease has changed hands %d times, want 1", *l.Spec.LeaseTransitions)
	}
}

func TestLeaseOfTheDeadRunsOut(t *testing.T) {
	c := newCorner(t)
	at := metav1.NowMicro()
	_, err := c.client.CoordinationV1().Leases(c.namespace).Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LeaseController},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("dead"), LeaseDurationSeconds: new(int32(2)), RenewTime: &at},
	}, metav1.CreateOptions{})
	c.must(err)
	began := time.Now()
	one := c.candidate(Options{Identity: "one"})
	c.soon("one leads", one.began)
	if waited := time.Since(began); waited < 2*time.Second {
		t.Errorf("one led after %s, though the lease was for 2s", waited)
	}
}

// Whoever has the folder of a dead process is its heir.
func TestHeirDoesNotWait(t *testing.T) {
	c := newCorner(t)
	at := metav1.NowMicro()
	_, err := c.client.CoordinationV1().Leases(c.namespace).Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LeaseController},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("one"), LeaseDurationSeconds: new(int32(600)), RenewTime: &at},
	}, metav1.CreateOptions{})
	c.must(err)
	namesake := c.candidate(Options{Identity: "one"})
	c.await(namesake, "one")
	c.never("a namesake leads", namesake.began)
	namesake.quit()
	<-namesake.done
	heir := c.candidate(Options{Identity: "one", Heir: true})
	c.soon("the heir leads", heir.began)
}

// A deleted lease is made again by its holder; whoever stands by waits as if it
// were still there.
func TestDeletedLeaseIsStillHeld(t *testing.T) {
	c := newCorner(t)
	one := c.candidate(Options{Identity: "one"})
	c.soon("one leads", one.began)
	two := c.candidate(Options{Identity: "two"})
	c.await(two, "one")
	before := c.lease()
	c.must(c.client.CoordinationV1().Leases(c.namespace).Delete(t.Context(), v1alpha1.LeaseController, metav1.DeleteOptions{}))
	limit := time.Now().Add(60 * time.Second)
	for {
		l, err := c.client.CoordinationV1().Leases(c.namespace).Get(t.Context(), v1alpha1.LeaseController, metav1.GetOptions{})
		if err == nil && l.UID != before.UID {
			if *l.Spec.HolderIdentity != "one" {
				t.Errorf("%s holds it", *l.Spec.HolderIdentity)
			}
			break
		}
		if time.Now().After(limit) {
			t.Fatal("it was not made again")
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.never("one ends its term", one.ended)
	c.never("two leads", two.began)
}

// Whoever finds another's name on the lease stops at once, and may come again.
func TestLeaseThatIsTakenAway(t *testing.T) {
	c := newCorner(t)
	one := c.candidate(Options{Identity: "one"})
	c.soon("one leads", one.began)
	patch := func(holder, seconds string) {
		t.Helper()
		_, err := c.client.CoordinationV1().Leases(c.namespace).Patch(t.Context(), v1alpha1.LeaseController, types.MergePatchType,
			[]byte(`{"spec":{"holderIdentity":"`+holder+`","leaseDurationSeconds":`+seconds+`}}`), metav1.PatchOptions{})
		c.must(err)
	}
	patch("thief", "600")
	c.soon("one ends its term", one.ended)
	if one.Leading() {
		t.Error("one thinks that it leads")
	}
	if err := one.Fence.check(); !refused(err) {
		t.Errorf("one may write: %v", err)
	}
	patch("", "1")
	c.soon("one leads again", one.began)
	if err := one.Fence.check(); err != nil {
		t.Errorf("one may not write: %v", err)
	}
}

// A holder that cannot renew stops before anybody else may begin.
func TestHolderThatIsCutOff(t *testing.T) {
	c := newCorner(t)
	// As by a network that fails: nothing of what one writes arrives.
	var cut atomic.Bool
	config := rest.CopyConfig(c.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet && cut.Load() {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return next.RoundTrip(r)
		})
	})
	short := Times{Duration: 4 * time.Second, Deadline: 2 * time.Second, Retry: 500 * time.Millisecond}
	one := c.candidate(Options{Identity: "one", Config: config, Times: short})
	c.soon("one leads", one.began)
	two := c.candidate(Options{Identity: "two"})
	c.await(two, "one")
	cut.Store(true)
	since := time.Now()
	ended := c.soon("one ends its term", one.ended)
	began := c.soon("two leads", two.began)
	t.Logf("one stopped %s after it was cut off, two began %s later",
		ended.Sub(since).Round(time.Millisecond), began.Sub(ended).Round(time.Millisecond))
	if began.Before(ended) {
		t.Error("two began before one had stopped")
	}
}

func TestManyWantOneLease(t *testing.T) {
	c := newCorner(t)
	most := 0
	var all []*candidate
	for i := range 5 {
		all = append(all, c.candidate(Options{Identity: strings.Repeat("x", i+1)}))
	}
	for range all {
		var now *candidate
		limit := time.After(60 * time.Second)
		for now == nil {
			select {
			case <-limit:
				t.Fatal("nobody leads")
			case <-time.After(5 * time.Millisecond):
			}
			leading := 0
			for _, k := range all {
				if k.Leading() {
					leading++
					now = k
				}
			}
			most = max(most, leading)
		}
		now.quit()
		<-now.done
	}
	if most != 1 {
		t.Errorf("%d led at once", most)
	}
}

func TestLeaseInNoNamespace(t *testing.T) {
	c := newCorner(t)
	e, err := New(Options{Config: c.config, Namespace: "nowhere", Identity: "one", Times: long})
	c.must(err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go e.Follow(ctx)
	err = e.Run(ctx, func(context.Context) error { return nil })
	if err == nil || !strings.Contains(err.Error(), `does namespace "nowhere" exist?`) {
		t.Errorf("got %v", err)
	}
}

// Replicas that start together agree on one authority.
func TestPeersAgreeOnTheirAuthority(t *testing.T) {
	c := newCorner(t)
	var wg sync.WaitGroup
	all := make([]*Peers, 8)
	for i := range all {
		p, err := NewPeers(c.config, c.namespace, "replica")
		c.must(err)
		all[i] = p
		wg.Go(func() {
			if err := p.Load(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, p := range all {
		if p.made == nil || !p.made.cert.Equal(all[0].made.cert) {
			t.Error("two replicas have different authorities")
		}
	}
	// Another authority is found when a certificate does not fit.
	c.must(c.client.CoreV1().Secrets(c.namespace).Delete(t.Context(), v1alpha1.SecretPeers, metav1.DeleteOptions{}))
	before := all[0].made.cert
	if all[0].again(t.Context()) {
		t.Error("the secret is read again at once")
	}
	all[0].now = func() time.Time { return time.Now().Add(reload) }
	if !all[0].again(t.Context()) || all[0].made.cert.Equal(before) {
		t.Error("it was not read again")
	}
}

func TestTimesThatCannotWork(t *testing.T) {
	for says, times := range map[string]Times{
		"whole seconds":      {Duration: 1500 * time.Millisecond, Deadline: time.Second, Retry: 100 * time.Millisecond},
		"two replicas would": {Duration: 10 * time.Second, Deadline: 10 * time.Second, Retry: time.Second},
		"two tries at least": {Duration: 15 * time.Second, Deadline: 10 * time.Second, Retry: 6 * time.Second},
	} {
		if err := times.check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: got %v, want %q", times, err, says)
		}
	}
	if err := UsualTimes().check(); err != nil {
		t.Error(err)
	}
}

func TestHeirIsKnownByFolderAndHost(t *testing.T) {
	dir := t.TempDir()
	first, err := Heir("host", dir)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := Heir("host", dir); again != first {
		t.Errorf("the same folder on the same host: %q, then %q", first, again)
	}
	if other, _ := Heir("other", dir); other == first {
		t.Errorf("another host with the same folder is %q too", other)
	}
	if other, _ := Heir("host", t.TempDir()); other == first {
		t.Errorf("another folder on the same host is %q too", other)
	}
	if _, err := Heir("host", filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there is no folder to have alone")
	}
}
