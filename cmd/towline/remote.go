package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/term"

	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/client"
	"github.com/towline-cd/towline/internal/core/login"
	"github.com/towline-cd/towline/internal/core/policy"
	"github.com/towline-cd/towline/internal/core/secret"
)

// withServers lets the commands talk to an API server, where somebody signed in
// to one, and to the cluster otherwise.
func withServers(e *cli.Env) {
	e.Logins = loginFile{}
	e.Server = func(_ context.Context, r cli.Remote) (cli.Server, error) { return remoteClient(r) }
	e.ServerAccounts = func(_ context.Context, r cli.Remote) (cli.ServerAccounts, error) { return remoteClient(r) }
	e.Hidden = func() (string, error) {
		text, err := term.ReadPassword(int(os.Stdin.Fd()))
		return string(text), err
	}
	hubApps, hubProjects, hubProject, hubSets := e.Hub, e.AppProjects, e.Projects, e.AppSets
	e.Hub = func(ctx context.Context, f cli.Flags) (cli.Hub, error) {
		if f.Remote == nil {
			return hubApps(ctx, f)
		}
		c, err := remoteClient(*f.Remote)
		return client.Apps{Client: c, Namespace: f.AppNamespace}, err
	}
	e.Projects = func(ctx context.Context, f cli.Flags) (cli.Projects, error) {
		if f.Remote == nil {
			return hubProject(ctx, f)
		}
		return remoteClient(*f.Remote)
	}
	e.AppProjects = func(ctx context.Context, f cli.Flags) (cli.AppProjects, error) {
		if f.Remote == nil {
			return hubProjects(ctx, f)
		}
		c, err := remoteClient(*f.Remote)
		if err != nil {
			return nil, err
		}
		return c.Projects(), nil
	}
	e.AppSets = func(ctx context.Context, f cli.Flags) (cli.AppSets, error) {
		if f.Remote == nil {
			return hubSets(ctx, f)
		}
		c, err := remoteClient(*f.Remote)
		if err != nil {
			return nil, err
		}
		return c.Sets(f.AppNamespace), nil
	}
	plans, drifts := e.Planner, e.Drifts
	e.Planner = func(ctx context.Context, f cli.Flags) (cli.Planner, error) {
		if f.Remote == nil {
			return plans(ctx, f)
		}
		c, err := remoteClient(*f.Remote)
		return client.Apps{Client: c, Namespace: f.AppNamespace}, err
	}
	e.Drifts = func(ctx context.Context, f cli.Flags) (cli.Drifts, error) {
		if f.Remote == nil {
			return drifts(ctx, f)
		}
		c, err := remoteClient(*f.Remote)
		return client.Apps{Client: c, Namespace: f.AppNamespace}, err
	}
	withReads(e)
	withoutServer(e)
}

// withoutServer are the commands that have their answer from a server in other
// ways, or none: they must not work on whatever cluster the kubeconfig happens
// to name.
func withoutServer(e *cli.Env) {
	tenancy := e.Tenancy
	e.Tenancy = func(ctx context.Context, f cli.Flags) (policy.Tenancy, error) {
		if f.Remote != nil {
			return policy.Tenancy{}, nil // the server has it, and its own word on windows
		}
		return tenancy(ctx, f)
	}
}

func remoteClient(r cli.Remote) (*client.Client, error) {
	return client.New(client.Options{
		Target: r.Target, Headers: r.Headers, UserAgent: "towline-cli/" + version,
		Renewed: func(token string) { replace(r, secret.New(token), r.Refresh) },
		Fresh:   func(ctx context.Context) secret.Text { return fresh(ctx, r) },
	})
}

// replace keeps a token that was given in place of an older one. What goes
// wrong with that is no reason for a command to fail: the older one is still
// good.
func replace(r cli.Remote, token, refresh secret.Text) {
	book, err := loginFile{}.Read(r.Config)
	if err != nil {
		return
	}
	kept, known := book.Find(r.Name)
	if !known || kept.Token.Digest() != r.Token.Digest() {
		return // it came from a flag
	}
	current := book.Current
	kept.Token, kept.Refresh = token, refresh
	book = book.With(kept)
	book.Current = current
	_ = loginFile{}.Write(r.Config, book)
}

// loginFile is where Argo CD's own command line keeps its logins.
type loginFile struct{}

func loginPath(path string) (string, error) {
	if path != "" {
		return path, nil
	}
	if dir := os.Getenv("ARGOCD_CONFIG_DIR"); dir != "" {
		return filepath.Join(dir, "config"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding the file of logins: %w; set --config", err)
	}
	old := filepath.Join(home, ".argocd", "config")
	if _, err := os.Stat(old); err == nil {
		return old, nil
	}
	dir := os.Getenv("XDG_CONFIG_HOME")
	if dir == "" {
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "argocd", "config"), nil
}

// Read reads the file; where there is none nobody signed in.
func (loginFile) Read(path string) (login.Book, error) {
	path, err := loginPath(path)
	if err != nil {
		return login.Book{}, err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return login.Book{}, nil
	}
	if err != nil {
		return login.Book{}, fmt.Errorf("reading the file of logins: %w", err)
	}
	book, err := login.Parse(text)
	if err != nil {
		return login.Book{}, fmt.Errorf("%s: %w", path, err)
	}
	return book, nil
}

// Write replaces the file, which nobody else may read.
func (loginFile) Write(path string, b login.Book) error {
	path, err := loginPath(path)
	if err != nil {
		return err
	}
	text, err := b.Text()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("writing the file of logins: %w", err)
	}
	fresh, err := os.CreateTemp(filepath.Dir(path), ".config-")
	if err != nil {
		return fmt.Errorf("writing the file of logins: %w", err)
	}
	_, err = fresh.Write(text)
	err = errors.Join(err, fresh.Close())
	if err == nil {
		err = os.Rename(fresh.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("writing the file of logins: %w", errors.Join(err, os.Remove(fresh.Name())))
	}
	return nil
}
