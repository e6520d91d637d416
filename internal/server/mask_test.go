package server_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/towline-cd/towline/internal/core/secret"
	"github.com/towline-cd/towline/internal/server"
)

type sessions struct{ token string }

func (s sessions) Login(_ context.Context, l server.Login) (string, error) {
	if l.Password != secret.New("right") {
		return "", errors.New("because of something")
	}
	return s.token, nil
}

func (sessions) Logout(context.Context, string) error { return nil }

type verifier func(token string)

func (v verifier) Verify(_ context.Context, token string) (server.Caller, error) {
	v(token)
	return server.Caller{Subject: "admin"}, nil
}

func (verifier) Check(context.Context, server.Caller) error { return nil }

// switched lets people in until it is turned down.
type switched struct {
	tokens
	down atomic.Bool
}

func (v *switched) Check(context.Context, server.Caller) error {
	if v.down.Load() {
		return errors.New("it was ended")
	}
	return nil
}

func TestLoginsInURLs(t *testing.T) {
	for in, want := range map[string]string{
		`"https://bot:pass@example.com/x"`:                 `"https://bot:******@example.com/x"`,
		`"https://token@example.com/x"`:                    `"https://******@example.com/x"`,
		`"https://git@example.com/x"`:                      `"https://git@example.com/x"`,
		`"ssh://git@example.com/x"`:                        `"ssh://git@example.com/x"`,
		`"ssh://git:pass@example.com/x"`:                   `"ssh://git:******@example.com/x"`,
		`"git@example.com:x"`:                              `"git@example.com:x"`,
		`"https://example.com/a@b"`:                        `"https://example.com/a@b"`,
		`"https://example.com:8443/a@b"`:                   `"https://example.com:8443/a@b"`,
		`"https://bot:p@ss@example.com/x"`:                 `"https://bot:******@example.com/x"`,
		`"see https://a:b@c and https://d:e@f/ too"`:       `"see https://a:******@c and https://d:******@f/ too"`,
		`"https://kubernetes.default.svc"`:                 `"https://kubernetes.default.svc"`,
		`"oci://user:pass@registry.example.com/charts"`:    `"oci://user:******@registry.example.com/charts"`,
		`"{\"repoURL\":\"https://bot:pass@example.com\"}"`: `"{\"repoURL\":\"https://bot:******@example.com\"}"`,
		`"://"`:         `"://"`,
		`"https://a:b@`: `"https://a:******@`,
	} {
		if got := string(server.WithoutLogins([]byte(in))); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

func TestHush(t *testing.T) {
	got := server.Hush(`Secret "x" is invalid: data[p]: "s3cret\n" (czNjcmV0Cg==), no`, []string{"s3cret\n", "no"})
	if strings.Contains(got, "s3cret") || strings.Contains(got, "czNj") || !strings.Contains(got, "no") {
		t.Errorf("it is %s", got)
	}
}

func TestOnlyTheWebIsLinkedTo(t *testing.T) {
	for _, bad := range []string{
		"javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "vbscript:x", " javascript:alert(1)", "java\nscript:alert(1)",
		"//evil.example", "/relative", "ftp://example.com", "https://user:pass@example.com", "https:///x", "http://\x00example.com",
	} {
		if got := server.WebLink(bad); got != "" {
			t.Errorf("%q is linked to as %q", bad, got)
		}
	}
	if got := server.WebLink("HTTPS://example.com/a?b=c"); got != "https://example.com/a?b=c" {
		t.Errorf("a good link became %q", got)
	}
}

// TestAnswersAreTypesOfTheirOwn: nothing that is stored is answered as it is, and no secret has a place in an answer.
func TestAnswersAreTypesOfTheirOwn(t *testing.T) {
	s := newServer(t, options(newWorld()))
	seen := map[reflect.Type]bool{}
	for _, r := range s.Routes() {
		if r.Out != nil {
			walk(t, r.Pattern, reflect.TypeOf(r.Out), seen)
		}
	}
	if len(seen) < 50 {
		t.Errorf("only %d types were seen", len(seen))
	}
}

func walk(t *testing.T, at string, typ reflect.Type, seen map[reflect.Type]bool) {
	t.Helper()
	if seen[typ] {
		return
	}
	seen[typ] = true
	name := typ.PkgPath() + "." + typ.Name()
	for _, stored := range []string{
		"v1alpha1.Application", "v1alpha1.ApplicationSet", "v1alpha1.AppProject", "unstructured.Unstructured", "v1.Secret", "v1.ObjectMeta",
		"secret.Text", "destination.Cluster", "destination.Config", "repository.Repository", "v1.ManagedFieldsEntry",
	} {
		if strings.HasSuffix(name, "/"+stored) {
			t.Errorf("%s answers with %s", at, name)
		}
	}
	switch typ.Kind() { //nolint:exhaustive // the others have nothing inside
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		walk(t, at, typ.Elem(), seen)
	case reflect.Struct:
		for f := range typ.Fields() {
			if f.IsExported() {
				walk(t, at+"."+f.Name, f.Type, seen)
			}
		}
	}
}
