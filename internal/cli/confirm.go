package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/api/v1alpha1"
)

func newConfirm(env *Env, g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "confirm-deletion NAME",
		Short: "Confirm the deletions that wait for a person",
		Long: "Confirm the deletions that wait for a person: those of objects with the sync option Prune=confirm, by the sync\n" +
			"that is running, and with Delete=confirm, by the deletion of the application.",
		Example: "  towline app confirm-deletion shop",
		Args:    exactlyOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, names, err := g.connect(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			return s.confirm(cmd.Context(), names[0])
		},
		ValidArgsFunction: g.complete(env, false),
	}
}

func (s *session) confirm(ctx context.Context, name string) error {
	now := s.env.Now().UTC().Format(time.RFC3339)
	if _, err := s.patch(ctx, name, annotations(map[string]any{v1alpha1.AnnotationDeletionApproved: now})); err != nil {
		return err
	}
	s.note("confirmed the deletions of application %q that waited at %s", name, now)
	return nil
}
