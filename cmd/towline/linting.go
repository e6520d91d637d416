package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/core/lint"
)

// withLint lets the commands look at files of this machine.
func withLint(e *cli.Env) {
	e.Manifests = manifestFiles
	e.Clone = openClone
	e.Kustomize = kustomize
}

// notOurs are folders that hold other people's files.
var notOurs = []string{".git", "node_modules", "vendor", ".terraform"}

// manifestFiles are the files below a folder that may hold manifests.
func manifestFiles(root string) ([]lint.File, error) {
	var out []lint.File
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(notOurs, d.Name()):
			return filepath.SkipDir
		case !d.Type().IsRegular() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)):
			if d.Name() != "Kustomization" || d.IsDir() {
				return nil
			}
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		// JSON that is no manifest is common, and no YAML of ours.
		if filepath.Ext(name) == ".json" && !bytes.Contains(text, []byte(`"kind"`)) {
			return nil
		}
		out = append(out, lint.File{Name: filepath.ToSlash(filepath.Clean(name)), Text: text})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the files of %q: %w", root, err)
	}
	return out, nil
}

// openClone is what a clone on this machine knows of its repository. Nothing is
// fetched: what it has not heard of is not there.
func openClone(ctx context.Context, dir string) (lint.Repository, error) {
	var r lint.Repository
	git := func(args ...string) ([]string, error) {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "core.fsmonitor=false"}, args...)...)
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("asking git about %q: %w; --repo is a clone of a repository", dir, err)
		}
		return strings.Fields(string(out)), nil
	}
	refs, err := git("for-each-ref", "--format=%(refname)")
	if err != nil {
		return r, err
	}
	for _, ref := range refs {
		if rest, ok := strings.CutPrefix(ref, "refs/remotes/"); ok {
			_, ref, _ = strings.Cut(rest, "/")
		}
		r.Refs = append(r.Refs, strings.TrimPrefix(strings.TrimPrefix(ref, "refs/heads/"), "refs/tags/"))
	}
	// One without remotes is the repository itself.
	if urls, err := git("config", "--get-regexp", `^remote\..*\.url$`); err == nil {
		for i := 1; i < len(urls); i += 2 {
			r.URLs = append(r.URLs, urls[i])
		}
	}
	if abs, err := filepath.Abs(dir); err == nil {
		r.URLs = append(r.URLs, abs, "file://"+filepath.ToSlash(abs))
	}
	if head, err := git("symbolic-ref", "--short", "HEAD"); err == nil && len(head) > 0 {
		r.Head = head[0]
	}
	files, err := git("ls-tree", "-r", "--name-only", "HEAD")
	if err != nil {
		return r, nil //nolint:nilerr // nothing is committed yet, so there are no folders to know
	}
	r.Folders = map[string]bool{}
	for _, f := range files {
		for d := path.Dir(f); d != "."; d = path.Dir(d) {
			r.Folders[d] = true
		}
	}
	return r, nil
}
