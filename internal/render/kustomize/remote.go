package kustomize

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// remote is where an entry of a kustomization leads that is not a path.
type remote struct {
	// file says that it is one file and no repository.
	file bool
	// url is that of the repository or the file; ref and dir are of the repository.
	url, ref, dir string
}

func (r remote) need(why string) manifest.Need {
	if r.file {
		return manifest.Need{Kind: manifest.NeedFile, URL: r.url, Why: why}
	}
	return manifest.Need{Kind: manifest.NeedGit, URL: r.url, Revision: r.ref, Why: why}
}

var (
	schemes = []string{"ssh://", "https://", "http://", "file://", "git://"}
	// user is the part before the host, as in git@host:path.
	user = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]*@`)
	// revision is what a branch, a tag or a commit may be called here: nothing that could be taken for an option.
	revision = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./+@-]*$`)
	host     = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]+)?$`)
)

// parseRemote reads an entry as kustomize does: false means that it is a path. What no fetcher should be asked for is
// an error: a strange address is a mistake or an attack, and neither is worth a try.
func parseRemote(entry string) (remote, bool, error) {
	rest, forced := cutPrefixFold(entry, "git::")
	rest, query, _ := strings.Cut(rest, "?")
	scheme := ""
	for _, known := range schemes {
		if after, ok := cutPrefixFold(rest, known); ok {
			scheme, rest = known, after
			break
		}
	}
	login := user.FindString(rest)
	rest = rest[len(login):]
	github := hasPrefixFold(rest, "github.com/") || hasPrefixFold(rest, "github.com:")
	if scheme == "" && login == "" && !github {
		if forced || strings.Contains(entry, "::") || strings.Contains(entry, "://") {
			return remote{}, false, refuse(entry, errors.New("it is neither a path nor an address that kustomize knows"))
		}
		return remote{}, false, nil
	}
	if scheme == "file://" || scheme == "git://" {
		return remote{}, false, refuse(entry, fmt.Errorf("the scheme %s is not fetched; use https or ssh", scheme))
	}
	if strings.HasPrefix(scheme, "http") && login == "" && !forced && isFile(rest) {
		return remote{file: true, url: entry}, true, checkHost(entry, rest)
	}
	return parseRepository(entry, scheme, login, rest, query)
}

// isFile tells a file from a repository: kustomize would ask for it and look, and the names tell the same.
func isFile(rest string) bool {
	switch strings.ToLower(path.Ext(rest)) {
	case ".yaml", ".yml", ".json":
		return !strings.Contains(rest, "//") && !strings.Contains(rest, ".git/") && !strings.Contains(rest, "_git/")
	}
	return false
}

func checkHost(entry, rest string) error {
	name, _, _ := strings.Cut(rest, "/")
	if !host.MatchString(name) {
		return refuse(entry, fmt.Errorf("%q is not a host", name))
	}
	return nil
}

func parseRepository(entry, scheme, login, rest, query string) (remote, bool, error) {
	separator := "/"
	name, where, ok := strings.Cut(rest, "/")
	if scheme == "" && strings.Contains(name, ":") {
		separator = ":"
		name, where, ok = strings.Cut(rest, ":")
	}
	if !ok || !host.MatchString(name) {
		return remote{}, false, refuse(entry, fmt.Errorf("%q is not a host", name))
	}
	if strings.EqualFold(name, "github.com") && login == "" && !strings.HasPrefix(scheme, "ssh") {
		scheme, separator = "https://", "/"
	}
	repository, dir, err := splitRepository(where)
	if err != nil {
		return remote{}, false, refuse(entry, err)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return remote{}, false, refuse(entry, err)
	}
	ref := values.Get("ref")
	if ref == "" {
		ref = values.Get("version")
	}
	if ref != "" && !revision.MatchString(ref) {
		return remote{}, false, refuse(entry, fmt.Errorf("%q is no name of a branch, a tag or a commit", ref))
	}
	return remote{url: scheme + login + name + separator + repository, ref: ref, dir: dir}, true, nil
}

// splitRepository cuts the path of an address into that of the repository and that within it: at _git/<name>, at "//",
// after ".git", or after two names.
func splitRepository(where string) (repository, dir string, err error) {
	if before, after, ok := strings.Cut(where, "_git/"); ok {
		name, rest, _ := strings.Cut(after, "/")
		repository, dir = before+"_git/"+name, rest
	} else if before, after, ok := strings.Cut(where, "//"); ok {
		repository, dir = before, after
	} else if before, after, ok := strings.Cut(where, ".git"); ok {
		repository, dir = before+".git", after
	} else {
		parts := strings.SplitN(where, "/", 3)
		if len(parts) < 2 {
			return "", "", errors.New("it names no repository")
		}
		repository = parts[0] + "/" + parts[1]
		if len(parts) == 3 {
			dir = parts[2]
		}
	}
	dir = path.Clean(strings.TrimLeft(dir, "/"))
	switch {
	case repository == "" || strings.HasPrefix(repository, "-") || strings.ContainsAny(repository, " \t\r\n\x00;|&`'\"<>\\"):
		return "", "", fmt.Errorf("%q is not the path of a repository", repository)
	case dir == ".." || strings.HasPrefix(dir, "../"):
		return "", "", errors.New("its path leads out of the repository")
	}
	return repository, dir, nil
}

func refuse(entry string, why error) error {
	return fault.Terminalf("InvalidRemote", "%q: %w; write it as https://host/org/repo//path?ref=revision", entry, why)
}

func cutPrefixFold(text, prefix string) (string, bool) {
	if !hasPrefixFold(text, prefix) {
		return text, false
	}
	return text[len(prefix):], true
}

func hasPrefixFold(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}
