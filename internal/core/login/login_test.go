package login_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/login"
	"github.com/towline-cd/towline/internal/core/secret"
)

// As argocd writes it after two logins.
const file = `contexts:
- name: cd.example.com
  server: cd.example.com
  user: cd.example.com
- name: lab
  server: localhost:8080
  user: lab
current-context: lab
prompts-enabled: false
servers:
- grpc-web-root-path: ""
  server: cd.example.com
- grpc-web-root-path: /cd
  insecure: true
  server: localhost:8080
users:
- auth-token: first
  name: cd.example.com
- auth-token: second
  name: lab
`

func book(t *testing.T, text string) login.Book {
	t.Helper()
	b, err := login.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFind(t *testing.T) {
	b := book(t, file)
	for name, want := range map[string]struct{ server, token string }{
		"":               {"localhost:8080", "second"},
		"lab":            {"localhost:8080", "second"},
		"cd.example.com": {"cd.example.com", "first"},
	} {
		got, ok := b.Find(name)
		if !ok || got.Server.Server != want.server || got.Token.Reveal() != want.token {
			t.Errorf("Find(%q) = %s with %s, %t", name, got.Server.Server, got.Token.Reveal(), ok)
		}
	}
	if got, ok := b.ByServer("localhost:8080"); !ok || got.Name != "lab" || got.Server.RootPath != "/cd" || !got.Server.Insecure {
		t.Errorf("ByServer = %+v, %t", got, ok)
	}
	for _, name := range []string{"nowhere", "localhost:8080"} {
		if got, ok := b.Find(name); ok {
			t.Errorf("Find(%q) = %+v", name, got)
		}
	}
	if _, ok := (login.Book{}).Find(""); ok {
		t.Error("an empty book has a current context")
	}
}

func TestEdits(t *testing.T) {
	before := book(t, file)
	b := before.With(login.Target{Name: "new", User: "new", Server: login.Server{Server: "new.example.com"}, Token: secret.New("third")})
	text, err := b.Text()
	if err != nil {
		t.Fatal(err)
	}
	b = book(t, string(text))
	if got, ok := b.Find(""); !ok || got.Name != "new" || got.Token.Reveal() != "third" {
		t.Errorf("after a login the current context is %+v, %t", got, ok)
	}
	b, had := b.SignedOut("new")
	if got, _ := b.Find("new"); !had || !got.Token.Empty() {
		t.Errorf("after signing out there is a token: %t", had)
	}
	if _, had := b.SignedOut("new"); had {
		t.Error("one can sign out twice")
	}
	b, had = b.Without("new")
	if _, ok := b.Find(""); !had || ok {
		t.Error("a context that was deleted is the current one")
	}
	b.Current = before.Current
	if diff := cmp.Diff(before, b); diff != "" {
		t.Errorf("the others were changed (-before +after):\n%s", diff)
	}
}

func TestNumbers(t *testing.T) {
	var got login.Token
	if err := json.Unmarshal([]byte(`{"id": "a", "issuedAt": "1700000000", "expiresAt": 1700000001}`), &got); err != nil {
		t.Fatal(err)
	}
	if got.IssuedAt != 1700000000 || got.ExpiresAt != 1700000001 {
		t.Errorf("read %+v", got)
	}
}
