package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/client"
	"github.com/towline-cd/towline/internal/core/roster"
	"github.com/towline-cd/towline/internal/registrar"
)

// withReads lets the commands that look at things besides applications ask a
// server, where somebody signed in to one.
func withReads(e *cli.Env) {
	clusters, generator, actor, render := e.Roster, e.Generator, e.Actor, e.Render
	e.Roster = func(ctx context.Context, f cli.Flags) (cli.Roster, error) {
		if f.Remote == nil {
			return clusters(ctx, f)
		}
		c, err := remoteClient(*f.Remote)
		return remoteRoster{client.Clusters{Client: c}}, err
	}
	e.Generator = func(ctx context.Context, f cli.Flags) (cli.Generator, error) {
		if f.Remote == nil {
			return generator(ctx, f)
		}
		return remoteApps(f)
	}
	e.Actor = func(ctx context.Context, app *v1alpha1.Application, f cli.Flags) (cli.Actor, func(), error) {
		if f.Remote == nil {
			return actor(ctx, app, f)
		}
		apps, err := remoteApps(f)
		return remoteActor{apps}, func() {}, err
	}
	e.Repositories = func(ctx context.Context, f cli.Flags) (cli.Repositories, error) {
		if f.Remote == nil {
			return hubRepositories{f}, nil
		}
		return remoteClient(*f.Remote)
	}
	e.Certificates = func(_ context.Context, f cli.Flags) (cli.Certificates, error) {
		if f.Remote == nil {
			return hubTrust{f}, nil
		}
		return remoteClient(*f.Remote)
	}
	e.PublicKeys = func(_ context.Context, f cli.Flags) (cli.PublicKeys, error) {
		if f.Remote == nil {
			return hubTrust{f}, nil
		}
		return remoteClient(*f.Remote)
	}
	e.RoleTokens = func(_ context.Context, r cli.Remote) (cli.RoleTokens, error) {
		c, err := remoteClient(r)
		if err != nil {
			return nil, err
		}
		return c.Projects(), nil
	}
	e.Trees = func(_ context.Context, f cli.Flags) (cli.Trees, error) { return remoteApps(f) }
	e.Logs = func(_ context.Context, f cli.Flags) (cli.Logs, error) {
		apps, err := remoteApps(f)
		return remoteLogs{apps}, err
	}
	e.Render = func(ctx context.Context, app *v1alpha1.Application, r cli.Rendering) (cli.Rendered, error) {
		if r.Hub == nil || r.Hub.Remote == nil {
			return render(ctx, app, r)
		}
		return remoteRender(ctx, app, r)
	}
}

// remoteRoster is the list of clusters of a server. Whether a login is good is
// tried from here, where it was made.
type remoteRoster struct{ client.Clusters }

// Probe asks a cluster for its version.
func (remoteRoster) Probe(ctx context.Context, c roster.Cluster) (string, error) {
	return registrar.Probe(ctx, c)
}

// remoteApps are the applications of a server.
func remoteApps(f cli.Flags) (client.Apps, error) {
	c, err := remoteClient(*f.Remote)
	return client.Apps{Client: c, Namespace: f.AppNamespace}, err
}

// remoteLogs are the logs that a server reads.
type remoteLogs struct{ client.Apps }

// Logs passes on the lines.
func (l remoteLogs) Logs(ctx context.Context, app string, o cli.LogOptions, each func(cli.LogLine) error) error {
	return l.Apps.Logs(ctx, app, client.LogOptions(o), func(line client.LogLine) error { return each(cli.LogLine(line)) })
}

// remoteRender has a server render an application.
func remoteRender(ctx context.Context, app *v1alpha1.Application, r cli.Rendering) (cli.Rendered, error) {
	if r.Repo != "" {
		return cli.Rendered{}, &cli.UsageError{Err: fmt.Errorf(
			"%s does not have the folders of this machine; --core renders them here, with your kubeconfig", r.Hub.Remote.Server.Server)}
	}
	apps, err := remoteApps(*r.Hub)
	if err != nil {
		return cli.Rendered{}, err
	}
	read := apps.Manifests
	if r.Live {
		read = func(ctx context.Context, name string, _ []string) ([]string, error) { return apps.Live(ctx, name) }
	}
	texts, err := read(ctx, app.Name, r.Revisions)
	if err != nil {
		return cli.Rendered{}, err
	}
	var out cli.Rendered
	for _, text := range texts {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON([]byte(text)); err != nil {
			return cli.Rendered{}, fmt.Errorf("reading a manifest that %s sent: %w", r.Hub.Remote.Server.Server, err)
		}
		out.Objects = append(out.Objects, u)
	}
	return out, nil
}
