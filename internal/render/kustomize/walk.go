package kustomize

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// node is a kustomization that was looked at.
type node struct {
	at place
	// namespace is what it was looked at with, charts says that it or one below has charts, which depend on that.
	namespace string
	charts    bool
	// builds is how many kustomizations are built for it, itself among them.
	builds int
}

// file is a kustomization file with its place.
type file struct {
	dir     place
	name    string
	data    types.Kustomization
	changed bool
	// generated are the charts that its generators stand for.
	generated []inflation
}

// invalid is a mistake in a kustomization.
func invalid(format string, args ...any) error {
	return fault.Terminalf("InvalidKustomization", format, args...)
}

// String names the file for people.
func (f *file) String() string { return path.Join(f.dir.path, f.name) }

// root looks at the kustomization of the Application, and answers where the build begins.
func (p *pass) root(asked string, of *v1alpha1.ApplicationSourceKustomize) (string, error) {
	dir := path.Clean(asked)
	if !fs.ValidPath(dir) {
		return "", fault.Terminalf("InvalidPath", "app path %q is not a path within the repository; write it relative to its root", asked)
	}
	at, err := p.disk.resolve(place{mount: repo, path: dir})
	if err != nil {
		return "", fault.Terminalf("PathNotFound", "app path %q: %w", asked, err)
	}
	found, err := p.load(at)
	if err != nil {
		return "", err
	}
	if err := p.edit(found, of); err != nil {
		return "", err
	}
	top, err := p.visit(found, "")
	if err != nil {
		return "", err
	}
	return top.at.String(), nil
}

// load finds and reads the kustomization file of a folder.
func (p *pass) load(dir place) (*file, error) {
	var found *file
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		data, err := p.disk.ReadFile(path.Join(dir.String(), name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, invalid("reading %q: %w", path.Join(dir.path, name), p.explain(err))
		}
		if found != nil {
			return nil, invalid("%q holds several kustomization files, %s and %s; remove one",
				dir.path, found.name, name)
		}
		found = &file{dir: dir, name: name}
		if err := found.data.Unmarshal(data); err != nil {
			return nil, invalid("reading %q: %w", found, err)
		}
		found.data.FixKustomization()
	}
	if found == nil {
		return nil, invalid("there is no kustomization file in %q; add a kustomization.yaml or correct the path",
			p.shown(dir))
	}
	return found, nil
}

// shown is a place as people know it.
func (p *pass) shown(at place) string { return p.disk.mounts[at.mount].shown + at.path }

// visit looks at a kustomization and at all that it is built on.
func (p *pass) visit(found *file, namespace string) (*node, error) {
	where := found.dir.String()
	if p.ctx.Err() != nil {
		return nil, fault.Transientf("Cancelled", "looking at %q: %w", found, context.Cause(p.ctx))
	}
	if slices.Contains(p.open, where) {
		return nil, fault.Terminalf("KustomizationCycle", "%q is built on itself, by way of %s; remove it from one of their resources",
			p.shown(found.dir), p.way(where))
	}
	if len(p.open) >= maxDepth {
		return nil, fault.Terminalf("TooLarge", "kustomizations are built on each other more than %d deep, at %q", maxDepth,
			p.shown(found.dir))
	}
	p.open = append(p.open, where)
	defer func() { p.open = p.open[:len(p.open)-1] }()

	seen := &node{at: found.dir, namespace: namespace, builds: 1}
	if found.data.Namespace != "" {
		namespace = found.data.Namespace
	}
	if err := p.follow(found, seen, namespace); err != nil {
		return nil, err
	}
	if err := p.inflate(found, seen, namespace); err != nil {
		return nil, err
	}
	if found.changed {
		text, err := yaml.Marshal(found.data)
		if err != nil {
			return nil, invalid("writing %q: %w", found, err)
		}
		p.disk.written[path.Join(where, found.name)] = text
	}
	p.seen[where] = seen
	return seen, nil
}

// way names the kustomizations that lead to one.
func (p *pass) way(to string) string {
	var names []string
	for _, where := range p.open[slices.Index(p.open, to):] {
		if at, err := p.disk.locate(where); err == nil {
			names = append(names, fmt.Sprintf("%q", p.shown(at)))
		}
	}
	return strings.Join(names, ", ")
}

