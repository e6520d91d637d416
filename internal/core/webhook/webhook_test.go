package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/towline-cd/towline/internal/core/secret"
	"github.com/towline-cd/towline/internal/core/webhook"
	"github.com/towline-cd/towline/test/story"
)

// Each file is a story: given what argocd-secret holds ("secrets", lines "key value") and what it refers to ("others",
// likewise), and the "headers" and the "body" that came, then that is what is made of it. $mac in a header is the
// signature of the body by the part "signed by".
func TestWebhooks(t *testing.T) {
	story.Play(t, "testdata/*.txtar", func(_ *testing.T, part map[string][]byte) string {
		var out strings.Builder
		others := pairs(string(part["others"]), " ")
		values := map[string]secret.Text{}
		for key, value := range pairs(string(part["secrets"]), " ") {
			values[key] = secret.New(value)
		}
		secrets, problems := webhook.ReadSecrets(values, func(reference string) (secret.Text, bool) {
			value, ok := others[reference]
			return secret.New(value), ok
		})
		for _, p := range problems {
			fmt.Fprintln(&out, "problem:", p)
		}
		body := part["body"]
		headers := http.Header{}
		for name, value := range pairs(string(part["headers"]), ": ") {
			headers.Set(name, strings.ReplaceAll(value, "$mac", sign(strings.TrimSpace(string(part["signed by"])), body)))
		}
		hint, refused := take(headers, body, secrets)
		if refused != nil {
			fmt.Fprintf(&out, "refused: %s\n", refused.Message)
			return out.String()
		}
		fmt.Fprintf(&out, "%s: %s, proved %v\n", hint.Provider, kindOf(hint), hint.Proved)
		for _, place := range hint.Places {
			fmt.Fprintln(&out, "at", place)
		}
		for _, ref := range hint.Refs {
			fmt.Fprintln(&out, "moved", ref)
		}
		if hint.From+hint.To != "" {
			fmt.Fprintln(&out, "from", hint.From, "to", hint.To)
		}
		if hint.Default != "" {
			fmt.Fprintln(&out, "default", hint.Default)
		}
		for revision := range strings.FieldsSeq(string(part["followed"])) {
			fmt.Fprintf(&out, "concerns %s: %v\n", revision, hint.Concerns(strings.Trim(revision, `"`)))
		}
		return out.String()
	})
}

func kindOf(h webhook.Hint) string {
	if h.Kind == webhook.Nothing {
		return "nothing"
	}
	return string(h.Kind)
}

// take does what the server does.
func take(h webhook.Header, body []byte, s *webhook.Secrets) (webhook.Hint, *webhook.Refusal) {
	letter, refused := webhook.Open(h, s)
	if refused != nil {
		return webhook.Hint{}, refused
	}
	if _, refused = letter.Check(body); refused != nil {
		return webhook.Hint{}, refused
	}
	return letter.Read(body)
}

func pairs(text, between string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\n"), between); ok {
			out[name] = value
		}
	}
	return out
}

func sign(key string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// TestTheSecretIsNotTold: not by a refusal, nor by how secrets are printed.
func TestTheSecretIsNotTold(t *testing.T) {
	s, _ := webhook.ReadSecrets(map[string]secret.Text{"webhook.github.secret": secret.New("hunter2")}, nil)
	_, refused := take(http.Header{"X-Github-Event": {"push"}, "X-Hub-Signature-256": {"sha256=" + sign("hunter1", nil)}}, nil, s)
	if text := fmt.Sprintf("%+v %v %#v", refused, s, s); strings.Contains(text, "hunter") {
		t.Error(text)
	}
}

// TestDigests: a letter that comes again is known by its digest, and another is not.
func TestDigests(t *testing.T) {
	digest := func(event, body string) [32]byte {
		l, refused := webhook.Open(http.Header{"X-Gitlab-Event": {event}}, nil)
		if refused != nil {
			t.Fatal(refused.Message)
		}
		d, _ := l.Check([]byte(body))
		return d
	}
	first := digest("Push Hook", "{}")
	if digest("Push Hook", "{}") != first {
		t.Error("the same letter has two digests")
	}
	if first == digest("Push Hook", "{} ") || first == digest("Tag Push Hook", "{}") {
		t.Error("two letters have one digest")
	}
}

// TestLetterOfManyBranches: what is too much to be told apart concerns everybody.
func TestLetterOfManyBranches(t *testing.T) {
	var changes []string
	for i := range 1000 {
		changes = append(changes, fmt.Sprintf(`{"new":{"type":"branch","name":"b%d"}}`, i))
	}
	body := `{"repository":{"links":{"html":{"href":"https://bitbucket.org/a/b"}}},"push":{"changes":[` + strings.Join(changes, ",") + `]}}`
	hint, refused := take(http.Header{"X-Hook-Uuid": {"x"}, "X-Event-Key": {"repo:push"}}, []byte(body), nil)
	if refused != nil || len(hint.Refs) != 0 || !hint.Concerns("main") {
		t.Errorf("%+v %+v", hint, refused)
	}
}
