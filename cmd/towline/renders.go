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

func workOnRenders() int {
	if err := render.Work(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
