package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"time"

	"golang.org/x/term"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/policy"
	"github.com/towline-cd/towline/internal/core/rbac"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/engine"
	"github.com/towline-cd/towline/internal/event"
	"github.com/towline-cd/towline/internal/hub"
	"github.com/towline-cd/towline/internal/settings"
)

// environment is what the commands know of this process.
func environment() *cli.Env {
	e := &cli.Env{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InIsTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		OutIsTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		ErrIsTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		Getenv:        os.Getenv,
		Now:           time.Now,
		Hub: func(_ context.Context, f cli.Flags) (cli.Hub, error) {
			c, err := hubClient(f, f.Apps())
			return byHand{c}, err
		},
		Projects: func(_ context.Context, f cli.Flags) (cli.Projects, error) {
			return hubClient(f, f.Namespace)
		},
		Tenancy: func(ctx context.Context, f cli.Flags) (policy.Tenancy, error) {
			config, err := restConfig(f.Kubeconfig, f.Context)
			if err != nil {
				return policy.Tenancy{}, err
			}
			s, err := settings.Read(ctx, config, f.Namespace)
			if err != nil {
				return policy.Tenancy{}, err
			}
			return s.Tenancy, nil
		},
		Policy: func(ctx context.Context, f cli.Flags) (rbac.Config, []rbac.Problem, error) {
			config, err := restConfig(f.Kubeconfig, f.Context)
			if err != nil {
				return rbac.Config{}, nil, err
			}
			return settings.ReadPolicy(ctx, config, f.Namespace)
		},
		Drifts: func(_ context.Context, f cli.Flags) (cli.Drifts, error) {
			config, err := restConfig(f.Kubeconfig, f.Context)
			if err != nil {
				return nil, err
			}
			return event.NewReader(config, f.Apps())
		},
		Planner:   newPlanner,
		Actor:     newActor,
		Admission: admission,
		Local:     local,
		Render:    renderApp,
		Judge:     newFileJudge,
		ReadFile:  os.ReadFile,
		Fetch:     fetch,
	}
	withDeclarations(e)
	withNotices(e)
	withServers(e)
	withAccounts(e)
	withAdmin(e)
	withSignOn(e)
	withLint(e)
	withMigration(e)
	withLedger(e)
	if w, h, err := term.GetSize(int(os.Stderr.Fd())); err == nil {
		e.Width, e.Height = w, h
	}
	if u, err := user.Current(); err == nil {
		e.User = u.Username
	}
	return e
}

func hubClient(f cli.Flags, namespace string) (*hub.Client, error) {
	config, err := restConfig(f.Kubeconfig, f.Context)
	if err != nil {
		return nil, err
	}
	// The server warns of the finalizer's name, which is Argo CD's, at every
	// deletion; there is nothing that the user could do about it.
	config.WarningHandler = rest.NoWarnings{}
	return hub.New(config, namespace)
}

// planner is the controller's own engine, over single reads in place of an
// index, and without a way to write.
type planner struct {
	client  *hub.Client
	config  *rest.Config
	ignore  *engine.Ignore
	build   manifest.Build
	book    *repository.Set
	tracker object.Tracker
	tenancy *policy.Tenancy
}

func newPlanner(ctx context.Context, f cli.Flags) (cli.Planner, error) {
	config, err := restConfig(f.Kubeconfig, f.Context)
	if err != nil {
		return nil, err
	}
	client, err := hub.New(config, f.Namespace)
	if err != nil {
		return nil, err
	}
	s, err := settings.Read(ctx, config, f.Namespace)
	if err != nil {
		return nil, err
	}
	book, err := settings.ReadRepositories(ctx, config, f.Namespace)
	if err != nil {
		return nil, err
	}
	return &planner{
		client: client, config: config, ignore: ignoreRules(s), build: s.Build, book: book, tracker: s.Tracker, tenancy: ownRights(s),
	}, nil
}

// Plan says what a sync would do.
func (p *planner) Plan(ctx context.Context, app *v1alpha1.Application, revision string) (plan.Plan, string, error) {
	live, clusters, err := snapshot(ctx, p.config, p.client.Namespace(), app)
	if err != nil {
		return plan.Plan{}, "", err
	}
	// A controller may run on this machine and have the usual folder.
	dir, err := os.MkdirTemp("", "towline-plan-")
	if err != nil {
		return plan.Plan{}, "", fmt.Errorf("making a folder to fetch into: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	from, err := openSources(dir, fetchOptions{book: p.book})
	if err != nil {
		return plan.Plan{}, "", err
	}
	defer func() { _ = from.close() }()
	renders, err := newRenderHost("")
	if err != nil {
		return plan.Plan{}, "", err
	}
	defer renders.Close()
	e := engine.New(engine.Options{
		Namespace: p.client.Namespace(),
		Hub:       p.client,
		Sources:   from,
		Renderer:  renders,
		Verifier:  from.git,
		Clusters:  clusters,
		Scoped: scoped{
			repositories: func() *repository.Set { return p.book },
			clusters:     func() *destination.Set { return clusters.of },
		},
		Settings: func() engine.Settings {
			return engine.Settings{Ignore: p.ignore, Build: p.build, Tenancy: p.tenancy}
		},
		Compiler: compiler,
		Tracker:  p.tracker,
		Now:      time.Now,
	})
	result, at, err := e.Plan(ctx, app, revision)
	return result, at, errors.Join(err, live.Err())
}
