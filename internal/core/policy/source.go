package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Source says whether the project allows a repository. Patterns and address are compared normalised; "*" stays within
// one segment of the path, "**" spans segments, and a lone "*" is every repository.
func Source(p Project, repoURL string) Verdict {
	address := normalizeRepo(repoURL)
	subject := origin(repoURL)
	if climbs(address) {
		return refused(`%s has a segment "." or ".." in its path, which may lead elsewhere; write the path in full`, subject)
	}
	var said tally
	for _, written := range p.SourceRepos {
		rule := parsePattern(written)
		rule.glob = normalizeRepo(rule.glob)
		result := rule.match(address, '/')
		if !rule.deny {
			said.asked(quoted(written), result)
			continue
		}
		switch result {
		case invalid:
			return refused("%s is denied by sourceRepos %q of %s, which is not a valid pattern and so denies all; "+
				"correct that rule", subject, written, p.called())
		case hits:
			return refused("%s is denied by sourceRepos %q of %s; use another repository or narrow that rule",
				subject, written, p.called())
		case misses:
			said.passed(quoted(written))
		}
	}
	if said.allow == nil && slices.ContainsFunc(p.OwnRepos, func(own string) bool { return normalizeRepo(own) == address }) {
		return allowed("%s is allowed: it is for project %q", subject, p.Name)
	}
	return said.verdict(p, subject, "sourceRepos", `"*"`)
}

// quoted is a rule that is one text, as it is written.
type quoted string

func (q quoted) String() string { return strconv.Quote(string(q)) }

// origin is the repository that is judged.
type origin string

func (o origin) String() string { return fmt.Sprintf("repository %q", Address(string(o))) }

// Address keeps a password that somebody wrote into an address out of what many may read. The user of
// an SSH address is no secret and stays.
func Address(repoURL string) string {
	scheme, rest, found := strings.Cut(repoURL, "://")
	authority, path, slash := strings.Cut(rest, "/")
	at := strings.LastIndex(authority, "@")
	if !found || at < 0 || !strings.Contains(authority[:at], ":") && strings.EqualFold(scheme, "ssh") {
		return repoURL
	}
	if !slash {
		return scheme + "://" + authority[at+1:]
	}
	return scheme + "://" + authority[at+1:] + "/" + path
}

// Spelling is one text for all the ways of writing the address of a repository.
func Spelling(repoURL string) string { return normalizeRepo(repoURL) }

// normalizeRepo brings the spellings of one repository to one text, so that a deny rule cannot be passed by writing the
// address in another way. Letter case is folded in the path too, as Argo CD does: the large hosts ignore it.
func normalizeRepo(repoURL string) string {
	s := decodeUnreserved(strings.ToLower(strings.TrimSpace(repoURL)))
	scheme, rest, found := strings.Cut(s, "://")
	if !found {
		if rest, found = scpToPath(s); !found {
			return trimRepoSuffix(s)
		}
		scheme = "ssh"
	}
	if scheme == "git+ssh" || scheme == "ssh+git" {
		scheme = "ssh"
	}
	authority, path, _ := strings.Cut(rest, "/")
	rest = trimRepoSuffix(normalizeAuthority(scheme, authority) + "/" + collapseSlashes(path))
	if scheme == "ssh" {
		return rest
	}
	return scheme + "://" + rest
}

// scpToPath rewrites "user@host:path" to "user@host/path". A colon behind a slash belongs to a path, and one before a
// number to a registry such as "registry.example.com:5000/charts", which is written without a scheme.
func scpToPath(s string) (string, bool) {
	host, path, found := strings.Cut(s, ":")
	if !found || strings.Contains(host, "/") {
		return s, false
	}
	first, _, _ := strings.Cut(path, "/")
	if !strings.Contains(host, "@") && strings.Trim(first, "0123456789") == "" {
		return s, false
	}
	return host + "/" + path, true
}

// normalizeAuthority drops what does not change the place that is reached: the default port, the root dot and, for
// HTTP, the user. (For SSH the user is part of the usual spelling.)
func normalizeAuthority(scheme, authority string) string {
	switch scheme {
	case "https":
		authority = strings.TrimSuffix(authority, ":443")
	case "http":
		authority = strings.TrimSuffix(authority, ":80")
	case "ssh":
		return strings.TrimSuffix(strings.TrimSuffix(authority, ":22"), ".")
	default:
		return authority
	}
	return strings.TrimSuffix(authority[strings.LastIndex(authority, "@")+1:], ".")
}

func collapseSlashes(path string) string {
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return strings.TrimLeft(path, "/")
}

func trimRepoSuffix(s string) string {
	s = strings.TrimRight(s, "/")
	return strings.TrimRight(strings.TrimSuffix(s, ".git"), "/")
}

// decodeUnreserved undoes percent signs before characters that never need them: "%6frg" is "org". The text is in lower
// case already, and so are the characters that come out.
func decodeUnreserved(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c := unhex(s[i+1])<<4 | unhex(s[i+2]); isUnreserved(c) {
				b.WriteString(strings.ToLower(string(rune(c))))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// unhex gives a value that no unreserved character has for a byte that is no hexadecimal digit.
func unhex(c byte) byte {
	if at := strings.IndexByte("0123456789abcdef", c); at >= 0 {
		return byte(at)
	}
	return 0xff
}

func isUnreserved(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("-._~", c) >= 0
}

// climbs says whether a segment would be resolved away by the client or the server, which then reads another path than
// the one that was judged.
func climbs(address string) bool {
	plain := strings.NewReplacer(`\`, "/", "%5c", "/", "%2f", "/").Replace(address)
	for segment := range strings.SplitSeq(plain, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}
