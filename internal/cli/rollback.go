package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/wish"
)

type rollingBack struct {
	syncing
	prune bool
}

func newRollback(env *Env, g *global) *cobra.Command {
	c := &rollingBack{}
	cmd := &cobra.Command{
		Use:   "rollback NAME [ID]",
		Short: "Go back to what was deployed before",
		Long: "Go back to an entry of the application's history; without an ID to the newest that differs from what is\n" +
			"deployed. Where automated sync is on it stays on, and holds back the revision that is being left until there is\n" +
			"a newer one.",
		Example: "  towline app history shop\n  towline app rollback shop 3 --prune",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 && len(args) != 2 {
				return usagef("%q takes the name of an application and the ID of an entry of its history, got %d arguments",
					cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.output.check(); err != nil {
				return err
			}
			id, err := entryID(args[1:])
			if err != nil {
				return err
			}
			s, names, err := g.connect(cmd.Context(), env, args[:1])
			if err != nil {
				return err
			}
			c.session = s
			return c.run(cmd.Context(), names[0], id)
		},
		ValidArgsFunction: g.complete(env, false),
	}
	f := cmd.Flags()
	f.BoolVar(&c.prune, "prune", false, "also delete what the earlier revision does not have")
	f.BoolVar(&c.async, "async", false, "do not wait for the end")
	f.UintVar(&c.timeout, "timeout", 0, "how many seconds to wait for the end; 0 is no limit")
	c.output.register(cmd, outputJSON, outputYAML, outputWide)
	return cmd
}

// entryID reads the ID of a history entry; nil is none.
func entryID(args []string) (*int64, error) {
	if len(args) == 0 {
		return nil, nil
	}
	id, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return nil, usagef("%q is no ID of a history entry: it is a number, as \"towline app history\" shows it", args[0])
	}
	return &id, nil
}

func (c *rollingBack) run(ctx context.Context, name string, id *int64) error {
	var to v1alpha1.RevisionHistory
	var left string // the revision that automation does not take up again
	t := &tracker{name: name, user: c.env.user(), begun: c.env.Now()}
	made, err := c.operate(ctx, name, func(app *v1alpha1.Application) (map[string]any, error) {
		if err := c.refuse(app, request{}); err != nil {
			return nil, err
		}
		var err error
		if to, err = entry(app, id); err != nil {
			return nil, err
		}
		back := wish.Rollback{To: to, Prune: c.prune, By: t.user}
		t.before, left = app.Status.OperationState, back.Leaving(app)
		return back.Patch(app), nil
	}, func(server asked) (*v1alpha1.Application, error) { return server.Rollback(ctx, name, to.ID, c.prune) })
	if err != nil {
		return err
	}
	t.started(made)
	c.note("rolling application %q back to %s (history entry %d, deployed %s ago)",
		name, revisionOf(v1alpha1.SyncStatus{Revision: to.Revision, Revisions: to.Revisions}), to.ID, age(c.env.Now(), &to.DeployedAt))
	if left != "" {
		c.note("automated sync stays on: %s is not synced again by itself, a newer commit is; %q takes it up again",
			short(left), "towline app sync "+name)
	}
	if c.async {
		return nil
	}
	ended := c.watch(ctx, []string{name}, []*tracker{t})
	return errors.Join(c.print([]*tracker{t}), ended)
}

// entry finds the entry of the history to go back to.
func entry(app *v1alpha1.Application, id *int64) (v1alpha1.RevisionHistory, error) {
	found, ok := wish.Entry(app, id)
	show := "towline app history " + app.Name
	switch {
	case ok:
		return found, nil
	case id != nil:
		return found, fmt.Errorf("rolling back application %q: its history has no entry %d; %q shows them", app.Name, *id, show)
	}
	return found, fmt.Errorf("rolling back application %q: nothing else was deployed before; %q shows what was", app.Name, show)
}
