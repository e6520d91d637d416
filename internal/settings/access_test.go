package settings_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/internal/core/rbac"
	"github.com/towline-cd/towline/internal/settings"
)

func TestAccessLeansToLess(t *testing.T) {
	const inherit, rollback = "server.rbac.disableApplicationFineGrainedRBACInheritance", "server.rbac.rollback.enforce.enable"
	cases := map[string]struct {
		data     map[string]string
		want     settings.Access
		problems int
	}{
		"nothing said": {nil, settings.Access{}, 0},
		"inherited":    {map[string]string{inherit: "false", rollback: "true"}, settings.Access{Inherit: true, Rollback: true}, 0},
		"said anyway":  {map[string]string{inherit: "true", rollback: "false"}, settings.Access{}, 0},
		"nonsense":     {map[string]string{inherit: "no!", rollback: "no!"}, settings.Access{Rollback: true}, 2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := settings.Parse(c.data)
			if d := cmp.Diff(c.want, got.Access); d != "" || len(got.Problems) != c.problems || got.NotHonoured != nil {
				t.Errorf("problems %q, not honoured %q (-want +got):\n%s", got.Problems, got.NotHonoured, d)
			}
		})
	}
}

// A change of argocd-rbac-cm, or of the switch in argocd-cm, holds with its event.
func TestPolicyFollowsItsConfigMaps(t *testing.T) {
	plane := controlplane.Shared(t)
	config, err := plane.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	space, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "policy-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	maps := client.CoreV1().ConfigMaps(space.Name)
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	of := func(name string, data map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	}
	must(maps.Create(ctx, of("argocd-rbac-cm", map[string]string{"policy.csv": "p, bob, applications, update, shop/*, allow"}), metav1.CreateOptions{}))

	told := make(chan *rbac.Table, 10)
	store, err := settings.New(config, space.Name, settings.Listeners{Policy: func(table *rbac.Table) { told <- table }})
	if err != nil {
		t.Fatal(err)
	}
	bob := rbac.Subject{Name: "bob"}
	update := rbac.Question{Resource: rbac.Applications, Action: rbac.Update, Object: "shop/web"}
	object := rbac.Question{Resource: rbac.Applications, Action: "update/apps/Deployment/shop/web", Object: "shop/web"}
	if store.Policy().Decide(bob, update).Allowed {
		t.Error("allowed before anything was read")
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- store.Run(running) }()
	t.Cleanup(func() { stop(); <-ended })
	if !store.WaitReady(ctx) {
		t.Fatal("not ready")
	}
	expect := func(when string, app, ofApp bool) {
		t.Helper()
		select {
		case table := <-told:
			if got := [2]bool{table.Decide(bob, update).Allowed, table.Decide(bob, object).Allowed}; got != [2]bool{app, ofApp} {
				t.Errorf("%s the application and its object may be updated: %v", when, got)
			}
			if store.Policy() != table {
				t.Errorf("%s the store has another table than was told", when)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%s nobody was told", when)
		}
	}
	expect("at first", true, false)
	must(maps.Create(ctx, of("argocd-cm", map[string]string{"server.rbac.disableApplicationFineGrainedRBACInheritance": "false"}), metav1.CreateOptions{}))
	expect("with inheritance", true, true)
	must(maps.Update(ctx, of("argocd-cm", map[string]string{
		"server.rbac.disableApplicationFineGrainedRBACInheritance": "false", "timeout.reconciliation": "60s",
	}), metav1.UpdateOptions{}))
	must(maps.Update(ctx, of("argocd-rbac-cm", map[string]string{"policy.team.csv": "p, bob, applications, update, web/*, allow"}), metav1.UpdateOptions{}))
	expect("after a change, and not before", false, false)

	read, problems, err := settings.ReadPolicy(ctx, config, space.Name)
	if err != nil || problems != nil {
		t.Fatal(problems, err)
	}
	want := rbac.Config{
		Documents: []rbac.Document{{Name: "policy.team.csv", Text: "p, bob, applications, update, web/*, allow"}},
		Scopes:    []string{"groups"}, Inherit: true,
	}
	if d := cmp.Diff(want, read); d != "" {
		t.Errorf("read once (-want +got):\n%s", d)
	}
	must(nil, maps.Delete(ctx, "argocd-rbac-cm", metav1.DeleteOptions{}))
	expect("after its end", false, false)
}
