package identity

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/account"
)

const signingKey = "the key of the installation, which nobody knows"

// known is an installation with a token of every kind.
func known(t *testing.T) (*memory, *Keeper, *clock) {
	t.Helper()
	m, now := newMemory(map[string]string{"accounts.ci": "apiKey", "accounts.bob": "login", "users.anonymous.enabled": "true"}),
		&clock{now: time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)}
	m.seed(map[string]string{
		"server.secretkey": signingKey, "admin.password": "admin-hash", "accounts.bob.password": "bob-hash",
		"accounts.ci.tokens": fmt.Sprintf(`[{"id":"listed","iat":%d}]`, now.Now().Add(-time.Hour).Unix()),
	})
	for _, name := range []string{"web", "shop"} {
		m.projects[name] = &v1alpha1.AppProject{
			ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "1"}, Spec: v1alpha1.AppProjectSpec{Roles: []v1alpha1.ProjectRole{{Name: "deploy"}}},
		}
	}
	m.projects["web"].Status.JWTTokensByRole = map[string]v1alpha1.JWTTokens{
		"deploy": {Items: []v1alpha1.JWTToken{{ID: "role", IssuedAt: now.Now().Add(-time.Hour).Unix()}}},
	}
	hashes := &plain{}
	k, _ := begin(t, m, Options{Now: now.Now, compare: hashes.compare})
	return m, k, now
}

// made signs claims as anybody could who has a key.
func made(t *testing.T, method jwt.SigningMethod, key any, claims jwt.MapClaims) string {
	t.Helper()
	token, err := jwt.NewWithClaims(method, claims).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// claims are those of a good token, changed.
func claims(now time.Time, change jwt.MapClaims) jwt.MapClaims {
	c := jwt.MapClaims{
		"iss": "argocd", "sub": "admin:login", "jti": "1", "iat": now.Add(-time.Hour).Unix(), "nbf": now.Add(-time.Hour).Unix(),
		"exp": now.Add(time.Hour).Unix(),
	}
	for key, value := range change {
		c[key] = value
		if value == nil {
			delete(c, key)
		}
	}
	return c
}

func TestGoodTokens(t *testing.T) {
	_, k, clock := known(t)
	now := clock.Now()
	for name, c := range map[string]struct {
		claims jwt.MapClaims
		want   Caller
	}{
		"a session": {claims(now, nil), Caller{Subject: "admin", Username: "admin", Session: true, TokenID: "1", Expires: now.Add(time.Hour)}},
		"a token of an account": {
			claims(now, jwt.MapClaims{"sub": "ci:apiKey", "jti": "listed", "exp": nil}), Caller{Subject: "ci", Username: "ci", TokenID: "listed"},
		},
		"a token of a role": {
			claims(now, jwt.MapClaims{"sub": "proj:web:deploy", "jti": "role", "exp": nil}),
			Caller{Subject: "proj:web:deploy", Username: "proj:web:deploy", TokenID: "role", Project: "web", Role: "deploy"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := k.Verify(t.Context(), made(t, jwt.SigningMethodHS256, []byte(signingKey), c.claims))
			if err != nil {
				t.Fatal(err, CauseOf(err))
			}
			c.want.Issuer, c.want.IssuedAt = "argocd", now.Add(-time.Hour)
			if !got.Expires.Equal(c.want.Expires) || !got.IssuedAt.Equal(c.want.IssuedAt) {
				t.Errorf("the times are %s and %s", got.IssuedAt, got.Expires)
			}
			wire, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			var sent Caller
			if err := json.Unmarshal(wire, &sent); err != nil {
				t.Fatal(err)
			}
			if err := k.Check(t.Context(), sent); err != nil {
				t.Errorf("another replica refuses the caller: %v", CauseOf(err))
			}
			got.Expires, got.IssuedAt, c.want.Expires, c.want.IssuedAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("the caller is %+v, not %+v", got, c.want)
			}
		})
	}
}

