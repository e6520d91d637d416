package cli

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/towline-cd/towline/api/v1alpha1"
)

type holding struct {
	*session
	length, until, reason string
}

func newHold(env *Env, g *global) *cobra.Command {
	c := &holding{}
	cmd := &cobra.Command{
		Use:   "hold NAME",
		Short: "Let nothing be synced by itself for a while",
		Long: "Let nothing be synced by itself for a while. Drift and new commits are shown and wait; a sync by hand still\n" +
			"works. When the time is over automation goes on by itself.",
		Example: "  towline app hold shop --for 2h --reason \"looking into the outage\"\n" +
			"  towline app hold shop --until 2026-03-16T08:00:00Z",
		Args: exactlyOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			until, err := c.end(env.Now())
			if err != nil {
				return err
			}
			s, names, err := g.connect(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			c.session = s
			return c.run(cmd.Context(), names[0], until)
		},
		ValidArgsFunction: g.complete(env, false),
	}
	f := cmd.Flags()
	f.StringVar(&c.length, "for", "", "how long, as in 30m, 2h or 1d")
	f.StringVar(&c.until, "until", "", "until when, as in 2026-03-16T08:00:00Z")
	f.StringVar(&c.reason, "reason", "", "why, for those who wonder")
	return cmd
}

// end is when the hold ends.
func (c *holding) end(now time.Time) (time.Time, error) {
	var until time.Time
	switch {
	case (c.length == "") == (c.until == ""):
		return until, usagef("say how long with either --for or --until")
	case c.until != "":
		t, err := time.Parse(time.RFC3339, c.until)
		if err != nil {
			return until, usagef("--until %q is no time like 2026-03-16T08:00:00Z", c.until)
		}
		until = t
	default:
		d, err := span(c.length)
		if err != nil {
			return until, err
		}
		until = now.Add(d)
	}
	if !until.After(now) {
		return until, usagef("a hold must end later than now, and %s is not", until.UTC().Format(time.RFC3339))
	}
	return until.UTC(), nil
}

// span reads a duration; people count holds in days too.
func span(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, usagef("--for %q is no duration like 30m, 2h or 1d", text)
	}
	return d, nil
}

func (c *holding) run(ctx context.Context, name string, until time.Time) error {
	// To the end of the second: an annotation has no parts of one.
	until = until.Add(time.Second - 1).Truncate(time.Second)
	app, err := c.patch(ctx, name, annotations(map[string]any{
		v1alpha1.AnnotationHoldUntil: until.Format(time.RFC3339), v1alpha1.AnnotationHoldReason: orNull(c.reason),
	}))
	if err != nil {
		return err
	}
	c.note("application %q is held until %s (for %s); %q ends it earlier", name, until.Format(time.RFC3339),
		duration.HumanDuration(until.Sub(c.env.Now())), "towline app unhold "+name)
	if !app.Spec.SyncPolicy.AutomatedEnabled() {
		c.note("it has no automated sync at present, so there is nothing to hold")
	}
	return nil
}

func newUnhold(env *Env, g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "unhold NAME",
		Short:   "Let automation go on",
		Example: "  towline app unhold shop",
		Args:    exactlyOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, names, err := g.connect(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			return s.unhold(cmd.Context(), names[0])
		},
		ValidArgsFunction: g.complete(env, false),
	}
}

func (s *session) unhold(ctx context.Context, name string) error {
	held := false
	_, err := s.change(ctx, name, func(app *v1alpha1.Application) (map[string]any, error) {
		if held = app.Annotations[v1alpha1.AnnotationHoldUntil] != ""; !held {
			return nil, nil
		}
		return annotations(map[string]any{v1alpha1.AnnotationHoldUntil: nil, v1alpha1.AnnotationHoldReason: nil}), nil
	})
	switch {
	case err != nil:
		return err
	case held:
		s.note("application %q is held no longer", name)
	default:
		s.note("application %q was not held", name)
	}
	return nil
}

// annotations is a patch of nothing else; nil takes one away.
func annotations(values map[string]any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": values}}
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
