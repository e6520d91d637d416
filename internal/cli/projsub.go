package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// showing shows something of a project.
type showing func(c *projecting, p *v1alpha1.AppProject, args []string) error

// looking makes a command that shows something of a project.
func (g *global) looking(env *Env, cmd *cobra.Command, o *output, show showing) *cobra.Command {
	cmd.Args = arguments
	cmd.ValidArgsFunction = g.completeProject(env)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.check(); err != nil {
			return err
		}
		c, err := g.project(cmd.Context(), env)
		if err != nil {
			return err
		}
		p, err := c.get(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return show(c, p, args[1:])
	}
	return cmd
}

func newProjRole(env *Env, g *global) *cobra.Command {
	var description string
	create := &cobra.Command{Use: "create PROJECT ROLE-NAME", Short: "Create a role"}
	create.Flags().StringVar(&description, "description", "", "what the role is for")
	return family(env, &cobra.Command{
		Use: "role", Short: "See and change the roles of a project",
		Example: "  towline proj role create retail ci --description \"the pipeline\"\n" +
			"  towline proj role add-policy retail ci --action sync --object \"*\"",
	},
		newRoleList(env, g), newRoleGet(env, g),
		g.editing(env, create, simply(func(a []string) projEdit { return createRole(a[0], description) })),
		g.editing(env, &cobra.Command{Use: "delete PROJECT ROLE-NAME", Short: "Delete a role"},
			simply(func(a []string) projEdit { return deleteRole(a[0]) })),
		newPolicy(env, g, "add-policy", "Grant something to a role", addPolicy),
		newPolicy(env, g, "remove-policy", "Take from a role what was granted", removePolicy),
		g.editing(env, &cobra.Command{Use: "add-group PROJECT ROLE-NAME GROUP-CLAIM", Short: "Give a role to a group of people"},
			simply(func(a []string) projEdit { return addGroup(a[0], a[1]) })),
		g.editing(env, &cobra.Command{Use: "remove-group PROJECT ROLE-NAME GROUP-CLAIM", Short: "Take a role from a group"},
			simply(func(a []string) projEdit { return removeGroup(a[0], a[1]) })),
		newTokenCreate(env, g), newTokenList(env, g), newTokenDelete(env, g),
	)
}

func newPolicy(env *Env, g *global, name, short string, edit func(role string, l grant) projEdit) *cobra.Command {
	var l grant
	cmd := &cobra.Command{Use: name + " PROJECT ROLE-NAME", Short: short}
	f := cmd.Flags()
	f.StringVarP(&l.action, "action", "a", "", "what may be done, as in get, sync or update")
	f.StringVarP(&l.permission, "permission", "p", "allow", "allow or deny")
	f.StringVarP(&l.object, "object", "o", "", `on which objects of the project, as in web or "*"`)
	f.StringVarP(&l.resource, "resource", "r", "applications", "of which kind")
	fixed(cmd, "resource", grantable...)
	fixed(cmd, "permission", "allow", "deny")
	return g.editing(env, cmd, func(_ *cobra.Command, args []string) (projEdit, error) {
		return edit(args[0], l), l.check()
	})
}

func newRoleList(env *Env, g *global) *cobra.Command {
	var o output
	cmd := &cobra.Command{Use: "list PROJECT", Short: "List the roles of a project"}
	o.register(cmd, outputJSON, outputYAML, outputWide, outputName)
	return g.looking(env, cmd, &o, func(c *projecting, p *v1alpha1.AppProject, _ []string) error {
		t := &table{head: []string{"ROLE-NAME", "DESCRIPTION"}, palette: c.out}
		if o.form == outputWide {
			t.head = append(t.head, "POLICIES", "GROUPS", "TOKENS")
		}
		for i := range p.Spec.Roles {
			r := &p.Spec.Roles[i]
			row := []cell{word(r.Name), word(r.Description)}
			if o.form == outputWide {
				row = append(row, word(strconv.Itoa(len(r.Policies))), word(commaed(r.Groups)), word(strconv.Itoa(len(tokensOf(p, r)))))
			}
			t.row(row...)
		}
		switch {
		case o.structured():
			return o.encode(c.env.Out, orEmpty(p.Spec.Roles))
		case o.form == outputName:
			for _, r := range p.Spec.Roles {
				fmt.Fprintln(c.env.Out, clean(r.Name))
			}
			return nil
		case len(p.Spec.Roles) == 0:
			c.note("project %q has no roles", p.Name)
			return nil
		}
		return t.write(c.env.Out, true)
	})
}

