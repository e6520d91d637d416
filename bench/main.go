package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

// The exit codes: see the package comment.
const (
	exitYes     = 0
	exitNo      = 1
	exitRefused = 2
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) == 3 && os.Args[1] == childWord {
		return runChild(ctx, os.Args[2])
	}
	if len(os.Args) == 2 && os.Args[1] == scriptWord {
		return runScriptWorker()
	}
	if len(os.Args) == 2 && os.Args[1] == renderWord {
		return runRenderWorker(ctx)
	}
	err := command().ExecuteContext(ctx)
	switch {
	case errors.Is(err, errGoalMissed):
		return exitNo
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		return exitRefused
	}
	return exitYes
}

// scale is how much of everything a scenario takes.
type scale struct {
	apps, perApp, objects int
	repeats               int
	// rate and seconds are of a load; times is how often a thing is done.
	rate, seconds, times int
}

// scenario is one thing to measure.
type scenario struct {
	name, short string
	full, quick scale
	run         func(ctx context.Context, b *bench) error
	// peer says that a peer can be measured beside us.
	peer bool
}

// peerApps is how many applications there are beside a peer, which takes a
// hundred times as long.
const peerApps = 500

// bench is one run of a scenario.
type bench struct {
	scenario string
	scale    scale
	quick    bool
	fresh    bool
	profile  bool
	// hired is how many children there were that make profiles.
	hired int
	// argocd is the path of a peer's binary; empty means no peer.
	argocd string
	// root is the folder of the repository, out where results go, cache where
	// worlds are kept.
	root, out, cache string
	progress         io.Writer
	plane            *controlplane.Plane
	report           *report
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "bench [SCENARIO | all | report]",
		Short:         "Measure the product on a real control plane",
		Long:          "Measure the product on a real control plane. Without a scenario it lists them.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, s := range scenarios() {
				fmt.Fprintf(cmd.OutOrStdout(), "  %-16s %s\n", s.name, s.short)
			}
			return nil
		},
	}
	root.Flags().Bool("list", false, "list the scenarios, as without a word")
	for _, s := range scenarios() {
		root.AddCommand(s.command())
	}
	root.AddCommand(allCommand(), reportCommand())
	return root
}

func (s scenario) command() *cobra.Command {
	b := &bench{scenario: s.name, progress: os.Stderr}
	chosen := scale{}
	cmd := &cobra.Command{
		Use:   s.name,
		Short: s.short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b.scale = s.full
			if b.quick {
				b.scale = s.quick
			}
			if b.argocd != "" {
				b.scale.apps = min(b.scale.apps, peerApps)
			}
			b.scale = b.scale.with(chosen)
			return b.measure(cmd.Context(), s.run)
		},
	}
	f := cmd.Flags()
	if s.peer {
		f.StringVar(&b.argocd, "argocd", "", "path of an argocd binary that does the same beside us (Redis is found on the PATH)")
	}
	f.BoolVar(&b.quick, "quick", false, "a reduced size that takes about a minute")
	f.BoolVar(&b.fresh, "fresh", false, "make the world anew, also if it is in the cache")
	f.BoolVar(&b.profile, "profile", false, "write CPU and heap profiles of the measured processes to the results")
	f.StringVar(&b.out, "out", "", "folder of the results (default: bench/results)")
	f.IntVar(&chosen.apps, "apps", 0, "number of Applications")
	f.IntVar(&chosen.perApp, "objects-per-app", 0, "number of objects in each of them")
	f.IntVar(&chosen.objects, "objects", 0, "number of objects in the cluster, managed or not")
	f.IntVar(&chosen.repeats, "repeats", 0, "how often each thing is measured")
	f.IntVar(&chosen.rate, "rate", 0, "how many a second, of updates, drifts or webhooks")
	f.IntVar(&chosen.seconds, "seconds", 0, "for how long")
	f.IntVar(&chosen.times, "times", 0, "how often each thing is done")
	return cmd
}

// with takes over what was chosen.
func (s scale) with(chosen scale) scale {
	pairs := [][2]*int{
		{&s.apps, &chosen.apps},
		{&s.perApp, &chosen.perApp},
		{&s.objects, &chosen.objects},
		{&s.repeats, &chosen.repeats},
		{&s.rate, &chosen.rate},
		{&s.seconds, &chosen.seconds},
		{&s.times, &chosen.times},
	}
	for _, pair := range pairs {
		if *pair[1] > 0 {
			*pair[0] = *pair[1]
		}
	}
	s.objects = max(s.objects, s.apps*s.perApp)
	return s
}

// String says how much it is.
func (s scale) String() string {
	var out []string
	for _, part := range []struct {
		n    int
		what string
	}{
		{s.apps, "applications"},
		{s.perApp, "objects in each"},
		{s.objects, "objects"},
		{s.times, "times"},
		{s.rate, "a second"},
		{s.seconds, "seconds"},
		{s.repeats, "repeats"},
	} {
		if part.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	return strings.Join(out, ", ")
}

// measure runs the scenario and reports it, or says why it does not.
func (b *bench) measure(ctx context.Context, run func(context.Context, *bench) error) (err error) {
	if b.root, err = moduleRoot(); err != nil {
		return err
	}
	if b.out == "" {
		b.out = filepath.Join(b.root, "bench", "results")
	}
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return fmt.Errorf("making the folder of the results: %w", err)
	}
	if b.cache, err = cacheFolder(); err != nil {
		return err
	}
	b.report = newReport(b.scenario)
	b.report.Size, b.report.Reduced = b.scale.String(), b.quick
	// Whoever watches stops before the control plane goes.
	ctx, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		if b.plane != nil {
			err = errors.Join(err, b.plane.Stop())
		}
	}()
	if err := run(ctx, b); err != nil {
		return fmt.Errorf("running %s: %w", b.scenario, err)
	}
	return b.report.finish(os.Stdout, b.out)
}

func (b *bench) logf(format string, args ...any) { fmt.Fprintf(b.progress, "· "+format+"\n", args...) }

// moduleRoot is the folder of go.mod at or above the current one.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("finding the repository: there is no go.mod here or above")
		}
		dir = filepath.Dir(dir)
	}
}

// cacheFolder is where worlds are kept, beside the control plane's programs.
func cacheFolder() (string, error) {
	root := os.Getenv("TOWLINE_CACHE")
	if root == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("finding the cache folder (set TOWLINE_CACHE to choose one): %w", err)
		}
		root = filepath.Join(user, "towline")
	}
	dir, err := filepath.Abs(filepath.Join(root, "bench"))
	if err != nil {
		return "", fmt.Errorf("finding the cache folder: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making the cache folder: %w", err)
	}
	return dir, nil
}
