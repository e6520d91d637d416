package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/towline-cd/towline/internal/core/plan"
)

type drifting struct {
	*session
	output output
}

func newDrift(env *Env, g *global) *cobra.Command {
	c := &drifting{}
	cmd := &cobra.Command{
		Use:   "drift NAME",
		Short: "Show what somebody changed in the cluster and was set right",
		Long: "Show the fields that somebody changed in the cluster and that were set right, the newest first, as far back\n" +
			"as the cluster keeps events (an hour, unless it is told otherwise). What differs now is shown by \"app diff\".",
		Example: "  towline app drift shop\n  towline app drift shop -o json",
		Args:    exactlyOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.output.check(); err != nil {
				return err
			}
			s, names, err := g.connect(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			c.session = s
			return c.run(cmd.Context(), names[0])
		},
		ValidArgsFunction: g.complete(env, false),
	}
	c.output.register(cmd, outputJSON, outputYAML)
	return cmd
}

// mostDrift is how many episodes are shown.
const mostDrift = 20

// episode is a plan.Episode as it is printed.
type episode struct {
	Group     string    `json:"group,omitempty"`
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	Field     string    `json:"field,omitempty"`
	Manager   string    `json:"manager,omitempty"`
	Revision  string    `json:"revision,omitempty"`
	Seen      time.Time `json:"seen"`
	Healed    time.Time `json:"healed"`
}

func (c *drifting) run(ctx context.Context, name string) error {
	if _, err := c.hub.Application(ctx, name); err != nil {
		return c.explain(name, err)
	}
	drifts, err := c.env.Drifts(ctx, c.flags)
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	all, err := drifts.Drift(ctx, name)
	if err != nil {
		return c.explain(name, err)
	}
	newest := []episode{}
	for i := len(all) - 1; i >= 0 && len(newest) < mostDrift; i-- {
		newest = append(newest, printed(all[i]))
	}
	if c.output.structured() {
		return c.output.encode(c.env.Out, newest)
	}
	if len(newest) == 0 {
		c.note("nothing of application %q drifted, as far back as the cluster keeps events", name)
		return nil
	}
	t := &table{
		head:    []string{"SEEN", "AGO", "HEALED AFTER", "KIND", "NAMESPACE", "NAME", "FIELD", "CHANGED BY", "REVISION"},
		palette: c.out,
	}
	for _, e := range newest {
		t.row(word(e.Seen.UTC().Format(time.DateTime)), word(duration.HumanDuration(max(c.env.Now().Sub(e.Seen), 0))),
			word(e.Healed.Sub(e.Seen).Round(time.Millisecond).String()), word(e.Kind), word(e.Namespace), word(e.Name),
			word(cmp.Or(e.Field, "(was missing)")), word(orNothing(e.Manager)), word(short(e.Revision)))
	}
	return t.write(c.env.Out, true)
}

func printed(e plan.Episode) episode {
	return episode{
		Group: e.Key.Group, Kind: e.Key.Kind, Namespace: e.Key.Namespace, Name: e.Key.Name,
		Field: e.Path, Manager: e.Manager, Revision: e.Revision, Seen: e.Seen, Healed: e.Healed,
	}
}
