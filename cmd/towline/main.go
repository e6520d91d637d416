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

// logging sends every log line to stderr in one format. Of what client-go has
// to say only the warnings are of use to anybody here.
func logging(format, level string) error {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return fmt.Errorf("reading --log-level: %w; use debug, info, warn or error", err)
	}
	handler, ok := map[string]func(slog.Level) slog.Handler{
		"text": func(l slog.Level) slog.Handler {
			return slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: l})
		},
		"json": func(l slog.Level) slog.Handler {
			return slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: l})
		},
	}[format]
	if !ok {
		return fmt.Errorf("reading --log-format: %q is neither text nor json", format)
	}
	slog.SetDefault(slog.New(handler(l)))
	klog.SetSlogLogger(slog.New(handler(max(l, slog.LevelWarn))))
	return nil
}
