package main

import (
	"bytes"
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

// linted runs towline lint, as a check before a merge would.
func linted(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	env := environment()
	env.Out, env.Err, env.OutIsTerminal = &out, &out, false
	root := command(env)
	root.SetArgs(append([]string{"lint", "--strict"}, args...))
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Errorf("towline lint: %v\n%s", err, out.String())
	}
	return out.String()
}

// inValues are files of the example that a source with a chart takes its values from; what a template puts in may be any.
var (
	inValues  = regexp.MustCompile(`\$values/([^"\]\s]+)`)
	templated = regexp.MustCompile(`\{\{[^}]*\}\}`)
)

// TestExamplesForReal: nothing is wrong with the examples as they are for real clusters, where no test can boot them: in
// their files, and in the Applications that their overlays make of them.
func TestExamplesForReal(t *testing.T) {
	for _, name := range []string{"homelab", "platform"} {
		t.Run(name, func(t *testing.T) {
			clone := exampleClone(t, name)
			linted(t, clone, "--repo", clone)
			result, err := kustomize.Render(t.Context(), manifest.Trees{"": os.DirFS(clone)}, manifest.Request{
				Source: v1alpha1.ApplicationSource{Path: "apps/real"},
				App:    manifest.App{Name: "root", Namespace: v1alpha1.DefaultNamespace, Project: v1alpha1.DefaultProjectName},
			})
			if err != nil {
				t.Fatal(err)
			}
			var all bytes.Buffer
			for _, u := range result.Objects {
				text, err := yaml.Marshal(u.Object)
				if err != nil {
					t.Fatal(err)
				}
				all.WriteString("---\n" + string(text))
			}
			rendered := filepath.Join(t.TempDir(), "apps.yaml")
			if err := os.WriteFile(rendered, all.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			linted(t, rendered, "--repo", clone)
			for _, m := range inValues.FindAllStringSubmatch(all.String(), -1) {
				pattern := templated.ReplaceAllString(m[1], "*")
				found, err := fs.Glob(os.DirFS(clone), pattern)
				if err != nil || len(found) == 0 {
					t.Errorf("there is no file %s: %v", pattern, err)
				}
			}
			if n := strings.Count(all.String(), "kind: Application"); n < 4 {
				t.Errorf("apps/real makes only %d applications", n)
			}
		})
	}
}
