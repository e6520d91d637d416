package identity_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/internal/core/account"
	"github.com/towline-cd/towline/internal/core/secret"
	"github.com/towline-cd/towline/internal/identity"
	"github.com/towline-cd/towline/internal/settings"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(controlplane.Main(m, controlplane.Options{Name: "identity", Nodes: -1}))
}

// replica is a keeper with settings of its own, as a process has them.
type replica struct {
	*identity.Keeper
	settings *settings.Store
	stop     func()
}

func start(t *testing.T, config *rest.Config, namespace string) replica {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	store, err := settings.New(config, namespace, settings.Listeners{})
	if err != nil {
		t.Fatal(err)
	}
	keeper, err := identity.New(config, namespace, identity.Options{Values: store, Floor: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = store.Run(ctx) })
	if !store.WaitReady(ctx) {
		t.Fatal("the settings do not come")
	}
	wg.Go(func() {
		if err := keeper.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	if !keeper.WaitReady(ctx) {
		t.Fatal("the sessions do not come")
	}
	r := replica{Keeper: keeper, settings: store, stop: sync.OnceFunc(func() { cancel(); wg.Wait() })}
	t.Cleanup(r.stop)
	return r
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it does not come: %s", what)
		}
	}
}

// The whole life of an installation's accounts on a real server, by two replicas: first start at once, signing in and out,
// a change of the password, tokens, failures, and what an administrator does by hand.
func TestAccountsOnARealServer(t *testing.T) {
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
	space, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "identity-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	secrets, configMaps := client.CoreV1().Secrets(space.Name), client.CoreV1().ConfigMaps(space.Name)
	// As Argo CD's own manifests have it: there, and empty.
	if _, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "argocd-secret"}, StringData: map[string]string{"webhook.github.secret": "kept"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "argocd-cm"}, Data: map[string]string{"accounts.ci": "apiKey"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	one, two := start(t, config, space.Name), start(t, config, space.Name)
	var wg sync.WaitGroup
	for _, r := range []replica{one, two, one, two} {
		wg.Go(func() {
			if err := r.Ensure(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	read := func(name string) map[string][]byte {
		t.Helper()
		s, err := secrets.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return s.Data
	}
	data, password := read("argocd-secret"), read("argocd-initial-admin-secret")["password"]
	if string(data["webhook.github.secret"]) != "kept" || bcrypt.CompareHashAndPassword(data["admin.password"], password) != nil {
		t.Fatalf("the secret has %q", slices.Sorted(maps.Keys(data)))
	}
	admin := identity.Attempt{Name: "admin", Password: secret.New(string(password)), Source: "192.0.2.1"}
	token, err := one.Login(ctx, admin)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the session is known to the other replica", func() bool { _, err := two.Verify(ctx, token); return err == nil })
	caller, err := two.Verify(ctx, token)
	if err != nil || caller.Subject != "admin" {
		t.Fatalf("%+v, %v", caller, err)
	}
	if err := two.Logout(ctx, caller); err != nil {
		t.Fatal(err)
	}
	eventually(t, "signing out is known to the other replica", func() bool { _, err := one.Verify(ctx, token); return err != nil })

	t.Run("tokens and passwords", func(t *testing.T) { tokens(t, one, two, admin) })
	t.Run("failures outlive the process", func(t *testing.T) {
		for range 20 {
			_, _ = one.Login(ctx, identity.Attempt{Name: "admin", Password: secret.New("guess"), Source: "192.0.2.1"})
		}
		var stood account.Sessions
		if err := json.Unmarshal(read(v1alpha1.SecretSessions)["sessions.json"], &stood); err != nil || stood.Failures["admin"].Count != 5 {
			t.Errorf("%v: the secret has %+v", err, stood)
		}
		one.stop()
		three := start(t, config, space.Name)
		eventually(t, "the other replica knows of the failures", func() bool {
			_, err := two.Login(ctx, admin)
			return err != nil
		})
		if _, err := three.Login(ctx, admin); err == nil {
			t.Error("a restart had the failures forgotten")
		}
	})
	t.Run("by hand", func(t *testing.T) {
		session, err := two.CreateToken(ctx, "ci", identity.Wish{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := configMaps.Update(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "argocd-cm"}, Data: map[string]string{"accounts.ci": "apiKey", "accounts.ci.enabled": "false"}}, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the account is disabled", func() bool { _, err := two.Verify(ctx, session); return err != nil })
		// Whoever is locked out can have the failures forgotten.
		if err := secrets.Delete(ctx, v1alpha1.SecretSessions, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the failures are forgotten", func() bool { _, err := two.Login(ctx, admin); return err == nil })
	})
}

func tokens(t *testing.T, one, two replica, admin identity.Attempt) {
	ctx := t.Context()
	var wg sync.WaitGroup
	made := make([]string, 4)
	for i := range made {
		wg.Go(func() {
			var err error
			if made[i], err = []replica{one, two}[i%2].CreateToken(ctx, "ci", identity.Wish{Lifetime: time.Hour}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, token := range made {
		eventually(t, "a token is known", func() bool {
			_, first := one.Verify(ctx, token)
			_, second := two.Verify(ctx, token)
			return first == nil && second == nil
		})
	}
	caller, err := one.Verify(ctx, made[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := one.DeleteToken(ctx, "ci", caller.TokenID); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Verify(ctx, made[0]); err == nil {
		t.Error("a deleted token is valid where it was deleted")
	}
	eventually(t, "the deletion is known", func() bool { _, err := two.Verify(ctx, made[0]); return err != nil })

	session, err := one.Login(ctx, admin)
	if err != nil {
		t.Fatal(err)
	}
	me, err := one.Verify(ctx, session)
	if err != nil {
		t.Fatal(err)
	}
	// A session of the second of the change is as young as the change itself.
	time.Sleep(time.Until(me.IssuedAt.Add(1100 * time.Millisecond)))
	if err := one.UpdatePassword(ctx, identity.NewPassword{Caller: me, Source: admin.Source, Current: admin.Password, New: admin.Password}); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Verify(ctx, session); err == nil {
		t.Error("a session from before the change is valid")
	}
	eventually(t, "the change is known", func() bool { _, err := two.Verify(ctx, session); return err != nil })
}
