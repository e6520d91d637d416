package helm

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// file is where a file is: in a tree, or behind a URL that is still to be fetched.
type file struct {
	tree, path string
	written    string
	need       *manifest.Need
}

// String is the file as people wrote it, with what a glob made of it.
func (f file) String() string {
	if f.written == f.path || f.tree != "" && !strings.HasPrefix(f.tree, "$") {
		return fmt.Sprintf("%q", f.written)
	}
	return fmt.Sprintf("%q (%s)", f.written, path.Join(f.tree, f.path))
}

// find turns an entry of valueFiles into files; what still has to be fetched is a need and no file.
func (v *values) find(written string) ([]file, error) {
	at, err := v.resolve("value file", written)
	if err != nil {
		return nil, err
	}
	if at.need != nil {
		if _, ok := v.trees[at.need.ID()]; !ok {
			v.needs = append(v.needs, *at.need)
			return nil, nil
		}
		return []file{{tree: at.need.ID(), path: "content", written: written}}, nil
	}
	tree := v.trees[at.tree]
	info, err := fs.Stat(tree, at.path)
	switch {
	case err == nil && info.IsDir():
		return nil, fault.Terminalf("ValueFileMissing", "value file %q is a folder; name a file, or all of its files with %q",
			written, written+"/*.yaml")
	case err == nil:
		return []file{at}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fault.Terminalf("ValueFileUnreadable", "looking for value file %s: %w", at, err)
	case hasGlob(at.path):
		found, err := v.glob(at)
		if err != nil || len(found) > 0 {
			return found, err
		}
	}
	if v.of.IgnoreMissingValueFiles {
		return nil, nil
	}
	return nil, fault.Terminalf("ValueFileMissing", "value file %s does not exist; correct the path (it is relative to the source's path, "+
		"or to the root of the repository with a leading slash), or set ignoreMissingValueFiles", at)
}

// resolve finds the place that a path means. What a path may not reach is refused here, by name alone.
func (v *values) resolve(what, written string) (file, error) {
	if scheme, _, ok := strings.Cut(written, "://"); ok && !strings.ContainsAny(scheme, "/*") {
		return v.remote(what, written, strings.ToLower(scheme))
	}
	var tree, rel string
	switch {
	case written == "":
		return file{}, fault.Terminalf("ValueFileMissing", "a %s has no path; give it one or remove it", what)
	case strings.HasPrefix(written, "$"):
		tree, rel, _ = strings.Cut(written, "/")
		if _, ok := v.trees[tree]; !ok {
			return file{}, fault.Terminalf("ValueFileMissing", "%s %q begins with %q, and no source of the application has that ref%s",
				what, written, tree, v.refs())
		}
		rel = path.Clean(strings.TrimLeft(rel, "/"))
	case strings.HasPrefix(written, "/"):
		rel = path.Clean(strings.TrimLeft(written, "/"))
	default:
		rel = path.Join(v.dir, written)
	}
	if !fs.ValidPath(rel) {
		return file{}, fault.Terminalf("ValueFileMissing", "%s %q leads out of the repository; only files within it are read", what,
			written)
	}
	return file{tree: tree, path: rel, written: written}, nil
}

// refs names the refs that there are.
func (v *values) refs() string {
	var names []string
	for name := range v.trees {
		if strings.HasPrefix(name, "$") {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "; give the source that has the file a ref"
	}
	slices.Sort(names)
	return "; there is " + strings.Join(names, ", ")
}

func (v *values) remote(what, written, scheme string) (file, error) {
	allowed := v.build.ValuesSchemes
	if allowed == nil {
		allowed = []string{"http", "https"}
	}
	switch {
	case scheme == "http" || scheme == "https":
		if !slices.Contains(allowed, scheme) {
			return file{}, fault.Terminalf("SchemeNotAllowed", "%s %q: the scheme %s is not among those that the installation "+
				"allows (%s); "+
				"helm.valuesFileSchemes in argocd-cm has them", what, written, scheme, strings.Join(allowed, ", "))
		}
	case strings.HasPrefix(scheme, "secrets"), strings.HasPrefix(scheme, "sops"), strings.HasPrefix(scheme, "vals"):
		return file{}, fault.Terminalf("PluginNotRun", "%s %q is for the Helm plugin helm-secrets, and plugins are programs, which "+
			"are not "+
			"run here; keep the secret in the cluster (External Secrets, Sealed Secrets, SOPS operator) and name it in the values, or "+
			"render this application with a config management plugin", what, written)
	case scheme == "file":
		return file{}, fault.Terminalf("ValueFileMissing", "%s %q: files are read from the repository alone; write the path within "+
			"it", what, written)
	default:
		return file{}, fault.Terminalf("PluginNotRun", "%s %q has the scheme %s, which needs a downloader plugin of Helm (such as "+
			"helm-git, "+
			"helm-s3 or helm-secrets), and plugins are not run here; use https, or a source with a ref", what, written, scheme)
	}
	address, err := url.Parse(written)
	if err != nil || address.Host == "" || address.User != nil {
		return file{}, fault.Terminalf("ValueFileMissing", "%s %q is not a URL that can be fetched; write it as https://host/path, "+
			"with the "+
			"credentials in a repository secret", what, written)
	}
	if ip, err := netip.ParseAddr(address.Hostname()); err == nil && (ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified()) {
		return file{}, fault.Terminalf("AddressNotAllowed", "%s %q is at an address of this machine or of its network link, from which "+
			"nothing is fetched", what, written)
	}
	return file{written: written, need: &manifest.Need{Kind: manifest.NeedFile, URL: written, Why: what + " of helm.valueFiles"}}, nil
}
