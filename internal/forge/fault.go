package forge

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/towline-cd/towline/internal/core/fault"
)

// errAbsent is in the error of a 404 that the forge itself gave.
var errAbsent = errors.New("it is not there, or not to be seen with this login")

func isAbsent(err error) bool { return errors.Is(err, errAbsent) }

// judge makes a fault of an answer that is not what was asked for.
func (s *session) judge(a ask, got reply) (reply, error) {
	limit := s.limit(got)
	status, place := got.status, shown(a.target)
	said := http.StatusText(status) + s.words(got)
	switch {
	case status >= 200 && status < 300, status == http.StatusNotModified:
		return got, nil
	case limit != nil:
		return reply{}, fault.Transientf("RateLimited", "asking %s: it answers %d: %w", place, status, limit)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return reply{}, fault.Terminalf("ForgeDenied", "asking %s: it answers %d %s; %s", place, status, said, s.advice())
	case status == http.StatusNotFound && json.Valid(got.body) && len(got.body) > 0:
		return reply{}, fault.Terminalf("NotFound", "asking %s: it answers %d %s: %w; check the names, and what the login may see", place,
			status, said, errAbsent)
	case status == http.StatusNotFound:
		// The forge would say so in its own words. This is somebody in front of it, who may not know it at the moment.
		return reply{}, fault.Transientf("ForgeFailed", "asking %s: it answers %d, but not in the way of %s; check the address", place,
			status, s.forge)
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests:
		return reply{}, fault.Transientf("ForgeFailed", "asking %s: it answers %d %s", place, status, said)
	}
	return reply{}, fault.Terminalf("ForgeRefused", "asking %s: it answers %d %s", place, status, said)
}

func (s *session) advice() string {
	if s.login.header == "" {
		return "it is asked without a login: give the generator one"
	}
	return "its login is not accepted: correct it, or have it given access"
}

// words are what a server says of its refusal, within bounds. It saw the login and might repeat it.
func (s *session) words(got reply) string {
	var told struct {
		Message json.RawMessage `json:"message"`
		Error   string          `json:"error"`
	}
	if json.Unmarshal(got.body, &told) != nil {
		return ""
	}
	var text string
	if json.Unmarshal(told.Message, &text) != nil {
		text = told.Error
	}
	for _, secret := range []string{s.login.value.Reveal(), s.login.secret.Reveal()} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "******")
		}
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	if runes := []rune(text); len(runes) > 200 {
		text = string(runes[:200]) + "…"
	}
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// unreachable gives an error of the network its class.
func unreachable(to *url.URL, err error) error {
	err = plain(err)
	if fault.ClassOf(err) == fault.Terminal {
		return fault.Terminalf(fault.ReasonOf(err), "asking %s: %w", shown(to), err)
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return fault.Terminalf("NotEncrypted", "asking %s: the server does not speak TLS; write http:// if that is meant", shown(to))
	}
	if untrusted(err) {
		return fault.Terminalf("ServerNotTrusted", "asking %s: %w; register the authority of the host's certificate in "+
			"argocd-tls-certs-cm, or name it in caRef", shown(to), err)
	}
	return fault.Transientf("ForgeUnreachable", "asking %s: %w", shown(to), err)
}

func untrusted(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return true
	}
	_, ok := errors.AsType[x509.HostnameError](err)
	return ok
}
