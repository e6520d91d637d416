package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/internal/core/rbac"
)

// ErrNo is the answer to a question. It has been printed, so there is nothing
// more to say than the exit code.
var ErrNo = errors.New("no")

// aPolicy is where the lines stand.
var aPolicy = thing{one: "config map", kind: "ConfigMaps", list: "kubectl get configmaps"}

// permitting are the flags of commands about permissions, and what they read.
type permitting struct {
	env    *Env
	global *global
	file   string
	config rbac.Config
	// problems are those of the config map; its lines are read later.
	problems []rbac.Problem
}

func newRBAC(env *Env, g *global) *cobra.Command {
	return family(env, &cobra.Command{Use: "rbac", Short: "Ask who may do what, and check the lines that say so"},
		newCan(env, g), newValidate(env, g))
}

func (c *permitting) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.file, "policy-file", "",
		"read the lines from a file: CSV, argocd-rbac-cm as YAML, or the values of its Helm chart; - is the input")
}

// load reads the permissions from the file or from the hub.
func (c *permitting) load(cmd *cobra.Command) error {
	if c.file == "" {
		s := c.session()
		var err error
		if c.config, c.problems, err = c.env.Policy(cmd.Context(), c.global.Flags); err != nil {
			return s.explainOf(aPolicy, "argocd-rbac-cm", err)
		}
		return nil
	}
	if cmd.Flags().Changed("namespace") {
		return usagef("give --policy-file or --namespace, not both")
	}
	text, err := (&judging{env: c.env}).read(c.file)
	if err != nil {
		return err
	}
	data, found, err := policyData(text)
	if err != nil {
		return fmt.Errorf("reading the policy %q: %w", c.file, err)
	}
	if !found {
		c.config = rbac.Config{
			Documents: []rbac.Document{{Name: filepath.Base(c.file), Text: string(text)}}, Scopes: rbac.DefaultScopes(),
		}
		return nil
	}
	c.config, c.problems = rbac.Read(data)
	return nil
}

// policyData finds the data of argocd-rbac-cm in a config map, or in the values
// of the Helm chart that makes it. Anything else is lines.
func policyData(text []byte) (data map[string]string, found bool, err error) {
	var file struct {
		Kind    string            `json:"kind"`
		Data    map[string]string `json:"data"`
		Configs struct {
			RBAC map[string]any `json:"rbac"`
		} `json:"configs"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		// CSV is no YAML, and no mistake.
		return nil, false, nil
	}
	switch {
	case file.Data != nil:
		return file.Data, true, nil
	case file.Configs.RBAC != nil:
		out := map[string]string{}
		for key, value := range file.Configs.RBAC {
			// The chart has switches of its own beside the keys.
			if s, ok := value.(string); ok {
				out[key] = s
			}
		}
		return out, true, nil
	case file.Kind != "":
		return nil, false, fmt.Errorf("it is a %s without data; give argocd-rbac-cm, or lines", file.Kind)
	}
	return nil, false, nil
}

func (c *permitting) session() *session {
	return &session{
		env: c.env, flags: c.global.Flags,
		out: palette{on: wantColour(c.env.colour, c.env.OutIsTerminal, c.env.Getenv)},
		err: palette{on: wantColour(c.env.colour, c.env.ErrIsTerminal, c.env.Getenv)},
	}
}

type validating struct {
	permitting
	output output
}

func newValidate(env *Env, g *global) *cobra.Command {
	c := &validating{permitting: permitting{env: env, global: g}}
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check the lines of argocd-rbac-cm",
		Long: "Check the lines of argocd-rbac-cm, in the cluster or in a file, and name each that cannot be read with what it\n" +
			"does now. A hint is a line that can be read and does nothing.",
		Example: "  towline admin rbac validate\n  towline admin rbac validate --policy-file argocd-rbac-cm.yaml",
		Args:    none,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.register(cmd)
	c.output.register(cmd, outputJSON, outputYAML)
	return cmd
}

// problemDocument is one problem in the structured output.
type problemDocument struct {
	Document string `json:"document"`
	Line     int    `json:"line,omitempty"`
	Text     string `json:"text,omitempty"`
	Cause    string `json:"cause"`
	Effect   string `json:"effect"`
	WayOut   string `json:"wayOut"`
	Hint     bool   `json:"hint,omitempty"`
}

func (c *validating) run(cmd *cobra.Command) error {
	if err := c.output.check(); err != nil {
		return err
	}
	if err := c.load(cmd); err != nil {
		return err
	}
	if len(c.config.Documents) == 0 && c.config.Default == "" {
		return fmt.Errorf("there is nothing to check: argocd-rbac-cm has no policy.csv; name another place with --policy-file or -n")
	}
	_, problems := rbac.Compile(c.config)
	problems = slices.Concat(c.problems, problems)
	verdict, err := "Policy is valid.", error(nil)
	if slices.ContainsFunc(problems, func(p rbac.Problem) bool { return !p.Hint }) {
		verdict, err = "Policy is invalid.", ErrNo
	}
	if c.output.structured() {
		documents := make([]problemDocument, len(problems))
		for i, p := range problems {
			documents[i] = problemDocument{p.Line.Document, p.Line.Number, p.Line.Text, p.Cause, p.Effect, p.WayOut, p.Hint}
		}
		return errors.Join(c.output.encode(c.env.Out, documents), err)
	}
	s := c.session()
	for _, p := range problems {
		kind := s.out.paint(red, "problem:")
		if p.Hint {
			kind = s.out.paint(yellow, "hint:")
		}
		fmt.Fprintf(c.env.Out, "%s %s\n", kind, clean(p.String()))
	}
	fmt.Fprintln(c.env.Out, verdict)
	return err
}

// project reads the project of a question: its roles have a say.
func (c *permitting) project(ctx context.Context, rights *rbac.Rights, q rbac.Question) (*rbac.Rights, []rbac.Problem, error) {
	name := q.Object
	if q.Resource != rbac.Projects {
		name, _, _ = strings.Cut(q.Object, "/")
	}
	// Only names are asked for: an object may also be a pattern or an address.
	if c.file != "" || name == "" || strings.ContainsAny(name, "*:?[]{} ") {
		return rights, nil, nil
	}
	projects, err := c.env.Projects(ctx, c.global.Flags)
	if err != nil {
		return nil, nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	p, err := projects.Project(ctx, name)
	if apierrors.IsNotFound(err) {
		return rights, nil, nil
	}
	if err != nil {
		return nil, nil, c.session().explainOf(aProject, name, err)
	}
	with, problems := rights.With(p)
	return with, problems, nil
}
