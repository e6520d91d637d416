package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/towline-cd/towline/internal/cli"
)

// exampleClone is an example as its owner has it: a clone of the repository that its Applications name.
func exampleClone(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "examples", name))); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"remote", "add", "origin", "https://git.example.com/you/" + name + ".git"},
		{"add", "--all"},
		{"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "--message=first"},
	} {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args[0], err, out)
		}
	}
	return dir
}

// inValues are files of the example that a source with a chart takes its values from; what a template puts in may be any.
var (
	inValues  = regexp.MustCompile(`\$values/([^"\]\s]+)`)
	templated = regexp.MustCompile(`\{\{[^}]*\}\}`)
)

// lintOf is what towline lint says.
func lintOf(t *testing.T, args ...string) (told string, err error) {
	t.Helper()
	var out bytes.Buffer
	env := environment()
	env.Out, env.Err, env.OutIsTerminal = &out, &out, false
	root := command(env)
	// The sets and applications have the same options everywhere, whether there is something to respect or not.
	root.SetArgs(append([]string{"lint", "--strict", "--skip", "respects-nothing"}, args...))
	err = root.ExecuteContext(t.Context())
	return out.String(), err
}

// TestExamplesHaveNoMistakes: towline lint finds nothing in the examples as they lie there, where bases get their sources from
// two overlays; nor as their owner has them, where branches and folders are known.
func TestExamplesHaveNoMistakes(t *testing.T) {
	for _, name := range []string{"homelab", "platform"} {
		t.Run(name, func(t *testing.T) {
			clone := exampleClone(t, name)
			for _, args := range [][]string{{"../../examples/" + name}, {clone, "--repo", clone}} {
				if told, err := lintOf(t, args...); err != nil {
					t.Errorf("towline lint %s: %v\n%s", args, err, told)
				}
			}
			files := os.DirFS(clone)
			overlay, err := fs.Glob(files, "apps/real/*.yaml")
			if err != nil || len(overlay) < 2 {
				t.Fatal(overlay, err)
			}
			for _, file := range overlay {
				text, err := fs.ReadFile(files, file)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range inValues.FindAllStringSubmatch(string(text), -1) {
					pattern := templated.ReplaceAllString(m[1], "*")
					if found, err := fs.Glob(files, pattern); err != nil || len(found) == 0 {
						t.Errorf("there is no file %s: %v", pattern, err)
					}
				}
			}
		})
	}
}

// TestLintBuilds: what a base lacks is told where an overlay does not have it either, though another one does; and only
// where it is looked at.
func TestLintBuilds(t *testing.T) {
	clone := exampleClone(t, "platform")
	if err := os.WriteFile(filepath.Join(clone, "apps", "real", "sources.yaml"), []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(clone)
	told, err := lintOf(t, ".")
	for _, want := range []string{
		`apps/base/crossplane.yaml:10: error: application "crossplane" has no source`, "spec.source, as built from apps/real", "4 errors",
	} {
		if !errors.Is(err, cli.ErrNo) || !strings.Contains(told, want) {
			t.Errorf("%v, and %q is not in\n%s", err, want, told)
		}
	}
	if told, err := lintOf(t, "apps/sim"); err != nil {
		t.Errorf("the base lies outside of what is named, within the repository: %v\n%s", err, told)
	}
	if err := os.RemoveAll(".git"); err != nil {
		t.Fatal(err)
	}
	if told, err := lintOf(t, "apps/sim"); err == nil || !strings.Contains(told, "[kustomization]") {
		t.Errorf("without a repository nothing outside of what is named is read: %v\n%s", err, told)
	}
}
