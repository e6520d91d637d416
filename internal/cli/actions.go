package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/action"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/status"
	"github.com/towline-cd/towline/internal/core/wish"
	"github.com/towline-cd/towline/internal/engine"
)

// Actor shows, changes and deletes the live objects of an application, and lists and runs their actions.
type Actor interface {
	ActionsOf(ctx context.Context, app *v1alpha1.Application, k object.Key) ([]action.Action, error)
	RunAction(ctx context.Context, app *v1alpha1.Application, act engine.Act) (did []string, err error)
	Object(ctx context.Context, app *v1alpha1.Application, k object.Key) (*unstructured.Unstructured, error)
	PatchObject(ctx context.Context, app *v1alpha1.Application, k object.Key, p wish.Patch) (*unstructured.Unstructured, error)
	DeleteObject(ctx context.Context, app *v1alpha1.Application, k object.Key, how metav1.DeleteOptions) error
}

// acting is what both commands have in common: which objects they are about.
type acting struct {
	*session
	actor  Actor
	close  func()
	app    *v1alpha1.Application
	output output

	group, kind, name, namespace string
	// project is the one that the application must be in; empty is any.
	project string
}

func newActions(env *Env, g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "actions",
		Short: "List and run the actions of an application's objects",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknown(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	for _, sub := range []*cobra.Command{newActionsList(env, g), newActionsRun(env, g)} {
		sub.SilenceErrors, sub.SilenceUsage = true, true
		cmd.AddCommand(sub)
	}
	return cmd
}

func (c *acting) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.group, "group", "", "API group of the object")
	f.StringVar(&c.kind, "kind", "", "kind of the object")
	f.StringVar(&c.name, "resource-name", "", "name of the object")
	f.StringVar(&c.namespace, "resource-namespace", "",
		"namespace of the object (default: that of the application's destination); where a server is asked --namespace says it too")
	f.StringVar(&c.project, "project", "", "project that the application must be in")
}

// begin connects and reads the application.
func (c *acting) begin(cmd *cobra.Command, env *Env, g *global, name string) error {
	ctx := cmd.Context()
	s, names, err := g.connect(ctx, env, []string{name})
	if err != nil {
		return err
	}
	c.session = s
	if s.flags.Remote != nil && cmd.Flags().Changed("namespace") && c.namespace == "" {
		// A server knows its own namespace, and who types this for Argo CD means the object's.
		c.namespace = s.flags.Namespace
	}
	if c.app, err = s.hub.Application(ctx, names[0]); err != nil {
		return s.explain(names[0], err)
	}
	if c.project != "" && c.project != c.app.ProjectName() {
		return usagef("application %q is in project %q, and not in %q", c.app.Name, c.app.ProjectName(), c.project)
	}
	if c.actor, c.close, err = env.Actor(ctx, c.app, s.flags); err != nil {
		return fmt.Errorf("preparing actions: %w", err)
	}
	return nil
}

// objects are those of the application's status that the flags pick. An object
// that is named in full need not be among them: it may be a child of one.
func (c *acting) objects(cmd *cobra.Command) []object.Key {
	var out []object.Key
	for _, r := range c.app.Status.Resources {
		k := object.Key{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
		if (!cmd.Flags().Changed("group") || k.Group == c.group) && (c.kind == "" || strings.EqualFold(k.Kind, c.kind)) &&
			(c.name == "" || k.Name == c.name) && (c.namespace == "" || k.Namespace == c.namespace) {
			out = append(out, k)
		}
	}
	if len(out) == 0 && c.kind != "" && c.name != "" {
		namespace := c.namespace
		if namespace == "" {
			namespace = c.app.Spec.Destination.Namespace
		}
		out = append(out, object.Key{Group: c.group, Kind: c.kind, Namespace: namespace, Name: c.name})
	}
	return out
}

// actionDocument is one action of one object in the structured output.
type actionDocument struct {
	Object diffKey `json:"object"`
	action.Action
}

func newActionsList(env *Env, g *global) *cobra.Command {
	c := &acting{}
	cmd := &cobra.Command{
		Use:     "list NAME",
		Short:   "List what can be done with the objects of an application",
		Example: "  towline app actions list shop --kind Deployment",
		Args:    exactlyOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.output.check(); err != nil {
				return err
			}
			if err := c.begin(cmd, env, g, args[0]); err != nil {
				return err
			}
			defer c.close()
			return c.list(cmd)
		},
		ValidArgsFunction: g.complete(env, false),
	}
	c.register(cmd)
	c.output.register(cmd, outputJSON, outputYAML)
	return cmd
}

