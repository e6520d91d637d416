package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/takeover"
)

func (c *migrating) changing(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVarP(&c.yes, "yes", "y", false, "do not ask")
	f.BoolVar(&c.dryRun, "dry-run", false, "only say what would be done")
	f.DurationVar(&c.timeout, "timeout", 5*time.Minute, "how long to wait until those who are stopped are gone")
	c.output.register(cmd, outputJSON, outputYAML)
}

func newTakeover(env *Env, g *global) *cobra.Command {
	c := &migrating{env: env, global: g}
	cmd := &cobra.Command{
		Use: "takeover", Short: "Stop Argo CD's controllers and let Towline act", Args: none,
		Long: "Choose the profile \"" + v1alpha1.ProfileArgoCD + "\" unless one is chosen, scale Argo CD's application, ApplicationSet\n" +
			"and notifications controllers to 0, write down how many there were, wait until they are gone, and start Towline if it is\n" +
			"installed. \"towline migrate handback\" undoes it. It may be asked again after having been interrupted.",
		Example:           "  towline migrate check && towline migrate takeover --yes",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return c.takeover(cmd.Context()) },
	}
	c.changing(cmd)
	cmd.Flags().BoolVar(&c.force, "force", false, "although an Application deploys Argo CD itself and may start it again")
	return cmd
}

func newHandback(env *Env, g *global) *cobra.Command {
	c := &migrating{env: env, global: g}
	cmd := &cobra.Command{
		Use: "handback", Short: "Stop Towline and let Argo CD's controllers act again", Args: none,
		Long: "Stop Towline where it is installed, wait until it is gone, and give Argo CD's controllers the replicas that they had\n" +
			"before \"towline migrate takeover\".",
		Example:           "  towline migrate handback --yes",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return c.handback(cmd.Context()) },
	}
	c.changing(cmd)
	return cmd
}

func (c *migrating) takeover(ctx context.Context) error {
	s, err := c.session(ctx)
	if err != nil {
		return err
	}
	in, err := c.env.Inventory(ctx, s.flags)
	if err != nil {
		return fmt.Errorf("reading the installation: %w", err)
	}
	steps := takeover.Take(in.Workloads)
	if !c.force {
		steps.Obstacles = takeover.Check(in).Obstacles
	}
	data, err := c.env.SettingsData(ctx, s.flags)
	if err != nil {
		return s.explainOf(aPolicy, v1alpha1.ConfigMapSettings, err)
	}
	profile, change := takeover.Profile(data)
	if !change {
		profile = ""
	}
	return c.carryOut(ctx, s, steps, turnover{name: "takeover", profile: profile})
}

func (c *migrating) handback(ctx context.Context) error {
	s, err := c.session(ctx)
	if err != nil {
		return err
	}
	rival, err := c.env.Rival(ctx, s.flags)
	if err != nil {
		return err
	}
	all, err := rival.Workloads(ctx)
	if err != nil {
		return err
	}
	data, err := c.env.SettingsData(ctx, s.flags)
	if err != nil {
		return s.explainOf(aPolicy, v1alpha1.ConfigMapSettings, err)
	}
	return c.carryOut(ctx, s, takeover.Back(all), turnover{name: "handback", drop: data[v1alpha1.KeyProfile] == v1alpha1.ProfileArgoCD})
}

// turnover is what changes besides the workloads.
type turnover struct {
	name string
	// profile is one to be chosen, and drop that it is to be taken away again.
	profile string
	drop    bool
}

// carryOut stops those who act, waits until they are gone, and then starts the
// others: there is never a moment with two.
func (c *migrating) carryOut(ctx context.Context, s *session, steps takeover.Steps, t turnover) error {
	if c.output.structured() {
		if err := c.output.encode(c.env.Out, steps); err != nil {
			return err
		}
	} else {
		s.showSteps(steps, t)
	}
	if len(steps.Obstacles) > 0 {
		return ErrNo
	}
	if c.dryRun || len(steps.Stop)+len(steps.Start) == 0 && t.profile == "" && !t.drop {
		return nil
	}
	if err := s.agree(c.yes, t.name); err != nil {
		return err
	}
	rival, err := c.env.Rival(ctx, s.flags)
	if err != nil {
		return err
	}
	return c.turn(ctx, rival, steps, t)
}

// turn does it.
func (c *migrating) turn(ctx context.Context, rival Rival, steps takeover.Steps, t turnover) error {
	// It stands before anybody could act by another one.
	if t.profile != "" {
		if err := rival.SetProfile(ctx, t.profile); err != nil {
			return err
		}
	}
	for _, stop := range steps.Stop {
		if err := rival.Scale(ctx, stop); err != nil {
			return fmt.Errorf("%w; nobody was started, and it may be asked again", err)
		}
	}
	if err := c.awaitGone(ctx, rival, steps.Stop); err != nil {
		return err
	}
	for _, start := range steps.Start {
		if err := rival.Scale(ctx, start); err != nil {
			return fmt.Errorf("%w; those who acted are stopped, and it may be asked again", err)
		}
	}
	if t.drop {
		if err := rival.SetProfile(ctx, ""); err != nil {
			return err
		}
	}
	fmt.Fprintf(c.env.Err, "%s done\n", t.name)
	return nil
}

func (c *migrating) awaitGone(ctx context.Context, rival Rival, stopped []takeover.Scale) error {
	limited, cancel := context.WithTimeoutCause(ctx, c.timeout, errTimeout)
	defer cancel()
	for _, s := range stopped {
		if err := rival.Gone(limited, s.Workload); err != nil {
			if errors.Is(err, errTimeout) {
				err = fmt.Errorf("%w; nobody was started, and it may be asked again", err)
			}
			return err
		}
	}
	return nil
}

func (s *session) showSteps(steps takeover.Steps, t turnover) {
	w := s.env.Out
	if t.profile != "" {
		fmt.Fprintf(w, "set    %s: %s in %s\n", v1alpha1.KeyProfile, t.profile, v1alpha1.ConfigMapSettings)
	}
	for _, stop := range steps.Stop {
		fmt.Fprintf(w, "stop   %s\n", clean(stop.String()))
	}
	for _, start := range steps.Start {
		fmt.Fprintf(w, "start  %s\n", clean(start.String()))
	}
	if t.drop {
		fmt.Fprintf(w, "unset  %s in %s\n", v1alpha1.KeyProfile, v1alpha1.ConfigMapSettings)
	}
	for _, n := range steps.Notes {
		fmt.Fprintf(w, "%s %s\n", s.out.paint(bold, "note:"), clean(n))
	}
	for _, o := range steps.Obstacles {
		fmt.Fprintf(w, "%s %s\n", s.out.paint(red, "obstacle:"), clean(o))
	}
	if len(steps.Stop)+len(steps.Start)+len(steps.Obstacles) == 0 {
		fmt.Fprintln(w, "There is nothing to stop or start.")
	}
}
