package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/policy"
)

type windowing struct {
	*session
	output output
}

func newWindows(env *Env, g *global) *cobra.Command {
	c := &windowing{}
	cmd := &cobra.Command{
		Use:   "windows NAME",
		Short: "Tell when an application may be synced",
		Long: "Tell whether the sync windows of its project let an application be synced now, why, and when that changes;\n" +
			"then every window that selects it, open or shut.",
		Example: "  towline app windows shop\n  towline app windows shop -o json",
		Args:    exactlyOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.output.check(); err != nil {
				return err
			}
			s, names, err := g.connect(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			c.session = s
			return c.run(cmd.Context(), names[0])
		},
		ValidArgsFunction: g.complete(env, false),
	}
	c.output.register(cmd, outputJSON, outputYAML)
	return cmd
}

// permission is an answer to "may it be synced now?".
type permission struct {
	Allowed bool      `json:"allowed"`
	Reason  string    `json:"reason"`
	Next    time.Time `json:"next,omitzero"`
}

// outlook is what the windows mean for an application.
type outlook struct {
	Application string               `json:"application"`
	Project     string               `json:"project"`
	At          time.Time            `json:"at"`
	Automatic   permission           `json:"automatic"`
	Manual      permission           `json:"manual"`
	Windows     []policy.WindowState `json:"windows"`
}

func (c *windowing) run(ctx context.Context, name string) error {
	app, err := c.hub.Application(ctx, name)
	if err != nil {
		return c.explain(name, err)
	}
	projects, err := c.env.Projects(ctx, c.flags)
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	project, err := projects.Project(ctx, app.ProjectName())
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("project %q of application %q is not in namespace %q; create it, or name another in spec.project",
			app.ProjectName(), name, c.flags.Namespace)
	}
	if err != nil {
		return c.explain(name, err)
	}
	globals, err := c.globals(ctx, projects, project)
	if err != nil {
		return err
	}
	o := look(app, project, globals, c.env.Now().UTC())
	if c.output.structured() {
		return c.output.encode(c.env.Out, o)
	}
	return c.print(o)
}

// globals are the projects whose windows count too.
func (c *windowing) globals(ctx context.Context, projects Projects, project *v1alpha1.AppProject) ([]*v1alpha1.AppProject, error) {
	if c.env.Tenancy == nil {
		return nil, nil
	}
	tenancy, err := c.env.Tenancy(ctx, c.flags)
	if err != nil {
		return nil, fmt.Errorf("reading which projects are global: %w", err)
	}
	names, faults := tenancy.GlobalsOf(project)
	for _, f := range faults {
		c.note("%s", f)
	}
	var out []*v1alpha1.AppProject
	for _, name := range names {
		global, err := projects.Project(ctx, name)
		if apierrors.IsNotFound(err) {
			c.note("the global project %q does not exist; create it or take it out of globalProjects", name)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the global project %q: %w", name, err)
		}
		out = append(out, global)
	}
	return out, nil
}

func look(app *v1alpha1.Application, project *v1alpha1.AppProject, globals []*v1alpha1.AppProject, now time.Time) outlook {
	windows := policy.EffectiveWindows(project, globals)
	subject := subjectOf(app)
	asked := func(manual bool) permission {
		return permission(policy.Windows(windows, subject, now, policy.WindowOp{Manual: manual}))
	}
	return outlook{
		Application: app.Name, Project: project.Name, At: now,
		Automatic: asked(false), Manual: asked(true),
		Windows: policy.ExplainWindows(windows, subject, now),
	}
}

// subjectOf is the application as windows see it. Of the cluster that the controller runs in both names are known.
func subjectOf(app *v1alpha1.Application) policy.WindowSubject {
	d := app.Spec.Destination
	s := policy.WindowSubject{App: app.Name, Namespace: d.Namespace, Server: d.Server, ClusterName: d.Name}
	if d.Server == v1alpha1.InClusterServer || d.Name == v1alpha1.InClusterName {
		s.Server, s.ClusterName = v1alpha1.InClusterServer, v1alpha1.InClusterName
	}
	return s
}

func (c *windowing) print(o outlook) error {
	for _, line := range []struct {
		who string
		p   permission
	}{{"Automated sync", o.Automatic}, {"Manual sync", o.Manual}} {
		answer := c.out.paint(green, "yes")
		if !line.p.Allowed {
			answer = c.out.paint(red, "no")
		}
		fmt.Fprintf(c.env.Out, "%-15s %s: %s\n", line.who+":", answer, clean(line.p.Reason))
	}
	if len(o.Windows) == 0 {
		return nil
	}
	fmt.Fprintln(c.env.Out)
	t := &table{
		head:    []string{"KIND", "STATE", "UNTIL", "SCHEDULE", "DURATION", "ZONE", "MANUAL", "OVERRUN", "SELECTED BY", "DESCRIPTION"},
		palette: c.out,
	}
	for _, w := range o.Windows {
		t.row(windowRow(w)...)
	}
	if err := t.write(c.env.Out, true); err != nil {
		return err
	}
	for _, w := range o.Windows {
		if w.Note != "" {
			c.note("note: syncWindows[%d] of project %q: %s", w.Index, o.Project, w.Note)
		}
	}
	return nil
}

func windowRow(w policy.WindowState) []cell {
	state := cell{text: "shut"}
	switch {
	case w.Problem != "":
		state = cell{text: "broken", colour: red}
	case w.Open:
		state = cell{text: "open", colour: green}
	}
	until := nothing
	if !w.Turns.IsZero() {
		until = w.Turns.UTC().Format("2006-01-02 15:04 MST")
	}
	return []cell{
		word(orNothing(string(w.Kind))), state, word(until), word(orNothing(w.Schedule)), word(orNothing(w.Duration)),
		word(w.TimeZone), word(yesNo(w.ManualSync)), word(yesNo(w.SyncOverrun)), word(strings.Join(w.SelectedBy, ", ")),
		word(w.Description),
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
