package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/draft"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/wish"
)

type creating struct {
	*session
	drafting
	file, name          string
	labels, annotations []string
	finalizer, upsert   bool
	validate            bool
	output              output
}

func newCreate(env *Env, g *global) *cobra.Command {
	c := &creating{}
	cmd := &cobra.Command{
		Use:   "create [NAME]",
		Short: "Make an application, by flags or from a file",
		Long: "Make an application, by flags or from a file; flags count over what the file says. With --upsert one that is there\n" +
			"is made what you say, and without it one that is there and differs is left alone.",
		Example: "  towline app create shop --repo https://git.example.com/shop.git --path deploy \\\n" +
			"    --dest-server https://kubernetes.default.svc --dest-namespace shop --sync-policy automated --auto-prune\n" +
			"  towline app create shop --repo https://charts.example.com --helm-chart shop --revision 1.2.3 --helm-set replicas=2 \\\n" +
			"    --dest-name prod --dest-namespace shop\n" +
			"  towline app create -f shop.yaml --upsert",
		Args: arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.output.check(); err != nil {
				return err
			}
			apps, err := c.wanted(env, cmd, args)
			if err != nil {
				return err
			}
			names := make([]string, len(apps))
			for i, app := range apps {
				names[i] = app.Name
			}
			if c.session, _, err = g.connect(cmd.Context(), env, names); err != nil {
				return err
			}
			if !c.validate {
				c.note("--validate=false has no effect: what is stored is always looked at first")
			}
			for _, app := range apps {
				if err := c.create(cmd.Context(), app); err != nil {
					return err
				}
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	c.describedBy(cmd)
	f := cmd.Flags()
	f.BoolVar(&c.upsert, "upsert", false, "change an application of that name, if there is one")
	f.BoolVar(&c.validate, "validate", true, "taken and not needed: what is stored is always looked at first")
	c.output.register(cmd, outputJSON, outputYAML, outputWide)
	return cmd
}

// describedBy are the flags that say what an application is like.
func (c *creating) describedBy(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&c.file, "file", "f", "", "file with the Application, or its URL; - is the input")
	f.StringVar(&c.name, "name", "", "name of the application, where it is not an argument")
	f.StringArrayVarP(&c.labels, "label", "l", nil, "label of the application, as NAME=VALUE (may be repeated)")
	f.StringArrayVar(&c.annotations, "annotations", nil, "annotation of the application, as NAME=VALUE (may be repeated)")
	f.BoolVar(&c.finalizer, "set-finalizer", false, "have the objects deleted with the application")
	c.register(cmd, draft.Flags())
}

// wanted are the applications that the file and the flags describe.
func (c *creating) wanted(env *Env, cmd *cobra.Command, args []string) ([]*v1alpha1.Application, error) {
	name := c.name
	if len(args) == 1 {
		if name != "" && name != args[0] {
			return nil, usagef("the name is %q by the argument, and %q by --name", args[0], name)
		}
		name = args[0]
	}
	apps, err := env.applicationsOf(c.file)
	if err != nil {
		return nil, err
	}
	switch {
	case c.file == "" && name == "":
		return nil, usagef("name the application, or the file that it is in with -f")
	case c.file == "":
		apps = []*v1alpha1.Application{{}}
		apps[0].Name = name
	case name != "" && len(apps) > 1:
		return nil, usagef("%s holds %d Applications, so that the name %q is not clear", c.file, len(apps), name)
	case name != "" && apps[0].Name != "" && apps[0].Name != name:
		return nil, usagef("%s holds the application %q, and not %q", c.file, apps[0].Name, name)
	case name != "":
		apps[0].Name = name
	}
	typed, err := c.typed(env, cmd.Flags())
	if err != nil {
		return nil, err
	}
	for _, app := range apps {
		if err := c.describe(app, typed); err != nil {
			return nil, err
		}
	}
	return apps, nil
}

// applicationsOf are the Applications of a file; - is the input, and "" none.
func (e *Env) applicationsOf(file string) ([]*v1alpha1.Application, error) {
	if file == "" {
		return nil, nil
	}
	text, err := e.read(file)
	if err != nil {
		return nil, err
	}
	objects, err := manifest.Parse(file, text)
	if err != nil {
		return nil, err
	}
	var out []*v1alpha1.Application
	for _, u := range objects {
		if u.GroupVersionKind() != v1alpha1.GroupVersion().WithKind(v1alpha1.ApplicationKind) {
			return nil, usagef("%s holds %s %q, which is no Application (%s)", file, u.GetKind(), u.GetName(), v1alpha1.GroupVersion())
		}
		encoded, err := u.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		app := &v1alpha1.Application{}
		if err := yaml.UnmarshalStrict(encoded, app); err != nil {
			return nil, fmt.Errorf("reading Application %q of %s: %w", u.GetName(), file, err)
		}
		out = append(out, app)
	}
	if len(out) == 0 {
		return nil, usagef("%s holds no Application", file)
	}
	return out, nil
}

// describe makes an application what the flags say.
func (c *creating) describe(app *v1alpha1.Application, typed draft.Typed) error {
	if app.Name == "" {
		return usagef("an Application of %s has no metadata.name", c.file)
	}
	if err := draft.Change(&app.Spec, 0, typed); err != nil {
		return usagef("application %q: %w", app.Name, err)
	}
	labels, err := draft.Labels(c.labels)
	if err != nil {
		return usagef("--label: %w", err)
	}
	annotations, err := draft.Labels(c.annotations)
	if err != nil {
		return usagef("--annotations: %w", err)
	}
	if len(labels) > 0 && app.Labels == nil {
		app.Labels = map[string]string{}
	}
	if len(annotations) > 0 && app.Annotations == nil {
		app.Annotations = map[string]string{}
	}
	maps.Copy(app.Labels, labels)
	maps.Copy(app.Annotations, annotations)
	if c.finalizer && !slices.Contains(app.Finalizers, v1alpha1.FinalizerResources) {
		app.Finalizers = append(app.Finalizers, v1alpha1.FinalizerResources)
	}
	app.Spec.Project = app.ProjectName()
	app.APIVersion, app.Kind = v1alpha1.GroupVersion().String(), v1alpha1.ApplicationKind
	app.ResourceVersion, app.UID, app.ManagedFields, app.Status = "", "", nil, v1alpha1.ApplicationStatus{}
	return nil
}

// create makes an application, or makes one that is there what was declared.
func (c *creating) create(ctx context.Context, app *v1alpha1.Application) error {
	if err := c.settleNamespace(app); err != nil {
		return err
	}
	maker, ok := c.hub.(Maker)
	if !ok {
		return fmt.Errorf("making application %q: %s makes no applications", app.Name, c.flags.where())
	}
	before, err := c.hub.Application(ctx, app.Name)
	if err != nil && !apierrors.IsNotFound(err) && (c.flags.Remote == nil || !apierrors.IsForbidden(err)) {
		return c.explain(app.Name, err)
	}
	if err != nil {
		before = nil
	}
	var did string
	if c.flags.Remote == nil && before != nil {
		did, err = c.update(ctx, app)
	} else {
		did, err = c.make(ctx, maker, before, app)
	}
	if err != nil {
		return err
	}
	return c.tell(ctx, app.Name, did)
}

// make has an application made. A server changes one that is there by itself, if it is told to.
func (c *creating) make(ctx context.Context, maker Maker, before, app *v1alpha1.Application) (did string, err error) {
	if err := c.admit(ctx, app); err != nil {
		return "", err
	}
	made, err := maker.CreateApplication(ctx, app, c.upsert)
	switch {
	case err != nil:
		return "", c.explain(app.Name, err)
	case before == nil:
		return "created", nil
	case wish.Same(before, made):
		return "unchanged", nil
	}
	return "updated", nil
}

// settleNamespace puts an application where the flags say. A server knows its own namespace.
func (c *creating) settleNamespace(app *v1alpha1.Application) error {
	switch {
	case c.flags.Remote != nil && c.flags.AppNamespace == "":
		return nil
	case app.Namespace != "" && app.Namespace != c.flags.Apps():
		return usagef("application %q is declared for namespace %q; add -N %s, or take metadata.namespace out",
			app.Name, app.Namespace, app.Namespace)
	}
	app.Namespace = c.flags.Apps()
	return nil
}

// update makes an application of the cluster what was declared.
func (c *creating) update(ctx context.Context, app *v1alpha1.Application) (did string, err error) {
	a := amending[v1alpha1.Application]{session: c.session, thing: anApplication, objects: applications{c.session}}
	if !c.upsert {
		a.refusal = unlike(anApplication, app.Name, "towline app get ")
	}
	changed, err := a.amend(ctx, app.Name, func(now *v1alpha1.Application) error {
		wish.Add(now, app)
		return nil
	})
	if changed {
		return "updated", err
	}
	return "unchanged", err
}

func (c *creating) tell(ctx context.Context, name, did string) error {
	if !c.output.structured() {
		fmt.Fprintf(c.env.Out, "application '%s' %s\n", clean(name), did)
		return nil
	}
	app, err := c.hub.Application(ctx, name)
	if err != nil {
		return c.explain(name, err)
	}
	return c.output.encode(c.env.Out, exportable(app))
}
