// Command towline is the one binary: the controller, and the command line that
// talks to it. It reads configuration once, builds the parts, wires them and
// runs; it alone knows every concrete type.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/towline-cd/towline/internal/cli"
)

// version is set by the linker.
var version = "dev"

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := command().ExecuteContext(ctx)
	if err != nil && !errors.Is(err, cli.ErrDifferent) {
		fmt.Fprintln(os.Stderr, "Error:", err)
	}
	return cli.ExitCode(err)
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "towline",
		Short:         "Git pulls; the cluster follows",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(runCommand(), cli.NewApp(environment()))
	return root
}

// logging sends every log line, client-go's too, to stderr in one format.
func logging(format, level string) error {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return fmt.Errorf("reading --log-level: %w; use debug, info, warn or error", err)
	}
	o := &slog.HandlerOptions{Level: l}
	var h slog.Handler
	switch format {
	case "text":
		h = slog.NewTextHandler(os.Stderr, o)
	case "json":
		h = slog.NewJSONHandler(os.Stderr, o)
	default:
		return fmt.Errorf("reading --log-format: %q is neither text nor json", format)
	}
	logger := slog.New(h)
	slog.SetDefault(logger)
	klog.SetSlogLogger(logger)
	return nil
}
