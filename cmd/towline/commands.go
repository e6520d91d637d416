package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/core/roster"
	"github.com/towline-cd/towline/internal/registrar"
)

// withDeclarations lets the commands see and change what people declare besides
// applications: projects, ApplicationSets and clusters.
func withDeclarations(e *cli.Env) {
	e.AppProjects = func(_ context.Context, f cli.Flags) (cli.AppProjects, error) {
		c, err := hubClient(f, f.Namespace)
		if err != nil {
			return nil, err
		}
		return c.Projects(), nil
	}
	e.AppSets = func(_ context.Context, f cli.Flags) (cli.AppSets, error) {
		c, err := hubClient(f, f.Apps())
		if err != nil {
			return nil, err
		}
		return c.ApplicationSets(), nil
	}
	e.Generator = newGenerator
	e.Roster = func(_ context.Context, f cli.Flags) (cli.Roster, error) { return openRoster(f) }
	e.Target = func(_ context.Context, f cli.Flags, name string) (cli.Target, error) {
		return openTarget(f.Kubeconfig, name)
	}
	e.Member = func(_ context.Context, f cli.Flags, c roster.Cluster) (cli.Target, error) {
		h, err := openRoster(f)
		if err != nil {
			return nil, err
		}
		return h.Target(c)
	}
	e.Edit = edit
}

func openRoster(f cli.Flags) (*registrar.Hub, error) {
	config, err := restConfig(f.Kubeconfig, f.Context)
	if err != nil {
		return nil, err
	}
	return registrar.NewHub(config, f.Namespace)
}

// openTarget is the cluster of a context. Unlike the hub's it has to be named:
// what is given away there must not depend on where one happens to be.
func openTarget(path, name string) (*registrar.Target, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	known, err := rules.Load()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w; set --kubeconfig or $KUBECONFIG", err)
	}
	if known.Contexts[name] == nil {
		names := strings.Join(slices.Sorted(maps.Keys(known.Contexts)), ", ")
		if names == "" {
			names = "none"
		}
		return nil, fmt.Errorf("the kubeconfig has no context %q; it has: %s", name, names)
	}
	config, err := restConfig(path, name)
	if err != nil {
		return nil, err
	}
	return registrar.NewTarget(config)
}

// edit runs the person's editor on a text.
func edit(ctx context.Context, name string, text []byte) ([]byte, error) {
	editor := "vi"
	for _, variable := range []string{"KUBE_EDITOR", "EDITOR"} {
		if v := os.Getenv(variable); v != "" {
			editor = v
			break
		}
	}
	dir, err := os.MkdirTemp("", "towline-edit-")
	if err != nil {
		return nil, fmt.Errorf("making a folder to edit in: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, filepath.Base(name))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, fmt.Errorf("writing the text to edit: %w", err)
	}
	// An editor may be a command with arguments, as in "code --wait".
	words := append(strings.Fields(editor), file)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("running the editor %q: %w; $EDITOR names another", editor, err)
	}
	return os.ReadFile(file)
}
