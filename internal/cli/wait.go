package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/api/v1alpha1"
)

type waiting struct {
	*session
	goal     goal
	output   output
	selector string
	timeout  uint
	// resources are the objects that are waited for, as they were typed.
	resources []string
	// hydrated is a flag of Argo CD's for what there is not here.
	hydrated bool
	// open are the applications that are not there yet, with what they lack.
	open map[string][]string
	// last are the newest states that were seen.
	last map[string]*v1alpha1.Application
	said map[string]string
}

func newWait(env *Env, g *global) *cobra.Command {
	c := &waiting{}
	cmd := &cobra.Command{
		Use:   "wait NAME...",
		Short: "Wait until applications are as they should be",
		Long: "Wait until applications are as they should be: synced, healthy and without a running operation,\n" +
			"unless flags choose among these.",
		Example: "  towline app wait shop --timeout 300\n  towline app wait -l team=shop --health",
		Args:    atLeastOne(&c.selector),
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.hydrated {
				return usagef("--hydrated is not taken: this version writes no rendered manifests to Git, and nobody need wait for them")
			}
			if err := errors.Join(c.output.check(), c.goal.check()); err != nil {
				return err
			}
			for _, text := range c.resources {
				p, err := parsePattern(text)
				if err != nil {
					return err
				}
				c.goal.objects = append(c.goal.objects, p)
			}
			s, names, err := g.connect(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			c.session = s
			names, err = s.named(cmd.Context(), names, c.selector)
			if err != nil {
				return err
			}
			return c.run(cmd.Context(), names)
		},
		ValidArgsFunction: g.complete(env, true),
	}
	f := cmd.Flags()
	f.BoolVar(&c.goal.sync, "sync", false, "wait until it is synced")
	f.BoolVar(&c.goal.health, "health", false, "wait until it is healthy")
	f.BoolVar(&c.goal.operation, "operation", false, "wait until no operation runs")
	f.BoolVar(&c.goal.suspended, "suspended", false, "wait until it is suspended; with others, that will do too")
	f.BoolVar(&c.goal.degraded, "degraded", false, "wait until it is degraded; with others, that will do too")
	f.BoolVar(&c.goal.deleted, "delete", false, "wait until it is gone")
	f.StringArrayVar(&c.resources, "resource", nil,
		"wait for this object alone, as GROUP:KIND:[NAMESPACE/]NAME; * fits anything, a leading ! leaves out")
	f.BoolVar(&c.hydrated, "hydrated", false, "not taken: nothing is hydrated")
	_ = f.MarkHidden("hydrated") // it was made a line above
	f.UintVar(&c.timeout, "timeout", 0, "how many seconds to wait; 0 is no limit")
	f.StringVarP(&c.selector, "selector", "l", "", "all applications with these labels")
	c.output.register(cmd, outputJSON, outputYAML, outputWide)
	return cmd
}

func (c *waiting) run(ctx context.Context, names []string) error {
	c.goal.standard()
	c.open, c.last, c.said = map[string][]string{}, map[string]*v1alpha1.Application{}, map[string]string{}
	for _, n := range names {
		c.open[n] = []string{"its state"}
	}
	ctx, cancel := seconds(c.timeout).limit(ctx)
	defer cancel()
	changes := c.follow(ctx, names)
	for len(c.open) > 0 {
		ch, err := c.next(ctx, changes, nil)
		if errors.Is(err, errTimeout) {
			return fmt.Errorf("not done after %d seconds: %s", c.timeout, c.missing())
		}
		if err != nil {
			return fmt.Errorf("waiting for application %s: %w", quoted(slices.Sorted(maps.Keys(c.open)), ", "), err)
		}
		if ch.notice != "" {
			c.note("%s", ch.notice)
			continue
		}
		if err := c.see(ch); err != nil {
			return err
		}
	}
	return c.print(names)
}

func (c *waiting) see(ch change) error {
	if ch.app == nil && !c.goal.deleted {
		return c.absent(ch.name)
	}
	c.last[ch.name] = ch.app
	lacks := c.goal.lacks(ch.app)
	if len(lacks) == 0 {
		delete(c.open, ch.name)
	} else {
		// What was good may turn bad while others are still waited for.
		c.open[ch.name] = lacks
	}
	c.say(ch.name, c.state(ch.app))
	return nil
}

func (c *waiting) absent(name string) error {
	if c.last[name] != nil {
		return fmt.Errorf("waiting for application %q: it was deleted meanwhile", name)
	}
	return fmt.Errorf("application %q not found in namespace %q; %q shows what is there", name, c.flags.Apps(), c.list())
}

func (c *waiting) say(name, state string) {
	if c.said[name] == state {
		return
	}
	c.said[name] = state
	fmt.Fprintf(c.env.Err, "%s  %s  %s\n", c.env.Now().UTC().Format(time.TimeOnly), clean(name), state)
}

// state is one line about an application.
func (c *waiting) state(app *v1alpha1.Application) string {
	if app == nil {
		return "gone"
	}
	s := app.Status
	sync, health := orNothing(clean(string(s.Sync.Status))), orNothing(clean(string(s.Health.Status)))
	out := c.err.paint(syncColour(s.Sync.Status), sync)
	if r := revisionOf(s.Sync); r != "" {
		out += " at " + clean(r)
	}
	out += ", " + explained(c.err.paint(healthColour(s.Health.Status), health), s.Health.Message)
	if !app.DeletionTimestamp.IsZero() {
		out += ", being deleted"
	}
	if busy(app) {
		phase, message := v1alpha1.OperationPhase("Pending"), ""
		if o := s.OperationState; o != nil && !o.Phase.Completed() {
			phase, message = o.Phase, o.Message
		}
		out += ", operation " + explained(c.err.paint(phaseColour(phase), string(phase)), message)
	}
	return out
}

func (c *waiting) missing() string {
	var out []string
	for _, n := range slices.Sorted(maps.Keys(c.open)) {
		out = append(out, fmt.Sprintf("application %q still waits for %s", n, strings.Join(c.open[n], " and ")))
	}
	return strings.Join(out, "; ")
}

// print shows where it all ended.
func (c *waiting) print(names []string) error {
	l := &listing{session: c.session, output: c.output}
	var apps []v1alpha1.Application
	for _, n := range slices.Sorted(slices.Values(names)) {
		if app := c.last[n]; app != nil {
			apps = append(apps, *app)
		}
	}
	if len(apps) == 0 {
		return nil
	}
	return l.print(apps)
}
