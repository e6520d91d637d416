package cli

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/notice"
)

// Notices are notifications, to be tried by hand.
type Notices struct {
	// Parse reads a configuration, and says what of it cannot be used.
	Parse func(notice.Source) *notice.Config
	// Data and Secrets are those of the installation.
	Data    func(ctx context.Context, f Flags) (map[string]string, error)
	Secrets func(ctx context.Context, f Flags) (map[string][]byte, error)
	// Send sends.
	Send func(ctx context.Context, s notice.Service, to notice.Destination, c notice.Content) error
}

// noting are the flags of commands about notifications.
type noting struct {
	env            *Env
	global         *global
	config, secret string
	output         output
}

// emptySecret stands for a secret without any value.
const emptySecret = ":empty"

func newNotices(env *Env, g *global) *cobra.Command {
	n := &noting{env: env, global: g}
	cmd := family(env, &cobra.Command{
		Use: "notifications", Aliases: []string{"notification"}, Short: "Try the triggers and templates of notifications",
		Long: "Try the triggers and templates of argocd-notifications-cm, in the cluster or in a file. Nothing is written on an\n" +
			"application, and a message is sent only to a --recipient.",
	},
		family(env, &cobra.Command{Use: "template", Short: "Templates of messages"}, newTemplateGet(n), newTemplateNotify(n)),
		family(env, &cobra.Command{Use: "trigger", Short: "Triggers of messages"}, newTriggerGet(n), newTriggerRun(n)))
	f := cmd.PersistentFlags()
	f.StringVar(&n.config, "config-map", "",
		"file with "+v1alpha1.ConfigMapNotifications+"; - is the input (default: the one of the cluster)")
	f.StringVar(&n.secret, "secret", "", "file with "+v1alpha1.SecretNotifications+"; "+emptySecret+
		" is none (default: the one of the cluster, or none where the config map is a file)")
	return cmd
}

// read is the configuration that is meant. What of it cannot be used is told.
func (n *noting) read(ctx context.Context) (*notice.Config, error) {
	source := notice.Source{Namespace: n.global.Namespace}
	var err error
	if n.config == "" {
		source.Data, err = n.env.Notices.Data(ctx, n.global.Flags)
	} else {
		source.Data, err = n.file(n.config)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", v1alpha1.ConfigMapNotifications, err)
	}
	switch {
	case n.secret == emptySecret, n.secret == "" && n.config != "":
	case n.secret == "":
		source.Secrets, err = n.env.Notices.Secrets(ctx, n.global.Flags)
	default:
		source.Secrets, err = n.secrets()
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", v1alpha1.SecretNotifications, err)
	}
	c := n.env.Notices.Parse(source)
	for _, p := range c.Problems {
		fmt.Fprintf(n.env.Err, "Warning: %s\n", p)
	}
	return c, nil
}

func (n *noting) file(name string) (map[string]string, error) {
	text, err := n.env.read(name)
	if err != nil {
		return nil, err
	}
	return settingsData(text)
}

