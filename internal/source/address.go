package source

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/towline-cd/towline/internal/core/fault"
	core "github.com/towline-cd/towline/internal/core/repository"
)

// address is a repository URL that was found fit to be given to the git program.
type address struct {
	url      string // for git, without a password or a token
	shown    string // for people
	spelling string // the same for the spellings of one URL
	scheme   string // https, http, ssh or file
	host     string // without a port
	user     string // the login that is written in the URL, if there is one
	password string
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
		host, _, _ := strings.Cut(raw[strings.IndexByte(raw, '@')+1:], ":")
		return address{url: raw, shown: raw, spelling: spelled(raw), scheme: "ssh", host: host}, nil
	}
	if allowFile && path.IsAbs(raw) {
		return address{url: raw, shown: raw, spelling: spelled(raw), scheme: "file"}, nil
	}
	return address{}, refused(raw, "is neither a URL nor of the form user@host:path")
}

func parseURL(raw string, allowFile bool) (address, error) {
	parsed, err := url.Parse(raw)
	if err != nil {
		return address{}, refused(raw, "is not a URL") // the parser's own error repeats the password
	}
	parsed.Scheme, parsed.Host = strings.ToLower(parsed.Scheme), strings.ToLower(parsed.Host)
	shown := *parsed
	shown.User, shown.RawQuery, shown.Fragment = nil, "", ""
	at := address{shown: shown.String(), scheme: parsed.Scheme, host: parsed.Hostname()}
	switch parsed.Scheme {
	case "https", "http":
		if parsed.Host == "" {
			return address{}, refused(raw, "has no host")
		}
		// A password on the command line could be read by everybody on the machine.
		at.user = parsed.User.Username()
		at.password, _ = parsed.User.Password()
		parsed.User = nil
	case "ssh":
		if parsed.Host == "" || strings.HasPrefix(parsed.Host, "-") || strings.HasPrefix(parsed.User.Username(), "-") {
			return address{}, refused(raw, "has no host, or one that begins with '-'")
		}
		if parsed.User != nil {
			parsed.User = url.User(parsed.User.Username())
		}
	case "file":
		if !allowFile {
			return address{}, refused(raw, "is of the scheme \"file\"")
		}
		at.url, at.spelling = raw, spelled(raw)
		return at, nil
	default:
		return address{}, refused(raw, "is of the scheme \""+parsed.Scheme+"\"")
	}
	at.url = parsed.String()
	at.spelling = spelled(at.url)
	return at, nil
}

// spelled is one text for the spellings of one URL.
func spelled(text string) string {
	return strings.TrimSuffix(strings.TrimRight(text, "/"), ".git")
}

// signedIn is the entry with the login that is written in the URL itself, which counts before any other.
func (a address) signedIn(entry core.Repository) core.Repository {
	if a.password != "" {
		entry.Username, entry.Password = a.user, core.NewSecret(a.password)
		entry.BearerToken, entry.GitHubApp = core.Secret{}, core.GitHubApp{}
	}
	if entry.Username == "" && a.user != "" && !entry.Password.Empty() {
		entry.Username = a.user
	}
	return entry
}

// folder names the folder of a repository in the store. The login is part of it: what one login may read must not be
// found by another. So is whether the server had to prove who it is. A key makes the name say nothing about the login,
// not even to somebody who guesses.
func (a address) folder(entry core.Repository, key []byte) string {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%q", a.spelling)
	switch a.scheme {
	case "ssh":
		fmt.Fprintf(mac, " %q %t", entry.SSHPrivateKey.Reveal(), entry.Insecure || entry.InsecureIgnoreHostKey)
	case "https", "http":
		fmt.Fprintf(mac, " %q %q %q %q %q %d %d %q %t", entry.Username, entry.Password.Reveal(), entry.BearerToken.Reveal(),
			entry.TLSClientCert, entry.TLSClientKey.Reveal(), entry.GitHubApp.ID, entry.GitHubApp.InstallationID,
			entry.GitHubApp.PrivateKey.Reveal(), entry.Insecure)
	}
	return hex.EncodeToString(mac.Sum(nil)[:16])
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
