package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/wish"
)

type syncing struct {
	*session
	request
	output   output
	selector string
	projects []string
	async    bool
	timeout  uint
	// local is the folder whose manifests are synced.
	local Folder
	// preview shows what would change and asks, unless yes says that nobody is to be asked.
	preview, yes bool
}

func newSync(env *Env, g *global) *cobra.Command {
	c := &syncing{}
	cmd := &cobra.Command{
		Use:   "sync NAME...",
		Short: "Make the cluster what Git says, and watch it happen",
		Example: "  towline app sync shop --prune\n" +
			"  towline app sync shop --resource apps:Deployment:web\n" +
			"  towline app sync shop --local ./deploy --dry-run\n" +
			"  towline app sync -l team=shop --async",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(c.projects) > 0 && len(args) == 0 {
				return nil
			}
			return atLeastOne(&c.selector)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(c.output.check(), c.check(cmd.Flags())); err != nil {
				return err
			}
			s, names, err := g.connect(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			c.session = s
			names, err = c.meant(cmd.Context(), names)
			if err != nil {
				return err
			}
			return c.run(cmd.Context(), names)
		},
		ValidArgsFunction: g.complete(env, true),
	}
	c.register(cmd)
	c.choices(cmd)
	return cmd
}

func (c *syncing) run(ctx context.Context, names []string) error {
	if c.local.Dir != "" && len(names) > 1 {
		return usagef("--local is the source of one application, not of %d", len(names))
	}
	// Look at all before the first is started: half of a wish is nobody's.
	for _, n := range names {
		if err := c.look(ctx, n); err != nil {
			return err
		}
	}
	if err := c.consent(names); err != nil {
		return err
	}
	trackers := make([]*tracker, 0, len(names))
	for _, n := range names {
		t, err := c.start(ctx, n)
		if err != nil {
			return err
		}
		trackers = append(trackers, t)
	}
	if c.async {
		for _, n := range names {
			c.note("asked for a sync of application %q; wait for it with %q", n, "towline app wait "+n+" --operation")
		}
		return nil
	}
	ended := c.watch(ctx, names, trackers)
	return errors.Join(c.print(trackers), ended)
}

// look says what keeps an application from being synced so, and with a preview what would change.
func (c *syncing) look(ctx context.Context, name string) error {
	app, err := c.hub.Application(ctx, name)
	if err != nil {
		return c.explain(name, err)
	}
	if err := c.readLocal(ctx, app); err != nil {
		return err
	}
	if err := c.refuse(app, c.request); err != nil {
		return err
	}
	if err := c.readLabels(ctx, app); err != nil {
		return err
	}
	if _, err := c.whole(app, ""); err != nil {
		return err
	}
	return c.show(ctx, app)
}

// consent asks whoever wanted to see what would change.
func (c *syncing) consent(names []string) error {
	if !c.preview || c.yes || c.unasked {
		return nil
	}
	if !c.env.InIsTerminal {
		return usagef("syncing application %s: nobody is there to ask; add --assume-yes if you mean it", quoted(names, ", "))
	}
	return c.agree(false, "syncing application "+quoted(names, ", "))
}

// start writes the operation.
func (c *syncing) start(ctx context.Context, name string) (*tracker, error) {
	t := &tracker{name: name, user: c.env.user(), begun: c.env.Now()}
	var w wish.Sync
	made, err := c.operate(ctx, name, func(app *v1alpha1.Application) (map[string]any, error) {
		if err := c.refuse(app, c.request); err != nil {
			return nil, err
		}
		t.before = app.Status.OperationState
		var err error
		if w, err = c.whole(app, t.user); err != nil {
			return nil, err
		}
		op := w.Operation(app)
		if len(w.More) > 0 {
			// A server takes options in place of those of the policy.
			w.Options, w.More = op.Sync.SyncOptions, nil
		}
		return wish.Start(app, op), nil
	}, func(server asked) (*v1alpha1.Application, error) { return server.Sync(ctx, name, w) })
	if err != nil {
		return nil, err
	}
	t.started(made)
	return t, nil
}

// redrawEvery keeps the elapsed time on a terminal moving.
const redrawEvery = time.Second

// watch follows the operations to their ends.
func (c *syncing) watch(ctx context.Context, names []string, trackers []*tracker) error {
	ctx, cancel := seconds(c.timeout).limit(ctx)
	defer cancel()
	report := c.reporter(trackers)
	defer report.close()
	var tick <-chan time.Time
	if c.env.ErrIsTerminal {
		t := time.NewTicker(redrawEvery)
		defer t.Stop()
		tick = t.C
	}
	changes := c.follow(ctx, names)
	for !allEnded(trackers) {
		report.update()
		ch, err := c.next(ctx, changes, tick)
		if err != nil {
			return c.stopped(trackers, err)
		}
		if ch.notice != "" {
			report.say(ch.notice)
		}
		for _, t := range trackers {
			if t.name == ch.name {
				t.see(ch.app)
			}
		}
	}
	report.update()
	return c.verdict(trackers)
}

// stopped says what goes on without us.
func (c *syncing) stopped(trackers []*tracker, err error) error {
	var open []string
	for _, t := range trackers {
		if !t.ended() {
			open = append(open, t.name)
		}
	}
	wait := "towline app wait " + strings.Join(open, " ") + " --operation"
	switch {
	case errors.Is(err, errTimeout):
		return fmt.Errorf("syncing application %s: not done after %d seconds; it goes on in the cluster, wait for it with %q",
			quoted(open, ", "), c.timeout, wait)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("stopped watching the sync of application %s: it goes on in the cluster, wait for it with %q",
			quoted(open, ", "), wait)
	}
	return err
}

func (c *syncing) verdict(trackers []*tracker) error {
	var all []error
	for _, t := range trackers {
		all = append(all, t.verdict())
	}
	return errors.Join(all...)
}

func quoted(names []string, separator string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(out, separator)
}

// print writes what each sync did.
func (c *syncing) print(trackers []*tracker) error {
	for i, t := range trackers {
		if t.app == nil || t.state == nil {
			continue
		}
		if err := c.printOne(t, i == 0, len(trackers) == 1); err != nil {
			return err
		}
	}
	return nil
}

func (c *syncing) printOne(t *tracker, first, alone bool) error {
	switch {
	case c.output.structured() && (alone || first && c.output.form == outputYAML):
		return c.output.encode(c.env.Out, exportable(t.app))
	case c.output.structured():
		return c.output.stream(c.env.Out, exportable(t.app))
	case !first:
		fmt.Fprintln(c.env.Out)
	}
	r := result{name: t.name, state: t.state, now: c.env.Now(), palette: c.out, wide: c.output.form == outputWide}
	return r.write(c.env.Out)
}
