package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// How the stock programs are asked for what forShop asks for, as Argo CD runs them.
var (
	helmTemplate = []string{
		"helm", "template", "shop", ".", "--namespace", "shop", "--kube-version", forShop().Kube.Version, "--include-crds",
	}
	kustomizeBuild = []string{"kustomize", "build", "."}
)

// stockEvery is how many renders of ours there are to one of a stock program, which takes a hundred times as long.
const stockEvery = 5

// stockTools is the folder of the stock programs, which are built if nobody has done so yet.
func (b *bench) stockTools(ctx context.Context) (string, error) {
	dir := os.Getenv("TOWLINE_STOCK")
	if dir == "" {
		dir = filepath.Join(filepath.Dir(b.cache), "stock")
	}
	missing := func(tool string) bool {
		_, err := os.Stat(filepath.Join(dir, tool))
		return err != nil
	}
	if !slices.ContainsFunc([]string{"helm", "kustomize"}, missing) {
		return dir, nil
	}
	b.logf("building the stock helm and kustomize into %s, which takes minutes and is done once", dir)
	build := exec.CommandContext(ctx, "make", "--no-print-directory", "stock")
	build.Dir, build.Env = b.root, append(os.Environ(), "TOWLINE_STOCK="+dir)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the stock programs to compare with (make stock): %w: %s", err, out)
	}
	return dir, nil
}

// prepare writes the files to where a stock program finds them.
func (m *renderMeasure) prepare(tools string) (err error) {
	if m.stock == nil {
		return nil
	}
	m.program = append([]string{filepath.Join(tools, m.stock[0])}, m.stock[1:]...)
	if m.dir, err = os.MkdirTemp("", "towline-bench-"); err != nil {
		return err
	}
	for name, text := range m.files {
		at := filepath.Join(m.dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			return errors.Join(err, m.clean())
		}
	}
	return nil
}

func (m *renderMeasure) clean() error {
	if m.dir == "" {
		return nil
	}
	return os.RemoveAll(m.dir)
}

// run runs the stock program. Counting what it printed is not part of what it takes: that is done when the run is over.
func (m *renderMeasure) run(ctx context.Context) error {
	command := exec.CommandContext(ctx, m.program[0], m.program[1:]...)
	command.Dir = m.dir
	// Its settings and its cache are its own.
	command.Env = append(os.Environ(), "HOME="+m.dir, "XDG_CONFIG_HOME="+m.dir, "XDG_CACHE_HOME="+m.dir, "XDG_DATA_HOME="+m.dir)
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		return fmt.Errorf("running %s: %w: %s", strings.Join(m.stock, " "), err, said.String())
	}
	m.printed = out
	return nil
}

// same asserts that the stock program printed as many objects as the others gave.
func (m *renderMeasure) same() error {
	if m.program == nil {
		return nil
	}
	printed, err := bareDirectory(map[string]string{"all": string(m.printed)})
	if err != nil {
		return fmt.Errorf("reading what %s printed: %w", m.stock[0], err)
	}
	n := len(printed)
	m.bench.report.assert(n == m.objects, "%s: the library gave %d objects and the program %d", m.name, m.objects, n)
	return nil
}

// comparison sums up, by kind of source, what the worker and the stock programs took for the same.
type comparison struct {
	kinds         []string
	worker, other map[string]sample
}

// overall is the kind that all others are part of.
const overall = "stock"

func (c *comparison) add(m *renderMeasure) {
	if m.program == nil {
		return
	}
	if c.worker == nil {
		c.worker, c.other = map[string]sample{}, map[string]sample{}
	}
	kind := m.stock[0]
	if !slices.Contains(c.kinds, kind) {
		c.kinds = append(c.kinds, kind)
	}
	for _, k := range []string{kind, overall} {
		c.worker[k], c.other[k] = sum(c.worker[k], m.worker), sum(c.other[k], m.other)
	}
}

// sum adds up repeat by repeat.
func sum(a, b sample) sample {
	if a == nil {
		return slices.Clone(b)
	}
	for i := range a {
		a[i] += b[i]
	}
	return a
}

// faster is how many times as fast as the stock programs a worker has to be.
const faster = 5

func (c *comparison) report(b *bench) {
	for _, kind := range append(c.kinds, overall) {
		times := ratios(c.other[kind], c.worker[kind])
		name := kind + "_times"
		if kind != overall {
			name = "stock_" + name
		}
		b.logf("%s: a worker is %s times as fast as the stock program", kind, times.spread())
		b.report.atLeast(name, times.median(), faster)
	}
}
