package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/internal/core/rbac"
)

type asking struct {
	permitting
	groups          []string
	standard        string
	builtin, strict bool
	quiet, explain  bool
	output          output
}

func newCan(env *Env, g *global) *cobra.Command {
	c := &asking{permitting: permitting{env: env, global: g}}
	cmd := &cobra.Command{
		Use:   "can SUBJECT ACTION RESOURCE [OBJECT]",
		Short: "Ask whether somebody may do something, and by which line",
		Long: "Ask whether an account, a group, a role or proj:PROJECT:ROLE may do something, by the lines of argocd-rbac-cm and\n" +
			"the roles of the project that the object belongs to. It prints Yes or No, and the exit code is 0 or 1.\n\n" +
			"The object is PROJECT/APPLICATION, or PROJECT/NAMESPACE/APPLICATION, or the name of what is asked for.",
		Example: "  towline admin rbac can bob sync applications shop/web --explain\n" +
			"  towline admin rbac can bob get logs shop/web --group devs\n" +
			"  towline admin rbac can proj:shop:ci sync app shop/web\n" +
			"  towline admin rbac can role:dev create app 'shop/*' --policy-file policy.csv",
		Args:              arguments,
		ValidArgsFunction: completeQuestion,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	c.register(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&c.groups, "group", nil, "group that the subject comes with (may be repeated)")
	f.StringVar(&c.standard, "default-role", "", "take this as policy.default")
	f.BoolVar(&c.builtin, "use-builtin-policy", true, "count the roles that are always there: role:readonly and role:admin")
	f.BoolVar(&c.strict, "strict", true, "refuse names of actions and resources that nobody asks for")
	f.BoolVarP(&c.quiet, "quiet", "q", false, "print nothing; the exit code is the answer")
	f.BoolVar(&c.explain, "explain", false, "print the line that decided, and why")
	c.output.register(cmd, outputJSON, outputYAML)
	return cmd
}

// shortResources are the names that people type.
var shortResources = map[string]string{
	"account": rbac.Accounts, "app": rbac.Applications, "apps": rbac.Applications, "application": rbac.Applications,
	"appset": rbac.ApplicationSets, "appsets": rbac.ApplicationSets, "applicationset": rbac.ApplicationSets,
	"cert": rbac.Certificates, "certs": rbac.Certificates, "certificate": rbac.Certificates, "cluster": rbac.Clusters,
	"extension": rbac.Extensions, "gpgkey": rbac.GPGKeys, "key": rbac.GPGKeys, "log": rbac.Logs,
	"proj": rbac.Projects, "projs": rbac.Projects, "project": rbac.Projects,
	"repo": rbac.Repositories, "repos": rbac.Repositories, "repository": rbac.Repositories,
}

// question reads what was typed.
func (c *asking) question(args []string) (rbac.Question, error) {
	q := rbac.Question{Action: args[1], Resource: args[2]}
	if long, ok := shortResources[q.Resource]; ok {
		q.Resource = long
	}
	if len(args) > 3 {
		q.Object = args[3]
	}
	if rbac.InApplications(q.Resource) && (q.Object == "" || q.Object == "*") {
		q.Object = "*/*"
	}
	actions := rbac.Actions(q.Resource)
	switch {
	case !c.strict:
	case actions == nil:
		return q, usagef("there is no resource %q; write one of %s, or --strict=false", q.Resource, strings.Join(rbac.Resources(), ", "))
	case !rbac.Known(q.Resource, q.Action):
		return q, usagef("%s cannot be asked for %q; write one of %s, or --strict=false", q.Resource, q.Action, strings.Join(actions, ", "))
	}
	return q, nil
}

// verdictDocument is the answer in the structured output.
type verdictDocument struct {
	Allowed  bool   `json:"allowed"`
	Document string `json:"document,omitempty"`
	Line     int    `json:"line,omitempty"`
	Text     string `json:"text,omitempty"`
	Why      string `json:"why"`
}

func (c *asking) run(cmd *cobra.Command, args []string) error {
	if err := c.output.check(); err != nil {
		return err
	}
	q, err := c.question(args)
	if err != nil {
		return err
	}
	if err := c.load(cmd); err != nil {
		return err
	}
	c.config.NoBuiltin = !c.builtin
	if c.standard != "" {
		c.config.Default = c.standard
	}
	table, bad := rbac.Compile(c.config)
	rights, worse, err := c.project(cmd.Context(), rbac.NewRights(table), q)
	if err != nil {
		return err
	}
	who := rbac.Subject{Name: args[0], Groups: c.groups}
	v := rights.Decide(who, q)
	if !c.quiet {
		c.warn(slices.Concat(c.problems, bad, worse), table, who, v)
		if err := c.print(v); err != nil {
			return err
		}
	}
	if !v.Allowed {
		return ErrNo
	}
	return nil
}

// warn tells what may make the answer another one than was expected.
func (c *asking) warn(problems []rbac.Problem, table *rbac.Table, who rbac.Subject, v rbac.Verdict) {
	s := c.session()
	for _, p := range problems {
		if !p.Hint {
			s.note("%s %s", s.err.paint(yellow, "warning:"), clean(p.String()))
		}
	}
	if _, _, ofProject := rbac.SplitProjectSubject(who.Name); v.Subject == who.Name && v.Allowed && !ofProject &&
		!table.Grouped(who.Name) && !strings.HasPrefix(who.Name, "role:") {
		s.note("%s if %q is a group, its lines count for its members only once a line \"g, %s, ROLE\" names it",
			s.err.paint(yellow, "warning:"), who.Name, who.Name)
	}
}

func (c *asking) print(v rbac.Verdict) error {
	if c.output.structured() {
		return c.output.encode(c.env.Out, verdictDocument{v.Allowed, v.Line.Document, v.Line.Number, v.Line.Text, v.Why})
	}
	s := c.session()
	answer := s.out.paint(red, "No")
	if v.Allowed {
		answer = s.out.paint(green, "Yes")
	}
	fmt.Fprintln(c.env.Out, answer)
	if !c.explain {
		return nil
	}
	if v.Line.Text != "" {
		fmt.Fprintf(c.env.Out, "%s: %s\n", clean(v.Line.String()), clean(v.Line.Text))
	}
	fmt.Fprintln(c.env.Out, clean(v.Why))
	return nil
}

// completeQuestion offers the words of the language.
func completeQuestion(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	switch len(args) {
	case 1:
		var out []cobra.Completion
		for _, r := range rbac.Resources() {
			for _, a := range rbac.Actions(r) {
				if !slices.Contains(out, a) {
					out = append(out, a)
				}
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	case 2:
		return rbac.Resources(), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}
