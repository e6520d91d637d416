package settings_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/internal/settings"
)

func TestMain(m *testing.M) {
	os.Exit(controlplane.Main(m, controlplane.Options{Name: "settings", Nodes: -1}))
}

// lockedLog is written to by whoever logs.
type lockedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedLog) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(data)
}

func TestRepositoriesFollowTheirSecrets(t *testing.T) {
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
	space, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "settings-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	log := &lockedLog{}
	previous := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
	t.Cleanup(func() { slog.SetDefault(previous) })

	secrets, maps := client.CoreV1().Secrets(space.Name), client.CoreV1().ConfigMaps(space.Name)
	secret := func(name, kind string, data map[string]string) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"argocd.argoproj.io/secret-type": kind}}, StringData: data,
		}
	}
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(secrets.Create(ctx, secret("one", "repository", map[string]string{
		"url": "https://example.com/shop", "username": "bot", "password": "hunter2", "gcpServiceAccountKey": "hunter2",
	}), metav1.CreateOptions{}))
	must(secrets.Create(ctx, secret("other", "cluster", map[string]string{"url": "https://example.com/cluster"}), metav1.CreateOptions{}))

	told := make(chan []string, 100)
	store, err := settings.New(config, space.Name, settings.Listeners{Repositories: func(urls []string) { told <- urls }})
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
	expect := func(want ...string) {
		t.Helper()
		select {
		case got := <-told:
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("what changed (-want +got)\n%s", diff)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("nobody was told of %v", want)
		}
	}
	expect("https://example.com/shop")
	if got := store.Repositories().For("https://example.com/shop.git", "any"); got.Username != "bot" || got.Password.Reveal() != "hunter2" {
		t.Errorf("the entry is %+v", got)
	}

	must(secrets.Update(ctx, secret("one", "repository", map[string]string{"url": "https://example.com/shop", "username": "robot"}), metav1.UpdateOptions{}))
	expect("https://example.com/shop")
	if got := store.Repositories().For("https://example.com/shop", ""); got.Username != "robot" {
		t.Errorf("after a change the entry is %+v", got)
	}
	must(secrets.Create(ctx, secret("many", "repo-creds", map[string]string{"url": "https://example.com", "username": "all"}), metav1.CreateOptions{}))
	expect("https://example.com")
	must(nil, secrets.Delete(ctx, "one", metav1.DeleteOptions{}))
	expect("https://example.com/shop")
	if got := store.Repositories().For("https://example.com/shop", ""); got.Username != "all" {
		t.Errorf("after the end of its secret the entry is %+v", got)
	}
	trust := func(name string, data map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	}
	must(maps.Create(ctx, trust("argocd-ssh-known-hosts-cm", map[string]string{"ssh_known_hosts": "example.com ssh-ed25519 AAAA"}), metav1.CreateOptions{}))
	expect("ssh://")
	must(maps.Create(ctx, trust("argocd-tls-certs-cm", map[string]string{"git.example.com": "PEM"}), metav1.CreateOptions{}))
	expect("https://git.example.com")
	must(maps.Create(ctx, trust("argocd-gpg-keys-cm", map[string]string{"ABCD": "KEY"}), metav1.CreateOptions{}))
	expect("*")
	got := store.Repositories().Trust()
	if got.KnownHosts == "" || got.Certificates["git.example.com"] != "PEM" || got.PublicKeys["ABCD"] != "KEY" {
		t.Errorf("whom to trust is %+v", got)
	}

	log.mu.Lock()
	defer log.mu.Unlock()
	if text := log.text.String(); strings.Contains(text, "hunter2") || !strings.Contains(text, "gcpServiceAccountKey") {
		t.Errorf("the log is %s", text)
	}
}
