package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/wish"
)

func newProjCreate(env *Env, g *global) *cobra.Command {
	var flags projFlags
	var file string
	var upsert bool
	cmd := &cobra.Command{
		Use:   "create [PROJECT]",
		Short: "Create a project, by flags or from a file",
		Example: "  towline proj create retail -s https://git.example.com/shop.git -d https://kubernetes.default.svc,shop\n" +
			"  towline proj create -f retail.yaml",
		Args: arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			edit, _, err := flags.edit(cmd.Flags())
			if err != nil {
				return err
			}
			p, err := declared(env, file, args)
			if err != nil {
				return err
			}
			edit(&p.Spec)
			c, err := g.project(cmd.Context(), env)
			if err != nil {
				return err
			}
			return c.create(cmd.Context(), p, upsert)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags.register(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "file with the AppProject; - is the input")
	cmd.Flags().BoolVar(&upsert, "upsert", false, "change a project of that name, if there is one")
	return cmd
}

// declared is the project that a file or the arguments begin with.
func declared(env *Env, file string, args []string) (*v1alpha1.AppProject, error) {
	p := &v1alpha1.AppProject{}
	if file == "" {
		if len(args) == 0 {
			return nil, usagef("name the project, or the file that it is in with -f")
		}
		p.Name = args[0]
		return p, nil
	}
	text, err := env.read(file)
	if err != nil {
		return nil, err
	}
	if err := yaml.UnmarshalStrict(text, p); err != nil {
		return nil, fmt.Errorf("reading the AppProject of %s: %w", file, err)
	}
	switch {
	case p.Kind != "" && p.Kind != v1alpha1.AppProjectKind:
		return nil, usagef("%s holds a %s, and no AppProject", file, p.Kind)
	case p.Name == "":
		return nil, usagef("the AppProject of %s has no metadata.name", file)
	case len(args) == 1 && args[0] != p.Name:
		return nil, usagef("%s holds the project %q, and not %q", file, p.Name, args[0])
	}
	return p, nil
}

// read reads a file, or the input.
func (e *Env) read(file string) ([]byte, error) {
	switch {
	case file == "-":
		return io.ReadAll(e.In)
	case e.Fetch != nil && (strings.HasPrefix(file, "http://") || strings.HasPrefix(file, "https://")):
		return e.Fetch(file)
	case strings.HasPrefix(file, "http://"), strings.HasPrefix(file, "https://"):
		return nil, usagef("%q is not on this machine: fetch it yourself, as in `curl -fsSL %s | towline … -`", file, file)
	}
	return e.ReadFile(file)
}

func (c *projecting) create(ctx context.Context, p *v1alpha1.AppProject, upsert bool) error {
	p.APIVersion, p.Kind = v1alpha1.GroupVersion().String(), v1alpha1.AppProjectKind
	// A server knows its own namespace, and says whether another one will do.
	if c.flags.Remote == nil && p.Namespace != "" && p.Namespace != c.flags.Namespace {
		return usagef("project %q is declared for namespace %q; add -n %s, or take metadata.namespace out",
			p.Name, p.Namespace, p.Namespace)
	}
	if c.flags.Remote == nil {
		p.Namespace = c.flags.Namespace
	}
	p.ResourceVersion, p.UID, p.ManagedFields = "", "", nil
	p.Status = v1alpha1.AppProjectStatus{}
	_, err := c.projects.Create(ctx, p, false)
	switch {
	case err == nil:
		fmt.Fprintf(c.env.Out, "project %q created\n", p.Name)
		return nil
	case !apierrors.IsAlreadyExists(err):
		return c.explainOf(aProject, p.Name, err)
	}
	a := amending[v1alpha1.AppProject]{session: c.session, thing: aProject, objects: c.projects}
	if !upsert {
		a.refusal = unlike(aProject, p.Name, "towline proj get ")
	}
	// Labels and annotations of others stay.
	changed, err := a.amend(ctx, p.Name, func(now *v1alpha1.AppProject) error {
		declareMeta(&now.ObjectMeta, p.ObjectMeta)
		now.Spec = p.Spec
		return nil
	})
	if err != nil {
		return err
	}
	word := "is there already, as you say"
	if changed {
		word = "updated"
	}
	fmt.Fprintf(c.env.Out, "project %q %s\n", p.Name, word)
	return nil
}

// declareMeta adds what was declared to what there is.
func declareMeta(now *metav1.ObjectMeta, wanted metav1.ObjectMeta) {
	for k, v := range wanted.Labels {
		metav1.SetMetaDataLabel(now, k, v)
	}
	for k, v := range wanted.Annotations {
		metav1.SetMetaDataAnnotation(now, k, v)
	}
	if len(wanted.Finalizers) > 0 {
		now.Finalizers = wanted.Finalizers
	}
}

func newProjSet(env *Env, g *global) *cobra.Command {
	var flags projFlags
	cmd := &cobra.Command{
		Use: "set PROJECT", Short: "Set fields of a project",
		Long:    "Set fields of a project. A flag for a list replaces the whole list; the add- and remove- commands change one entry.",
		Example: "  towline proj set retail --description \"the shops\" --src https://git.example.com/shop.git",
	}
	flags.register(cmd)
	return g.editing(env, cmd, func(cmd *cobra.Command, _ []string) (projEdit, error) {
		edit, given, err := flags.edit(cmd.Flags())
		if err == nil && !given {
			err = usagef("say what to set, as in --description")
		}
		var names []string
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if cmd.LocalNonPersistentFlags().Lookup(f.Name) != nil {
				names = append(names, "--"+f.Name)
			}
		})
		return func(p *v1alpha1.AppProject) (string, error) {
			edit(&p.Spec)
			return "set by " + strings.Join(names, ", "), nil
		}, err
	})
}