// Every bad token gets the same answer, nobody becomes anonymous by one although that is permitted here, and nothing of a
// token comes into a log or an error.
func TestBadTokens(t *testing.T) {
	_, k, clock := known(t)
	now := clock.Now()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	ours := func(change jwt.MapClaims) string {
		return made(t, jwt.SigningMethodHS256, []byte(signingKey), claims(now, change))
	}
	good := ours(nil)
	head := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	body := strings.Split(good, ".")[1]
	revoked, err := k.Verify(t.Context(), ours(jwt.MapClaims{"jti": "revoked"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Logout(t.Context(), revoked); err != nil {
		t.Fatal(err)
	}
	log := &bytes.Buffer{}
	previous := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	t.Cleanup(func() { slog.SetDefault(previous) })
	for name, token := range map[string]string{
		"none":                                  "",
		"no token at all":                       "let me in",
		"two parts":                             "a.b",
		"too long":                              good + strings.Repeat("x", maxToken),
		"no algorithm":                          made(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, claims(now, nil)),
		"no algorithm, in capitals":             head(`{"alg":"NONE"}`) + "." + body + ".",
		"no signature":                          strings.Join(strings.Split(good, ".")[:2], ".") + ".",
		"another key":                           made(t, jwt.SigningMethodHS256, []byte("another"), claims(now, nil)),
		"no key":                                made(t, jwt.SigningMethodHS256, []byte{}, claims(now, nil)),
		"RS in place of HS":                     made(t, jwt.SigningMethodRS256, private, claims(now, nil)),
		"HS with a public key":                  made(t, jwt.SigningMethodHS256, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), claims(now, nil)),
		"our key, another algorithm":            made(t, jwt.SigningMethodHS512, []byte(signingKey), claims(now, nil)),
		"a changed body":                        strings.Join([]string{strings.Split(good, ".")[0], head(`{"iss":"argocd","sub":"admin:login"}`), strings.Split(good, ".")[2]}, "."),
		"wrong audience":                        ours(jwt.MapClaims{"aud": "grafana"}),
		"wrong issuer":                          ours(jwt.MapClaims{"iss": "dex"}),
		"no issuer":                             ours(jwt.MapClaims{"iss": nil}),
		"expired":                               ours(jwt.MapClaims{"exp": now.Unix()}),
		"not valid yet":                         ours(jwt.MapClaims{"nbf": now.Add(time.Minute).Unix()}),
		"issued in the future":                  ours(jwt.MapClaims{"iat": now.Add(time.Minute).Unix()}),
		"no time of issue":                      ours(jwt.MapClaims{"iat": nil}),
		"no id":                                 ours(jwt.MapClaims{"jti": nil}),
		"a number for an id":                    ours(jwt.MapClaims{"jti": 7}),
		"revoked":                               ours(jwt.MapClaims{"jti": "revoked"}),
		"revoked, and renewed":                  ours(jwt.MapClaims{"jti": "revoked", "iat": now.Unix(), "exp": now.Add(24 * time.Hour).Unix()}),
		"nobody's":                              ours(jwt.MapClaims{"sub": "mallory:login"}),
		"no subject":                            ours(jwt.MapClaims{"sub": nil}),
		"a session without the capability":      ours(jwt.MapClaims{"sub": "ci:login", "jti": "listed"}),
		"a token that is not on the list":       ours(jwt.MapClaims{"sub": "ci:apiKey", "jti": "other"}),
		"a token of a role of another project":  ours(jwt.MapClaims{"sub": "proj:shop:deploy", "jti": "role"}),
		"a token of a role that does not exist": ours(jwt.MapClaims{"sub": "proj:web:admin", "jti": "role"}),
		"a token of no project":                 ours(jwt.MapClaims{"sub": "proj:none:deploy", "jti": "role"}),
		"groups of one's own":                   ours(jwt.MapClaims{"sub": "mallory:login", "groups": []string{"admins"}}),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := k.Verify(t.Context(), token)
			var r *RefusalError
			if !errors.As(err, &r) || fmt.Sprint(got) != fmt.Sprint(Caller{}) {
				t.Fatalf("it is taken: %+v, %v", got, err)
			}
			if r.Error() != publicToken || r.Cause() == "" {
				t.Errorf("the answer is %q (%s)", r, r.Cause())
			}
			for part := range strings.SplitSeq(token, ".") {
				if len(part) > 8 && strings.Contains(r.Cause()+log.String(), part) {
					t.Errorf("something of the token is told: %s %s", r.Cause(), log)
				}
			}
		})
	}
	if anonymous, ok := k.Anonymous(); !ok || !anonymous.Anonymous || anonymous.Subject != "" || k.Check(t.Context(), anonymous) != nil {
		t.Errorf("without a token somebody is %+v", anonymous)
	}
}

// Nobody is let in before it is known which sessions were ended, nor without a key.
func TestNobodyIsLetInTooEarly(t *testing.T) {
	m := newMemory(nil)
	m.seed(map[string]string{"server.secretkey": signingKey, "admin.password": "admin-hash"})
	hashes := &plain{}
	k := newKeeper(m, m.follow, Options{Values: m, Projects: m, Floor: time.Nanosecond, compare: hashes.compare})
	_, err := k.Verify(t.Context(), made(t, jwt.SigningMethodHS256, []byte(signingKey), claims(time.Now(), nil)))
	var r *RefusalError
	if !errors.As(err, &r) || r.Kind != Unavailable {
		t.Errorf("a token got %v", err)
	}
	if _, err := k.Login(t.Context(), Attempt{Name: "admin", Password: text("admin-hash")}); !errors.As(err, &r) || r.Kind != Unavailable {
		t.Errorf("a password got %v", err)
	}
	empty := newMemory(nil)
	k, _ = begin(t, empty, Options{compare: hashes.compare})
	if _, err := k.Verify(t.Context(), made(t, jwt.SigningMethodHS256, []byte{}, claims(time.Now(), nil))); !errors.As(err, &r) {
		t.Errorf("a token that is signed with nothing got %v", err)
	}
}

