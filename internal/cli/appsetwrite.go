package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// setsOf are the ApplicationSets of a file; - is the input.
func (e *Env) setsOf(file string) ([]*v1alpha1.ApplicationSet, error) {
	text, err := e.read(file)
	if err != nil {
		return nil, err
	}
	objects, err := manifest.Parse(file, text)
	if err != nil {
		return nil, err
	}
	var out []*v1alpha1.ApplicationSet
	for _, u := range objects {
		if u.GroupVersionKind() != v1alpha1.GroupVersion().WithKind(v1alpha1.ApplicationSetKind) {
			return nil, usagef("%s holds %s %q, which is no ApplicationSet (%s)", file, u.GetKind(), u.GetName(), v1alpha1.GroupVersion())
		}
		encoded, err := u.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		s := &v1alpha1.ApplicationSet{}
		if err := yaml.UnmarshalStrict(encoded, s); err != nil {
			return nil, fmt.Errorf("reading ApplicationSet %q of %s: %w", u.GetName(), file, err)
		}
		if s.Name == "" {
			return nil, usagef("an ApplicationSet of %s has no metadata.name", file)
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, usagef("%s holds no ApplicationSet", file)
	}
	return out, nil
}

func newSetCreate(env *Env, g *global) *cobra.Command {
	var o output
	var upsert, dryRun bool
	cmd := &cobra.Command{
		Use:   "create FILE...",
		Short: "Create ApplicationSets from files",
		Long: "Create ApplicationSets from files; - is the input. With --dry-run the server is asked whether it would take them,\n" +
			"and the applications that they stand for are shown; nothing is written.",
		Example: "  towline appset create shops.yaml --upsert\n  towline appset create shops.yaml --dry-run",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			var sets []*v1alpha1.ApplicationSet
			for _, file := range args {
				some, err := env.setsOf(file)
				if err != nil {
					return err
				}
				sets = append(sets, some...)
			}
			c, _, err := g.sets(cmd.Context(), env, nil)
			if err != nil {
				return err
			}
			for _, s := range sets {
				if err := c.create(cmd.Context(), s, upsert, dryRun); err != nil {
					return err
				}
			}
			if !dryRun {
				return nil
			}
			return c.preview(cmd.Context(), sets, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&upsert, "upsert", false, "change a set of that name, if there is one")
	f.BoolVar(&dryRun, "dry-run", false, "write nothing, and show the applications that there would be")
	o.register(cmd, outputJSON, outputYAML, outputWide, outputName)
	return cmd
}

// create makes a set, or makes one that is there what was declared.
func (c *setWork) create(ctx context.Context, s *v1alpha1.ApplicationSet, upsert, dryRun bool) error {
	// A server knows its own namespace.
	known := c.flags.Remote == nil || c.flags.AppNamespace != ""
	if known && s.Namespace != "" && s.Namespace != c.flags.Apps() {
		return usagef("ApplicationSet %q is declared for namespace %q; add -N %s, or take metadata.namespace out",
			s.Name, s.Namespace, s.Namespace)
	}
	if known {
		s.Namespace = c.flags.Apps()
	}
	s.ResourceVersion, s.UID, s.ManagedFields = "", "", nil
	s.Status = v1alpha1.ApplicationSetStatus{}
	did := "created"
	_, err := c.sets.Create(ctx, s, dryRun)
	if apierrors.IsAlreadyExists(err) {
		did, err = c.update(ctx, s, upsert, dryRun)
	} else {
		err = c.explainOf(aSet, s.Name, err)
	}
	if err != nil {
		return err
	}
	if dryRun {
		c.note("ApplicationSet %q would be %s", s.Name, did)
		return nil
	}
	fmt.Fprintf(c.env.Out, "ApplicationSet '%s' %s\n", clean(s.Name), did)
	return nil
}

func (c *setWork) update(ctx context.Context, s *v1alpha1.ApplicationSet, upsert, dryRun bool) (did string, err error) {
	a := amending[v1alpha1.ApplicationSet]{session: c.session, thing: aSet, objects: c.sets, dryRun: dryRun}
	if !upsert {
		a.refusal = unlike(aSet, s.Name, "towline appset get ")
	}
	changed, err := a.amend(ctx, s.Name, func(now *v1alpha1.ApplicationSet) error {
		declareMeta(&now.ObjectMeta, s.ObjectMeta)
		now.Spec = s.Spec
		return nil
	})
	if changed {
		return "updated", err
	}
	return "unchanged", err
}

// unlike refuses to change what is there unasked.
func unlike(t thing, name, shows string) error {
	return fmt.Errorf("%s %q is there already and is not as you say; --upsert changes it, and %q shows it", t.one, name, shows+name)
}

func newSetGenerate(env *Env, g *global) *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use:   "generate FILE",
		Short: "Show the applications that an ApplicationSet in a file stands for",
		Long: "Show the applications that an ApplicationSet in a file stands for now: the clusters are those of the hub, and\n" +
			"repositories are read with the credentials of the installation. Nothing is written.",
		Example: "  towline appset generate shops.yaml -o yaml",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			sets, err := env.setsOf(args[0])
			if err != nil {
				return err
			}
			c, _, err := g.sets(cmd.Context(), env, nil)
			if err != nil {
				return err
			}
			return c.preview(cmd.Context(), sets, o)
		},
	}
	o.register(cmd, outputJSON, outputYAML, outputWide, outputName)
	return cmd
}

