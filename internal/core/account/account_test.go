package account_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/account"
	"github.com/towline-cd/towline/internal/core/secret"
	"github.com/towline-cd/towline/test/story"
)

// Each file is a story: given argocd-cm ("config"), argocd-secret ("secret"), perhaps a project and the sessions that were
// ended, when tokens are shown, then this is the verdict. A token is written as
//
//	TIME sub=SUBJECT jti=ID iat=TIME exp=TIME nbf=TIME iss=ISSUER aud=AUDIENCE
//
// where the issuer is argocd unless it says otherwise, and times are those of one day, or of another as in 14T12:00.
// A line "accounts" lists what is known of them.
func TestTokens(t *testing.T) {
	story.Play(t, "testdata/*.txtar", func(t *testing.T, part map[string][]byte) string {
		var out strings.Builder
		config, problems := account.ReadConfig(texts(t, part["config"]))
		data := map[string][]byte{}
		for key, value := range texts(t, part["secret"]) {
			data[key] = []byte(value)
		}
		f := account.Facts{Book: account.NewBook(config, account.NewStored("1", data))}
		for _, p := range append(problems, f.Book.Problems()...) {
			fmt.Fprintf(&out, "problem: %s\n", p)
		}
		var err error
		if f.Sessions, err = account.ReadSessions(part["sessions"]); err != nil {
			t.Fatal(err)
		}
		if part["project"] != nil {
			f.Project = &v1alpha1.AppProject{}
			if err := yaml.UnmarshalStrict(part["project"], f.Project); err != nil {
				t.Fatal(err)
			}
		}
		for line := range strings.Lines(string(part["when"])) {
			line = strings.TrimSpace(line)
			fmt.Fprintf(&out, "%s\n", line)
			if line == "accounts" {
				list(&out, f.Book)
				continue
			}
			fmt.Fprintf(&out, "    %s\n", show(t, f, line))
		}
		return out.String()
	})
}

func texts(t *testing.T, text []byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	if err := yaml.UnmarshalStrict(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func list(out *strings.Builder, b *account.Book) {
	c := b.Config()
	fmt.Fprintf(out, "    sessions of %s, passwords like %s, anonymous %t\n", c.Session, c.Pattern, c.Anonymous)
	for _, a := range b.All() {
		fmt.Fprintf(out, "    %s: enabled %t, %v, %d tokens, password %t", a.Name, a.Enabled, a.Capabilities, len(a.Tokens), !a.Password.Empty())
		if !a.PasswordSet.IsZero() {
			fmt.Fprintf(out, " set %s", a.PasswordSet.UTC().Format(time.RFC3339))
		}
		fmt.Fprintln(out)
	}
}

func show(t *testing.T, f account.Facts, line string) string {
	t.Helper()
	words := strings.Fields(line)
	f.Now = clock(t, words[0])
	c := account.Claims{Issuer: "argocd"}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "sub":
			c.Subject = value
		case "jti":
			c.ID = value
		case "iss":
			c.Issuer = value
		case "aud":
			c.Audience = strings.Split(value, ",")
		case "iat":
			c.IssuedAt = clock(t, value)
		case "nbf":
			c.NotBefore = clock(t, value)
		case "exp":
			c.Expires = clock(t, value)
		default:
			t.Fatalf("nobody knows %q", w)
		}
	}
	v := account.Judge(c, f)
	if v.Cause != account.Accepted {
		return "refused: " + string(v.Cause)
	}
	said := "accepted as " + v.Subject.Name() + ", "
	if v.Expires.IsZero() {
		said += "for ever"
	} else {
		said += "until " + v.Expires.Format("02T15:04:05")
	}
	if v.Renew {
		said += ", to be renewed"
	}
	return said
}

func clock(t *testing.T, text string) time.Time {
	t.Helper()
	if !strings.Contains(text, "T") {
		text = "15T" + text
	}
	if strings.Count(text, ":") == 1 {
		text += ":00"
	}
	at, err := time.Parse("2006-01-02T15:04:05", "2026-11-"+text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// A subject that is read and written again is the same, and nothing else is a subject.
func TestSubjects(t *testing.T) {
	for text, want := range map[string]string{
		"admin:login": "admin", "ci:apiKey": "ci", "ci": "ci", "proj:web:deploy": "proj:web:deploy",
		"": "", ":": "", "admin:": "", ":login": "", "admin:root": "", "proj:web:": "", "proj::x": "", "proj:a:b:c": "", "a:login:b": "",
	} {
		s, ok := account.ParseSubject(text)
		if ok != (want != "") || ok && s.Name() != want {
			t.Errorf("%q became %+v, %t", text, s, ok)
		}
		if ok && text != "ci" && s.String() != text {
			t.Errorf("%q is written as %q", text, s)
		}
	}
}

func TestTokensOnTheListOfAnAccount(t *testing.T) {
	data := map[string][]byte{"other": []byte("kept")}
	one, two := account.Token{ID: "one", IssuedAt: 1}, account.Token{ID: "two", IssuedAt: 2, ExpiresAt: 3}
	for _, add := range []account.Token{one, two} {
		if err := account.AddToken(data, "ci", add); err != nil {
			t.Fatal(err)
		}
	}
	if err := account.AddToken(data, "ci", account.Token{ID: "one", IssuedAt: 9}); err == nil {
		t.Error("an id was given twice")
	}
	if got, want := string(data["accounts.ci.tokens"]), `[{"id":"one","iat":1},{"id":"two","iat":2,"exp":3}]`; got != want {
		t.Errorf("the list is %s, not %s", got, want)
	}
	for id, want := range map[string]bool{"one": true, "three": false} {
		if found, err := account.RemoveToken(data, "ci", id); err != nil || found != want {
			t.Errorf("removing %s: %t, %v", id, found, err)
		}
	}
	if _, err := account.RemoveToken(data, "ci", "two"); err != nil {
		t.Fatal(err)
	}
	if _, left := data["accounts.ci.tokens"]; left || string(data["other"]) != "kept" {
		t.Errorf("the data are %q", data)
	}
	data["admin.tokens"] = []byte("{")
	if err := account.AddToken(data, "admin", one); err == nil || string(data["admin.tokens"]) != "{" {
		t.Errorf("what cannot be read was written over: %v", err)
	}
}

func TestPasswordsHaveToFit(t *testing.T) {
	c, problems := account.ReadConfig(map[string]string{"passwordPattern": "^[a-z]{3}$"})
	if len(problems) > 0 || !c.Fits(secret.New("abc")) || c.Fits(secret.New("abcd")) {
		t.Errorf("%v: the pattern is not held to", problems)
	}
	if d := account.DefaultConfig(); d.Fits(secret.New("1234567")) || !d.Fits(secret.New("12345678")) || d.Fits(secret.New(strings.Repeat("x", 33))) {
		t.Error("the default pattern is not that of Argo CD")
	}
}
