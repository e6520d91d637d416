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
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/settings"
)

func TestClustersFollowTheirSecrets(t *testing.T) {
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
	space, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "clusters-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	secrets, maps := client.CoreV1().Secrets(space.Name), client.CoreV1().ConfigMaps(space.Name)
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	told := make(chan [2]*destination.Set, 100)
	store, err := settings.New(config, space.Name, settings.Listeners{Clusters: func(old, now *destination.Set) { told <- [2]*destination.Set{old, now} }})
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- store.Run(running) }()
	t.Cleanup(func() { stop(); <-ended })
	if !store.WaitReady(ctx) {
		t.Fatal("not ready")
	}
	expect := func(changed int, want ...string) {
		t.Helper()
		select {
		case sets := <-told:
			var names []string
			for _, c := range sets[1].All() {
				names = append(names, c.Name)
			}
			if d := cmp.Diff(want, names); d != "" {
				t.Errorf("the clusters differ (-want +got):\n%s", d)
			}
			if got := destination.Changed(sets[0], sets[1]); len(got) != changed {
				t.Errorf("%d destinations changed: %v", len(got), got)
			}
			if !destination.Same(sets[1], store.Clusters()) {
				t.Error("what is told is not what is kept")
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("nobody was told of %v", want)
		}
	}
	expect(0, "in-cluster")
	secret := func(labels ...string) *corev1.Secret {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "prod"}, Data: map[string][]byte{
			"name": []byte("prod"), "server": []byte("https://prod"), "config": []byte(`{"bearerToken": "one"}`),
		}}
		s.Labels = map[string]string{"argocd.argoproj.io/secret-type": "cluster"}
		for _, l := range labels {
			s.Labels[l] = "yes"
		}
		return s
	}
	must(secrets.Create(ctx, secret(), metav1.CreateOptions{}))
	expect(2, "in-cluster", "prod")
	must(secrets.Update(ctx, secret("stage"), metav1.UpdateOptions{}))
	expect(0, "in-cluster", "prod")
	rotated := secret("stage")
	rotated.Data["config"] = []byte(`{"bearerToken": "two"}`)
	must(secrets.Update(ctx, rotated, metav1.UpdateOptions{}))
	expect(2, "in-cluster", "prod")
	must(maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "argocd-cm"}, Data: map[string]string{"cluster.inClusterEnabled": "false"}}, metav1.CreateOptions{}))
	expect(2, "prod")
	once, err := settings.ReadClusters(ctx, config, space.Name)
	if err != nil || !destination.Same(once, store.Clusters()) {
		t.Errorf("a single reading has %v, %v", once, err)
	}
	must(nil, secrets.Delete(ctx, "prod", metav1.DeleteOptions{}))
	expect(2)
}
