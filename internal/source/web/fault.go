package web

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/towline-cd/towline/internal/core/fault"
)

// Shown is a URL for people: without a login, and without a query, which may be one.
func Shown(u *url.URL) string {
	shown := *u
	shown.User, shown.RawQuery, shown.Fragment = nil, "", ""
	return shown.String()
}

var userinfo = regexp.MustCompile(`://[^/\s'"]*@`)

// Redact takes logins and queries out of a text that should have been a URL.
func Redact(text string) string {
	text, _, _ = strings.Cut(text, "?")
	return userinfo.ReplaceAllString(text, "://")
}

// unreachable gives an error of the network its class.
func unreachable(to *url.URL, err error) error {
	if fault.ClassOf(err) == fault.Terminal {
		return fault.Terminalf(fault.ReasonOf(err), "asking %s: %w", Shown(to), err)
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return fault.Terminalf("NotEncrypted", "asking %s: the server does not speak TLS; write http:// for a repository, or set "+
			"insecureOCIForceHttp for a registry", Shown(to))
	}
	if untrusted(err) {
		return fault.Terminalf("ServerNotTrusted", "asking %s: %w; register the authority of the host's certificate", Shown(to), err)
	}
	return fault.Transientf("RepositoryUnreachable", "asking %s: %w", Shown(to), err)
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

// Check makes a fault of an answer that is not what was asked for; the statuses that are wanted are none.
func Check(doing string, with Party, answer Answer) error {
	status := answer.StatusCode
	if status >= 200 && status < 300 || status == http.StatusNotModified {
		return nil
	}
	_ = answer.Body.Close()
	said := http.StatusText(status)
	switch {
	case status == http.StatusTooManyRequests || status >= 500:
		later := ""
		if after := answer.Header.Get("Retry-After"); after != "" && len(after) < 64 {
			later = "; it asks to be left alone until " + after + " (seconds, or a date)"
		}
		return fault.Transientf("RepositoryFailed", "%s: the server answers %d %s%s", doing, status, said, later)
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fault.Terminalf("RepositoryDenied", "%s: the server answers %d %s; %s", doing, status, said, advice(with))
	case status == http.StatusNotFound || status == http.StatusGone:
		return fault.Terminalf("NotFound", "%s: the server answers %d %s; check the URL, and whether a login is needed to see it",
			doing, status, said)
	}
	return fault.Terminalf("RepositoryRefused", "%s: the server answers %d %s", doing, status, said)
}

func advice(with Party) string {
	if Login(with.Entry) == "" && with.Entry.TLSClientCert == "" {
		return "no login is registered for it: register the repository with one"
	}
	return "the registered login of " + Redact(with.Entry.URL) + " is not accepted: correct it, or have it given access"
}
