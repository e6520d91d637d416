package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// NewProj makes the command "proj" with everything below it.
func NewProj(env *Env) *cobra.Command {
	g := &global{}
	members := []*cobra.Command{
		newProjList(env, g), newProjGet(env, g), newProjCreate(env, g), newProjSet(env, g), newProjEdit(env, g), newProjDelete(env, g),
		newProjRole(env, g), newProjWindows(env, g),
		refusing("source-integrity",
			"\"towline proj edit\" changes spec.sourceIntegrity, and \"add-signature-key\" has one rule for all repositories"),
	}
	cmd := family(env, &cobra.Command{
		Use:   "proj",
		Short: "See and change projects",
		Long: "See and change projects: what their applications may use, who may do what with them, and when they may be synced.\n\n" +
			"A change is written at once and takes effect with the next look at each application. What Git declares belongs\n" +
			"into Git: a sync would undo a change that was made here.",
		Aliases: []string{"project", "projects"},
	}, append(members, projLists(env, g)...)...)
	g.register(cmd, env)
	return cmd
}

// projecting is a command about projects under way.
type projecting struct {
	*session
	projects AppProjects
}

func (g *global) project(ctx context.Context, env *Env) (*projecting, error) {
	s, _, err := g.connect(ctx, env, nil)
	if err != nil {
		return nil, err
	}
	projects, err := env.AppProjects(ctx, s.flags)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	return &projecting{session: s, projects: projects}, nil
}

func (g *global) completeProject(env *Env) cobra.CompletionFunc {
	return g.completing(env, false, projectNames(env))
}

// get reads one project.
func (c *projecting) get(ctx context.Context, name string) (*v1alpha1.AppProject, error) {
	p, err := c.projects.Get(ctx, name)
	return p, c.explainOf(aProject, name, err)
}

// apply carries out an edit and tells what it did.
func (c *projecting) apply(ctx context.Context, name string, edit projEdit) error {
	var said string
	a := amending[v1alpha1.AppProject]{session: c.session, thing: aProject, objects: c.projects}
	changed, err := a.amend(ctx, name, func(p *v1alpha1.AppProject) (err error) {
		said, err = edit(p)
		return err
	})
	if err != nil {
		return err
	}
	if !changed {
		said += "; nothing was changed"
	}
	fmt.Fprintf(c.env.Out, "project %q: %s\n", name, clean(said))
	return nil
}

// editing makes a command that edits a project, which its first argument
// names.
func (g *global) editing(env *Env, cmd *cobra.Command, edit func(cmd *cobra.Command, args []string) (projEdit, error)) *cobra.Command {
	cmd.Args = arguments
	cmd.ValidArgsFunction = g.completeProject(env)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		e, err := edit(cmd, args[1:])
		if err != nil {
			return err
		}
		c, err := g.project(cmd.Context(), env)
		if err != nil {
			return err
		}
		return c.apply(cmd.Context(), args[0], e)
	}
	return cmd
}

// simply is an edit by the arguments alone.
func simply(edit func(args []string) projEdit) func(*cobra.Command, []string) (projEdit, error) {
	return func(_ *cobra.Command, args []string) (projEdit, error) { return edit(args), nil }
}

// projLists are the commands that add to the lists of a project, or take away.
func projLists(env *Env, g *global) []*cobra.Command {
	list := func(use, short string, edit func(args []string) projEdit) *cobra.Command {
		return g.editing(env, &cobra.Command{Use: use, Short: short}, simply(edit))
	}
	return append([]*cobra.Command{
		list("add-source PROJECT URL", "Allow a repository", func(a []string) projEdit { return addSource(a[0]) }),
		list("remove-source PROJECT URL", "Take a repository off the list", func(a []string) projEdit { return removeSource(a[0]) }),
		list("add-source-namespace PROJECT NAMESPACE", "Allow applications to be declared in a namespace",
			func(a []string) projEdit { return addSourceNamespace(a[0]) }),
		list("remove-source-namespace PROJECT NAMESPACE", "Take a namespace off that list",
			func(a []string) projEdit { return removeSourceNamespace(a[0]) }),
		list("remove-destination PROJECT SERVER|NAME NAMESPACE", "Take a destination off the list",
			func(a []string) projEdit { return removeDestination(a[0], a[1]) }),
		newAddDestination(env, g), newDestinationAccount(env, g, true), newDestinationAccount(env, g, false),
		newOrphanedIgnore(env, g, true), newOrphanedIgnore(env, g, false),
		newSignatureKey(env, g, true), newSignatureKey(env, g, false),
	}, newKinds(env, g)...)
}

