// Package render turns trees and the settings of a source into manifests. The tools run in worker processes that have no
// files, no network and no credentials: what they read they ask for, and a Host answers. It must give a worker nothing
// but the trees of its render, and believe nothing that a worker says but the manifests themselves.
package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// Directory renders a folder of plain manifests. The zero value has the limits of Argo CD.
type Directory struct {
	// MaxBytes bounds the size of all files that are read together, 10 MiB by default.
	MaxBytes int64
	// MaxFiles bounds how many files are looked at, 100,000 by default.
	MaxFiles int
	// jsonnet has jsonnet files evaluated, which is done only where a process may be lost.
	jsonnet bool
}

// maxMistakes is how many wrong files are reported together, so that people need not find them one by one.
const maxMistakes = 5

// Render reads the manifests of a folder in this process. It refuses the folders of other tools, and jsonnet.
func (d Directory) Render(ctx context.Context, trees manifest.Trees, req manifest.Request) (manifest.Result, error) {
	root, err := folder(trees[""], req.Source.Path)
	if err != nil {
		return manifest.Result{}, err
	}
	if req.Source.Directory == nil {
		if err := otherType(trees[""], root); err != nil {
			return manifest.Result{}, err
		}
	}
	return d.render(ctx, trees, req)
}

// render reads the manifests of the folder that req asks for, in the order of their paths. A folder without manifests
// gives an empty Result; what that means is not decided here.
func (d Directory) render(ctx context.Context, trees manifest.Trees, req manifest.Request) (manifest.Result, error) {
	tree, of := trees[""], req.Source.Directory
	filter, err := manifest.NewFilter(of)
	if err != nil {
		return manifest.Result{}, err
	}
	root, err := folder(tree, req.Source.Path)
	if err != nil {
		return manifest.Result{}, err
	}
	run := run{limits: d.withDefaults(), tree: tree, root: root, recurse: of != nil && of.Recurse, filter: filter, build: req.Build}
	if of != nil {
		run.settings = of.Jsonnet
	}
	run.result.Type = v1alpha1.SourceTypeDirectory
	if err := run.folder(ctx, root); err != nil {
		return manifest.Result{}, err
	}
	if len(run.mistakes) > 0 {
		return manifest.Result{}, errors.Join(run.mistakes...)
	}
	return run.result, nil
}

func (d Directory) withDefaults() Directory {
	if d.MaxBytes <= 0 {
		d.MaxBytes = 10 << 20
	}
	if d.MaxFiles <= 0 {
		d.MaxFiles = 100_000
	}
	return d
}

// folder cleans the path of the Application and makes sure that it is a folder.
func folder(tree fs.FS, asked string) (string, error) {
	root := path.Clean(asked)
	if !fs.ValidPath(root) {
		return "", fault.Terminalf("InvalidPath", "app path %q is not a path within the repository; write it relative to its root", asked)
	}
	info, err := fs.Stat(tree, root)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fault.Terminalf("PathNotFound", "app path %q does not exist%s", asked, beside(tree, root))
	}
	if err != nil {
		return "", fmt.Errorf("reading app path %q: %w", asked, err)
	}
	if !info.IsDir() {
		return "", fault.Terminalf("PathNotFound", "app path %q is a file and not a folder; name its folder, and the file in "+
			"directory.include", asked)
	}
	if isSubmodule(info) {
		return "", fault.Terminalf("SubmoduleUnsupported", "app path %q is a submodule, and those are not read by this build; "+
			"point the app to the repository of the submodule", asked)
	}
	return root, nil
}

// beside names some folders that do exist in the nearest folder above a path that does not.
func beside(tree fs.FS, missing string) string {
	const most = 8
	for parent := path.Dir(missing); ; parent = path.Dir(parent) {
		entries, err := fs.ReadDir(tree, parent)
		if err != nil && parent != "." {
			continue
		}
		var names []string
		for _, entry := range entries {
			if entry.IsDir() {
				names = append(names, entry.Name())
			}
		}
		if len(names) == 0 {
			return ""
		}
		if len(names) > most {
			names = append(names[:most], "…")
		}
		return fmt.Sprintf("; the folders in %q are %s", parent, strings.Join(names, ", "))
	}
}

// otherType refuses a folder that Argo CD would give to another tool: applying its files as they stand would put
// something else into the cluster than its author meant.
func otherType(tree fs.FS, root string) error {
	for _, sign := range signs {
		_, err := fs.Stat(tree, path.Join(root, sign.file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("looking for the type of the source in %q: %w", root, err)
		}
		return fault.Terminalf("SourceTypeUnsupported", "source type %s is not rendered by this build: %q is there; set the "+
			"source's directory field to have the folder read as plain manifests", sign.kind, path.Join(root, sign.file))
	}
	return nil
}

// run is one rendering.
type run struct {
	limits   Directory
	tree     fs.FS
	root     string
	recurse  bool
	filter   manifest.Filter
	build    manifest.Build
	settings v1alpha1.ApplicationSourceJsonnet
	jsonnet  *evaluator // nil until it is needed
	result   manifest.Result
	bytes    int64
	looked   int
	mistakes []error
}

func (r *run) folder(ctx context.Context, dir string) error {
	entries, err := fs.ReadDir(r.tree, dir)
	if err != nil {
		return fmt.Errorf("listing %q: %w", dir, err)
	}
	if err := r.expect(dir, entries); err != nil {
		return err
	}
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return fault.Transientf("Cancelled", "rendering %q: %w", r.root, context.Cause(ctx))
		}
		if err := r.entry(ctx, path.Join(dir, entry.Name()), entry); err != nil {
			return err
		}
		if len(r.mistakes) >= maxMistakes {
			return errors.Join(r.mistakes...)
		}
	}
	return nil
}

