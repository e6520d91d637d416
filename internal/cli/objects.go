package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/status"
	"github.com/towline-cd/towline/internal/core/wish"
)

// handling is a command about live objects of an application.
type handling struct {
	acting
	all bool
}

// command makes one that does something with each object that the flags pick.
func (c *handling) command(env *Env, g *global, cmd *cobra.Command, do func(ctx context.Context, k object.Key) error) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = exactlyOne, g.complete(env, false)
	check := cmd.PreRunE
	cmd.PreRunE = nil
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if check != nil {
			if err := check(cmd, args); err != nil {
				return err
			}
		}
		if c.kind == "" {
			return usagef("name the kind of the object with --kind")
		}
		if err := c.begin(cmd, env, g, args[0]); err != nil {
			return err
		}
		defer c.close()
		objects, err := c.chosen(cmd, c.all)
		if err != nil {
			return err
		}
		var problems []error
		for _, k := range objects {
			problems = append(problems, c.explainObject(do(cmd.Context(), k)))
		}
		return errors.Join(problems...)
	}
	c.register(cmd)
	return cmd
}

// explainObject says what a failed request about an object means. One that is not there is not its application.
func (c *acting) explainObject(err error) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("application %q: %w", c.app.Name, err)
	}
	return c.explain(c.app.Name, err)
}

// chosen are the objects that the flags pick, which are several only if that was said.
func (c *acting) chosen(cmd *cobra.Command, all bool) ([]object.Key, error) {
	objects := c.objects(cmd)
	switch listed, have := status.Listed(c.app.Status); {
	case all && listed < have:
		return nil, usagef("the status of application %q lists %d of %d objects, so it is not known which match; "+
			"name each with --resource-name", c.app.Name, listed, have)
	case len(objects) == 0:
		return nil, fmt.Errorf("application %q has no such object; %q shows those that it has",
			c.app.Name, "towline app resources "+c.app.Name)
	case len(objects) > 1 && !all:
		return nil, usagef("%d objects match; name one with --resource-name, or take all with --all", len(objects))
	}
	return objects, nil
}

func newPatchResource(env *Env, g *global) *cobra.Command {
	c := &handling{}
	var text, kind string
	var patch wish.Patch
	cmd := c.command(env, g, &cobra.Command{
		Use: "patch-resource NAME --kind KIND", Short: "Change a live object of an application by a patch",
		Long: "Change a live object of an application by a patch. Where the application heals itself what Git says comes back.",
		Example: "  towline app patch-resource shop --kind Deployment --resource-name web \\\n" +
			"    --patch '{\"spec\": {\"replicas\": 3}}'",
		PreRunE: func(*cobra.Command, []string) (err error) {
			patch, err = objectPatch(text, kind)
			return err
		},
	}, func(ctx context.Context, k object.Key) error {
		if _, err := c.actor.PatchObject(ctx, c.app, k, patch); err != nil {
			return err
		}
		fmt.Fprintf(c.env.Out, "%s patched\n", clean(k.String()))
		return nil
	})
	cmd.Flags().StringVar(&text, "patch", "", "the patch, as JSON")
	cmd.Flags().StringVar(&kind, "patch-type", string(types.MergePatchType), "what it is: "+string(types.MergePatchType)+" or "+
		string(types.JSONPatchType))
	cmd.Flags().BoolVar(&c.all, "all", false, "patch every object that matches")
	fixed(cmd, "patch-type", string(types.MergePatchType), string(types.JSONPatchType))
	return cmd
}

func objectPatch(text, kind string) (wish.Patch, error) {
	p := wish.Patch{Text: []byte(text)}
	switch {
	case text == "":
		return p, usagef("say what to change with --patch")
	case kind == string(types.MergePatchType), kind == patchMerge:
	case kind == string(types.JSONPatchType), kind == patchJSON:
		p.JSON = true
	case kind == string(types.StrategicMergePatchType):
		return p, usagef("--patch-type %s is not taken: it means another thing for each kind; write the lists as they shall be with %s",
			kind, types.MergePatchType)
	default:
		return p, usagef("--patch-type is %s or %s, not %q", types.MergePatchType, types.JSONPatchType, kind)
	}
	if !json.Valid(p.Text) {
		return p, usagef("--patch is no JSON")
	}
	return p, nil
}

