package main

import (
	"context"
	"fmt"
	"os"

	"github.com/towline-cd/towline/internal/render"
)

// renderWorker is the argument with which this program is the worker that
// renders. It is not among the commands: nobody else has a use for it.
const renderWorker = "render-worker"

// newRenderHost renders in workers of this very program.
func newRenderHost() (*render.Host, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the program to render with: %w", err)
	}
	return render.NewHost(render.HostOptions{Command: []string{self, renderWorker}}), nil
}

func workOnRenders() int {
	if err := render.Work(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
