package settings_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/internal/core/webhook"
	"github.com/towline-cd/towline/internal/settings"
)

// token is the header that GitLab shows.
type token string

func (t token) Get(name string) string {
	return map[string]string{"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": string(t)}[name]
}

// TestWebhooksFollowTheirSecrets: a secret in argocd-secret counts at once, and one that it refers to as soon as that is
// there; until then nobody can prove to know it.
func TestWebhooksFollowTheirSecrets(t *testing.T) {
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
	space, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "webhooks-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	store, err := settings.New(config, space.Name, settings.Listeners{})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = store.Run(ctx) }()
	if !store.WaitReady(ctx) {
		t.Fatal("not ready")
	}
	secrets := client.CoreV1().Secrets(space.Name)
	takes := func(shown string) string {
		switch letter, refused := webhook.Open(token(shown), store.Webhooks()); {
		case refused != nil:
			return "refused"
		case letter.Proved:
			return "proved"
		default:
			return "heard"
		}
	}
	await := func(shown, want string) {
		t.Helper()
		for until := time.Now().Add(time.Minute); takes(shown) != want; {
			if time.Now().After(until) {
				t.Fatalf("%q is %s, want %s", shown, takes(shown), want)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	await("anything", "heard")
	main := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "argocd-secret"}, StringData: map[string]string{"webhook.gitlab.secret": "first"}}
	if main, err = secrets.Create(ctx, main, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await("first", "proved")
	await("anything", "refused")
	main.StringData = map[string]string{"webhook.gitlab.secret": "$tokens:gitlab"}
	if _, err = secrets.Update(ctx, main, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	await("first", "refused")
	await("$tokens:gitlab", "refused")
	other := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "tokens", Labels: map[string]string{"app.kubernetes.io/part-of": "argocd"}},
		StringData: map[string]string{"gitlab": "second\n"},
	}
	if _, err = secrets.Create(ctx, other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await("second", "proved")
	if err := secrets.Delete(ctx, "tokens", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await("second", "refused")
}
