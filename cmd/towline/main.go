// Command towline is the one binary: the controller, and the command line that
// talks to it. It reads configuration once, builds the parts, wires them and
// runs; it alone knows every concrete type.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/source"
)

func main() {
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case scriptWorker:
			os.Exit(workOnScripts())
		case renderWorker:
			os.Exit(workOnRenders())
		}
	}
	if filepath.Base(os.Args[0]) == source.AskpassName {
		os.Exit(source.Askpass(context.Background(), os.Args, os.Stdout))
	}
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	env := environment()
	root := command(env)
	if filepath.Base(os.Args[0]) == pluginCompletion {
		root.SetArgs(append([]string{cobra.ShellCompRequestCmd}, os.Args[1:]...))
	}
	return cli.Report(env, root.ExecuteContext(ctx))
}

func command(env *cli.Env) *cobra.Command {
	use, shown := calledAs(os.Args[0])
	root := &cobra.Command{
		Use:           use,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: shown},
		Short:         "Git pulls; the cluster follows",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &cli.UsageError{Err: err} })
	root.AddCommand(runCommand(), controllerCommand(), serverCommand())
	root.AddCommand(cli.NewApp(env), cli.NewAppSet(env), cli.NewProj(env), cli.NewCluster(env), cli.NewRepo(env),
		cli.NewRepoCreds(env), cli.NewCert(env), cli.NewGPG(env), cli.NewConfigure(env),
		cli.NewRender(env), cli.NewHealth(env), cli.NewLogin(env), cli.NewLogout(env), cli.NewRelogin(env), cli.NewContext(env),
		cli.NewAccount(env), cli.NewVersion(env, clientVersion()), cli.NewAdmin(env), cli.NewLint(env),
		cli.NewDoctor(env), cli.NewMigrate(env))
	return root
}

// The names that kubectl calls its plugins by, and asks them for words to
// complete.
const (
	pluginName       = "kubectl-towline"
	pluginCompletion = "kubectl_complete-towline"
)

// calledAs is the name of the program, and how people type it: scripts call it
// argocd, and kubectl as its own plugin.
func calledAs(path string) (use, shown string) {
	switch name := filepath.Base(path); name {
	case "argocd":
		return name, name
	case pluginName, pluginCompletion:
		return pluginName, "kubectl towline"
	}
	return "towline", "towline"
}

// noCommand is for words that no command took.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return &cli.UsageError{Err: fmt.Errorf("%q is not a command; `%s --help` lists them", args[0], cmd.CommandPath())}
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
