package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/internal/core/repository"
)

// NewRepoCreds makes the command "repocreds" with everything below it.
func NewRepoCreds(env *Env) *cobra.Command {
	g := &global{}
	cmd := family(env, &cobra.Command{
		Use:   "repocreds",
		Short: "See, add and remove logins for many repositories",
		Long: "See, add and remove logins for all repositories whose addresses begin alike. One secret stands for each; a login is\n" +
			"never shown.",
	}, newTemplates(env, g, false), newTemplates(env, g, true), newRepoAdd(env, g, true), newRepoRemove(env, g, true))
	g.register(cmd, env)
	return cmd
}

// newTemplates makes "list", and "get" of one.
func newTemplates(env *Env, g *global, one bool) *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the logins for many repositories", Args: arguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			c, err := g.entries(cmd.Context(), env)
			if err != nil {
				return err
			}
			return c.templates(cmd.Context(), args, o)
		},
	}
	if one {
		cmd.Use, cmd.Aliases, cmd.Short = "get URL", nil, "Show a login for many repositories"
	}
	o.register(cmd, outputJSON, outputYAML, outputWide, outputURL)
	return cmd
}

func (c *repoWork) templates(ctx context.Context, only []string, o output) error {
	all, err := c.book.Templates(ctx)
	if err != nil {
		return c.explainOf(aRepository, "", err)
	}
	if len(only) > 0 {
		var found []repository.Template
		for _, t := range all {
			if repository.Same(t.URL, only[0]) {
				found = append(found, t)
			}
		}
		if len(found) == 0 {
			return fmt.Errorf("there is no login for %q; %q shows those that there are", only[0], "towline repocreds list")
		}
		all = found
	}
	switch {
	case o.structured() && len(only) > 0 && len(all) == 1:
		return o.encode(c.env.Out, all[0])
	case o.structured():
		return o.encode(c.env.Out, orEmpty(all))
	case o.form == outputURL:
		for _, t := range all {
			fmt.Fprintln(c.env.Out, clean(t.URL))
		}
		return nil
	case len(all) == 0:
		c.note("no logins for many repositories are known")
		return nil
	}
	t := &table{head: []string{"URL PATTERN", "TYPE", "LOGIN", "OCI", "PROJECT"}, palette: c.out}
	if o.form == outputWide {
		t.head = append(t.head, "PROXY")
	}
	for _, e := range all {
		row := []cell{word(e.URL), word(e.Type), word(orNothing(e.Login)), word(strconv.FormatBool(e.EnableOCI)), word(e.Project)}
		if o.form == outputWide {
			row = append(row, word(orNothing(e.Proxy)))
		}
		t.row(row...)
	}
	return t.write(c.env.Out, true)
}