func (c *acting) list(cmd *cobra.Command) error {
	t := table{head: []string{"GROUP", "KIND", "NAMESPACE", "NAME", "ACTION", "DISABLED", "PARAMETERS"}, palette: c.out}
	documents := []actionDocument{}
	var problems []error
	if listed, all := status.Listed(c.app.Status); listed < all {
		c.note("the status lists %d of %d objects; one that is not among them has to be named with --kind and --resource-name", listed, all)
	}
	for _, k := range c.objects(cmd) {
		list, err := c.actor.ActionsOf(cmd.Context(), c.app, k)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		for _, a := range list {
			documents = append(documents, actionDocument{diffKey(k), a})
			var params []string
			for _, p := range a.Params {
				params = append(params, p.Name)
			}
			t.row(word(k.Group), word(k.Kind), word(k.Namespace), word(k.Name), word(a.Name),
				word(strconv.FormatBool(a.Disabled)), word(strings.Join(params, ",")))
		}
	}
	var err error
	if c.output.structured() {
		err = c.output.encode(c.env.Out, documents)
	} else {
		err = t.write(c.env.Out, true)
	}
	return errors.Join(append(problems, err)...)
}

func newActionsRun(env *Env, g *global) *cobra.Command {
	c := &acting{}
	var all bool
	var params []string
	cmd := &cobra.Command{
		Use:   "run NAME ACTION --kind KIND",
		Short: "Run an action on objects of an application",
		Long: "Run an action on an object of an application, or on all that match with --all.\n\n" +
			"The object must be one of the application's own, or below one, and the project must allow it.",
		Example: "  towline app actions run shop restart --kind Deployment --resource-name web\n" +
			"  towline app actions run shop scale --kind Deployment --resource-name web --param replicas=3",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("%q takes an application and an action, got %d arguments", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := pairs(params)
			if err != nil {
				return err
			}
			if c.kind == "" {
				return usagef("name the kind of the object with --kind")
			}
			if err := c.begin(cmd, env, g, args[0]); err != nil {
				return err
			}
			defer c.close()
			return c.act(cmd, engine.Act{Name: args[1], Params: given}, all)
		},
		ValidArgsFunction: g.complete(env, false),
	}
	c.register(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "run it on every object that matches")
	cmd.Flags().StringArrayVar(&params, "param", nil, "parameter of the action, as in replicas=3 (may be repeated)")
	return cmd
}

func pairs(params []string) (map[string]string, error) {
	out := map[string]string{}
	for _, p := range params {
		k, v, ok := strings.Cut(p, "=")
		if !ok || k == "" {
			return nil, usagef("--param is NAME=VALUE, not %q", p)
		}
		out[k] = v
	}
	return out, nil
}

func (c *acting) act(cmd *cobra.Command, act engine.Act, all bool) error {
	objects, err := c.chosen(cmd, all)
	if err != nil {
		return err
	}
	var problems []error
	for _, k := range objects {
		act.Object = k
		did, err := c.actor.RunAction(cmd.Context(), c.app, act)
		for _, what := range did {
			fmt.Fprintln(c.env.Out, clean(what))
		}
		if len(did) == 0 && err == nil {
			fmt.Fprintf(c.env.Out, "%s is so already\n", clean(k.String()))
		}
		problems = append(problems, c.explainObject(err))
	}
	return errors.Join(problems...)
}
