package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// NewAppSet makes the command "appset" with everything below it.
func NewAppSet(env *Env) *cobra.Command {
	g := &global{}
	cmd := family(env, &cobra.Command{
		Use:     "appset",
		Short:   "See, create and delete ApplicationSets",
		Long:    "See, create and delete ApplicationSets, which make applications from a template; and try what one would make.",
		Aliases: []string{"appsets", "applicationset", "applicationsets"},
	}, newSetList(env, g), newSetGet(env, g), newSetCreate(env, g), newSetDelete(env, g), newSetGenerate(env, g), newSetApprove(env, g))
	g.register(cmd, env)
	cmd.PersistentFlags().StringVarP(&g.AppNamespace, "appset-namespace", "N", "",
		"namespace of the ApplicationSets, if they live elsewhere than the installation")
	return cmd
}

// setWork is a command about ApplicationSets under way.
type setWork struct {
	*session
	sets AppSets
}

func (g *global) sets(ctx context.Context, env *Env, names []string) (*setWork, []string, error) {
	s, bare, err := g.connect(ctx, env, names)
	if err != nil {
		return nil, nil, err
	}
	sets, err := env.AppSets(ctx, s.flags)
	if err != nil {
		return nil, nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	return &setWork{session: s, sets: sets}, bare, nil
}

func (g *global) completeSet(env *Env, many bool) cobra.CompletionFunc {
	return g.completing(env, many, func(ctx context.Context, s *session) ([]string, error) {
		sets, err := env.AppSets(ctx, s.flags)
		if err != nil {
			return nil, err
		}
		list, err := sets.List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		return each(list.Items, func(s v1alpha1.ApplicationSet) string { return s.Name }), nil
	})
}

func newSetList(env *Env, g *global) *cobra.Command {
	var o output
	var selector string
	var projects []string
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List ApplicationSets", Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if _, err := labels.Parse(selector); err != nil {
				return usagef("reading the selector %q: %w", selector, err)
			}
			c, _, err := g.sets(cmd.Context(), env, nil)
			if err != nil {
				return err
			}
			return c.list(cmd.Context(), o, selector, projects)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	o.register(cmd, outputJSON, outputYAML, outputWide, outputName)
	f := cmd.Flags()
	f.StringVarP(&selector, "selector", "l", "", "only sets with these labels, as in team=shop,tier!=test")
	f.StringSliceVarP(&projects, "project", "p", nil, "only sets whose applications belong to these projects")
	g.completed(cmd, env, "project", projectNames(env))
	return cmd
}

func (c *setWork) list(ctx context.Context, o output, selector string, projects []string) error {
	list, err := c.sets.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return c.explainOf(aSet, "", err)
	}
	sets := slices.DeleteFunc(list.Items, func(s v1alpha1.ApplicationSet) bool {
		return len(projects) > 0 && !slices.Contains(projects, projectOf(&s))
	})
	slices.SortFunc(sets, func(a, b v1alpha1.ApplicationSet) int { return cmp.Compare(a.Name, b.Name) })
	switch {
	case o.structured():
		return o.encode(c.env.Out, each(sets, func(s v1alpha1.ApplicationSet) *v1alpha1.ApplicationSet { return exportableSet(&s) }))
	case o.form == outputName:
		for _, s := range sets {
			fmt.Fprintln(c.env.Out, clean(s.Namespace+"/"+s.Name))
		}
		return nil
	case len(sets) == 0:
		c.note("no ApplicationSets in namespace %q%s", c.flags.Apps(), fitting(selector != "" || len(projects) > 0))
		return nil
	}
	t := &table{head: []string{"NAME", "PROJECT", "SYNCPOLICY", "APPS", "HEALTH", "CONDITIONS", "AGE"}, palette: c.out}
	if o.form == outputWide {
		t.head = append(t.head, "GENERATORS", "REPO", "PATH", "TARGET")
	}
	for i := range sets {
		t.row(c.row(&sets[i], o.form == outputWide)...)
	}
	return t.write(c.env.Out, true)
}

func fitting(selected bool) string {
	if selected {
		return " that fit the selection"
	}
	return ""
}

