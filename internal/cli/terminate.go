package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/wish"
)

func newTerminate(env *Env, g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "terminate-op NAME",
		Short:   "End the running operation",
		Long:    "End the running operation. Hooks that run are deleted; what was applied stays.",
		Example: "  towline app terminate-op shop && towline app wait shop --operation",
		Args:    exactlyOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, names, err := g.connect(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			return s.terminate(cmd.Context(), names[0])
		},
		ValidArgsFunction: g.complete(env, false),
	}
}

func (s *session) terminate(ctx context.Context, name string) error {
	taken := false
	_, err := s.operate(ctx, name, func(app *v1alpha1.Application) (map[string]any, error) {
		patch, begun := wish.End(app)
		if patch == nil {
			return nil, fmt.Errorf("terminating the operation of application %q: none is in progress", name)
		}
		taken = !begun
		return patch, nil
	}, func(server asked) (*v1alpha1.Application, error) { return nil, server.Terminate(ctx, name) })
	switch {
	case err != nil:
		return err
	case taken:
		s.note("took back the operation of application %q, which had not begun", name)
	default:
		s.note("asked application %q to end its operation; wait for it with %q", name, "towline app wait "+name+" --operation")
	}
	return nil
}
