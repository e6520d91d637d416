package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/takeover"
)

func newMigrateShadow(env *Env, g *global) *cobra.Command {
	c := &migrating{env: env, global: g}
	cmd := &cobra.Command{
		Use: "shadow", Short: "Look beside Argo CD and compare verdicts", Args: none,
		Long: "Look at each application whenever Argo CD has judged it, and say where Towline's verdict differs. Nothing is written:\n" +
			"requests that would are refused before they leave. It runs until it is interrupted, or as long as --for says.\n\n" +
			"Exit codes: 0 all verdicts agree at the end, 1 some differ, 2 wrong usage, 4 not authorised, 20 anything else.",
		Example:           "  towline migrate shadow\n  towline migrate shadow --once -o json",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return c.shadow(cmd.Context()) },
	}
	cmd.Flags().BoolVar(&c.once, "once", false, "look at each application once")
	cmd.Flags().DurationVar(&c.within, "for", 0, "how long to look (default: until it is interrupted)")
	c.shadowFlags(cmd)
	c.output.register(cmd, outputJSON, outputYAML)
	return cmd
}

// comparison is what came of one application.
type comparison struct {
	Application string                    `json:"application"`
	Agrees      bool                      `json:"agrees"`
	Differences []takeover.Difference     `json:"differences,omitempty"`
	Failed      string                    `json:"failed,omitempty"`
	At          metav1.Time               `json:"at"`
	Revision    string                    `json:"revision,omitempty"`
	judged      v1alpha1.SyncStatus       `json:"-"`
	health      v1alpha1.HealthStatus     `json:"-"`
	resources   []v1alpha1.ResourceStatus `json:"-"`
}

// shadowing compares as verdicts come.
type shadowing struct {
	*migrating
	*session
	shadow Shadow
	last   map[string]*comparison
}

func (c *migrating) shadow(ctx context.Context) error {
	s, err := c.session(ctx)
	if err != nil {
		return err
	}
	if c.within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.within)
		defer cancel()
	}
	list, err := s.hub.Applications(ctx, metav1.ListOptions{})
	if err != nil {
		return s.explain("", err)
	}
	shadow, err := c.env.Shadow(ctx, s.flags, c.data)
	if err != nil {
		return fmt.Errorf("looking beside Argo CD: %w", err)
	}
	defer shadow.Close()
	w := &shadowing{migrating: c, session: s, shadow: shadow, last: map[string]*comparison{}}
	fmt.Fprintf(c.env.Err, "looking at %s; nothing is written\n", plural(len(list.Items), "application"))
	for i := range list.Items {
		if err := w.look(ctx, &list.Items[i]); err != nil {
			return w.end(ctx, err)
		}
	}
	if c.once {
		return w.end(ctx, nil)
	}
	return w.end(ctx, w.follow(ctx, list.ResourceVersion))
}

// follow looks at each application again when its verdict changes.
func (w *shadowing) follow(ctx context.Context, from string) error {
	for ctx.Err() == nil {
		events, err := w.hub.WatchApplications(ctx, metav1.ListOptions{ResourceVersion: from})
		if err != nil {
			return err
		}
		for e := range events.ResultChan() {
			app, ok := e.Object.(*v1alpha1.Application)
			if !ok {
				// What was missed is listed again.
				from = ""
				break
			}
			from = app.ResourceVersion
			if e.Type == watch.Deleted {
				delete(w.last, app.Namespace+"/"+app.Name)
				continue
			}
			if err := w.look(ctx, app); err != nil {
				events.Stop()
				return err
			}
		}
		events.Stop()
	}
	return nil
}

// look compares one application, unless nothing was judged since.
func (w *shadowing) look(ctx context.Context, app *v1alpha1.Application) error {
	name := app.Namespace + "/" + app.Name
	last := w.last[name]
	s := app.Status
	if last != nil && last.Failed == "" && last.judged.Status == s.Sync.Status && last.judged.Revision == s.Sync.Revision &&
		slices.Equal(last.judged.Revisions, s.Sync.Revisions) && last.health.Status == s.Health.Status &&
		slices.EqualFunc(last.resources, s.Resources, sameVerdict) {
		return nil
	}
	now := &comparison{
		Application: name, At: metav1.NewTime(w.migrating.env.Now().UTC().Truncate(time.Second)), Revision: s.Sync.Revision,
		judged: s.Sync, health: s.Health, resources: s.Resources,
	}
	ours, err := w.shadow.Judge(ctx, app)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		now.Failed = err.Error()
	case !takeover.Comparable(app, ours):
		now.Failed = "not at the same revision, or in the middle of a sync"
	default:
		now.Differences = takeover.Compare(app, ours)
		now.Agrees = len(now.Differences) == 0
	}
	w.last[name] = now
	if last != nil && last.Agrees == now.Agrees && last.Failed == now.Failed && slices.Equal(last.Differences, now.Differences) {
		return nil
	}
	return w.tell(now)
}

func sameVerdict(a, b v1alpha1.ResourceStatus) bool { return a.Name == b.Name && a.Status == b.Status }

func (w *shadowing) tell(c *comparison) error {
	if w.output.structured() {
		return w.output.stream(w.migrating.env.Out, c)
	}
	out := w.migrating.env.Out
	switch {
	case c.Failed != "":
		fmt.Fprintf(out, "%s: %s %s\n", clean(c.Application), w.out.paint(yellow, "not compared:"), clean(c.Failed))
	case c.Agrees:
		fmt.Fprintf(out, "%s: %s\n", clean(c.Application), w.out.paint(green, "agrees"))
	default:
		fmt.Fprintf(out, "%s: %s\n", clean(c.Application), w.out.paint(red, "differs"))
		for _, d := range c.Differences {
			fmt.Fprintf(out, "  %s\n", clean(d.String()))
		}
	}
	return nil
}

// end says how it stands. Having been interrupted is how this ends.
func (w *shadowing) end(ctx context.Context, err error) error {
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return err
	}
	agree, differ, failed := 0, 0, 0
	for _, c := range w.last {
		switch {
		case c.Agrees:
			agree++
		case c.Failed != "":
			failed++
		default:
			differ++
		}
	}
	fmt.Fprintf(w.migrating.env.Err, "%s: %d agree, %d differ, %d were not compared\n",
		plural(len(w.last), "application"), agree, differ, failed)
	if differ > 0 {
		return ErrNo
	}
	return nil
}
