package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/internal/core/health"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
)

// Judge judges objects as the controller would.
type Judge interface {
	// Judge gives each object its health and the rule that decided.
	Judge(objects []*unstructured.Unstructured) []Judged
	// Problems are the settings that could not be used.
	Problems() []string
	Close()
}

// Judged is a verdict with the rule that it comes from.
type Judged struct {
	Health health.Health
	Rule   string
}

// HealthRules are what the controller would find in its settings: the data of
// argocd-cm, or one script for all kinds.
type HealthRules struct {
	Settings map[string]string
	Script   string
	// Name is the script's, for messages.
	Name     string
	OpenLibs bool
}

type judging struct {
	env      *Env
	files    []string
	script   string
	openLibs bool
	settings string
	cases    string
	output   output
}

// NewHealth makes the command "health", which needs no cluster.
func NewHealth(env *Env) *cobra.Command {
	c := &judging{env: env}
	cmd := &cobra.Command{
		Use:   "health -f FILE",
		Short: "Judge the health of objects in files, and test health scripts",
		Long: "Judge the health of objects in files, with the rules that the controller would use, and say which rule decided.\n" +
			"No cluster is asked.\n\n" +
			"With --test the objects come with the health that they should have, and the exit code is 1 if one has another.\n" +
			"Exit codes: 0 done, 1 a test failed, 2 wrong usage, 20 anything else.",
		Example: "  kubectl get application shop -o yaml | towline health -f - --settings argocd-cm.yaml\n" +
			"  towline health -f widget.yaml --script widget.lua\n" +
			"  towline health --test cases.yaml --script widget.lua",
		Args:          none,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(*cobra.Command, []string) error { return c.run() },
	}
	cmd.SetIn(env.In)
	cmd.SetOut(env.Out)
	cmd.SetErr(env.Err)
	f := cmd.Flags()
	f.StringArrayVarP(&c.files, "file", "f", nil, "file with objects; - is the input (may be repeated)")
	f.StringVar(&c.script, "script", "", "file with the Lua to judge by")
	f.BoolVar(&c.openLibs, "open-libs", false, "give the script the libraries that useOpenLibs gives it")
	f.StringVar(&c.settings, "settings", "", "file with argocd-cm, or with the values of its Helm chart")
	f.StringVar(&c.cases, "test", "", "file with objects and the health that they should have")
	c.output.register(cmd, outputJSON, outputYAML)
	return cmd
}

func (c *judging) run() error {
	if err := c.output.check(); err != nil {
		return err
	}
	switch {
	case c.script != "" && c.settings != "":
		return usagef("give --script or --settings, not both")
	case c.openLibs && c.script == "":
		return usagef("--open-libs is for --script; in the settings it is resource.customizations.useOpenLibs.<group>_<Kind>")
	case len(c.files) == 0 && c.cases == "":
		return usagef("name the objects with -f FILE, or cases with --test FILE")
	case len(c.files) > 0 && c.cases != "":
		return usagef("give -f or --test, not both")
	}
	rules, err := c.rules()
	if err != nil {
		return err
	}
	judge, err := c.env.Judge(rules)
	if err != nil {
		return err
	}
	defer judge.Close()
	for _, p := range judge.Problems() {
		fmt.Fprintf(c.env.Err, "warning: %s\n", clean(p))
	}
	if c.cases != "" {
		return c.test(judge)
	}
	return c.show(judge)
}

func (c *judging) rules() (HealthRules, error) {
	switch {
	case c.script != "":
		text, err := c.read(c.script)
		if err != nil {
			return HealthRules{}, err
		}
		return HealthRules{Script: string(text), Name: filepath.Base(c.script), OpenLibs: c.openLibs}, nil
	case c.settings != "":
		text, err := c.read(c.settings)
		if err != nil {
			return HealthRules{}, err
		}
		data, err := settingsData(text)
		if err != nil {
			return HealthRules{}, fmt.Errorf("reading the settings %q: %w", c.settings, err)
		}
		return HealthRules{Settings: data}, nil
	default:
		return HealthRules{}, nil
	}
}

// settingsData finds the settings in a config map, or in the values of the
// Helm chart that makes it: that is where many people keep them.
func settingsData(text []byte) (map[string]string, error) {
	var file struct {
		Data    map[string]string `json:"data"`
		Configs struct {
			CM map[string]any `json:"cm"`
		} `json:"configs"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	if file.Data == nil && file.Configs.CM == nil {
		return nil, fmt.Errorf("it has neither data (a config map) nor configs.cm (Helm values)")
	}
	if file.Data != nil {
		return file.Data, nil
	}
	out := map[string]string{}
	for k, v := range file.Configs.CM {
		if s, ok := v.(string); ok {
			out[k] = s
			continue
		}
		raw, err := yaml.Marshal(v)
		if err != nil {
			return nil, err
		}
		out[k] = strings.TrimSpace(string(raw))
	}
	return out, nil
}

func (c *judging) read(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(c.env.In)
	}
	text, err := c.env.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", name, err)
	}
	return text, nil
}

func (c *judging) objects(name string) ([]*unstructured.Unstructured, error) {
	text, err := c.read(name)
	if err != nil {
		return nil, err
	}
	objects, err := manifest.Parse(name, text)
	if err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("%q holds no object", name)
	}
	return objects, nil
}

// judgedDocument is one object in the structured output.
type judgedDocument struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Status    string `json:"status"`
	Message   string `json:"message,omitempty"`
	Rule      string `json:"rule"`
}

func (c *judging) show(judge Judge) error {
	var all []*unstructured.Unstructured
	for _, name := range c.files {
		objects, err := c.objects(name)
		if err != nil {
			return err
		}
		all = append(all, objects...)
	}
	t := table{head: []string{"OBJECT", "HEALTH", "RULE", "MESSAGE"}, palette: c.palette()}
	documents := make([]judgedDocument, len(all))
	for i, j := range judgeEach(judge, all) {
		k := object.KeyOf(all[i])
		documents[i] = judgedDocument{
			Group: k.Group, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name,
			Status: string(j.Health.Status), Message: j.Health.Message, Rule: j.Rule,
		}
		t.row(word(k.String()), statusCell(j.Health.Status), word(j.Rule), word(j.Health.Message))
	}
	if c.output.structured() {
		return c.output.encode(c.env.Out, documents)
	}
	return t.write(c.env.Out, true)
}

// judgeEach judges objects of any kinds, in their order.
func judgeEach(judge Judge, objects []*unstructured.Unstructured) []Judged {
	out := make([]Judged, len(objects))
	for i, u := range objects {
		out[i] = judge.Judge([]*unstructured.Unstructured{u})[0]
	}
	return out
}

func (c *judging) palette() palette {
	return palette{on: wantColour(c.env.colour, c.env.OutIsTerminal, c.env.Getenv)}
}

func statusCell(s health.Status) cell {
	colours := map[health.Status]colour{
		health.Healthy: green, health.Progressing: blue, health.Suspended: yellow, health.Missing: yellow, health.Degraded: red,
	}
	if s == "" {
		return cell{text: "none", colour: faint}
	}
	return cell{text: string(s), colour: colours[s]}
}