// expect asks for the files of a folder at once where they come from another process, some at a time.
func (r *run) expect(dir string, entries []fs.DirEntry) error {
	tree, ok := r.tree.(*tree)
	if !ok {
		return nil
	}
	listed := make([]fileInfo, len(entries))
	for i, entry := range entries {
		listed[i] = fileInfo{name: entry.Name(), mode: entry.Type()}
	}
	return tree.ahead(filesOf(dir, listed, func(name string) bool { return r.filter.Match(r.relative(path.Join(dir, name))) })...)
}

func (r *run) entry(ctx context.Context, name string, entry fs.DirEntry) error {
	if entry.IsDir() {
		return r.subfolder(ctx, name, entry)
	}
	if r.looked++; r.looked > r.limits.MaxFiles {
		return fault.Terminalf("TooManyFiles", "app path %q holds more than %d files; give the app a smaller folder",
			r.root, r.limits.MaxFiles)
	}
	if !r.filter.Match(r.relative(name)) {
		return nil
	}
	if entry.Type()&fs.ModeSymlink != 0 {
		info, err := fs.Stat(r.tree, name)
		if errors.Is(err, fs.ErrNotExist) {
			r.skip(name, "it is a symbolic link to nothing")
			return nil
		}
		if err != nil {
			return fmt.Errorf("following %q: %w", name, err)
		}
		if info.IsDir() {
			r.skip(name, "it is a symbolic link to a folder, and those are not followed")
			return nil
		}
	}
	if path.Ext(name) != ".jsonnet" {
		return r.file(name)
	}
	switch {
	case r.build.NoJsonnet:
		r.skip(name, "Jsonnet is switched off (jsonnet.enable in argocd-cm)")
		return nil
	case !r.limits.jsonnet:
		r.missing(name, "Jsonnet is not rendered by this build")
		return nil
	}
	return r.evaluate(name)
}

// subfolder goes into a folder. What a submodule holds is not in this tree, and is missed only where it would be read.
func (r *run) subfolder(ctx context.Context, name string, entry fs.DirEntry) error {
	if !r.recurse {
		return nil
	}
	if isSubmodule(entry) {
		r.missing(name, "it is a submodule, and those are not read by this build")
		return nil
	}
	return r.folder(ctx, name)
}

// isSubmodule asks an entry or a FileInfo of a tree that knows about submodules.
func isSubmodule(of any) bool {
	module, ok := of.(interface{ Submodule() string })
	return ok && module.Submodule() != ""
}

// pointer begins a file whose content Git LFS keeps elsewhere.
const pointer = "version https://git-lfs.github.com/spec/"

func (r *run) file(name string) error {
	data, err := r.read(name)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(data, []byte(pointer)) {
		r.result.Files++
		r.missing(name, "its content is in Git LFS, which is not read by this build")
		return nil
	}
	read, err := manifest.Read(name, data)
	return r.take(read, err)
}

// read reads a file and counts what was read so far.
func (r *run) read(name string) ([]byte, error) {
	data, err := fs.ReadFile(r.tree, name)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", name, err)
	}
	if r.bytes += int64(len(data)); r.bytes > r.limits.MaxBytes {
		return nil, fault.Terminalf("TooLarge", "the manifests of app path %q are larger than %d bytes together, at %q; give the app a "+
			"smaller folder or exclude files", r.root, r.limits.MaxBytes, name)
	}
	return data, nil
}

// take adds what a file gave. A mistake is kept, and the others are looked for too.
func (r *run) take(read manifest.Result, err error) error {
	if err != nil {
		if fault.ClassOf(err) != fault.Terminal || fault.ReasonOf(err) == reasonLimit {
			return err
		}
		r.mistakes = append(r.mistakes, err)
		return nil
	}
	r.result.Files += read.Files
	r.result.Objects = append(r.result.Objects, read.Objects...)
	r.result.Skipped = append(r.result.Skipped, read.Skipped...)
	r.result.Incomplete = r.result.Incomplete || read.Incomplete
	return nil
}

// evaluate reads a jsonnet file.
func (r *run) evaluate(name string) error {
	if r.jsonnet == nil {
		started, err := newEvaluator(r.tree, r.root, r.settings)
		if err != nil {
			return err
		}
		r.jsonnet = started
	}
	// It is read here for its size alone.
	if _, err := r.read(name); err != nil {
		return err
	}
	read, err := r.jsonnet.objects(name)
	return r.take(read, err)
}

func (r *run) relative(name string) string {
	if r.root == "." {
		return name
	}
	return strings.TrimPrefix(name, r.root+"/")
}

func (r *run) skip(name, why string) {
	r.result.Skipped = append(r.result.Skipped, name+": "+why)
}

func (r *run) missing(name, why string) {
	r.skip(name, why)
	r.result.Incomplete = true
}
