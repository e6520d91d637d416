package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
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
}

func scenarios() []scenario {
	return []scenario{
		{
			name: "index", short: "memory and start-up of the live index, against bare informers",
			full: scale{apps: 2_000, perApp: 10, objects: 100_000, repeats: 3}, run: runIndex,
			quick: scale{apps: 100, perApp: 10, objects: 5_000, repeats: 3},
		},
		{
			name: "noop", short: "a reconcile of every application when nothing has changed",
			full: scale{apps: 10_000, perApp: 10, repeats: 3}, run: runNoop,
			quick: scale{apps: 500, perApp: 10, repeats: 3},
		},
		{
			name: "churn", short: "status-only updates of managed objects, against a bare watch",
			full: scale{apps: 2_000, perApp: 10, objects: 100_000, repeats: 3, rate: 500, seconds: 60}, run: runChurn,
			quick: scale{apps: 100, perApp: 10, objects: 5_000, repeats: 3, rate: 500, seconds: 10},
		},
		{
			name: "heal", short: "drift of one field until it is healed, against the bare sequence",
			full: scale{apps: 2_000, perApp: 10, objects: 100_000, times: 200}, run: runHeal,
			quick: scale{apps: 100, perApp: 10, objects: 5_000, times: 60},
		},
		{
			name: "waves", short: "a sync of ten waves of healthy objects, against applying them wave by wave",
			full: scale{times: 31}, run: runWaves,
			quick: scale{times: 11},
		},
		{
			name: "bootstrap", short: "the first sync of many applications, against a bare loop of the same writes",
			full: scale{apps: 500, perApp: 4, repeats: 3}, run: runBootstrap,
			quick: scale{apps: 100, perApp: 4, repeats: 3},
		},
		{
			name: "monorepo", short: "pushes to one repository of many applications, against one of few",
			full: scale{apps: 10_000, times: 31}, run: runMonorepo,
			quick: scale{apps: 300, times: 11},
		},
		{
			name: "generator", short: "many Applications from one ApplicationSet, against a bare loop that creates them",
			full: scale{apps: 10_000}, run: runGenerator,
			quick: scale{apps: 500},
		},
		{
			name: "health", short: "judging objects: by built-in rules, and by a script in its process",
			full: scale{objects: 20_000, repeats: 5}, run: runHealth,
			quick: scale{objects: 5_000, repeats: 3},
		},
		{
			name: "render", short: "a render in a confined worker, against the bare library and the stock programs; and no render",
			full: scale{repeats: 5, times: 100}, run: runRender,
			quick: scale{repeats: 3, times: 10},
		},
		{
			name:  "list",
			short: "pages of applications, of a fleet and one five times as large, against encoding ready structs; and streams",
			full:  scale{apps: 10_000, times: 1_000, rate: 100, seconds: 20}, run: runList,
			quick: scale{apps: 2_000, times: 200, rate: 100, seconds: 5},
		},
		{
			name:  "webhook",
			short: "webhooks that are refused or come again, against a handler that answers 401; and pushes during a flood of them",
			full:  scale{repeats: 5, times: 20_000, rate: 2_000, seconds: 30}, run: runWebhook,
			quick: scale{repeats: 3, times: 4_000, rate: 1_000, seconds: 6},
		},
	}
}

// bench is one run of a scenario.
type bench struct {
	scenario string
	scale    scale
	quick    bool
	fresh    bool
	profile  bool
	// root is the folder of the repository, out where results go, cache where
	// worlds are kept.
	root, out, cache string
	progress         io.Writer
	plane            *controlplane.Plane
	report           *report
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "bench SCENARIO",
		Short:         "Measure the product on a real control plane",
		Long:          "Measure the product on a real control plane. Without a scenario it lists them.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, s := range scenarios() {
				fmt.Fprintf(cmd.OutOrStdout(), "  %-9s %s\n", s.name, s.short)
			}
			return nil
		},
	}
	for _, s := range scenarios() {
		root.AddCommand(s.command())
	}
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
			b.scale = b.scale.with(chosen)
			return b.measure(cmd.Context(), s.run)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&b.quick, "quick", false, "a reduced size that takes about a minute")
	f.BoolVar(&b.fresh, "fresh", false, "make the world anew, also if it is in the cache")
	f.BoolVar(&b.profile, "profile", false, "write CPU and heap profiles of the measured processes to the results")
	f.StringVar(&b.out, "out", "", "folder of the results (default: bench/results)")
	f.IntVar(&chosen.apps, "apps", 0, "number of Applications")
	f.IntVar(&chosen.perApp, "objects-per-app", 0, "number of objects in each of them")
	f.IntVar(&chosen.objects, "objects", 0, "number of objects in the cluster, managed or not")
	f.IntVar(&chosen.repeats, "repeats", 0, "how often each thing is measured")
	f.IntVar(&chosen.rate, "rate", 0, "updates per second (churn, list), webhooks (webhook)")
	f.IntVar(&chosen.seconds, "seconds", 0, "for how long (churn, list, webhook)")
	f.IntVar(&chosen.times, "times", 0, "how many drifts are healed (heal), syncs (waves) or renders (render) made, pages read (list)")
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
	defer func() {
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