func newProjDelete(env *Env, g *global) *cobra.Command {
	return &cobra.Command{
		Use: "delete PROJECT...", Aliases: []string{"rm"}, Short: "Delete projects that no application belongs to",
		Args: arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := g.project(cmd.Context(), env)
			if err != nil {
				return err
			}
			for _, name := range args {
				if err := c.remove(cmd.Context(), name); err != nil {
					return err
				}
			}
			return nil
		},
		ValidArgsFunction: g.completeProject(env),
	}
}

func (c *projecting) remove(ctx context.Context, name string) error {
	if name == v1alpha1.DefaultProjectName {
		return fmt.Errorf("project %q is what applications without one belong to, and cannot be deleted; "+
			"%q takes its rights away", name, "towline proj edit "+name)
	}
	p, err := c.get(ctx, name)
	if err != nil {
		return err
	}
	apps, err := c.hub.Applications(ctx, metav1.ListOptions{})
	if err != nil {
		return c.explain("", err)
	}
	var members []string
	for i := range apps.Items {
		if apps.Items[i].ProjectName() == name {
			members = append(members, apps.Items[i].Name)
		}
	}
	slices.Sort(members)
	if len(members) > 0 {
		return fmt.Errorf("project %q has %s: %s; delete them, or give them another spec.project", name,
			plural(len(members), "application"), some(members))
	}
	if err := c.projects.Delete(ctx, name, p.UID); err != nil {
		return c.explainOf(aProject, name, err)
	}
	fmt.Fprintf(c.env.Out, "project %q deleted\n", name)
	return nil
}

// some names the first of many.
func some(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func newProjEdit(env *Env, g *global) *cobra.Command {
	return &cobra.Command{
		Use: "edit PROJECT", Short: "Change a project in an editor",
		Long: "Change the spec of a project in the editor that $KUBE_EDITOR or $EDITOR names. Nothing is written if nothing is\n" +
			"changed; what cannot be read is shown again with the reason.",
		Args: arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := g.project(cmd.Context(), env)
			if err != nil {
				return err
			}
			return c.edit(cmd.Context(), args[0])
		},
		ValidArgsFunction: g.completeProject(env),
	}
}

func (c *projecting) edit(ctx context.Context, name string) error {
	p, err := c.get(ctx, name)
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(p.Spec)
	if err != nil {
		return fmt.Errorf("encoding project %q: %w", name, err)
	}
	spec, edited, err := c.typed(ctx, name, text)
	if err != nil {
		return err
	}
	patch, err := wish.Difference(p, func(p *v1alpha1.AppProject) error {
		p.Spec = spec
		return nil
	})
	if err != nil {
		return err
	}
	if patch == nil {
		fmt.Fprintf(c.env.Out, "project %q: nothing was changed\n", name)
		return nil
	}
	// Not again on what somebody else wrote meanwhile: nobody has seen the two
	// together.
	if _, err := c.projects.Patch(ctx, name, patch, false); err != nil {
		c.note("nothing was written; this is what you typed:")
		fmt.Fprintf(c.env.Err, "%s\n", edited)
		return c.explainOf(aProject, name, err)
	}
	fmt.Fprintf(c.env.Out, "project %q changed\n", name)
	return nil
}

// typed is the spec as the person leaves the editor. A text that cannot be read
// is shown again; leaving it as it was gives up.
func (c *projecting) typed(ctx context.Context, name string, text []byte) (v1alpha1.AppProjectSpec, []byte, error) {
	head := fmt.Sprintf("# The spec of project %q. Lines with # are left out; to give up, leave it as it is.\n", name)
	for {
		edited, err := c.env.Edit(ctx, "project-"+name+".yaml", append([]byte(head), text...))
		if err != nil {
			return v1alpha1.AppProjectSpec{}, nil, fmt.Errorf("editing project %q: %w", name, err)
		}
		edited = uncommented(edited)
		var spec v1alpha1.AppProjectSpec
		bad := yaml.UnmarshalStrict(edited, &spec)
		if bad == nil {
			return spec, edited, nil
		}
		if bytes.Equal(edited, text) {
			return spec, nil, fmt.Errorf("editing project %q: nothing was written: %w", name, bad)
		}
		text = edited
		head = fmt.Sprintf("# This cannot be read: %s\n# Mend it, or leave it as it is to give up.\n", clean(bad.Error()))
	}
}

func uncommented(text []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(line, []byte("#")) {
			out.Write(line)
		}
	}
	return out.Bytes()
}
