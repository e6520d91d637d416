package main

import (
	"bytes"
	"cmp"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/render/kustomize"
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

// forReal leaves in a folder what an example has for real clusters. The Applications come from its overlay: their bases have
// no sources of their own.
func forReal(t *testing.T, clone string) (dir, apps string) {
	t.Helper()
	result, err := kustomize.Render(t.Context(), manifest.Trees{"": os.DirFS(clone)}, manifest.Request{
		Source: v1alpha1.ApplicationSource{Path: "apps/real"},
		App:    manifest.App{Name: "root", Namespace: v1alpha1.DefaultNamespace, Project: v1alpha1.DefaultProjectName},
	})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, u := range result.Objects {
		text, err := yaml.Marshal(u.Object)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString("---\n" + string(text))
	}
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(clone)); err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == "sim.yaml":
			return os.Remove(path)
		case d.Name() == "sim" || d.Name() == "apps":
			return cmp.Or(os.RemoveAll(path), fs.SkipDir)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "apps.yaml"), []byte(all.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, all.String()
}

// inValues are files of the example that a source with a chart takes its values from; what a template puts in may be any.
var (
	inValues  = regexp.MustCompile(`\$values/([^"\]\s]+)`)
	templated = regexp.MustCompile(`\{\{[^}]*\}\}`)
)

// TestExamplesForReal: towline lint finds nothing in the examples as they are for real clusters, where no test can boot them.
func TestExamplesForReal(t *testing.T) {
	for _, name := range []string{"homelab", "platform"} {
		t.Run(name, func(t *testing.T) {
			clone := exampleClone(t, name)
			dir, apps := forReal(t, clone)
			var out bytes.Buffer
			env := environment()
			env.Out, env.Err, env.OutIsTerminal = &out, &out, false
			root := command(env)
			// The sets and applications have the same options everywhere, whether there is something to respect or not.
			root.SetArgs([]string{"lint", dir, "--repo", clone, "--strict", "--skip", "respects-nothing"})
			if err := root.ExecuteContext(t.Context()); err != nil {
				t.Errorf("towline lint: %v\n%s", err, out.String())
			}
			for _, m := range inValues.FindAllStringSubmatch(apps, -1) {
				pattern := templated.ReplaceAllString(m[1], "*")
				if found, err := fs.Glob(os.DirFS(clone), pattern); err != nil || len(found) == 0 {
					t.Errorf("there is no file %s: %v", pattern, err)
				}
			}
			if n := strings.Count(apps, "kind: Application"); n < 4 {
				t.Errorf("apps/real makes only %d applications", n)
			}
		})
	}
}
