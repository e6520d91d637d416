package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/draft"
)

// changing is a command that changes the spec of an application by flags.
type changing struct {
	*session
	drafting
	// change is what it does to the spec, of the source at a position.
	change   func(spec *v1alpha1.ApplicationSpec, at int, typed draft.Typed) error
	did      string
	validate bool
}

func newSet(env *Env, g *global) *cobra.Command {
	c := &changing{change: draft.Change, did: "changed"}
	cmd := c.command(env, g, &cobra.Command{
		Use: "set NAME", Short: "Change an application by flags",
		Long: "Change an application by flags. What no flag is about stays as it is. Of an application with several sources say which\n" +
			"is meant with --source-position or --source-name.",
		Example: "  towline app set shop --revision v2 --helm-set replicas=3\n" +
			"  towline app set shop --sync-policy automated --self-heal\n" +
			"  towline app set shop --source-position 2 --values '$values/prod.yaml'",
	})
	c.place(cmd)
	c.register(cmd, draft.Flags())
	cmd.Flags().BoolVar(&c.validate, "validate", true, "taken and not needed: what is stored is always looked at first")
	return cmd
}

func newUnset(env *Env, g *global) *cobra.Command {
	c := &changing{change: draft.Unset, did: "changed", validate: true}
	cmd := c.command(env, g, &cobra.Command{
		Use: "unset NAME", Short: "Take parts of an application's source away",
		Example: "  towline app unset shop -p replicas --values prod.yaml\n" +
			"  towline app unset shop --source-position 2 --kustomize-image web",
	})
	c.place(cmd)
	c.register(cmd, draft.UnsetFlags())
	return cmd
}

func newAddSource(env *Env, g *global) *cobra.Command {
	c := &changing{did: "has one more source", validate: true}
	c.change = func(spec *v1alpha1.ApplicationSpec, _ int, typed draft.Typed) error {
		return draft.AddSource(spec, typed)
	}
	cmd := c.command(env, g, &cobra.Command{
		Use: "add-source NAME", Short: "Add a source to an application",
		Example: "  towline app add-source shop --repo https://git.example.com/values.git --ref values",
	})
	var flags []draft.Flag
	for _, f := range draft.Flags() {
		if f.Source {
			flags = append(flags, f)
		}
	}
	c.register(cmd, flags)
	return cmd
}

func newRemoveSource(env *Env, g *global) *cobra.Command {
	c := &changing{did: "has one source less", validate: true}
	cmd := c.command(env, g, &cobra.Command{
		Use: "remove-source NAME", Short: "Take a source of several away",
		Example: "  towline app remove-source shop --source-position 2",
	})
	c.place(cmd)
	c.change = func(spec *v1alpha1.ApplicationSpec, at int, _ draft.Typed) error {
		if at == 0 {
			return usagef("say which source with --source-position or --source-name")
		}
		return draft.RemoveSource(spec, at)
	}
	return cmd
}

func (c *changing) command(env *Env, g *global, cmd *cobra.Command) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = exactlyOne, g.complete(env, false)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		typed, err := c.typed(env, cmd.Flags())
		if err != nil {
			return err
		}
		if len(typed) == 0 && len(c.table) > 0 {
			return usagef("%s: say what to change; %q shows the flags", cmd.CommandPath(), cmd.CommandPath()+" --help")
		}
		s, names, err := g.connect(cmd.Context(), env, args)
		if err != nil {
			return err
		}
		c.session = s
		return c.run(cmd.Context(), cmd.Flags(), names[0], typed)
	}
	return cmd
}

func (c *changing) run(ctx context.Context, f *pflag.FlagSet, name string, typed draft.Typed) error {
	if f.Changed("validate") && !c.validate {
		c.note("--validate=false has no effect: what is stored is always looked at first")
	}
	changed, err := c.declare(ctx, name, func(app *v1alpha1.Application) error {
		at, err := c.position(&app.Spec)
		if err != nil {
			return err
		}
		if err := c.change(&app.Spec, at, typed); err != nil {
			return usagef("application %q: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	did := c.did
	if !changed {
		did = "is so already"
	}
	fmt.Fprintf(c.env.Out, "application '%s' %s\n", clean(name), did)
	return nil
}
