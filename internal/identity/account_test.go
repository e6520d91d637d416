package identity

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/crypto/bcrypt"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/account"
)

// Many replicas begin at once on nothing: one key, one password, and the password fits the hash.
func TestFirstStart(t *testing.T) {
	m := newMemory(nil)
	m.late = true
	var keepers []*Keeper
	for range 8 {
		k, _ := begin(t, m, Options{})
		keepers = append(keepers, k)
	}
	var wg sync.WaitGroup
	for _, k := range keepers {
		wg.Go(func() {
			if err := k.Ensure(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	data, initial := m.data(v1alpha1.SecretSettings), m.data(v1alpha1.SecretInitialAdmin)
	if err := bcrypt.CompareHashAndPassword(data["admin.password"], initial["password"]); err != nil {
		t.Errorf("the password in the secret is not that of the administrator: %v", err)
	}
	if _, err := time.Parse(time.RFC3339, string(data["admin.passwordMtime"])); err != nil || len(data) != 3 {
		t.Errorf("%v: the secret has %d keys", err, len(data))
	}
	if len(data["server.secretkey"]) < 32 || len(initial["password"]) != 16 {
		t.Error("the key or the password is too short")
	}
	token, err := keepers[0].Login(t.Context(), Attempt{Name: "admin", Password: text(string(initial["password"]))})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keepers {
		verified(t, k, token)
	}
	if a, b := m.written(v1alpha1.SecretSettings), m.written(v1alpha1.SecretInitialAdmin); a != 1 || b != 1 {
		t.Errorf("the secrets were written %d and %d times", a, b)
	}
}

// What an installation has stays as it is; only what is missing is added.
func TestEnsureKeepsWhatIsThere(t *testing.T) {
	for name, c := range map[string]struct {
		config, given map[string]string
		added         []string
		initial       bool
	}{
		"all there":            {nil, map[string]string{"server.secretkey": "k", "admin.password": "h", "x": "y"}, nil, false},
		"an empty secret":      {nil, map[string]string{"x": "y"}, []string{"server.secretkey", "admin.password", "admin.passwordMtime"}, true},
		"no key":               {nil, map[string]string{"admin.password": "h"}, []string{"server.secretkey"}, false},
		"no administrator":     {map[string]string{"admin.enabled": "false"}, map[string]string{"x": "y"}, []string{"server.secretkey"}, false},
		"a password to be new": {nil, map[string]string{"server.secretkey": "k"}, []string{"admin.password", "admin.passwordMtime"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory(c.config)
			m.seed(c.given)
			k, _ := begin(t, m, Options{})
			for range 2 {
				if err := k.Ensure(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			data := m.data(v1alpha1.SecretSettings)
			for key, value := range c.given {
				if string(data[key]) != value {
					t.Errorf("%s was changed", key)
				}
			}
			for _, key := range c.added {
				if len(data[key]) == 0 {
					t.Errorf("%s is missing", key)
				}
			}
			if len(data) != len(c.given)+len(c.added) || (m.data(v1alpha1.SecretInitialAdmin) != nil) != c.initial {
				t.Errorf("there are %d keys, and a password: %t", len(data), m.data(v1alpha1.SecretInitialAdmin) != nil)
			}
		})
	}
}

func TestTokensOfAccounts(t *testing.T) {
	m, k, clock := known(t)
	m.late = true // the watch is slow: what was written here counts at once
	forever, err := k.CreateToken(t.Context(), "ci", Wish{ID: "deploy"})
	if err != nil {
		t.Fatal(err)
	}
	short, err := k.CreateToken(t.Context(), "ci", Wish{Lifetime: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if c := verified(t, k, forever); c.TokenID != "deploy" || c.Session || !c.Expires.IsZero() {
		t.Errorf("the caller is %+v", c)
	}
	verified(t, k, short)
	for name, try := range map[string]func() error{
		"an id twice":   func() error { _, err := k.CreateToken(t.Context(), "ci", Wish{ID: "deploy"}); return err },
		"no capability": func() error { _, err := k.CreateToken(t.Context(), "bob", Wish{}); return err },
		"nobody":        func() error { _, err := k.CreateToken(t.Context(), "nobody", Wish{}); return err },
		"in the past":   func() error { _, err := k.CreateToken(t.Context(), "ci", Wish{Lifetime: -1}); return err },
		"a very long id": func() error {
			_, err := k.CreateToken(t.Context(), "ci", Wish{ID: strings.Repeat("x", 300)})
			return err
		},
		"deleting no token": func() error { return k.DeleteToken(t.Context(), "ci", "none") },
		"deleting nobody's": func() error { return k.DeleteToken(t.Context(), "nobody", "none") },
	} {
		var input *InputError
		if err := try(); !errors.As(err, &input) {
			t.Errorf("%s: %v", name, err)
		}
	}
	clock.move(2 * time.Minute)
	if _, err := k.Verify(t.Context(), short); err == nil {
		t.Error("a token is valid after its end")
	}
	if err := k.DeleteToken(t.Context(), "ci", "deploy"); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Verify(t.Context(), forever); err == nil {
		t.Error("a deleted token is valid")
	}
	again, err := k.CreateToken(t.Context(), "ci", Wish{ID: "deploy"})
	if err != nil {
		t.Fatal(err)
	}
	verified(t, k, again)
	if _, err := k.Verify(t.Context(), forever); err == nil {
		t.Error("a deleted token is valid again, since its id is in use")
	}
	if got := string(m.data(v1alpha1.SecretSettings)["server.secretkey"]); got != signingKey {
		t.Error("another key of the secret was changed")
	}
}

// Accounts get tokens at once, from two replicas: none is lost.
func TestTokensMadeAtOnce(t *testing.T) {
	m, one, clock := known(t)
	two, _ := begin(t, m, Options{Now: clock.Now})
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			if _, err := []*Keeper{one, two}[i%2].CreateToken(t.Context(), "ci", Wish{ID: strconv.Itoa(i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if a, _ := two.Account("ci"); len(a.Tokens) != 7 {
		t.Errorf("there are %d tokens", len(a.Tokens))
	}
}

func TestChangingPasswords(t *testing.T) {
	m, k, clock := known(t)
	login := func(name, password string) (Caller, string) {
		t.Helper()
		token, err := k.Login(t.Context(), Attempt{Name: name, Password: text(password)})
		if err != nil {
			t.Fatal(err)
		}
		return verified(t, k, token), token
	}
	bob, bobs := login("bob", "bob-hash")
	admin, _ := login("admin", "admin-hash")
	clock.move(time.Minute)
	for name, p := range map[string]NewPassword{
		"the current one is wrong":       {Caller: bob, Current: text("guess"), New: text("long enough")},
		"the new one is too short":       {Caller: bob, Current: text("bob-hash"), New: text("short")},
		"no such account":                {Caller: admin, Account: "nobody", Current: text("admin-hash"), New: text("long enough")},
		"with the password of the other": {Caller: admin, Account: "bob", Current: text("bob-hash"), New: text("long enough")},
		"a role of a project":            {Caller: Caller{Project: "web", Issuer: "argocd"}, Account: "bob", New: text("long enough")},
	} {
		if err := k.UpdatePassword(t.Context(), p); err == nil {
			t.Errorf("%s: the password was changed", name)
		}
	}
	if err := k.UpdatePassword(t.Context(), NewPassword{Caller: bob, Current: text("bob-hash"), New: text("long enough")}); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Verify(t.Context(), bobs); err == nil {
		t.Error("a session from before is valid")
	}
	data := m.data(v1alpha1.SecretSettings)
	if bcrypt.CompareHashAndPassword(data["accounts.bob.password"], []byte("long enough")) != nil {
		t.Error("the secret does not have the new password")
	}
	// Guessing the current one is limited as signing in is, and whoever gets a new password begins anew.
	for range defaultTries {
		_ = k.UpdatePassword(t.Context(), NewPassword{Caller: bob, Current: text("guess"), New: text("long enough")})
	}
	if k.ledger.count("bob") != defaultTries {
		t.Errorf("%d failures", k.ledger.count("bob"))
	}
	if err := k.UpdatePassword(t.Context(), NewPassword{Caller: admin, Account: "bob", Current: text("admin-hash"), New: text("even longer")}); err != nil {
		t.Fatal(err)
	}
	if k.ledger.count("bob") != 0 {
		t.Error("bob is locked with his new password")
	}
}

// editor changes projects as the hub's client does; the cache does not see it.
type editor struct {
	m    *memory
	live map[string]*v1alpha1.AppProject
	// faster is somebody who writes before us, so many times.
	faster int
}

func (e *editor) Get(_ context.Context, name string) (*v1alpha1.AppProject, error) {
	p, ok := e.live[name]
	if !ok {
		return e.m.Project(context.Background(), name)
	}
	return p.DeepCopy(), nil
}

func (e *editor) Patch(_ context.Context, name string, patch []byte, _ bool) (*v1alpha1.AppProject, error) {
	have := e.live[name]
	if e.faster > 0 {
		e.faster--
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "appprojects"}, name, errors.New("somebody was faster"))
	}
	before, err := json.Marshal(have)
	if err != nil {
		return nil, err
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return nil, err
	}
	next := &v1alpha1.AppProject{}
	if err := json.Unmarshal(after, next); err != nil {
		return nil, err
	}
	if next.ResourceVersion != have.ResourceVersion {
		return nil, errors.New("no resource version")
	}
	version, _ := strconv.Atoi(have.ResourceVersion)
	next.ResourceVersion = strconv.Itoa(version + 1)
	e.live[name] = next
	return next.DeepCopy(), nil
}

func TestTokensOfRoles(t *testing.T) {
	m, k, clock := known(t)
	e := &editor{m: m, faster: 3, live: map[string]*v1alpha1.AppProject{"web": m.projects["web"].DeepCopy()}}
	e.live["web"].Spec.Roles[0].JWTTokens = []v1alpha1.JWTToken{{IssuedAt: 7}}
	k.o.Editor = e
	token, err := k.CreateProjectToken(t.Context(), "web", "deploy", Wish{ID: "ci", Lifetime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if c := verified(t, k, token); c.Subject != "proj:web:deploy" || c.Session {
		t.Errorf("the caller is %+v", c)
	}
	live := e.live["web"]
	if items := live.Status.JWTTokensByRole["deploy"].Items; len(items) != 2 || items[1].ID != "ci" || items[1].ExpiresAt == 0 || len(live.Spec.Roles[0].JWTTokens) != 1 {
		t.Errorf("the project is %+v", live)
	}
	if _, err := k.CreateProjectToken(t.Context(), "web", "deploy", Wish{ID: "ci"}); err == nil {
		t.Error("an id was given twice")
	}
	if _, err := k.CreateProjectToken(t.Context(), "web", "none", Wish{}); err == nil {
		t.Error("a role that does not exist got a token")
	}
	if err := k.DeleteProjectToken(t.Context(), "web", "deploy", account.Token{ID: "ci"}); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Verify(t.Context(), token); err == nil {
		t.Error("a deleted token is valid")
	}
	for range 2 {
		if err := k.DeleteProjectToken(t.Context(), "web", "deploy", account.Token{IssuedAt: 7}); err != nil {
			t.Fatal(err)
		}
	}
	if len(e.live["web"].Spec.Roles[0].JWTTokens) != 0 {
		t.Error("the token in the role itself is still there")
	}
	// When the cache has come as far, it counts.
	m.projects["web"] = &v1alpha1.AppProject{ObjectMeta: e.live["web"].ObjectMeta}
	m.projects["web"].ResourceVersion = "100"
	old := made(t, jwt.SigningMethodHS256, []byte(signingKey), claims(clock.Now(), map[string]any{"sub": "proj:web:deploy", "jti": "role", "exp": nil}))
	if _, err := k.Verify(t.Context(), old); err == nil {
		t.Error("a role that is gone has a valid token")
	}
}