func (c *setWork) row(s *v1alpha1.ApplicationSet, wide bool) []cell {
	row := []cell{
		word(s.Name), word(projectOf(s)), word(policyOf(s)), word(strconv.FormatInt(count(s), 10)),
		{text: orNothing(clean(string(s.Status.Health.Status))), colour: healthColour(s.Status.Health.Status)},
		conditionsOf(s), word(age(c.env.Now(), &s.CreationTimestamp)),
	}
	if !wide {
		return row
	}
	app := templateOf(s)
	return append(row, word(commaed(generators(s))),
		word(orNothing(repos(app))), word(orNothing(paths(app))), word(orNothing(targets(app))))
}

// count is how many applications a set is known to have.
func count(s *v1alpha1.ApplicationSet) int64 {
	return max(s.Status.ResourcesCount, int64(len(s.Status.Resources)))
}

// templateOf is the template as an application, with its parameters not filled
// in.
func templateOf(s *v1alpha1.ApplicationSet) *v1alpha1.Application {
	return &v1alpha1.Application{Spec: s.Spec.Template.Spec}
}

func projectOf(s *v1alpha1.ApplicationSet) string { return templateOf(s).ProjectName() }

// policyOf says what may be done to the applications.
func policyOf(s *v1alpha1.ApplicationSet) string {
	p := s.Spec.SyncPolicy
	if p == nil {
		return nothing
	}
	var out []string
	if p.ApplicationsSync != nil {
		out = append(out, string(*p.ApplicationsSync))
	}
	if p.PreserveResourcesOnDeletion {
		out = append(out, "keeps objects")
	}
	return orNothing(strings.Join(out, ", "))
}

// conditionsOf are those that hold, and those that should and do not.
func conditionsOf(s *v1alpha1.ApplicationSet) cell {
	out := cell{}
	var words []string
	for _, c := range s.Status.Conditions {
		paint := setConditionColour(c)
		if paint == plain {
			continue
		}
		// The worst of them is what the eye should find.
		if out.colour != red && paint != green {
			out.colour = paint
		}
		w := string(c.Type)
		if c.Status != v1alpha1.ApplicationSetConditionStatusTrue {
			w += "=" + string(c.Status)
		}
		words = append(words, w)
	}
	out.text = clean(commaed(words))
	return out
}

// setConditionColour is red for what is wrong, yellow for what waits, green
// for what holds, and plain for what does not and need not.
func setConditionColour(c v1alpha1.ApplicationSetCondition) colour {
	holds, not := green, plain
	switch c.Type {
	case v1alpha1.ApplicationSetConditionErrorOccurred, v1alpha1.ApplicationSetConditionInvalidRolloutConfig:
		holds = red
	case v1alpha1.ApplicationSetConditionParametersGenerated, v1alpha1.ApplicationSetConditionResourcesUpToDate:
		not = red
	case v1alpha1.ApplicationSetConditionRolloutProgressing:
		holds = blue
	}
	switch c.Status {
	case v1alpha1.ApplicationSetConditionStatusTrue:
		return holds
	case v1alpha1.ApplicationSetConditionStatusUnknown:
		return yellow
	case v1alpha1.ApplicationSetConditionStatusFalse:
	}
	return not
}

// generators are the kinds of generators, in their order.
func generators(s *v1alpha1.ApplicationSet) []string {
	var out []string
	for _, g := range s.Spec.Generators {
		for _, k := range []struct {
			name string
			is   bool
		}{
			{"list", g.List != nil},
			{"clusters", g.Clusters != nil},
			{"git", g.Git != nil},
			{"scmProvider", g.SCMProvider != nil},
			{"clusterDecisionResource", g.ClusterDecisionResource != nil},
			{"pullRequest", g.PullRequest != nil},
			{"matrix", g.Matrix != nil},
			{"merge", g.Merge != nil},
			{"plugin", g.Plugin != nil},
		} {
			if k.is {
				out = append(out, k.name)
			}
		}
	}
	return out
}

// exportableSet is a set as it may leave the program.
func exportableSet(s *v1alpha1.ApplicationSet) *v1alpha1.ApplicationSet {
	out := s.DeepCopy()
	out.APIVersion, out.Kind = v1alpha1.GroupVersion().String(), v1alpha1.ApplicationSetKind
	out.ManagedFields = nil
	return out
}
