package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// refreshing asks the controller for a new comparison and waits for it.
type refreshing struct {
	normal, hard bool
	timeout      uint
}

// refreshTimeout is long enough for a big render; a missing controller is told
// before the user has lost patience.
const refreshTimeout = 120

func (r *refreshing) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.normal, "refresh", false, "compare anew first, and wait for it")
	cmd.Flags().BoolVar(&r.hard, "hard-refresh", false, "render and compare anew first, and wait for it")
	cmd.Flags().UintVar(&r.timeout, "timeout", refreshTimeout, "how many seconds to wait for the refresh; 0 is no limit")
}

func (r *refreshing) run(ctx context.Context, s *session, name string) error {
	kind := v1alpha1.RefreshTypeNormal
	switch {
	case r.hard:
		kind = v1alpha1.RefreshTypeHard
	case !r.normal:
		return nil
	}
	ctx, cancel := seconds(r.timeout).limit(ctx)
	defer cancel()
	if server, ok := s.hub.(refresher); ok && s.flags.Remote != nil {
		return r.late(s, name, s.explain(name, server.Refreshed(ctx, name, r.hard)))
	}
	patch := map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{v1alpha1.AnnotationRefresh: string(kind)},
	}}
	if _, err := s.patch(ctx, name, patch); err != nil {
		return err
	}
	return r.late(s, name, s.refreshed(ctx, name))
}

// refresher is a server that looks anew by itself, and answers once it has.
type refresher interface {
	Refreshed(ctx context.Context, name string, hard bool) error
}

// late says what no answer means.
func (r *refreshing) late(s *session, name string, err error) error {
	if errors.Is(err, errTimeout) {
		return fmt.Errorf("refreshing application %q: no answer within %d seconds; is the controller of namespace %q running?",
			name, r.timeout, s.flags.Apps())
	}
	return err
}

// refreshed waits until the controller took the annotation away.
func (s *session) refreshed(ctx context.Context, name string) error {
	changes := s.follow(ctx, []string{name})
	for {
		c, err := s.next(ctx, changes, nil)
		if err != nil {
			return fmt.Errorf("refreshing application %q: %w", name, err)
		}
		if c.notice != "" {
			s.note("%s", c.notice)
			continue
		}
		if c.app == nil {
			return fmt.Errorf("refreshing application %q: it was deleted", name)
		}
		if c.app.Annotations[v1alpha1.AnnotationRefresh] == "" {
			return nil
		}
	}
}