// secrets reads a file of a secret, whose values may be written either way.
func (n *noting) secrets() (map[string][]byte, error) {
	text, err := n.env.read(n.secret)
	if err != nil {
		return nil, err
	}
	var file struct {
		Data       map[string]string `json:"data"`
		StringData map[string]string `json:"stringData"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%q is no secret", n.secret)
	}
	out := map[string][]byte{}
	for key, value := range file.Data {
		if out[key], err = base64.StdEncoding.DecodeString(value); err != nil {
			return nil, fmt.Errorf("%s of %q is not base64; write it below stringData", key, n.secret)
		}
	}
	for key, value := range file.StringData {
		out[key] = []byte(value)
	}
	return out, nil
}

// application is one of a file, or of the cluster.
func (n *noting) application(ctx context.Context, name string) (map[string]any, error) {
	object := map[string]any{}
	if isFile(name) {
		text, err := n.env.read(name)
		if err != nil {
			return nil, fmt.Errorf("reading the application: %w", err)
		}
		if err := yaml.Unmarshal(text, &object); err != nil {
			return nil, fmt.Errorf("reading the application %q: %w", name, err)
		}
		return object, nil
	}
	s, names, err := n.global.connect(ctx, n.env, []string{name})
	if err != nil {
		return nil, err
	}
	app, err := s.hub.Application(ctx, names[0])
	if err != nil {
		return nil, s.explain(name, err)
	}
	text, err := json.Marshal(app)
	if err == nil {
		err = json.Unmarshal(text, &object)
	}
	return object, err
}

// isFile tells a file from the name of an application, which may have dots and a namespace.
func isFile(name string) bool {
	return name == "-" || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") || strings.HasPrefix(name, "/") ||
		slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}

func newTemplateGet(n *noting) *cobra.Command {
	cmd := &cobra.Command{
		Use: "get [NAME]", Short: "Show templates", Args: arguments, ValidArgsFunction: cobra.NoFileCompletions,
		Example: "  towline admin notifications template get\n  towline admin notifications template get app-sync-failed -o yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := n.read(cmd.Context())
			if err != nil {
				return err
			}
			items := map[string]map[string]any{}
			for name, t := range c.Templates {
				items[name] = t.Raw
			}
			return showNamed(n, args, items, func(name string) [][]string {
				text, _ := items[name]["message"].(string)
				if text == "" {
					text = strings.Join(slices.Sorted(maps.Keys(items[name])), ", ")
				}
				first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
				return [][]string{{name, first}}
			}, "NAME", "PREVIEW")
		},
	}
	n.output.register(cmd, outputJSON, outputYAML, outputName, outputWide)
	return cmd
}

// showNamed shows one or all of some named things, in rows for people.
func showNamed[T any](n *noting, args []string, items map[string]T, rows func(name string) [][]string, head ...string) error {
	if err := n.output.check(); err != nil {
		return err
	}
	if len(args) == 1 {
		one, ok := items[args[0]]
		if !ok {
			return fmt.Errorf("there is no %q; there are %s", args[0], strings.Join(slices.Sorted(maps.Keys(items)), ", "))
		}
		items = map[string]T{args[0]: one}
	}
	if n.output.structured() {
		return n.output.encode(n.env.Out, items)
	}
	t := [][]string{head}
	for _, name := range slices.Sorted(maps.Keys(items)) {
		if n.output.form == outputName {
			fmt.Fprintln(n.env.Out, name)
			continue
		}
		t = append(t, rows(name)...)
	}
	if n.output.form != outputName {
		columns(n.env, t)
	}
	return nil
}

// columns writes rows below each other.
func columns(env *Env, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "%-*s  ", widths[i], cell)
		}
		fmt.Fprintln(env.Out, strings.TrimRight(line.String(), " "))
	}
}

func newTemplateNotify(n *noting) *cobra.Command {
	var recipients []string
	cmd := &cobra.Command{
		Use: "notify NAME APP", Short: "Write a message by a template, and show or send it", Args: arguments,
		Long: "Write a message by a template, for an application of the cluster or of a file, and show it. With --recipient it is\n" +
			"sent, and nothing is noted on the application.",
		Example: "  towline admin notifications template notify app-sync-failed shop\n" +
			"  towline admin notifications template notify app-sync-failed ./shop.yaml --config-map cm.yaml\n" +
			"  towline admin notifications template notify app-sync-failed shop --recipient slack:ops",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := n.read(cmd.Context())
			if err != nil {
				return err
			}
			app, err := n.application(cmd.Context(), args[1])
			if err != nil {
				return err
			}
			for _, text := range recipients {
				service, recipient, _ := strings.Cut(text, ":")
				if err := n.notify(cmd.Context(), c, args[0], app, notice.Destination{Service: service, Recipient: recipient}); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&recipients, "recipient", []string{"console:stdout"}, "who gets it, as service:recipient")
	return cmd
}

// notify sends a message, or shows all that it would say.
func (n *noting) notify(ctx context.Context, c *notice.Config, template string, app map[string]any, to notice.Destination) error {
	world := notice.World{Now: n.env.Now()}
	if to.Service != "console" {
		content, err := c.Render([]string{template}, to, app, world)
		if err != nil {
			return err
		}
		if err := n.env.Notices.Send(ctx, c.Services[to.Service], to, content); err != nil {
			return fmt.Errorf("sending to %s:%s: %w", to.Service, to.Recipient, err)
		}
		fmt.Fprintf(n.env.Out, "sent to %s:%s\n", to.Service, to.Recipient)
		return nil
	}
	t, ok := c.Templates[template]
	if !ok {
		return fmt.Errorf("there is no template %q; there are %s", template, strings.Join(slices.Sorted(maps.Keys(c.Templates)), ", "))
	}
	shown := map[string]any{}
	for _, kind := range append([]string{""}, slices.Sorted(maps.Keys(t.Raw))...) {
		content, err := c.RenderFor([]string{template}, notice.Service{Name: kind, Type: kind}, app, world)
		if err != nil {
			return err
		}
		if content.Message != "" {
			shown["message"] = content.Message
		}
		if content.Part != nil {
			shown[kind] = content.Part
		}
	}
	text, err := yaml.Marshal(shown)
	if err != nil {
		return err
	}
	fmt.Fprint(n.env.Out, string(text))
	return nil
}

func newTriggerGet(n *noting) *cobra.Command {
	cmd := &cobra.Command{
		Use: "get [NAME]", Short: "Show triggers", Args: arguments, ValidArgsFunction: cobra.NoFileCompletions,
		Example: "  towline admin notifications trigger get\n  towline admin notifications trigger get on-sync-failed -o yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := n.read(cmd.Context())
			if err != nil {
				return err
			}
			items := map[string][]notice.Condition{}
			for name, t := range c.Triggers {
				items[name] = t.Conditions
			}
			return showNamed(n, args, items, func(name string) (rows [][]string) {
				for i, condition := range items[name] {
					shown := name
					if i > 0 {
						shown = ""
					}
					when := strings.Join(strings.Fields(condition.When), " ")
					rows = append(rows, []string{shown, strings.Join(condition.Send, ", "), when})
				}
				return rows
			}, "NAME", "TEMPLATE", "CONDITION")
		},
	}
	n.output.register(cmd, outputJSON, outputYAML, outputName, outputWide)
	return cmd
}

func newTriggerRun(n *noting) *cobra.Command {
	return &cobra.Command{
		Use: "run NAME APP", Short: "Say whether the conditions of a trigger hold", Args: arguments,
		Long: "Say whether the conditions of a trigger hold for an application of the cluster or of a file.",
		Example: "  towline admin notifications trigger run on-sync-failed shop\n" +
			"  towline admin notifications trigger run on-sync-failed ./shop.yaml --config-map cm.yaml",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := n.read(cmd.Context())
			if err != nil {
				return err
			}
			if c.Triggers[args[0]] == nil {
				return fmt.Errorf("there is no trigger %q; there are %s", args[0], strings.Join(slices.Sorted(maps.Keys(c.Triggers)), ", "))
			}
			app, err := n.application(cmd.Context(), args[1])
			if err != nil {
				return err
			}
			rows := [][]string{{"CONDITION", "RESULT", "ONCE PER"}}
			for _, o := range c.Run(args[0], app, notice.World{Now: n.env.Now()}) {
				rows = append(rows, []string{strings.Join(strings.Fields(o.Condition.When), " "), fmt.Sprint(o.Holds), o.Once})
				if o.Problem != "" {
					fmt.Fprintf(n.env.Err, "Warning: %s\n", o.Problem)
				}
			}
			columns(n.env, rows)
			return nil
		},
	}
}
