package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/towline-cd/towline/api/v1alpha1"
)

const outputID = "id"

type remembering struct {
	*session
	output output
	source oneSource
}

func newHistory(env *Env, g *global) *cobra.Command {
	c := &remembering{}
	cmd := &cobra.Command{
		Use:     "history NAME",
		Short:   "Show what was deployed, the newest first",
		Example: "  towline app history shop\n  towline app rollback shop 3",
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
	c.output.register(cmd, outputJSON, outputYAML, outputWide, outputID)
	c.source.place(cmd)
	return cmd
}

func (c *remembering) run(ctx context.Context, name string) error {
	app, err := c.hub.Application(ctx, name)
	if err != nil {
		return c.explain(name, err)
	}
	history := slices.Clone(app.Status.History)
	if c.output.structured() {
		if history == nil {
			history = v1alpha1.RevisionHistories{}
		}
		return c.output.encode(c.env.Out, history)
	}
	if len(history) == 0 {
		c.note("application %q was not deployed yet, or keeps no history (spec.revisionHistoryLimit)", name)
		return nil
	}
	slices.Reverse(history)
	if c.output.form == outputID {
		for _, h := range history {
			fmt.Fprintln(c.env.Out, h.ID)
		}
		return nil
	}
	t := &table{head: []string{"ID", "DEPLOYED", "AGO", "TOOK", "BY", "REVISION", "SOURCE"}, palette: c.out}
	for _, h := range history {
		if len(h.Sources) == 0 {
			t.row(c.row(h)...) // it had one source then
			continue
		}
		at, err := c.source.of(h.Sources)
		if err != nil {
			return err
		}
		if at > 0 && at <= len(h.Revisions) {
			h.Revision, h.Source, h.Revisions, h.Sources = h.Revisions[at-1], h.Sources[at-1], nil, nil
		}
		t.row(c.row(h)...)
	}
	return t.write(c.env.Out, true)
}

func (c *remembering) row(h v1alpha1.RevisionHistory) []cell {
	took := nothing
	if h.DeployStartedAt != nil {
		took = duration.HumanDuration(max(h.DeployedAt.Sub(h.DeployStartedAt.Time), 0))
	}
	revision := revisionOf(v1alpha1.SyncStatus{Revision: h.Revision, Revisions: h.Revisions})
	if c.output.form == outputWide && len(h.Revisions) == 0 {
		revision = h.Revision
	}
	from := source(h.Source)
	if len(h.Sources) > 0 {
		from = fmt.Sprintf("%d sources", len(h.Sources))
	}
	return []cell{
		word(strconv.FormatInt(h.ID, 10)), word(h.DeployedAt.UTC().Format(time.DateTime)), word(age(c.env.Now(), &h.DeployedAt)),
		word(took), word(initiator(h.InitiatedBy)), word(revision), word(from),
	}
}
