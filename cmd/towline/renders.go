package main

import (
	"context"
	"fmt"
	"os"

	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/plugin"
	"github.com/towline-cd/towline/internal/render"
)

// renderWorker is the argument with which this program is the worker that
// renders. It is not among the commands: nobody else has a use for it.
const renderWorker = "render-worker"

// renders renders in workers of this very program, and with plugins where there
// are some.
type renders struct {
	*render.Host
	plugins *plugin.Host
}

// newRenderHost makes one. plugins is the folder of the plugins' sockets; empty
// means that there are none.
func newRenderHost(plugins string) (*renders, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the program to render with: %w", err)
	}
	host := render.NewHost(render.HostOptions{Command: []string{self, renderWorker}})
	return &renders{Host: host, plugins: plugin.New(plugin.Options{Dir: plugins, Next: host})}, nil
}

// Render turns content into manifests.
func (r *renders) Render(ctx context.Context, trees manifest.Trees, req manifest.Request) (manifest.Result, error) {
	return r.plugins.Render(ctx, trees, req)
}

func workOnRenders() int {
	if err := render.Work(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
