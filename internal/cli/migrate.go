package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/lint"
	"github.com/towline-cd/towline/internal/core/takeover"
)

// Rival is Argo CD's own workloads, and ours, in the control namespace.
type Rival interface {
	Workloads(ctx context.Context) ([]takeover.Workload, error)
	Scale(ctx context.Context, s takeover.Scale) error
	// Gone returns when a workload has no pods any more.
	Gone(ctx context.Context, w takeover.Workload) error
	// SetProfile writes the profile; empty takes it away.
	SetProfile(ctx context.Context, profile string) error
}

// Shadow says what Towline would write into the status of an application. It
// cannot write anything.
type Shadow interface {
	Judge(ctx context.Context, app *v1alpha1.Application) (v1alpha1.ApplicationStatus, error)
	Close()
}

// migrating is a command of this family under way.
type migrating struct {
	env     *Env
	global  *global
	output  output
	yes     bool
	dryRun  bool
	force   bool
	quick   bool
	once    bool
	data    string
	within  time.Duration
	timeout time.Duration
}

// NewMigrate makes the command "migrate" with everything below it.
func NewMigrate(env *Env) *cobra.Command {
	g := &global{}
	cmd := family(env, &cobra.Command{
		Use:   "migrate",
		Short: "Take over from Argo CD, and go back",
		Long: "Take over from an Argo CD that runs in the cluster, and go back. Applications, projects, settings and what is deployed\n" +
			"stay as they are.\n\n" +
			"Exit codes: 0 done, 1 there are obstacles or differences, 2 wrong usage, 4 not authorised, 20 anything else.",
	}, newMigrateCheck(env, g), newMigrateShadow(env, g), newTakeover(env, g), newHandback(env, g))
	g.register(cmd, env)
	g.servers.core = true
	return cmd
}

func (c *migrating) session(ctx context.Context) (*session, error) {
	if err := c.output.check(); err != nil {
		return nil, err
	}
	s, _, err := c.global.connect(ctx, c.env, nil)
	return s, err
}

func newMigrateCheck(env *Env, g *global) *cobra.Command {
	c := &migrating{env: env, global: g}
	cmd := &cobra.Command{
		Use: "check", Short: "Say what taking over would mean", Args: none,
		Long: "Read an installation of Argo CD and say, per Application, what is written there that surprises, what is not honoured,\n" +
			"and where Towline's verdict differs; and whether an Application deploys Argo CD itself, with what to change. Nothing is\n" +
			"written: requests that would are refused before they leave.",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return c.check(cmd.Context()) },
	}
	cmd.Flags().BoolVar(&c.quick, "quick", false, "do not compare verdicts, which fetches and renders every source")
	c.shadowFlags(cmd)
	c.output.register(cmd, outputJSON, outputYAML)
	return cmd
}

func (c *migrating) shadowFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.data, "data", "", "folder for fetched repositories (default: a new one that is deleted afterwards)")
}

func (c *migrating) check(ctx context.Context) error {
	s, err := c.session(ctx)
	if err != nil {
		return err
	}
	in, err := c.env.Inventory(ctx, s.flags)
	if err != nil {
		return fmt.Errorf("reading the installation: %w", err)
	}
	if !c.quick {
		if err := c.judgeAll(ctx, s, &in); err != nil {
			return err
		}
	}
	v := takeover.Check(in)
	var failed error
	if len(v.Obstacles) > 0 {
		failed = ErrNo
	}
	if c.output.structured() {
		if err := c.output.encode(c.env.Out, v); err != nil {
			return err
		}
		return failed
	}
	s.showVerdict(v, c.quick)
	return failed
}

// judgeAll compares the verdicts of all applications once.
func (c *migrating) judgeAll(ctx context.Context, s *session, in *takeover.Installation) error {
	shadow, err := c.env.Shadow(ctx, s.flags, c.data)
	if err != nil {
		return fmt.Errorf("looking beside Argo CD: %w; --quick leaves that out", err)
	}
	defer shadow.Close()
	in.Differences, in.Failed = map[string][]takeover.Difference{}, map[string]string{}
	for _, app := range in.Applications {
		name := app.Namespace + "/" + app.Name
		ours, err := shadow.Judge(ctx, app)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			in.Failed[name] = err.Error()
		case !takeover.Comparable(app, ours):
			in.Failed[name] = fmt.Sprintf("Argo CD looked at %s, or is in the middle of a sync, and Towline at %s",
				revisions(app.Status.Sync), revisions(ours.Sync))
		default:
			in.Differences[name] = takeover.Compare(app, ours)
		}
	}
	return nil
}

func revisions(s v1alpha1.SyncStatus) string {
	switch {
	case len(s.Revisions) > 0:
		return fmt.Sprint(s.Revisions)
	case s.Revision == "":
		return "nothing"
	}
	return s.Revision
}

func (s *session) showVerdict(v takeover.Verdict, quick bool) {
	w := s.env.Out
	fmt.Fprintf(w, "Argo CD %s with %s\n", cmp.Or(clean(v.Version), "of an unknown version"), plural(v.Applications, "application"))
	if !quick {
		fmt.Fprintf(w, "Towline compared %d of them with the same revisions\n", v.Compared)
	}
	for _, sub := range v.Subjects {
		s.showSubject(sub)
	}
	for _, self := range v.Self {
		fmt.Fprintf(w, "\n%s deploys Argo CD itself", s.out.paint(bold, clean("Application "+self.Application)))
		if self.Harmless {
			fmt.Fprintln(w, ", and leaves the replicas alone")
			continue
		}
		fmt.Fprintln(w, ", and would start it again. Before a takeover, in its source:")
		for line := range strings.SplitSeq(self.Change, "\n") {
			bare := strings.TrimLeft(line, " ")
			fmt.Fprintf(w, "  %s%s\n", line[:len(line)-len(bare)], clean(bare))
		}
	}
	fmt.Fprintln(w)
	for _, n := range v.Notes {
		fmt.Fprintf(w, "%s %s\n", s.out.paint(bold, "note:"), clean(n))
	}
	for _, o := range v.Obstacles {
		fmt.Fprintf(w, "%s %s\n", s.out.paint(red, "obstacle:"), clean(o))
	}
	if len(v.Obstacles) == 0 {
		fmt.Fprintln(w, s.out.paint(green, "Nothing stands in the way of \"towline migrate takeover\"."))
	}
}

func (s *session) showSubject(of takeover.Subject) {
	w := s.env.Out
	fmt.Fprintf(w, "\n%s\n", s.out.paint(bold, clean(of.Name)))
	for _, d := range of.Differences {
		fmt.Fprintf(w, "  %s %s\n", s.out.paint(yellow, "differs:"), clean(d.String()))
	}
	if of.Failed != "" {
		fmt.Fprintf(w, "  %s %s\n", s.out.paint(yellow, "not compared:"), clean(of.Failed))
	}
	for _, f := range of.Findings {
		shade := yellow
		if f.Severity == lint.Error {
			shade = red
		}
		fmt.Fprintf(w, "  %s %s\n", s.out.paint(shade, string(f.Severity)+":"), clean(f.Message))
		if f.Field != "" {
			fmt.Fprintf(w, "    at %s\n", clean(f.Field))
		}
		fmt.Fprintf(w, "    %s %s\n", s.out.paint(bold, "instead:"), clean(f.Fix))
	}
}
