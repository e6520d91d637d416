package helm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/ignore"

	"github.com/towline-cd/towline/internal/core/fault"
)

// Bounds on a chart with all its dependencies; the bytes are Helm's own.
const (
	maxChartBytes = 100 << 20
	maxChartFiles = 20_000
	maxChartDepth = 64
)

var byteOrderMark = []byte("\ufeff")

// reader reads charts out of one tree, under bounds that hold for all of them together.
type reader struct {
	ctx   context.Context //nolint:containedctx // it lives for one render, which is this context
	tree  fs.FS
	left  int64
	count int
	notes []string
	// skipped are the folders whose content is not in the tree.
	skipped []string
}

// pointer begins a file whose content Git LFS keeps elsewhere.
const pointer = "version https://git-lfs.github.com/spec/"

// isSubmodule asks an entry of a tree that knows about submodules.
func isSubmodule(entry fs.DirEntry) bool {
	module, ok := entry.(interface{ Submodule() string })
	return ok && module.Submodule() != ""
}

func newReader(ctx context.Context, tree fs.FS) *reader {
	return &reader{ctx: ctx, tree: tree, left: maxChartBytes}
}

// folder loads the chart of a folder.
func (r *reader) folder(dir string) (*chart.Chart, error) {
	if _, err := fs.Stat(r.tree, path.Join(dir, "Chart.yaml")); errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Terminalf("ChartNotFound", "there is no chart at %q: it has no Chart.yaml; correct the path", dir)
	}
	rules, err := r.ignored(dir)
	if err != nil {
		return nil, err
	}
	var files []*archive.BufferedFile
	if err := r.walk(dir, "", rules, func(file *archive.BufferedFile) { files = append(files, file) }); err != nil {
		return nil, err
	}
	return r.assemble(dir, files)
}

// assemble makes a chart of its files, those of packed subcharts among them.
func (r *reader) assemble(name string, files []*archive.BufferedFile) (*chart.Chart, error) {
	files, err := r.unpack(files, 0)
	if err != nil {
		return nil, fault.Terminalf("InvalidChart", "loading the chart at %q: %w", name, err)
	}
	loaded, err := loader.LoadFiles(files)
	if err != nil {
		return nil, fault.Terminalf("InvalidChart", "loading the chart at %q: %w", name, err)
	}
	return loaded, nil
}

func (r *reader) ignored(dir string) (*ignore.Rules, error) {
	rules := ignore.Empty()
	data, err := fs.ReadFile(r.tree, path.Join(dir, ignore.HelmIgnore))
	if err == nil {
		rules, err = ignore.Parse(bytes.NewReader(data))
		if err != nil {
			return nil, fault.Terminalf("InvalidChart", "reading %q: %w", path.Join(dir, ignore.HelmIgnore), err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading %q: %w", path.Join(dir, ignore.HelmIgnore), err)
	}
	rules.AddDefaults()
	return rules, nil
}

// walk gives the files below a folder in the order of their names. Like Helm it follows links; the tree itself keeps
// them inside.
func (r *reader) walk(root, rel string, rules *ignore.Rules, take func(*archive.BufferedFile)) error {
	if strings.Count(rel, "/") >= maxChartDepth {
		return fault.Terminalf("TooLarge", "the chart at %q has folders more than %d deep, at %q", root, maxChartDepth, rel)
	}
	entries, err := fs.ReadDir(r.tree, path.Join(root, rel))
	if err != nil {
		return fmt.Errorf("listing %q: %w", path.Join(root, rel), err)
	}
	for _, entry := range entries {
		if r.ctx.Err() != nil {
			return fault.Transientf("Cancelled", "loading the chart at %q: %w", root, context.Cause(r.ctx))
		}
		name := path.Join(rel, entry.Name())
		info, err := r.info(path.Join(root, name), entry)
		if err != nil {
			return err
		}
		if rules.Ignore(name, info) {
			continue
		}
		if isSubmodule(entry) {
			r.skipped = append(r.skipped, path.Join(root, name)+": it is a submodule, and those are not read by this build")
			continue
		}
		if info.IsDir() {
			if err := r.walk(root, name, rules, take); err != nil {
				return err
			}
			continue
		}
		file, err := r.file(root, name, info)
		if err != nil {
			return err
		}
		take(file)
	}
	return nil
}

// info is about what a link leads to.
func (r *reader) info(name string, entry fs.DirEntry) (fs.FileInfo, error) {
	if entry.Type()&fs.ModeSymlink == 0 {
		info, err := entry.Info()
		if err != nil {
			return nil, fmt.Errorf("looking at %q: %w", name, err)
		}
		return info, nil
	}
	info, err := fs.Stat(r.tree, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Terminalf("InvalidChart", "%q is a symbolic link to nothing, which Helm refuses; remove it or name it in "+
			".helmignore", name)
	}
	if err != nil {
		return nil, fault.Terminalf("InvalidChart", "following the symbolic link %q: %w", name, err)
	}
	return info, nil
}

func (r *reader) file(root, name string, info fs.FileInfo) (*archive.BufferedFile, error) {
	full := path.Join(root, name)
	if !info.Mode().IsRegular() {
		return nil, fault.Terminalf("InvalidChart", "%q is neither a file nor a folder; remove it from the chart", full)
	}
	if info.Size() > r.left {
		return nil, fault.Terminalf("TooLarge", "the chart at %q is larger than %d bytes, at %q; name what is not part of it in "+
			".helmignore", root, int64(maxChartBytes), name)
	}
	data, err := fs.ReadFile(r.tree, full)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", full, err)
	}
	if err := r.spend(len(data)); err != nil {
		return nil, fault.Terminalf("TooLarge", "the chart at %q: %w", root, err)
	}
	if bytes.HasPrefix(data, []byte(pointer)) {
		r.notes = append(r.notes, full+": its content is in Git LFS, which is not read by this build; the chart sees the pointer to it")
	}
	return &archive.BufferedFile{Name: name, Data: bytes.TrimPrefix(data, byteOrderMark)}, nil
}

func (r *reader) spend(size int) error {
	if r.count++; r.count > maxChartFiles {
		return fmt.Errorf("it holds more than %d files", maxChartFiles)
	}
	if r.left -= int64(size); r.left < 0 {
		return fmt.Errorf("it is larger than %d bytes", int64(maxChartBytes))
	}
	return nil
}

// order puts subcharts in the order of their names: Helm loads them in a random one, and it shows in what is printed.
func order(of *chart.Chart) {
	subcharts := slices.Clone(of.Dependencies())
	slices.SortStableFunc(subcharts, func(a, b *chart.Chart) int {
		return cmp.Or(cmp.Compare(a.Name(), b.Name()), cmp.Compare(a.Metadata.Version, b.Metadata.Version))
	})
	of.SetDependencies(subcharts...)
	for _, subchart := range subcharts {
		order(subchart)
	}
}
