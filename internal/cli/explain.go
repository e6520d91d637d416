package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/plan"
)

type explaining struct {
	*session
	revision string
}

func newExplain(env *Env, g *global) *cobra.Command {
	c := &explaining{}
	cmd := &cobra.Command{
		Use:   "explain NAME [RESOURCE]",
		Short: "Tell in words what differs, who holds it and what to do",
		Long: "Tell in words what differs between Git and the cluster, for each field: both values, who else holds it and\n" +
			"since when at the latest, and the rule that would leave it to them.\n\n" +
			"RESOURCE is a kind, a name or kind/name; without it every object that differs is explained.",
		Example: "  towline app explain shop Deployment/web",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, names, err := g.connect(cmd.Context(), env, args[:1])
			if err != nil {
				return err
			}
			c.session = s
			resource := ""
			if len(args) == 2 {
				resource = args[1]
			}
			return c.run(cmd.Context(), names[0], resource)
		},
		ValidArgsFunction: g.complete(env, false),
	}
	cmd.Flags().StringVar(&c.revision, "revision", "", "compare with this revision (default: that of the application)")
	return cmd
}

func (c *explaining) run(ctx context.Context, name, resource string) error {
	app, err := c.hub.Application(ctx, name)
	if err != nil {
		return c.explain(name, err)
	}
	planner, err := c.env.Planner(ctx, c.flags)
	if err != nil {
		return fmt.Errorf("preparing to compare application %q: %w", name, err)
	}
	p, revision, err := planner.Plan(ctx, app, c.revision)
	if err != nil {
		return fmt.Errorf("comparing application %q: %w", name, err)
	}
	var told []plan.Item
	for _, it := range p.Items {
		if selects(resource, it) && (resource != "" || it.Action != plan.Unchanged) {
			told = append(told, it)
		}
	}
	if resource != "" && len(told) == 0 {
		return fmt.Errorf("application %q has no object %q; \"towline app get %s\" shows what it has", name, resource, name)
	}
	s := story{now: c.env.Now(), palette: c.out}
	s.opening(app, p, revision)
	for _, it := range told {
		s.item(it)
	}
	_, err = io.WriteString(c.env.Out, s.String())
	return err
}

// selects reports whether an item is meant by what was typed.
func selects(resource string, it plan.Item) bool {
	kind, name, both := strings.Cut(resource, "/")
	if both {
		return strings.EqualFold(kind, it.Key.Kind) && name == it.Key.Name
	}
	return resource == "" || strings.EqualFold(resource, it.Key.Kind) || resource == it.Key.Name
}

// story is an explanation in the making.
type story struct {
	strings.Builder
	now     time.Time
	palette palette
}

func (s *story) say(format string, args ...any) { fmt.Fprintf(s, format+"\n", args...) }

func (s *story) opening(app *v1alpha1.Application, p plan.Plan, revision string) {
	at := orNothing(clean(short(revision)))
	switch p.Status() {
	case plan.Synced:
		s.say("%s is %s at %s: the API server says that an apply would change nothing.", app.Name, s.palette.paint(green, "Synced"), at)
	case plan.OutOfSync:
		s.say("%s is %s at %s.", app.Name, s.palette.paint(yellow, "OutOfSync"), at)
	case plan.Unknown:
		s.say("%s could not be compared as a whole at %s; what is not known is said below.", app.Name, at)
	}
	a := plan.AutomationOf(app)
	switch {
	case p.Status() != plan.OutOfSync:
	case a.Enabled && a.SelfHeal:
		s.say("Automated sync with self-heal is on: it is corrected without being asked.")
	case a.Enabled:
		s.say("Automated sync is on: a new commit is applied by itself; drift waits for a sync, since selfHeal is off.")
	default:
		s.say("Automated sync is off: \"towline app sync %s\" corrects it.", app.Name)
	}
	for _, f := range p.Findings {
		s.say("%s: %s", f.Severity, clean(f.Message))
	}
}

func (s *story) item(it plan.Item) {
	s.say("")
	name := s.palette.paint(bold, clean(it.Key.String()))
	switch it.Action {
	case plan.Create:
		s.say("%s is not in the cluster; a sync creates it.", name)
	case plan.Prune:
		s.say("%s is in the cluster because of an earlier revision, and Git no longer has it; a sync with prune deletes it.", name)
	case plan.Skip:
		s.say("%s is left alone: %s.", name, clean(it.Reason))
	case plan.Deny:
		s.say("%s may not be applied: %s.", name, clean(it.Reason))
	case plan.Unchanged:
		s.say("%s is as Git says.", name)
	case plan.RunHook:
		s.say("%s is a hook; a sync runs it at %s.", name, it.Phase)
	case plan.Update:
		s.update(name, it)
	}
}

func (s *story) update(name string, it plan.Item) {
	if it.Reason != "" {
		s.say("%s: %s.", name, clean(it.Reason))
		return
	}
	s.say("%s differs in %s.", name, counted(len(it.Verdict.Changes), "field"))
	paths := make([]string, len(it.Verdict.Changes))
	for i, c := range it.Verdict.Changes {
		paths[i] = c.Path
		s.change(c)
	}
	s.say("  To leave this to whoever wrote it, commit to the Application's spec:")
	for line := range strings.Lines(diff.SuggestRule(it.Key, paths)) {
		s.say("    %s", strings.TrimRight(line, "\n"))
	}
}

func (s *story) change(c diff.Change) {
	path := clean(c.Path)
	switch {
	case c.Live == nil:
		s.say("  %s is %s in Git, and not in the cluster. Whoever removed it left no trace.", path, brief(c.Desired))
	case c.Desired == nil:
		s.say("  %s is %s in the cluster, and no longer in Git.", path, brief(c.Live))
	default:
		s.say("  %s is %s in the cluster, and %s in Git.", path, brief(c.Live), brief(c.Desired))
	}
	for _, h := range c.Holders {
		s.say("    It is held by %s (%s), which wrote last %s.", clean(h.Manager), how(h), s.since(h.Time))
	}
}

func how(h diff.Holder) string {
	if h.Subresource != "" {
		return h.Operation + " through " + h.Subresource
	}
	return h.Operation
}

func (s *story) since(at string) string {
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return "at a time that is not known"
	}
	return s.now.Sub(t).Round(time.Second).String() + " ago"
}

// brief is a value in a sentence.
func brief(v any) string {
	lines := text(v)
	switch len(lines) {
	case 0:
		return "empty"
	case 1:
		return lines[0]
	}
	return fmt.Sprintf("%s … (%d lines)", lines[0], len(lines))
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