// follow goes through the entries of a kustomization: what it is built on, its plugins, its files.
func (p *pass) follow(found *file, seen *node, namespace string) error {
	lists := []struct {
		field string
		list  []string
		files bool
	}{{"resources", found.data.Resources, true}, {"components", found.data.Components, false}}
	for _, of := range lists {
		for i := range of.list {
			entry, err := p.entry(found, seen, reference{field: of.field, entry: of.list[i], files: of.files, namespace: namespace})
			if err != nil {
				return err
			}
			if entry != of.list[i] {
				of.list[i], found.changed = entry, true
			}
		}
	}
	if err := p.plugins(found, seen, namespace); err != nil {
		return err
	}
	return p.paths(found)
}

// reference is an entry that leads to another kustomization or, in some lists, to a file.
type reference struct {
	field, entry string
	files        bool
	namespace    string
}

// entry looks at what an entry leads to, and answers how it is written for the build.
func (p *pass) entry(from *file, seen *node, ref reference) (string, error) {
	if p.entries++; p.entries > maxEntries {
		return "", fault.Terminalf("TooLarge", "the kustomizations have more than %d entries together, at %q", maxEntries, from)
	}
	why := fmt.Sprintf("%s: %s", from, ref.field)
	far, isRemote, err := parseRemote(ref.entry)
	if err != nil {
		return "", fmt.Errorf("%s: %w", why, err)
	}
	if !isRemote {
		to, ok := from.dir.join(ref.entry)
		if !ok {
			return "", invalid("%s: %q leads out of %s; only what is within it is read", why, ref.entry, p.tree(from.dir))
		}
		return p.local(from, seen, ref, to)
	}
	if far.file && !ref.files {
		return "", invalid("%s: %q is a file, and a folder is needed there", why, ref.entry)
	}
	need := far.need(why)
	if !p.need(need) {
		return ref.entry, nil
	}
	if far.file {
		return p.fetched(from, need)
	}
	return p.below(from, seen, ref, place{view: from.dir.view, mount: p.disk.mount(need, p.trees[need.ID()]), path: far.dir})
}

// tree names the repository that a place is in.
func (p *pass) tree(at place) string {
	if at.mount == repo {
		return "the repository"
	}
	return strings.TrimSuffix(p.disk.mounts[at.mount].shown, "//")
}

func (p *pass) local(from *file, seen *node, ref reference, to place) (string, error) {
	target, err := p.disk.resolve(to)
	var info fs.FileInfo
	if err == nil {
		info, err = p.disk.stat(target)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", invalid("%s: %s names %q, and there is no %q", from, ref.field, ref.entry, p.shown(to))
	case err != nil:
		return "", invalid("%s: following %q: %w", from, ref.entry, err)
	case !info.IsDir():
		return ref.entry, nil
	}
	return p.below(from, seen, ref, to)
}

// below looks at the kustomization of a folder. One that has charts comes out differently under another namespace; then
// another view shows it.
func (p *pass) below(from *file, seen *node, ref reference, to place) (string, error) {
	to, err := p.disk.resolve(to)
	if err != nil {
		return "", invalid("%s: following %q: %w", from, ref.entry, err)
	}
	known := p.seen[to.String()]
	for known != nil && known.charts && known.namespace != ref.namespace {
		to.view++
		known = p.seen[to.String()]
	}
	if known == nil {
		found, err := p.load(to)
		if err != nil {
			return "", fmt.Errorf("%s: %s: %w", from, ref.field, err)
		}
		if known, err = p.visit(found, ref.namespace); err != nil {
			return "", err
		}
	}
	seen.charts = seen.charts || known.charts
	if seen.builds += known.builds; seen.builds > maxBuilds {
		return "", fault.Terminalf("TooLarge", "%q leads to more than %d builds of kustomizations", from, maxBuilds)
	}
	if to.mount == from.dir.mount && to.view == from.dir.view {
		return ref.entry, nil
	}
	rel, err := filepath.Rel(from.dir.String(), to.String())
	if err != nil {
		return "", fmt.Errorf("finding the way from %s to %s: %w", from.dir, to, err)
	}
	return filepath.ToSlash(rel), nil
}

// fetched puts a fetched file beside the kustomization that asks for it: the build reads no file from elsewhere.
func (p *pass) fetched(from *file, need manifest.Need) (string, error) {
	data, err := fs.ReadFile(p.trees[need.ID()], "content")
	if err != nil {
		return "", fmt.Errorf("reading what was fetched from %s: %w", need.URL, err)
	}
	return p.write(from, data), nil
}

// write puts a file of ours beside a kustomization.
func (p *pass) write(beside *file, data []byte) string {
	p.written++
	name := fmt.Sprintf(".towline-%d.yaml", p.written)
	p.disk.written[path.Join(beside.dir.String(), name)] = data
	return name
}