func newAddDestination(env *Env, g *global) *cobra.Command {
	var byName bool
	cmd := &cobra.Command{
		Use:   "add-destination PROJECT SERVER|NAME NAMESPACE",
		Short: "Allow a cluster and a namespace",
		Example: "  towline proj add-destination retail https://10.0.0.1:6443 shop-*\n" +
			"  towline proj add-destination retail prod shop --name",
	}
	cmd.Flags().BoolVar(&byName, "name", false, "the cluster is given by its name and not by its server")
	return g.editing(env, cmd, simply(func(args []string) projEdit {
		d := v1alpha1.ApplicationDestination{Server: args[0], Namespace: args[1]}
		if byName {
			d.Name, d.Server = d.Server, ""
		}
		return addDestination(d)
	}))
}

func newDestinationAccount(env *Env, g *global, add bool) *cobra.Command {
	var namespace string
	cmd := &cobra.Command{
		Use:   "add-destination-service-account PROJECT SERVER NAMESPACE SERVICE_ACCOUNT",
		Short: "Say as which service account a destination is synced",
	}
	edit := addDestinationAccount
	if !add {
		cmd.Use = "remove-destination-service-account PROJECT SERVER NAMESPACE SERVICE_ACCOUNT"
		cmd.Short = "Take a service account off that list"
		edit = removeDestinationAccount
	}
	cmd.Flags().StringVar(&namespace, "service-account-namespace", "",
		"namespace of the service account (default: that of the destination)")
	return g.editing(env, cmd, simply(func(args []string) projEdit {
		account := args[2]
		if namespace != "" {
			account = namespace + ":" + account
		}
		return edit(v1alpha1.ApplicationDestinationServiceAccount{Server: args[0], Namespace: args[1], DefaultServiceAccount: account})
	}))
}

func newOrphanedIgnore(env *Env, g *global, add bool) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use: "add-orphaned-ignore PROJECT GROUP KIND", Short: "Ignore a kind among objects that no application owns",
		Example: `  towline proj add-orphaned-ignore retail "" ConfigMap --name "*.v1"`,
	}
	edit := addOrphanedIgnore
	if !add {
		cmd.Use, cmd.Short, cmd.Example = "remove-orphaned-ignore PROJECT GROUP KIND", "Take a kind off that list", ""
		edit = removeOrphanedIgnore
	}
	cmd.Flags().StringVar(&name, "name", "", "only objects of this name, as in kube-*")
	return g.editing(env, cmd, simply(func(args []string) projEdit {
		return edit(v1alpha1.OrphanedResourceKey{Group: args[0], Kind: args[1], Name: name})
	}))
}

func newSignatureKey(env *Env, g *global, add bool) *cobra.Command {
	cmd := &cobra.Command{Use: "add-signature-key PROJECT KEY-ID", Short: "Take commits that a key signed"}
	edit := addSignatureKey
	if !add {
		cmd.Use, cmd.Short = "remove-signature-key PROJECT KEY-ID", "Take a key off that list"
		edit = removeSignatureKey
	}
	return g.editing(env, cmd, func(_ *cobra.Command, args []string) (projEdit, error) {
		if add {
			if err := checkKey(args[0]); err != nil {
				return nil, err
			}
		}
		return edit(args[0]), nil
	})
}

// newKinds are the four commands for the four lists of kinds.
func newKinds(env *Env, g *global) []*cobra.Command {
	var out []*cobra.Command
	for _, c := range []struct {
		use, short        string
		allow, namespaced bool
	}{
		{"allow-cluster-resource PROJECT GROUP KIND [NAME]", "Allow a kind that is in no namespace", true, false},
		{"deny-cluster-resource PROJECT GROUP KIND [NAME]", "Allow such a kind no more, or deny it", false, false},
		{"allow-namespace-resource PROJECT GROUP KIND", "Deny a kind no more, or allow it", true, true},
		{"deny-namespace-resource PROJECT GROUP KIND", "Deny a kind that is in namespaces", false, true},
	} {
		standard := "allow"
		if c.namespaced {
			standard = "deny"
		}
		var which string
		cmd := &cobra.Command{Use: c.use, Short: c.short}
		cmd.Flags().StringVarP(&which, "list", "l", standard, "the list to change: allow or deny")
		fixed(cmd, "list", "allow", "deny")
		out = append(out, g.editing(env, cmd, func(_ *cobra.Command, args []string) (projEdit, error) {
			l := kindList{namespaced: c.namespaced}
			switch which {
			case "allow", "white":
			case "deny", "black":
				l.denied = true
			default:
				return nil, usagef("--list is allow or deny, not %q", which)
			}
			r := v1alpha1.ClusterResourceRestriction{Group: args[0], Kind: args[1]}
			if len(args) > 2 {
				r.Name = args[2]
			}
			// To allow is to add to the one list and to take from the other.
			if c.allow != l.denied {
				return addKind(l, r), nil
			}
			return removeKind(l, r), nil
		}))
	}
	return out
}
