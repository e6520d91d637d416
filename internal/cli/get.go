package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/api/v1alpha1"
)

type getting struct {
	*session
	output  output
	refresh refreshing
	watch   bool
	// params are shown too; the operation is anyway.
	params, operation bool
	source            oneSource
}

func newGet(env *Env, g *global) *cobra.Command {
	c := &getting{}
	cmd := &cobra.Command{
		Use:     "get NAME",
		Short:   "Show an application and its objects",
		Example: "  towline app get shop --refresh\n  towline app get shop -o json",
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
	c.output.register(cmd, outputJSON, outputYAML, outputWide, outputName, outputTree, outputTreeDetailed)
	c.refresh.register(cmd)
	cmd.Flags().BoolVarP(&c.watch, "watch", "w", false, "keep printing whenever something changes")
	c.source.place(cmd)
	cmd.Flags().BoolVar(&c.params, "show-params", false, "also show the parameters of charts")
	cmd.Flags().BoolVar(&c.operation, "show-operation", false, "taken and not needed: the operation is always shown")
	return cmd
}

func (c *getting) run(ctx context.Context, name string) error {
	if err := c.refresh.run(ctx, c.session, name); err != nil {
		return err
	}
	switch {
	case c.watch && c.output.drawn():
		return usagef("-o tree shows a moment; leave out --watch")
	case c.watch:
		return c.stream(ctx, name)
	}
	app, err := c.hub.Application(ctx, name)
	if err != nil {
		return c.explain(name, err)
	}
	if !c.output.drawn() {
		return c.print(c.env.Out, app)
	}
	v := view{app: app, now: c.env.Now(), palette: c.out, bare: true}
	if err := v.write(c.env.Out); err != nil {
		return err
	}
	found, err := c.tree(ctx, name)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.env.Out)
	return c.draw(found, c.output.form == outputTreeDetailed)
}

func (c *getting) print(w io.Writer, app *v1alpha1.Application) error {
	switch {
	case c.output.structured() && c.watch:
		return c.output.stream(w, exportable(app))
	case c.output.structured():
		return c.output.encode(w, exportable(app))
	case c.output.form == outputName:
		fmt.Fprintln(w, qualified(app))
		return nil
	}
	app, err := c.source.alone(app)
	if err != nil {
		return err
	}
	v := view{app: app, now: c.env.Now(), palette: c.out, wide: c.output.form == outputWide}
	if err := v.write(w); err != nil || !c.params {
		return err
	}
	return v.params().write(w, true)
}

// stream shows the application anew whenever its picture changes: in place on
// a terminal, one after the other elsewhere.
func (c *getting) stream(ctx context.Context, name string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes := c.follow(ctx, []string{name})
	var before []byte
	for {
		ch, err := c.next(ctx, changes, nil)
		if ctx.Err() != nil {
			return nil // the user has seen enough
		}
		if err != nil {
			return err
		}
		if ch.notice != "" {
			c.note("%s", ch.notice)
			continue
		}
		if ch.app == nil && before == nil {
			return fmt.Errorf("application %q not found in namespace %q; %q shows what is there", name, c.flags.Apps(), c.list())
		}
		if ch.app == nil {
			c.note("application %q is gone", name)
			return nil
		}
		var b bytes.Buffer
		if err := c.print(&b, ch.app); err != nil {
			return err
		}
		if !bytes.Equal(b.Bytes(), before) {
			c.show(b.Bytes(), before == nil)
		}
		before = b.Bytes()
	}
}

func (c *getting) show(picture []byte, first bool) {
	human := !c.output.structured() && c.output.form != outputName
	switch {
	case human && c.env.OutIsTerminal:
		fmt.Fprint(c.env.Out, clearScreen)
	case human && !first:
		fmt.Fprintln(c.env.Out)
	}
	_, _ = c.env.Out.Write(picture)
}