// preview shows what sets stand for.
func (c *setWork) preview(ctx context.Context, sets []*v1alpha1.ApplicationSet, o output) error {
	generator, err := c.env.Generator(ctx, c.flags)
	if err != nil {
		return err
	}
	apps := []*v1alpha1.Application{}
	bad := 0
	for _, s := range sets {
		s.Namespace = c.flags.Apps()
		some, problems, err := generator.Generate(ctx, s)
		if err != nil {
			return fmt.Errorf("generating the applications of ApplicationSet %q: %w", s.Name, err)
		}
		for _, p := range problems {
			c.note("left out: application %q of ApplicationSet %q: %s", p.Name, s.Name, p.Message)
		}
		bad += len(problems)
		apps = append(apps, some...)
	}
	if err := c.previewed(apps, o); err != nil {
		return err
	}
	if bad > 0 {
		return errors.New(plural(bad, "application") + " cannot be made, as told above")
	}
	return nil
}

func (c *setWork) previewed(apps []*v1alpha1.Application, o output) error {
	switch {
	case o.form == outputJSON:
		return o.encode(c.env.Out, each(apps, exportable))
	case o.form == outputYAML:
		for _, a := range apps {
			if err := o.stream(c.env.Out, exportable(a)); err != nil {
				return err
			}
		}
		return nil
	case o.form == outputName:
		for _, a := range apps {
			fmt.Fprintln(c.env.Out, clean(qualified(a)))
		}
		return nil
	case len(apps) == 0:
		c.note("there would be no applications")
		return nil
	}
	t := &table{head: []string{"NAME", "PROJECT", "DESTINATION", "POLICY", "REPO", "PATH", "TARGET"}, palette: c.out}
	for _, a := range apps {
		t.row(word(a.Name), word(a.ProjectName()), word(orNothing(destination(a.Spec.Destination))), word(syncPolicy(a)),
			word(orNothing(repos(a))), word(orNothing(paths(a))), word(orNothing(targets(a))))
	}
	return t.write(c.env.Out, true)
}

func newSetDelete(env *Env, g *global) *cobra.Command {
	var yes, wait bool
	var timeout uint
	cmd := &cobra.Command{
		Use: "delete NAME...", Aliases: []string{"rm"}, Short: "Delete ApplicationSets and their applications",
		Example: "  towline appset delete shops --wait",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, names, err := g.sets(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			return c.delete(cmd.Context(), names, yes, seconds(timeout), wait)
		},
		ValidArgsFunction: g.completeSet(env, true),
	}
	f := cmd.Flags()
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.BoolVar(&wait, "wait", false, "wait until the sets and their applications are gone")
	f.UintVar(&timeout, "timeout", 0, "with --wait, how many seconds; 0 is no limit")
	return cmd
}

func (c *setWork) delete(ctx context.Context, names []string, yes bool, timeout seconds, wait bool) error {
	sets := make([]*v1alpha1.ApplicationSet, 0, len(names))
	var apps []string
	for _, n := range names {
		s, err := c.get(ctx, n)
		if err != nil {
			return err
		}
		children, err := c.children(ctx, s)
		if err != nil {
			return err
		}
		c.note("%s", setConsequence(s, len(children)))
		sets = append(sets, s)
		if !keepsApplications(s) {
			apps = append(apps, each(children, func(a v1alpha1.Application) string { return a.Name })...)
		}
	}
	if err := c.agree(yes, "deleting ApplicationSet "+quoted(names, ", ")); err != nil {
		return err
	}
	for _, s := range sets {
		if err := c.sets.Delete(ctx, s.Name, s.UID); err != nil && !apierrors.IsNotFound(err) {
			return c.explainOf(aSet, s.Name, err)
		}
		c.note("asked for the deletion of ApplicationSet %q", s.Name)
	}
	if !wait {
		return nil
	}
	limited, cancel := timeout.limit(ctx)
	defer cancel()
	for _, s := range sets {
		if err := c.sets.Gone(limited, s.Name); err != nil {
			return fmt.Errorf("waiting for ApplicationSet %q to be gone: %w", s.Name, err)
		}
		c.note("ApplicationSet %q is gone", s.Name)
	}
	if len(apps) == 0 {
		return nil
	}
	w := &waiting{session: c.session, goal: goal{deleted: true}, timeout: uint(timeout)}
	return w.run(ctx, apps)
}

// keepsApplications reports whether the policy of a set lets its applications
// outlive it.
func keepsApplications(s *v1alpha1.ApplicationSet) bool {
	p := s.Spec.SyncPolicy
	return p != nil && p.ApplicationsSync != nil && !p.ApplicationsSync.AllowDelete()
}

// setConsequence says what deleting a set does.
func setConsequence(s *v1alpha1.ApplicationSet, apps int) string {
	what := fmt.Sprintf("deleting ApplicationSet %q also deletes its %s", s.Name, plural(apps, "application"))
	p := s.Spec.SyncPolicy
	switch {
	case keepsApplications(s):
		return fmt.Sprintf("deleting ApplicationSet %q leaves its %s as they are: its policy is %s",
			s.Name, plural(apps, "application"), *p.ApplicationsSync)
	case p != nil && p.PreserveResourcesOnDeletion:
		return what + ", and leaves the objects of these as they are"
	}
	return what + " and, where they have the finalizer for it, all objects of these"
}