// A session is renewed near its end, keeps its id, and signing out with either token ends both, for another replica and
// after a restart too.
func TestRenewalAndSigningOut(t *testing.T) {
	m, k, clock := known(t)
	other, _ := begin(t, m, Options{Now: clock.Now})
	token, err := k.Login(t.Context(), Attempt{Name: "bob", Password: text("bob-hash")})
	if err != nil {
		t.Fatal(err)
	}
	caller := verified(t, k, token)
	if next, err := k.Renew(caller); next != "" || err != nil {
		t.Errorf("a fresh session is renewed: %v", err)
	}
	clock.move(24*time.Hour - 4*time.Minute)
	next, err := k.Renew(verified(t, k, token))
	if err != nil || next == "" {
		t.Fatalf("a session near its end is not renewed: %v", err)
	}
	renewed := verified(t, k, next)
	if renewed.TokenID != caller.TokenID || !renewed.Expires.After(caller.Expires) || renewed.Subject != "bob" {
		t.Errorf("renewed it is %+v", renewed)
	}
	verified(t, other, next)
	if err := k.Logout(t.Context(), verified(t, k, token)); err != nil {
		t.Fatal(err)
	}
	again, _ := begin(t, m, Options{Now: clock.Now})
	await(t, func() bool { _, err := other.Verify(t.Context(), next); return err != nil })
	for who, k := range map[string]*Keeper{"the same": k, "the other": other, "the next": again} {
		for _, shown := range []string{token, next} {
			if _, err := k.Verify(t.Context(), shown); err == nil {
				t.Errorf("%s replica lets somebody in who signed out", who)
			}
		}
	}
	if err := k.Check(t.Context(), renewed); err == nil {
		t.Error("somebody who signed out may stay")
	}
	var input *InputError
	if err := k.Logout(t.Context(), Caller{Subject: "ci", Issuer: "argocd"}); !errors.As(err, &input) {
		t.Errorf("signing out with a token that is no session: %v", err)
	}
}

func verified(t *testing.T, k *Keeper, token string) Caller {
	t.Helper()
	c, err := k.Verify(t.Context(), token)
	if err != nil {
		t.Fatal(err, CauseOf(err))
	}
	return c
}

// If what was written of sessions cannot be read, all sessions are over: nobody knows which were ended.
func TestSessionsThatCannotBeReadAreOver(t *testing.T) {
	m, k, clock := known(t)
	token, err := k.Login(t.Context(), Attempt{Name: "bob", Password: text("bob-hash")})
	if err != nil {
		t.Fatal(err)
	}
	s := newSecret(v1alpha1.SecretSessions)
	s.Data[sessionsKey] = []byte("{")
	if _, err := m.Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	clock.move(time.Minute)
	next, _ := begin(t, m, Options{Now: clock.Now, compare: (&plain{}).compare})
	if _, err := next.Verify(t.Context(), token); err == nil {
		t.Error("a session is valid that may have been ended")
	}
	clock.move(2 * time.Second)
	token, err = next.Login(t.Context(), Attempt{Name: "bob", Password: text("bob-hash")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := next.Verify(t.Context(), token); err != nil {
		t.Errorf("nobody can sign in anew: %s", CauseOf(err))
	}
}

// What Argo CD issued, with its library and in its way, is taken, and the other way round.
func TestTokensAreThoseOfArgoCD(t *testing.T) {
	_, k, clock := known(t)
	theirs, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{
		IssuedAt: jwt.NewNumericDate(clock.Now()), Issuer: "argocd", NotBefore: jwt.NewNumericDate(clock.Now()), Subject: "bob:login", ID: "6c3f",
		ExpiresAt: jwt.NewNumericDate(clock.Now().Add(24 * time.Hour)),
	}).SignedString([]byte(signingKey))
	if err != nil {
		t.Fatal(err)
	}
	verified(t, k, theirs)
	ours, err := k.Login(t.Context(), Attempt{Name: "bob", Password: text("bob-hash")})
	if err != nil {
		t.Fatal(err)
	}
	read := jwt.MapClaims{}
	parsed, err := jwt.NewParser(jwt.WithTimeFunc(clock.Now), jwt.WithIssuer("argocd"), jwt.WithIssuedAt(), jwt.WithExpirationRequired()).
		ParseWithClaims(ours, read, func(*jwt.Token) (any, error) { return []byte(signingKey), nil })
	if err != nil || parsed.Method.Alg() != "HS256" {
		t.Fatal(err)
	}
	if read["sub"] != "bob:login" || len(fmt.Sprint(read["jti"])) != 36 || read["nbf"] != read["iat"] || read["aud"] != nil {
		t.Errorf("the claims are %v", read)
	}
}

func BenchmarkVerify(b *testing.B) {
	m := newMemory(nil)
	m.seed(map[string]string{"server.secretkey": signingKey})
	k := newKeeper(m, m.follow, Options{Values: m, Projects: m})
	k.ledger.begin(b.Context())
	token, err := k.sign(k.current(), account.Claims{Subject: "admin:login", ID: newID(), IssuedAt: time.Now(), Expires: time.Now().Add(time.Hour)})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := k.Verify(b.Context(), token); err != nil {
			b.Fatal(err)
		}
	}
}
