package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

type diffing struct {
	*session
	output   output
	refresh  refreshing
	revision string
	exitCode bool
	// code is the exit code of a difference.
	code int
	// Flags of Argo CD's for what is done in another way here.
	local, root, include string
	generate, serverSide bool
	revisions            []string
	positions            []int
	names                []string
}

func newDiff(env *Env, g *global) *cobra.Command {
	c := &diffing{}
	cmd := &cobra.Command{
		Use:   "diff NAME",
		Short: "Show what a sync would change",
		Long: "Show what a sync would change, field by field, as the API server itself says.\n\n" +
			"The exit code is 1 if there is a difference, 0 if there is none, and 20 if that could not be told.",
		Example: "  towline app diff shop --revision feature-x",
		Args:    exactlyOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(c.output.check(), c.check(args[0])); err != nil {
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
	c.refresh.register(cmd)
	cmd.Flags().StringVar(&c.revision, "revision", "",
		"compare with this branch, tag, commit or version (default: that of the application)")
	f := cmd.Flags()
	f.BoolVar(&c.exitCode, "exit-code", true, "exit with 1 if there is a difference")
	f.IntVar(&c.code, "diff-exit-code", ExitDifferent, "the exit code of a difference, in place of 1")
	f.BoolVar(&c.serverSide, "server-side-diff", true, "taken and not needed: every comparison is the server's own")
	f.StringVar(&c.local, "local", "", "not taken: a sync of a folder with --dry-run says what it would do")
	f.BoolVar(&c.generate, "server-side-generate", false, "not taken: it is for --local")
	f.StringVar(&c.root, "local-repo-root", "", "not taken: it is for --local")
	f.StringVar(&c.include, "local-include", "", "not taken: it is for --local")
	f.StringArrayVar(&c.revisions, "revisions", nil, "not taken: a sync with --dry-run takes them")
	f.IntSliceVar(&c.positions, "source-positions", nil, "not taken: it is for --revisions")
	f.StringArrayVar(&c.names, "source-names", nil, "not taken: it is for --revisions")
	for _, name := range []string{
		"server-side-diff", "local", "server-side-generate", "local-repo-root", "local-include", "revisions", "source-positions",
		"source-names",
	} {
		_ = f.MarkHidden(name) // it was made above
	}
	return cmd
}

// check refuses what is done in another way here.
func (c *diffing) check(name string) error {
	switch {
	case len(c.revisions) > 0 || len(c.positions) > 0 || len(c.names) > 0:
		return usagef("--revisions are not compared; %q says what a sync at them would do",
			fmt.Sprintf("towline app sync %s --revisions … --source-positions … --dry-run", name))
	case c.local != "" || c.root != "" || c.include != "" || c.generate:
		return usagef("--local is not compared; %q says what a sync of the folder would do",
			fmt.Sprintf("towline app sync %s --local %s --dry-run", name, cmp.Or(c.local, ".")))
	case !c.serverSide:
		return usagef("--server-side-diff=false is not taken: every comparison is the server's own, so that what it shows is what happens")
	case c.code < 0 || c.code > 255:
		return usagef("--diff-exit-code is a number from 0 to 255, not %d", c.code)
	}
	return nil
}

func (c *diffing) run(ctx context.Context, name string) error {
	if err := c.refresh.run(ctx, c.session, name); err != nil {
		return err
	}
	app, err := c.hub.Application(ctx, name)
	if err != nil {
		return c.explain(name, err)
	}
	p, revision, err := c.compare(ctx, app)
	if err != nil {
		return err
	}
	if err := c.print(name, revision, p); err != nil {
		return err
	}
	return c.verdict(name, p)
}

// compare says what a sync would do, and at which revision.
func (c *diffing) compare(ctx context.Context, app *v1alpha1.Application) (plan.Plan, string, error) {
	planner, err := c.env.Planner(ctx, c.flags)
	if err != nil {
		return plan.Plan{}, "", fmt.Errorf("preparing to compare application %q: %w", app.Name, err)
	}
	p, revision, err := planner.Plan(ctx, app, c.revision)
	if err != nil {
		return plan.Plan{}, "", fmt.Errorf("comparing application %q: %w", app.Name, err)
	}
	return p, revision, nil
}

// verdict is the exit code. A known difference is one whatever else is not
// known, and what is not known is never "no difference".
func (c *diffing) verdict(name string, p plan.Plan) error {
	switch {
	case differs(p) && c.exitCode:
		return &different{c.code}
	case differs(p):
		return nil
	case p.Status() == plan.Unknown || finding.Blocking(p.Findings):
		return fmt.Errorf("comparing application %q: not all of it could be compared, the reasons are above", name)
	}
	return nil
}

func differs(p plan.Plan) bool {
	for _, it := range p.Items {
		if it.Aside && it.Action == plan.Create {
			return true
		}
	}
	return p.Status() == plan.OutOfSync
}

func (c *diffing) print(name, revision string, p plan.Plan) error {
	if c.output.structured() {
		return c.output.encode(c.env.Out, document(name, revision, p))
	}
	for _, f := range p.Findings {
		text := clean(f.Message)
		word, colour := "warning:", yellow
		if f.Severity == finding.Error {
			word, colour = "error:", red
		}
		fmt.Fprintf(c.env.Err, "%s %s\n", c.err.paint(colour, word), text)
	}
	d := delta{plan: p, revision: revision, palette: c.out}
	return d.write(c.env.Out)
}

// The shape of the structured output.
type (
	diffDocument struct {
		Application string         `json:"application"`
		Revision    string         `json:"revision"`
		Status      plan.Sync      `json:"status"`
		Summary     map[string]int `json:"summary"`
		Objects     []diffObject   `json:"objects"`
		Findings    []diffFinding  `json:"findings"`
	}
	diffKey struct {
		Group     string `json:"group"`
		Kind      string `json:"kind"`
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	}
	diffObject struct {
		diffKey
		Version string       `json:"version"`
		Action  plan.Action  `json:"action"`
		Sync    plan.Sync    `json:"sync,omitempty"`
		Phase   plan.Phase   `json:"phase,omitempty"`
		Wave    int          `json:"wave"`
		Reason  string       `json:"reason,omitempty"`
		Changes []diffChange `json:"changes,omitempty"`
	}
	diffChange struct {
		Path    string `json:"path"`
		Live    any    `json:"live,omitempty"`
		Desired any    `json:"desired,omitempty"`
		// HeldBy are the others who hold the field.
		HeldBy []diffHolder `json:"heldBy,omitempty"`
	}
	diffHolder struct {
		Manager     string `json:"manager"`
		Operation   string `json:"operation"`
		Subresource string `json:"subresource,omitempty"`
		// WroteLast is when the manager last wrote anything of the object.
		WroteLast string `json:"wroteLast,omitempty"`
	}
	diffFinding struct {
		Reason   finding.Reason   `json:"reason"`
		Severity finding.Severity `json:"severity"`
		Message  string           `json:"message"`
		Object   *diffKey         `json:"object,omitempty"`
	}
)

func document(name, revision string, p plan.Plan) diffDocument {
	d := diffDocument{
		Application: name, Revision: revision, Status: p.Status(),
		Summary: map[string]int{}, Objects: []diffObject{}, Findings: []diffFinding{},
	}
	for _, it := range p.Items {
		d.Summary[string(it.Action)]++
		if it.Action == plan.Unchanged {
			continue
		}
		d.Objects = append(d.Objects, diffObject{
			diffKey: diffKey(it.Key), Version: it.Version, Action: it.Action, Sync: it.Sync,
			Phase: it.Phase, Wave: it.Wave, Reason: it.Reason, Changes: changes(it.Verdict.Changes),
		})
	}
	for _, f := range p.Findings {
		out := diffFinding{Reason: f.Reason, Severity: f.Severity, Message: f.Message}
		if f.Key != (object.Key{}) {
			out.Object = new(diffKey(f.Key))
		}
		d.Findings = append(d.Findings, out)
	}
	return d
}

func changes(in []diff.Change) []diffChange {
	var out []diffChange
	for _, c := range in {
		change := diffChange{Path: c.Path, Live: c.Live, Desired: c.Desired}
		for _, h := range c.Holders {
			change.HeldBy = append(change.HeldBy, diffHolder{h.Manager, h.Operation, h.Subresource, h.Time})
		}
		out = append(out, change)
	}
	return out
}
