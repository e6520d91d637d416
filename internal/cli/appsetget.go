package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
)

func newSetGet(env *Env, g *global) *cobra.Command {
	var o output
	var params bool
	cmd := &cobra.Command{
		Use:     "get NAME",
		Short:   "Show an ApplicationSet, its conditions and its applications",
		Example: "  towline appset get shops\n  towline appset get shops -o json",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			c, names, err := g.sets(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			s, err := c.get(cmd.Context(), names[0])
			switch {
			case err != nil:
				return err
			case o.structured():
				return o.encode(c.env.Out, exportableSet(s))
			case o.form == outputName:
				fmt.Fprintln(c.env.Out, clean(s.Namespace+"/"+s.Name))
				return nil
			}
			return c.view(cmd.Context(), s, params)
		},
		ValidArgsFunction: g.completeSet(env, false),
	}
	o.register(cmd, outputJSON, outputYAML, outputWide, outputName)
	cmd.Flags().BoolVar(&params, "show-params", false, "show the Helm parameters of the template too")
	return cmd
}

func (c *setWork) get(ctx context.Context, name string) (*v1alpha1.ApplicationSet, error) {
	s, err := c.sets.Get(ctx, name)
	return s, c.explainOf(aSet, name, err)
}

// view is a set as a person reads it: what it is and how it does, then its
// applications.
func (c *setWork) view(ctx context.Context, s *v1alpha1.ApplicationSet, params bool) error {
	apps, err := c.children(ctx, s)
	if err != nil {
		return err
	}
	app := templateOf(s)
	b := &block{palette: c.out, width: labelWidth}
	b.field("Name", clean(s.Namespace+"/"+s.Name))
	b.field("Project", clean(projectOf(s)))
	b.field("Generators", clean(commaed(generators(s))))
	b.field("Template", clean(orNothing(s.Spec.Template.Name)))
	b.fields("Source", each(app.Sources(), source))
	b.field("Destination", clean(destination(app.Spec.Destination)))
	b.field("Sync policy", clean(syncPolicy(app)))
	if p := policyOf(s); p != nothing {
		b.field("Applications", clean(p))
	}
	if st := s.Spec.Strategy; st != nil && st.Type != "" {
		b.field("Strategy", clean(string(st.Type)))
	}
	if !s.DeletionTimestamp.IsZero() {
		b.field("Deleting", c.out.paint(yellow, "since "+age(c.env.Now(), s.DeletionTimestamp)))
	}
	if h := s.Status.Health; h.Status != "" {
		b.field("Health", explained(c.out.paint(healthColour(h.Status), clean(string(h.Status))), h.Message))
	}
	c.conditions(b, s)
	if params {
		for _, src := range app.Sources() {
			if src.Helm != nil {
				b.fields("Parameters", each(src.Helm.Parameters, func(p v1alpha1.HelmParameter) string { return p.Name + "=" + p.Value }))
			}
		}
	}
	if err := b.write(c.env.Out); err != nil || len(apps) == 0 {
		return err
	}
	fmt.Fprintln(c.env.Out)
	return c.applications(s, apps).write(c.env.Out, true)
}

func (c *setWork) conditions(b *block, s *v1alpha1.ApplicationSet) {
	label := "Conditions"
	for _, cond := range s.Status.Conditions {
		text := c.out.paint(setConditionColour(cond), clean(string(cond.Type)+"="+string(cond.Status)))
		if cond.LastTransitionTime != nil {
			text += " since " + age(c.env.Now(), cond.LastTransitionTime)
		}
		b.field(label, explained(text, cond.Message))
		label = ""
	}
}

// children are the applications that the set owns.
func (c *setWork) children(ctx context.Context, s *v1alpha1.ApplicationSet) ([]v1alpha1.Application, error) {
	list, err := c.hub.Applications(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, c.explain("", err)
	}
	apps := slices.DeleteFunc(list.Items, func(a v1alpha1.Application) bool {
		return !slices.ContainsFunc(a.OwnerReferences, func(o metav1.OwnerReference) bool {
			return o.Kind == v1alpha1.ApplicationSetKind && o.UID == s.UID
		})
	})
	slices.SortFunc(apps, func(a, b v1alpha1.Application) int { return cmp.Compare(a.Name, b.Name) })
	return apps, nil
}

// applications are those of the set, with how far each is in a rollout where
// there is one. What a rollout waits for has no application to ask.
func (c *setWork) applications(s *v1alpha1.ApplicationSet, apps []v1alpha1.Application) *table {
	steps := map[string]v1alpha1.ApplicationSetApplicationStatus{}
	for _, st := range s.Status.ApplicationStatus {
		steps[st.Application] = st
	}
	t := &table{head: []string{"NAME", "SYNC", "HEALTH", "DESTINATION", "REVISION", "NOTE"}, palette: c.out}
	if len(steps) > 0 {
		t.head = append(t.head, "STEP", "ROLLOUT", "MESSAGE")
	}
	for i := range apps {
		a := &apps[i]
		row := []cell{
			word(a.Name),
			{text: orNothing(clean(string(a.Status.Sync.Status))), colour: syncColour(a.Status.Sync.Status)},
			{text: orNothing(clean(string(a.Status.Health.Status))), colour: healthColour(a.Status.Health.Status)},
			word(orNothing(destination(a.Spec.Destination))), word(orNothing(revisionOf(a.Status.Sync))),
			{text: childNote(a), colour: yellow},
		}
		if len(steps) > 0 {
			st := steps[a.Name]
			row = append(row, word(orNothing(st.Step)), word(orNothing(string(st.Status))), word(st.Message))
		}
		t.row(row...)
	}
	return t
}

// childNote is why an application is not as its set would have it.
func childNote(a *v1alpha1.Application) string {
	if !a.DeletionTimestamp.IsZero() {
		return "is being deleted"
	}
	for _, cond := range a.Status.Conditions {
		if conditionColour(cond.Type) == red {
			return clean(string(cond.Type))
		}
	}
	return ""
}
