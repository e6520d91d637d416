package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/internal/core/lint"
)

type linting struct {
	env     *Env
	repos   []string
	against string
	skip    []string
	strict  bool
	list    bool
	output  output
}

// NewLint makes the command "lint", which needs no cluster.
func NewLint(env *Env) *cobra.Command {
	c := &linting{env: env}
	cmd := &cobra.Command{
		Use:   "lint PATH...",
		Short: "Look for mistakes in the manifests of a repository",
		Long: "Look for mistakes in the Applications, ApplicationSets, AppProjects, settings and manifests below a folder: fields that\n" +
			"nobody reads, settings in the wrong config map, rules that hide too much, waves that cannot be reached. Nothing is\n" +
			"fetched and no cluster is asked. What a kustomization takes in is judged as it is built, in each overlay that no other\n" +
			"one takes in. A comment \"# " + lint.Excuse + " CHECK\" says that a line is meant as it is.\n\n" +
			"Exit codes: 0 nothing wrong, 1 an error (with --strict: anything), 2 wrong usage, 20 anything else.",
		Example: "  towline lint .\n" +
			"  towline lint apps/ --repo . --against ../main -o json\n" +
			"  towline lint --list",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          func(*cobra.Command, []string) error { return nil },
		RunE:          c.run,
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; %q shows the flags", err, cmd.CommandPath()+" --help")
	})
	cmd.SetIn(env.In)
	cmd.SetOut(env.Out)
	cmd.SetErr(env.Err)
	f := cmd.Flags()
	f.StringArrayVar(&c.repos, "repo", nil,
		"clone of a repository that Applications point to: their branches and folders are looked up in it (may be repeated)")
	f.StringVar(&c.against, "against", "", "folder with the manifests as they are deployed: changes that a cluster refuses are found")
	f.StringSliceVar(&c.skip, "skip", nil, "checks to leave out")
	f.BoolVar(&c.strict, "strict", false, "fail for warnings, too")
	f.BoolVar(&c.list, "list", false, "list the checks")
	f.StringVar(&env.colour, "color", colourAuto, "when to colour: auto, always or never")
	fixed(cmd, "color", colourAuto, colourAlways, colourNever)
	c.output.register(cmd, outputJSON, outputYAML)
	return cmd
}

func (c *linting) run(cmd *cobra.Command, paths []string) error {
	if err := c.output.check(); err != nil {
		return err
	}
	if c.list {
		return c.catalog()
	}
	if len(paths) == 0 {
		return usagef("write it as in %q: say what to look at", "towline lint .")
	}
	for _, s := range c.skip {
		if !slices.ContainsFunc(lint.Checks(), func(k lint.Check) bool { return k.Name == s }) {
			return usagef("there is no check %q; \"towline lint --list\" has them", s)
		}
	}
	in := lint.Input{Skip: c.skip, Settings: func(data map[string]string) (problems, notHonoured []string) {
		r := c.env.CheckSettings(data)
		return r.Problems, r.NotHonoured
	}}
	for _, p := range paths {
		files, err := c.env.Manifests(p)
		if err != nil {
			return err
		}
		in.Files = append(in.Files, files...)
	}
	if roots := lint.Roots(in.Files); len(roots) > 0 {
		var err error
		if in.Builds, err = c.env.Kustomize(cmd.Context(), roots, paths); err != nil {
			return err
		}
	}
	if c.against != "" {
		old, err := c.env.Manifests(c.against)
		if err != nil {
			return err
		}
		in.Against = beside(old, c.against, paths)
	}
	for _, dir := range c.repos {
		r, err := c.env.Clone(cmd.Context(), dir)
		if err != nil {
			return err
		}
		in.Repositories = append(in.Repositories, r)
	}
	return c.show(lint.Look(in))
}

// beside gives the files of another folder the names that they have in the
// first one.
func beside(files []lint.File, folder string, paths []string) []lint.File {
	trim := func(p string) string { return strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/") }
	out := make([]lint.File, len(files))
	for i, f := range files {
		name := strings.TrimPrefix(strings.TrimPrefix(f.Name, trim(folder)), "/")
		if base := trim(paths[0]); base != "." && base != "" {
			name = base + "/" + name
		}
		out[i] = lint.File{Name: name, Text: f.Text}
	}
	return out
}

func (c *linting) catalog() error {
	if c.output.structured() {
		return c.output.encode(c.env.Out, lint.Checks())
	}
	list := &table{head: []string{"CHECK", "FINDS"}}
	for _, k := range lint.Checks() {
		list.row(word(k.Name), word(k.What))
	}
	return list.write(c.env.Out, true)
}

func (c *linting) show(r lint.Report) error {
	var failed error
	if r.Failed(c.strict) {
		failed = ErrNo
	}
	if c.output.structured() {
		if r.Findings == nil {
			r.Findings = []lint.Finding{}
		}
		if err := c.output.encode(c.env.Out, r); err != nil {
			return err
		}
		return failed
	}
	p := palette{on: wantColour(c.env.colour, c.env.OutIsTerminal, c.env.Getenv)}
	errors := 0
	for _, f := range r.Findings {
		showFinding(c.env, p, f)
		if f.Severity == lint.Error {
			errors++
		}
	}
	for _, u := range r.Unread {
		fmt.Fprintf(c.env.Err, "not read: %s\n", clean(u))
	}
	fmt.Fprintf(c.env.Out, "%s looked at: %s, %s\n", plural(r.Files, "file"), plural(errors, "error"),
		plural(len(r.Findings)-errors, "warning"))
	return failed
}

// showFinding tells a finding to a person: where, what and the way out.
func showFinding(env *Env, p palette, f lint.Finding) {
	shade := yellow
	if f.Severity == lint.Error {
		shade = red
	}
	where := f.Object
	if f.File != "" {
		where = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	fmt.Fprintf(env.Out, "%s: %s %s\n", clean(where), p.paint(shade, string(f.Severity)+":"), clean(f.Message))
	if f.Object != "" && f.File != "" {
		as := ""
		if f.Build != "" {
			as = ", as built from " + f.Build
		}
		fmt.Fprintf(env.Out, "    in %s, %s%s\n", clean(f.Object), clean(f.Field), clean(as))
	} else if f.Field != "" {
		fmt.Fprintf(env.Out, "    at %s\n", clean(f.Field))
	}
	fmt.Fprintf(env.Out, "    %s %s\n    [%s]\n", p.paint(bold, "instead:"), clean(f.Fix), f.Check)
}
