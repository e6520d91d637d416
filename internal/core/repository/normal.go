package repository

import (
	"net/url"
	"slices"
	"strings"
)

// normal brings the spellings of one repository to one text: "scheme://user@host:port/path". Letter case is folded in
// the path too, as Argo CD does: the large hosts ignore it. divisible says that the beginning of the path stands for a
// folder of repositories on that host; where the path could lead elsewhere than it says, it does not.
func normal(raw string) (text string, divisible bool) {
	text = strings.TrimSpace(raw)
	if !strings.Contains(text, "://") {
		text = withScheme(text)
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" {
		return strings.ToLower(text), false
	}
	path := strings.ToLower(strings.Trim(collapse(parsed.Path), "/"))
	path = strings.TrimRight(strings.TrimSuffix(path, ".git"), "/")
	text = authority(parsed)
	if path != "" {
		text += "/" + path
	}
	if parsed.RawQuery != "" {
		text += "?" + parsed.RawQuery
	}
	escaped := strings.ToLower(parsed.EscapedPath())
	ambiguous := strings.Contains(escaped, "%2f") || strings.Contains(escaped, "%5c") || strings.Contains(path, `\`)
	segments := strings.Split(path, "/")
	climbs := slices.Contains(segments, "..") || slices.Contains(segments, ".")
	return text, !ambiguous && !climbs
}

// authority is the part before the path, without what does not change the place that is reached: the default port, the
// dot of the root and, for HTTP, the user. For SSH the user is part of the address.
func authority(parsed *url.URL) string {
	scheme := strings.ToLower(parsed.Scheme)
	if scheme == "git+ssh" || scheme == "ssh+git" {
		scheme = "ssh"
	}
	host := strings.ToLower(parsed.Host)
	if port, ok := map[string]string{"https": ":443", "http": ":80", "ssh": ":22"}[scheme]; ok {
		host = strings.TrimSuffix(host, port)
	}
	host = strings.TrimSuffix(host, ".")
	if scheme == "ssh" && parsed.User != nil {
		host = parsed.User.Username() + "@" + host
	}
	return scheme + "://" + host
}

// withScheme completes "user@host:path", which is SSH, and "host/path", which is a registry. A path of this machine
// stays as it is.
func withScheme(text string) string {
	if text == "" || strings.HasPrefix(text, "/") || strings.HasPrefix(text, ".") {
		return text
	}
	host, path, found := strings.Cut(text, ":")
	if !found || strings.Contains(host, "/") {
		return "oci://" + text
	}
	first, _, _ := strings.Cut(path, "/")
	if !strings.Contains(host, "@") && strings.Trim(first, "0123456789") == "" {
		return "oci://" + text
	}
	return anySSH + host + "/" + strings.TrimLeft(path, "/")
}

func collapse(path string) string {
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return path
}

// shorter is the normalised URL without its last segment, or "" when only the host is left.
func shorter(text string) string {
	start := strings.Index(text, "://") + len("://")
	if at := strings.LastIndexByte(text[start:], '/'); at >= 0 {
		return text[:start+at]
	}
	return ""
}
