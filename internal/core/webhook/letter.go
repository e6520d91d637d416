package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Letter is a webhook of which only the headers were read.
type Letter struct {
	Provider Provider
	// Event is what the headers call it; some senders say it in the body alone.
	Event string
	// Proved says that the headers prove the sender, or that the body still has to.
	Proved bool

	// key is what the body is signed with, and signature what the headers say of it; empty is that nothing is signed.
	key       string
	signature string
}

// Open looks at the headers. Whoever proves nothing there is refused before anything of the body was read; what is
// signed in the body is checked by Check.
func Open(h Header, s *Secrets) (*Letter, *Refusal) {
	switch {
	case h.Get("X-Vss-Activityid") != "":
		return openAzure(h, s)
	// Gitea and Gogs also send the headers of GitHub, so that they come first.
	case h.Get("X-Gogs-Event") != "":
		return signed(s, v1alpha1.KeyWebhookGogs, Letter{Provider: Gogs, Event: h.Get("X-Gogs-Event"), signature: eitherSignature(h)})
	case h.Get("X-Gitea-Event") != "":
		return signed(s, v1alpha1.KeyWebhookGogs, Letter{Provider: Gogs, Event: h.Get("X-Gitea-Event"), signature: eitherSignature(h)})
	case h.Get("X-Github-Event") != "":
		return signed(s, v1alpha1.KeyWebhookGitHub, Letter{
			Provider: GitHub, Event: h.Get("X-Github-Event"), signature: prefixed(h.Get("X-Hub-Signature-256")),
		})
	case h.Get("X-Gitlab-Event") != "":
		return shown(s, v1alpha1.KeyWebhookGitLab, Letter{Provider: GitLab, Event: h.Get("X-Gitlab-Event")}, h.Get("X-Gitlab-Token"))
	case h.Get("X-Hook-Uuid") != "":
		return shown(s, v1alpha1.KeyWebhookBitbucketUUID, Letter{Provider: Bitbucket, Event: h.Get("X-Event-Key")}, h.Get("X-Hook-Uuid"))
	case h.Get("X-Event-Key") != "":
		return signed(s, v1alpha1.KeyWebhookBitbucketServer, Letter{
			Provider: BitbucketServer, Event: h.Get("X-Event-Key"), signature: prefixed(h.Get("X-Hub-Signature")),
		})
	case h.Get("Authorization") != "":
		return openHarbor(h, s)
	}
	return nil, errUnknown
}

func eitherSignature(h Header) string {
	if s := h.Get("X-Gogs-Signature"); s != "" {
		return s
	}
	return h.Get("X-Gitea-Signature")
}

// prefixed is a signature without the name of its algorithm; one of another algorithm is none.
func prefixed(header string) string {
	signature, ok := strings.CutPrefix(header, "sha256=")
	if !ok {
		return ""
	}
	return signature
}

// signed is a letter whose body is signed.
func signed(s *Secrets, name string, l Letter) (*Letter, *Refusal) {
	key, set, closed := s.key(name)
	if !set {
		l.signature = ""
		return &l, nil
	}
	if closed || len(l.signature) != hex.EncodedLen(sha256.Size) {
		return nil, unproved[l.Provider]
	}
	l.key, l.Proved = key, true
	return &l, nil
}

// shown is a letter whose sender shows the secret itself.
func shown(s *Secrets, name string, l Letter, given string) (*Letter, *Refusal) {
	key, set, closed := s.key(name)
	if !set {
		return &l, nil
	}
	if closed || !same(given, key) {
		return nil, unproved[l.Provider]
	}
	l.Proved = true
	return &l, nil
}

// same compares without telling how much is right, nor how long it is.
func same(given, want string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// openAzure asks for a login, if there is one: either part may be empty.
func openAzure(h Header, s *Secrets) (*Letter, *Refusal) {
	l := &Letter{Provider: AzureDevOps}
	user, hasUser, closedUser := s.key(v1alpha1.KeyWebhookAzureUsername)
	password, hasPassword, closedPassword := s.key(v1alpha1.KeyWebhookAzurePassword)
	if !hasUser && !hasPassword {
		return l, nil
	}
	given, ok := basic(h.Get("Authorization"))
	if closedUser || closedPassword || !ok || !same(given, user+":"+password) {
		return nil, unproved[AzureDevOps]
	}
	l.Proved = true
	return l, nil
}

// basic is "user:password" of a header.
func basic(header string) (string, bool) {
	scheme, rest, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Basic") {
		return "", false
	}
	text, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest))
	return string(text), err == nil
}

// openHarbor takes nothing without a secret: no header says that Harbor sends, but the one that has it.
func openHarbor(h Header, s *Secrets) (*Letter, *Refusal) {
	key, set, closed := s.key(v1alpha1.KeyWebhookHarbor)
	if !set {
		return nil, errUnknown
	}
	if closed || !same(h.Get("Authorization"), key) {
		return nil, unproved[Harbor]
	}
	return &Letter{Provider: Harbor, Proved: true}, nil
}

// Check holds the signature against the body as it came. The digest tells one letter from another: one that comes again
// has the same.
func (l *Letter) Check(body []byte) (digest [sha256.Size]byte, refused *Refusal) {
	if l.signature == "" {
		sum := sha256.New()
		sum.Write([]byte(l.Provider + " " + Provider(l.Event) + "\n"))
		sum.Write(body)
		sum.Sum(digest[:0])
		return digest, nil
	}
	mac := hmac.New(sha256.New, []byte(l.key))
	mac.Write(body)
	mac.Sum(digest[:0])
	var want [sha256.Size]byte
	n, err := hex.Decode(want[:], []byte(l.signature))
	if err != nil || n != len(want) || !hmac.Equal(want[:], digest[:]) {
		return digest, unproved[l.Provider]
	}
	return digest, nil
}

// Read says what the body says. It must have been checked.
func (l *Letter) Read(body []byte) (Hint, *Refusal) {
	hint := Hint{Provider: l.Provider, Proved: l.Proved}
	if err := readers[l.Provider](l.Event, unwrapped(body), &hint); err != nil {
		return Hint{}, &Refusal{Reason: Malformed, Provider: l.Provider, Message: "the webhook cannot be read: " + err.Error()}
	}
	if len(hint.Places) == 0 {
		hint.Kind = Nothing
	}
	if len(hint.Refs) != 1 {
		hint.From, hint.To = "", "" // whose they are would have to be said too
	}
	return hint, nil
}

// unwrapped is the JSON of a form, which GitHub and Gitea send unless they are told to send JSON.
func unwrapped(body []byte) []byte {
	const field = "payload="
	if !strings.HasPrefix(string(body[:min(len(body), len(field))]), field) {
		return body
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return body
	}
	return []byte(form.Get("payload"))
}