func newDeleteResource(env *Env, g *global) *cobra.Command {
	c := &handling{}
	var force, orphan bool
	cmd := c.command(env, g, &cobra.Command{
		Use: "delete-resource NAME --kind KIND", Short: "Delete a live object of an application",
		Long:    "Delete a live object of an application. Where the application heals itself what Git says comes back.",
		Example: "  towline app delete-resource shop --kind Pod --resource-name web-7d5c-x2x9f",
	}, func(ctx context.Context, k object.Key) error {
		if err := c.actor.DeleteObject(ctx, c.app, k, deletion(force, orphan)); err != nil {
			return err
		}
		fmt.Fprintf(c.env.Out, "%s deleted\n", clean(k.String()))
		return nil
	})
	f := cmd.Flags()
	f.BoolVar(&force, "force", false, "give it no time to end")
	f.BoolVar(&orphan, "orphan", false, "leave what it owns")
	f.BoolVar(&c.all, "all", false, "delete every object that matches")
	return cmd
}

func deletion(force, orphan bool) metav1.DeleteOptions {
	how := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}
	if force {
		how.PropagationPolicy, how.GracePeriodSeconds = new(metav1.DeletePropagationBackground), new(int64(0))
	}
	if orphan {
		how.PropagationPolicy = new(metav1.DeletePropagationOrphan)
	}
	return how
}

func newGetResource(env *Env, g *global) *cobra.Command {
	c := &handling{all: true}
	var fields []string
	var managed bool
	var found []*unstructured.Unstructured
	cmd := c.command(env, g, &cobra.Command{
		Use: "get-resource NAME --kind KIND", Short: "Show a live object of an application",
		Long: "Show live objects of an application, as YAML, or of --filter-fields a line each. The values of Secrets are masked.",
		Example: "  towline app get-resource shop --kind Deployment --resource-name web\n" +
			"  towline app get-resource shop --kind Pod --filter-fields status.podIP,status.phase",
		PreRunE: func(*cobra.Command, []string) error { return c.output.check() },
	}, func(ctx context.Context, k object.Key) error {
		u, err := c.actor.Object(ctx, c.app, k)
		if err != nil {
			return err
		}
		u = object.Redact(u)
		if !managed {
			u.SetManagedFields(nil)
		}
		found = append(found, u)
		return nil
	})
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if len(found) == 0 {
			return err
		}
		return errors.Join(err, c.showObjects(found, fields))
	}
	f := cmd.Flags()
	f.StringSliceVar(&fields, "filter-fields", nil, "only these fields, as in status.podIP,status.phase")
	f.BoolVar(&managed, "show-managed-fields", false, "also show who set which field")
	c.output.register(cmd, outputJSON, outputYAML, outputWide)
	return cmd
}

// showObjects prints objects, or some fields of them.
func (c *handling) showObjects(found []*unstructured.Unstructured, fields []string) error {
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int {
		return strings.Compare(object.KeyOf(a).String(), object.KeyOf(b).String())
	})
	if c.output.form == outputWide || c.output.form == "" && len(fields) > 0 {
		return c.showFields(found, fields)
	}
	o := c.output
	if o.form == "" {
		o.form = outputYAML
	}
	for i, u := range found {
		v := u.Object
		if len(fields) > 0 {
			v = map[string]any{}
			for _, path := range fields {
				if value, ok := fieldOf(u, path); ok {
					v[path] = value
				}
			}
		}
		write := o.encode
		if i > 0 || o.form == outputJSON && len(found) > 1 {
			write = o.stream
		}
		if err := write(c.env.Out, v); err != nil {
			return err
		}
	}
	return nil
}

func (c *handling) showFields(found []*unstructured.Unstructured, fields []string) error {
	t := &table{palette: c.out, head: append([]string{"RESOURCE NAME"}, each(fields, strings.ToUpper)...)}
	if len(fields) == 0 {
		t.head = []string{"RESOURCE NAME", "KIND", "NAMESPACE", "CREATED"}
	}
	for _, u := range found {
		row := []cell{word(u.GetName())}
		if len(fields) == 0 {
			created := u.GetCreationTimestamp()
			row = append(row, word(u.GetKind()), word(u.GetNamespace()), word(age(c.env.Now(), &created)+" ago"))
		}
		for _, path := range fields {
			value, _ := fieldOf(u, path)
			row = append(row, word(orNothing(clean(shown(value)))))
		}
		t.row(row...)
	}
	return t.write(c.env.Out, true)
}

// fieldOf is a field by its path with dots.
func fieldOf(u *unstructured.Unstructured, path string) (any, bool) {
	value, found, err := unstructured.NestedFieldNoCopy(u.Object, strings.Split(strings.TrimPrefix(path, "."), ".")...)
	return value, found && err == nil
}

func shown(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
