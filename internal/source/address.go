package source

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/towline-cd/towline/internal/core/fault"
)

// address is a repository URL that was found fit to be given to the git program.
type address struct {
	url   string // for git, without a password or a token
	shown string // for people
	key   string // the folder of the repository in the store
	login string // value of an Authorization header, or ""
}

// scpLike is "user@host:path", which git takes for SSH.
var scpLike = regexp.MustCompile(`^(?:[A-Za-z0-9][A-Za-z0-9._-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*:[^:-][^:]*$`)

// parseAddress refuses what git would take for an option, for a helper program or for a file of this machine.
func parseAddress(raw string, allowFile bool) (address, error) {
	if bad := strings.IndexFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f }); bad >= 0 || raw == "" {
		return address{}, refused(raw, "is empty or holds spaces or control characters")
	}
	if strings.HasPrefix(raw, "-") {
		return address{}, refused(raw, "begins with '-'")
	}
	if head, _, _ := strings.Cut(raw, "/"); strings.Contains(head, "::") {
		return address{}, refused(raw, "names a transport helper")
	}
	if strings.Contains(raw, "://") {
		return parseURL(raw, allowFile)
	}
	if scpLike.MatchString(raw) {
		return newAddress(raw, raw, raw, ""), nil
	}
	if allowFile && path.IsAbs(raw) {
		return newAddress(raw, raw, raw, ""), nil
	}
	return address{}, refused(raw, "is neither a URL nor of the form user@host:path")
}

func parseURL(raw string, allowFile bool) (address, error) {
	parsed, err := url.Parse(raw)
	if err != nil {
		return address{}, refused(raw, "is not a URL") // the parser's own error repeats the password
	}
	parsed.Scheme, parsed.Host = strings.ToLower(parsed.Scheme), strings.ToLower(parsed.Host)
	identity := parsed.String()
	shown := *parsed
	shown.User, shown.RawQuery, shown.Fragment = nil, "", ""
	switch parsed.Scheme {
	case "https", "http":
		if parsed.Host == "" {
			return address{}, refused(raw, "has no host")
		}
		login := basicLogin(parsed.User)
		parsed.User = nil
		return newAddress(parsed.String(), shown.String(), identity, login), nil
	case "ssh":
		if parsed.Host == "" || strings.HasPrefix(parsed.Host, "-") || strings.HasPrefix(parsed.User.Username(), "-") {
			return address{}, refused(raw, "has no host, or one that begins with '-'")
		}
		if parsed.User != nil {
			parsed.User = url.User(parsed.User.Username())
		}
		return newAddress(parsed.String(), shown.String(), identity, ""), nil
	case "file":
		if allowFile {
			return newAddress(raw, raw, raw, ""), nil
		}
	}
	return address{}, refused(raw, "is of the scheme \""+parsed.Scheme+"\"")
}

// basicLogin keeps a password off the command line, which everybody on the machine can read.
func basicLogin(user *url.Userinfo) string {
	password, ok := user.Password()
	if !ok {
		return ""
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password))
}

// newAddress gives one folder to the spellings of one URL. A login is part of it: what one login may read must not be
// found by another.
func newAddress(forGit, shown, identity, login string) address {
	sum := sha256.Sum256([]byte(strings.TrimSuffix(strings.TrimRight(identity, "/"), ".git")))
	return address{url: forGit, shown: shown, key: hex.EncodeToString(sum[:16]), login: login}
}

func refused(raw, why string) error {
	return fault.Terminalf("RepositoryRefused", "the repository URL %q %s; use https://, http://, ssh:// or user@host:path",
		redact(raw), why)
}

var userinfo = regexp.MustCompile(`://[^/\s'"]*@`)

// redact takes logins out of a text.
func redact(text string) string {
	return userinfo.ReplaceAllString(text, "://")
}