func newRoleGet(env *Env, g *global) *cobra.Command {
	cmd := &cobra.Command{Use: "get PROJECT ROLE-NAME", Short: "Show a role: what it may do, and who has it"}
	return g.looking(env, cmd, &output{}, func(c *projecting, p *v1alpha1.AppProject, args []string) error {
		r, err := roleOf(p, args[0])
		if err != nil {
			return err
		}
		b := &block{palette: c.out, width: 15}
		b.field("Role Name", clean(r.Name))
		b.field("Description", clean(r.Description))
		b.fields("Policies", r.Policies)
		b.fields("Groups", r.Groups)
		if err := b.write(c.env.Out); err != nil {
			return err
		}
		if len(tokensOf(p, r)) == 0 {
			return nil
		}
		fmt.Fprintln(c.env.Out)
		return c.tokens(p, r, false)
	})
}

func newTokenList(env *Env, g *global) *cobra.Command {
	var unix bool
	cmd := &cobra.Command{
		Use: "list-tokens PROJECT ROLE-NAME", Aliases: []string{"list-token", "token-list"}, Short: "List the tokens of a role",
	}
	cmd.Flags().BoolVarP(&unix, "unixtime", "u", false, "show times as seconds since 1970, as delete-token takes them")
	return g.looking(env, cmd, &output{}, func(c *projecting, p *v1alpha1.AppProject, args []string) error {
		r, err := roleOf(p, args[0])
		if err != nil {
			return err
		}
		if len(tokensOf(p, r)) == 0 {
			c.note("role %q of project %q has no tokens", r.Name, p.Name)
			return nil
		}
		return c.tokens(p, r, unix)
	})
}

func (c *projecting) tokens(p *v1alpha1.AppProject, r *v1alpha1.ProjectRole, unix bool) error {
	when := func(seconds int64) string {
		switch {
		case seconds == 0:
			return "Never"
		case unix:
			return strconv.FormatInt(seconds, 10)
		}
		return time.Unix(seconds, 0).UTC().Format(time.RFC3339)
	}
	t := &table{head: []string{"ID", "ISSUED AT", "EXPIRES AT"}, palette: c.out}
	for _, k := range tokensOf(p, r) {
		t.row(word(orNothing(k.ID)), word(when(k.IssuedAt)), word(when(k.ExpiresAt)))
	}
	return t.write(c.env.Out, true)
}

func newProjWindows(env *Env, g *global) *cobra.Command {
	var added, changed windowFlags
	add := &cobra.Command{
		Use: "add PROJECT", Short: "Add a sync window",
		Example: "  towline proj windows add retail --kind deny --schedule \"0 22 * * *\" --duration 8h --applications \"*\" --manual-sync",
	}
	added.register(add, true)
	update := &cobra.Command{Use: "update PROJECT ID", Short: "Change a sync window"}
	changed.register(update, false)
	flip := func(use, short string, change func(*v1alpha1.SyncWindow)) *cobra.Command {
		return g.editing(env, &cobra.Command{Use: use + " PROJECT ID", Short: short},
			simply(func(a []string) projEdit { return updateWindow(a[0], change) }))
	}
	return family(env, &cobra.Command{
		Use: "windows", Short: "See and change the sync windows of a project",
		Long: "See and change the sync windows of a project. A window goes by its place in the list, which \"list\" shows.",
	},
		newWindowsList(env, g),
		g.editing(env, add, func(*cobra.Command, []string) (projEdit, error) {
			w, err := added.window()
			return addWindow(w), err
		}),
		g.editing(env, update, func(cmd *cobra.Command, args []string) (projEdit, error) {
			change, err := changed.change(cmd.Flags())
			return updateWindow(args[0], change), err
		}),
		g.editing(env, &cobra.Command{Use: "delete PROJECT ID", Short: "Delete a sync window"},
			simply(func(a []string) projEdit { return deleteWindow(a[0]) })),
		flip("enable-manual-sync", "Let people sync against a window", func(w *v1alpha1.SyncWindow) { w.ManualSync = true }),
		flip("disable-manual-sync", "Hold a window against people too", func(w *v1alpha1.SyncWindow) { w.ManualSync = false }),
		flip("enable-sync-overrun", "Let a sync go on that was allowed to begin", func(w *v1alpha1.SyncWindow) { w.SyncOverrun = true }),
		flip("disable-sync-overrun", "Stop a sync where a window does", func(w *v1alpha1.SyncWindow) { w.SyncOverrun = false }),
	)
}
