package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/appset"
)

func newSetApprove(env *Env, g *global) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "approve NAME...",
		Short: "Let the applications go that ApplicationSets hold back",
		Long: "Let the applications go that ApplicationSets no longer generate and hold back, because that looks like a mistake:\n" +
			"most of them at once, an empty answer of a forge, a branch that was set back. What would go, and why it stays, is\n" +
			"shown first.\n" +
			"The word holds for an hour. Where nothing is held back nothing is written, and the command fails.",
		Example: "  towline appset approve shops\n  towline appset approve shops --yes",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, names, err := g.sets(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			return c.approve(cmd.Context(), names, yes)
		},
		ValidArgsFunction: g.completeSet(env, true),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// approve writes the word of a person for sets, if all of them wait for it.
func (c *setWork) approve(ctx context.Context, names []string, yes bool) error {
	for _, name := range names {
		s, err := c.get(ctx, name)
		if err != nil {
			return err
		}
		why, held := appset.HeldBack(s)
		if !held {
			return fmt.Errorf("ApplicationSet %q holds nothing back; %q shows how it is", s.Name, "towline appset get "+s.Name)
		}
		c.note("ApplicationSet %q holds back: %s", s.Name, why)
	}
	if err := c.agree(yes, "letting the applications of ApplicationSet "+quoted(names, ", ")+" go"); err != nil {
		return err
	}
	a := amending[v1alpha1.ApplicationSet]{session: c.session, thing: aSet, objects: c.sets}
	for _, name := range names {
		_, err := a.amend(ctx, name, func(now *v1alpha1.ApplicationSet) error {
			if now.Annotations == nil {
				now.Annotations = map[string]string{}
			}
			now.Annotations[v1alpha1.AnnotationDeletionApproved] = c.env.Now().UTC().Format(time.RFC3339)
			return nil
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(c.env.Out, "ApplicationSet '%s' may let go what it holds back\n", clean(name))
	}
	return nil
}
