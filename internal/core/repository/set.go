package repository

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Set is what the secrets of an installation say, as a Book. It does not change: other secrets are another Set.
type Set struct {
	one   map[string][]Repository // entries for one repository, by their normalised URL
	many  map[string][]Repository // entries for many, by how their URLs begin, normalised
	trust Trust
	// owned are the URLs of the entries for one repository that are for one project, by its name.
	owned map[string][]string
}

// NewSet puts entries for one repository, entries for many, and whom to trust together. Of two entries for the same
// URL and project the first counts.
func NewSet(one, many []Repository, trust Trust) *Set {
	owned := map[string][]string{}
	for _, entry := range one {
		if entry.Project != "" {
			owned[entry.Project] = append(owned[entry.Project], entry.URL)
		}
	}
	return &Set{one: index(one), many: index(many), trust: trust, owned: owned}
}

// Owned are the URLs of the repositories that are for one project alone.
func (s *Set) Owned(project string) []string { return s.owned[project] }

func index(entries []Repository) map[string][]Repository {
	out := map[string][]Repository{}
	for _, entry := range entries {
		key, _ := normal(entry.URL)
		out[key] = append(out[key], entry)
	}
	return out
}

// Trust is whom to believe to be who they say.
func (s *Set) Trust() Trust { return s.trust }

// For is what is known of the place behind a URL, for the applications of a project. The entry of the URL counts, one
// of the project before one for all; what it leaves open, and what has no entry, is filled by the entry for many
// repositories that matches longest. Without any it is the zero value.
func (s *Set) For(url, project string) Repository {
	key, divisible := normal(url)
	found, _ := pick(s.one[key], project)
	if found.signsIn() || !divisible {
		return found
	}
	for prefix := key; prefix != ""; prefix = shorter(prefix) {
		if creds, ok := pick(s.many[prefix], project); ok {
			return found.filledFrom(creds)
		}
	}
	return found
}

// Named is the entry for one repository that has a name, one of the project before one for all.
func (s *Set) Named(name, project string) (Repository, bool) {
	var named []Repository
	for _, key := range slices.Sorted(maps.Keys(s.one)) {
		for _, entry := range s.one[key] {
			if entry.Name == name && name != "" {
				named = append(named, entry)
			}
		}
	}
	found, ok := pick(named, project)
	if !ok {
		return Repository{}, false
	}
	return s.For(found.URL, project), true
}

// Entries are all entries: those for one repository, then those for many, each in the order of their URLs.
func (s *Set) Entries() (one, many []Repository) {
	list := func(in map[string][]Repository) (out []Repository) {
		for _, key := range slices.Sorted(maps.Keys(in)) {
			out = append(out, in[key]...)
		}
		return out
	}
	return list(s.one), list(s.many)
}

// pick is the entry of the project, or else the one for all. One of another project never counts.
func pick(entries []Repository, project string) (Repository, bool) {
	for _, wanted := range []string{project, ""} {
		for _, entry := range entries {
			if entry.Project == wanted {
				return entry, true
			}
		}
	}
	return Repository{}, false
}

// signsIn says that the entry has credentials of its own, and none are to be looked for.
func (r Repository) signsIn() bool {
	return r.Username != "" || !r.Password.Empty() || !r.BearerToken.Empty() || !r.SSHPrivateKey.Empty() ||
		r.TLSClientCert != "" || !r.TLSClientKey.Empty() || !r.GitHubApp.PrivateKey.Empty()
}

// filledFrom takes the credentials of an entry for many repositories, and the way to them.
func (r Repository) filledFrom(creds Repository) Repository {
	r.URL = cmp.Or(r.URL, creds.URL)
	r.Username, r.Password, r.BearerToken = creds.Username, creds.Password, creds.BearerToken
	r.SSHPrivateKey, r.TLSClientCert, r.TLSClientKey = creds.SSHPrivateKey, creds.TLSClientCert, creds.TLSClientKey
	r.GitHubApp = creds.GitHubApp
	r.ForceBasicAuth = r.ForceBasicAuth || creds.ForceBasicAuth
	r.EnableOCI = r.EnableOCI || creds.EnableOCI
	r.InsecureOCIForceHTTP = r.InsecureOCIForceHTTP || creds.InsecureOCIForceHTTP
	if r.Type == "" {
		r.Type = creds.Type
	}
	if r.Proxy == "" {
		r.Proxy, r.NoProxy = creds.Proxy, creds.NoProxy
	}
	r.NotHonoured = slices.Concat(r.NotHonoured, creds.NotHonoured)
	return r
}

// Everything is what Changed says when any repository may be concerned; Covers knows it.
const Everything = "*"

// Changed are the URLs whose entries differ between two sets, in order. That of an entry for many repositories is how
// theirs begin, and a changed trust is told in the same way: Covers says which repositories each is about.
func Changed(old, now *Set) []string {
	found := map[string]bool{}
	for _, pair := range [][2]map[string][]Repository{{old.one, now.one}, {old.many, now.many}} {
		for _, side := range pair {
			for key := range side {
				if !reflect.DeepEqual(pair[0][key], pair[1][key]) {
					found[key] = true
				}
			}
		}
	}
	for _, side := range []Trust{old.trust, now.trust} {
		for host := range side.Certificates {
			if old.trust.Certificates[host] != now.trust.Certificates[host] {
				found["https://"+strings.ToLower(host)] = true
			}
		}
	}
	if old.trust.KnownHosts != now.trust.KnownHosts {
		found[anySSH] = true
	}
	if !maps.Equal(old.trust.PublicKeys, now.trust.PublicKeys) {
		found[Everything] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// anySSH is how every URL of SSH begins.
const anySSH = "ssh://"

// Covers reports whether what Changed told concerns the repository behind a URL.
func Covers(changed, url string) bool {
	if changed == Everything {
		return true
	}
	key, divisible := normal(url)
	if changed == anySSH {
		return strings.HasPrefix(key, anySSH)
	}
	prefix, _ := normal(changed)
	if host, ok := strings.CutPrefix(prefix, "https://"); ok && !strings.ContainsAny(host, "/:") && divisible {
		// A certificate is for a host, whatever the port.
		reached, _, _ := strings.Cut(strings.TrimPrefix(key, "https://"), "/")
		if name, _, _ := strings.Cut(reached, ":"); strings.HasPrefix(key, "https://") && name == host {
			return true
		}
	}
	for ; key != ""; key = shorter(key) {
		if key == prefix {
			return true
		}
		if !divisible {
			return false
		}
	}
	return false
}
