package settings_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/internal/settings"
)

// TestSignOnFollowsItsSecrets: the secret of the client counts as soon as what refers to it and what it refers to are
// there, and the value stays the same while nothing of it changes.
func TestSignOnFollowsItsSecrets(t *testing.T) {
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
	space, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "signon-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	store, err := settings.New(config, space.Name, settings.Listeners{})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = store.Run(ctx) }()
	if !store.WaitReady(ctx) || store.SSO().On() {
		t.Fatal("not ready, or people sign in nowhere")
	}
	await := func(what string, done func() bool) {
		t.Helper()
		for until := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("it does not come: %s", what)
			}
		}
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "argocd-cm"}, Data: map[string]string{
		"url": "https://cd.example.com", "oidc.config": "{issuer: https://login.example.com, clientID: web, clientSecret: $logins:web}",
	}}
	if cm, err = client.CoreV1().ConfigMaps(space.Name).Create(ctx, cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await("the provider", func() bool { return store.SSO().On() })
	if got := store.SSO().ClientSecret.Reveal(); got != "" {
		t.Errorf("a reference to nothing is %q", got)
	}
	logins := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "logins", Labels: map[string]string{"app.kubernetes.io/part-of": "argocd"}},
		StringData: map[string]string{"web": "hunter2\n"},
	}
	if _, err = client.CoreV1().Secrets(space.Name).Create(ctx, logins, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await("the secret", func() bool { return store.SSO().ClientSecret.Reveal() == "hunter2" })
	before, read := store.SSO(), store.Current()
	cm.Data["timeout.reconciliation"] = "60s"
	if _, err = client.CoreV1().ConfigMaps(space.Name).Update(ctx, cm, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	await("another setting", func() bool { return store.Current() != read })
	if store.SSO() != before {
		t.Error("the provider would be asked again for a setting that is none of its business")
	}
}
