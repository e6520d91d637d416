package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/sso"
)

const elsewhereIssuer = "https://login.example.com"

// vouching knows tokens by their whole text.
type vouching struct {
	known map[string]sso.Token
	off   bool
	err   error
}

func (v *vouching) Issues(issuer string) bool { return !v.off && issuer == elsewhereIssuer }

func (v *vouching) Verify(_ context.Context, token string) (sso.Token, error) {
	if v.err != nil {
		return sso.Token{}, v.err
	}
	t, ok := v.known[token]
	if !ok {
		return sso.Token{}, &sso.RefusalError{Cause: "nobody knows it"}
	}
	return t, nil
}

// foreignToken is one that says it is of an issuer; who signed it is not looked at here.
func foreignToken(t *testing.T, subject string) string {
	t.Helper()
	return made(t, jwt.SigningMethodHS256, []byte("whatever"), jwt.MapClaims{"iss": elsewhereIssuer, "sub": subject})
}

func TestForeignTokens(t *testing.T) {
	m, _, now := known(t)
	alice, admin, ghost := foreignToken(t, "alice"), foreignToken(t, "admin"), foreignToken(t, "ghost")
	expires := now.Now().Add(time.Hour)
	one := func(subject string) sso.Token {
		return sso.Token{
			Issuer: elsewhereIssuer, Subject: subject, Username: subject + "@example.com", Groups: []string{"dev"}, ID: "#" + subject,
			IssuedAt: now.Now(), Expires: expires,
		}
	}
	v := &vouching{known: map[string]sso.Token{alice: one("alice"), admin: one("admin")}}
	k, _ := begin(t, m, Options{Now: now.Now, Provider: v})
	got, err := k.Verify(t.Context(), alice)
	if err != nil {
		t.Fatal(err, CauseOf(err))
	}
	want := Caller{
		Subject: "alice", Username: "alice@example.com", Groups: []string{"dev"}, Issuer: elsewhereIssuer, TokenID: "#alice",
		IssuedAt: now.Now(), Expires: expires,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	wire, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var sent Caller
	if err := json.Unmarshal(wire, &sent); err != nil || k.Check(t.Context(), sent) != nil {
		t.Errorf("another replica refuses the caller: %v", err)
	}
	if next, err := k.Renew(got); next != "" || err != nil {
		t.Error("a session of somebody else was renewed")
	}
	refused := func(name, token string) {
		t.Helper()
		c, err := k.Verify(t.Context(), token)
		if err == nil || c.Subject != "" || c.Anonymous || err.Error() != publicToken && !errors.Is(v.err, errAway) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	refused("one that nobody knows", ghost)
	refused("the name of a local account", admin)
	refused("ours, by another key", made(t, jwt.SigningMethodHS256, []byte("whatever"), claims(now.Now(), nil)))
	refused("another issuer", made(t, jwt.SigningMethodHS256, []byte(signingKey), claims(now.Now(), jwt.MapClaims{"iss": "https://b"})))
	v.err = errAway
	if _, err := k.Verify(t.Context(), alice); err == nil || err.Error() != publicUnavailable {
		t.Errorf("while the provider is away: %v", err)
	}
	v.err = &sso.RefusalError{Cause: "it has expired", Expired: true}
	if r, ok := errors.AsType[*RefusalError](second(k.Verify(t.Context(), alice))); !ok || r.Kind != Expired {
		t.Error("a token that has ended is not told from others")
	}
	v.err = nil
	// A caller that claims to be one of ours by another road is nobody.
	for _, forged := range []Caller{
		{Subject: "proj:web:deploy", Project: "web", Role: "deploy", Issuer: elsewhereIssuer, Expires: expires},
		{Subject: "alice", Issuer: elsewhereIssuer, Session: true, Expires: expires},
		{Subject: "alice", Issuer: "https://b", Expires: expires},
		{Subject: "alice", Issuer: elsewhereIssuer, Expires: now.Now()},
	} {
		if k.Check(t.Context(), forged) == nil {
			t.Errorf("%+v stays", forged)
		}
	}
	v.off = true
	refused("a provider that was taken away", alice)
	if k.Check(t.Context(), got) == nil {
		t.Error("somebody stays whose provider was taken away")
	}
}

var errAway = errors.New("away")

func second(_ Caller, err error) error { return err }

// Signing out ends a token at once, for all replicas and after a restart, and nobody else's.
func TestForeignLogout(t *testing.T) {
	m, _, now := known(t)
	v := &vouching{known: map[string]sso.Token{}}
	token := func(subject, id string) string {
		raw := foreignToken(t, subject+id)
		v.known[raw] = sso.Token{Issuer: elsewhereIssuer, Subject: subject, ID: id, IssuedAt: now.Now(), Expires: now.Now().Add(time.Hour)}
		return raw
	}
	k, kill := begin(t, m, Options{Now: now.Now, Provider: v})
	first, second, bob := token("alice", "1"), token("alice", "2"), token("bobby", "1")
	if err := k.Logout(t.Context(), verified(t, k, first)); err != nil {
		t.Fatal(err)
	}
	if err := k.EndForeign(t.Context(), "alice", "session", now.Now().Add(24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		if _, err := k.Verify(t.Context(), first); err == nil {
			t.Errorf("%s: a token that was ended is good", when)
		}
		verified(t, k, second)
		verified(t, k, bob)
		if !k.EndedForeign("alice", "session", now.Now()) || k.EndedForeign("alice", "another", now.Now()) || k.EndedForeign("bobby", "session", now.Now()) {
			t.Errorf("%s: it is not known which sessions were ended", when)
		}
	}
	check("at once")
	kill()
	k, _ = begin(t, m, Options{Now: now.Now, Provider: v})
	check("after a restart")
	if size := len(m.data(v1alpha1.SecretSessions)[sessionsKey]); size == 0 {
		t.Error(fmt.Sprint("nothing was written down: ", size))
	}
}
