package repository

import (
	"net/url"
	"strings"
)

// SpeaksFor reports whether an entry that was made for one URL speaks for another: they have the same scheme, host and
// port, and the path of the entry is that of the other or some of its first names. A login is good for nothing else,
// so "https://host/org" says nothing of "https://host/organisation". A registry may be written with oci:// or without.
func SpeaksFor(entry, asked string) bool {
	of, ok := location(entry)
	if !ok {
		return false
	}
	at, ok := location(asked)
	if !ok || of.origin != at.origin || strings.Contains("/"+at.path+"/", "/../") {
		return false
	}
	return of.path == "" || at.path == of.path || strings.HasPrefix(at.path, of.path+"/")
}

type located struct{ origin, path string }

func location(raw string) (located, bool) {
	if !strings.Contains(raw, "://") {
		raw = "oci://" + raw
	}
	parsed, err := url.Parse(raw)
	if err != nil || parsed.Host == "" {
		return located{}, false
	}
	return located{origin: Origin(parsed), path: strings.Trim(parsed.Path, "/")}, true
}

// Origin is the scheme, host and port of a URL, written in one way.
func Origin(u *url.URL) string {
	scheme, host, port := strings.ToLower(u.Scheme), strings.ToLower(u.Hostname()), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "oci": "443"}[scheme]
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return scheme + "://" + host + ":" + port
}
