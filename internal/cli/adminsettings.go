package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/action"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/engine"
)

// SettingsReport is what of argocd-cm cannot be used, a key each.
type SettingsReport struct {
	// Problems are keys that cannot be read, and NotHonoured those that this version does nothing with.
	Problems, NotHonoured []string
}

// Overrides are what argocd-cm says about the objects of some kinds.
type Overrides interface {
	// Stripped is an object without the fields whose difference does not count, and what of the rules cannot be followed.
	Stripped(u *unstructured.Unstructured) (*unstructured.Unstructured, []string)
	// Discover lists what can be done with an object.
	Discover(u *unstructured.Unstructured) ([]action.Action, error)
	// Steps are what an action would change.
	Steps(u *unstructured.Unstructured, act engine.Act) ([]action.Step, error)
	Close()
}

// tuning are the flags of commands about settings.
type tuning struct {
	env    *Env
	global *global
	file   string
	// hub is that the settings of the cluster are meant; so they are without a file.
	hub bool
}

func newSettings(env *Env, g *global) *cobra.Command {
	t := &tuning{env: env, global: g}
	cmd := family(env, &cobra.Command{Use: "settings", Short: "Check the settings, and try them"},
		newRBAC(env, g), newSettingsValidate(t),
		family(env, &cobra.Command{
			Use: "resource-overrides", Aliases: []string{"resource-customizations"},
			Short: "Try what argocd-cm says about the objects of a kind, on an object in a file",
		},
			newOverrideHealth(t), newOverrideIgnore(t), newOverrideActions(t), newOverrideRun(t),
			refusing("ignore-resource-updates RESOURCE_YAML_PATH", "a change of an object that touches nothing of ours is never a reason "+
				"to look at the application again, whatever resource.customizations.ignoreResourceUpdates says: there is nothing "+
				"to ignore")))
	f := cmd.PersistentFlags()
	f.StringVar(&t.file, "argocd-cm-path", "",
		"file with argocd-cm, or with the values of its Helm chart (default: the one of the cluster)")
	f.BoolVar(&t.hub, "load-cluster-settings", false, "take argocd-cm of the cluster, as it is done without a file")
	f.String("argocd-secret-path", "", "taken for Argo CD's sake: nothing of the secret is looked at")
	_ = f.MarkHidden("argocd-secret-path") // it was made a line above
	return cmd
}

// data are the settings that are meant.
func (t *tuning) data(cmd *cobra.Command) (map[string]string, error) {
	switch {
	case t.file != "" && t.hub:
		return nil, usagef("give --argocd-cm-path or --load-cluster-settings, not both")
	case t.file == "":
		s := (&permitting{env: t.env, global: t.global}).session()
		data, err := t.env.SettingsData(cmd.Context(), t.global.Flags)
		return data, s.explainOf(aPolicy, v1alpha1.ConfigMapSettings, err)
	}
	text, err := t.env.read(t.file)
	if err != nil {
		return nil, err
	}
	data, err := settingsData(text)
	if err != nil {
		return nil, fmt.Errorf("reading the settings %q: %w", t.file, err)
	}
	return data, nil
}

// settingsGroups are Argo CD's names for parts of the settings, by how their keys begin.
var settingsGroups = map[string][]string{
	"accounts": {"accounts.", "admin.", "users."}, "kustomize": {"kustomize."},
	"repositories":       {"repositories", "repository.", "helm.repositories"},
	"resource-overrides": {v1alpha1.KeyCustomizations},
}

// settingsGroup is the part of the settings that a key, or a sentence that begins with it, belongs to.
func settingsGroup(key string) string {
	for name, prefixes := range settingsGroups {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(key, p) }) {
			return name
		}
	}
	return "general"
}

func newSettingsValidate(t *tuning) *cobra.Command {
	var groups []string
	all := []string{"accounts", "general", "kustomize", "repositories", "resource-overrides"}
	cmd := &cobra.Command{
		Use: "validate", Short: "Check argocd-cm", Args: none,
		Long: "Check argocd-cm, in the cluster or in a file: each key that cannot be read is named, and each that this version does\n" +
			"nothing with. The exit code is 1 if one cannot be read.",
		Example: "  towline admin settings validate\n" +
			"  towline admin settings validate --argocd-cm-path argocd-cm.yaml --group kustomize",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, g := range groups {
				if !slices.Contains(all, g) {
					return usagef("--group is one of %s, not %q", strings.Join(all, ", "), g)
				}
			}
			data, err := t.data(cmd)
			if err != nil {
				return err
			}
			if len(groups) == 0 {
				groups = all
			}
			return t.report(t.env.CheckSettings(data), groups)
		},
	}
	cmd.Flags().StringSliceVar(&groups, "group", nil, "only these parts: "+strings.Join(all, ", "))
	fixed(cmd, "group", all...)
	return cmd
}

func (t *tuning) report(r SettingsReport, groups []string) error {
	s := (&permitting{env: t.env, global: t.global}).session()
	var err error
	for _, g := range groups {
		in := func(key string) bool { return settingsGroup(key) == g }
		bad := filtered(r.Problems, in)
		verdict := s.out.paint(green, "valid")
		if len(bad) > 0 {
			verdict, err = s.out.paint(red, "invalid"), ErrNo
		}
		fmt.Fprintf(t.env.Out, "%s: %s\n", g, verdict)
		for _, p := range bad {
			fmt.Fprintf(t.env.Out, "  %s %s\n", s.out.paint(red, "problem:"), clean(p))
		}
		for _, p := range filtered(r.NotHonoured, in) {
			fmt.Fprintf(t.env.Out, "  %s %s is not honoured by this version\n", s.out.paint(yellow, "hint:"), clean(p))
		}
	}
	return err
}

func filtered(list []string, fits func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return !fits(s) })
}

// object is the one object of a file.
func (t *tuning) object(file string) (*unstructured.Unstructured, error) {
	all, err := (&judging{env: t.env}).objects(file)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, usagef("%q holds %s; give one", file, plural(len(all), "object"))
	}
	return all[0], nil
}

// trying makes a command that tries settings on the object of a file.
func (t *tuning) trying(cmd *cobra.Command, run func(o Overrides, u *unstructured.Unstructured, args []string) error) *cobra.Command {
	cmd.Args = arguments
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		u, err := t.object(args[0])
		if err != nil {
			return err
		}
		data, err := t.data(cmd)
		if err != nil {
			return err
		}
		o, err := t.env.Overrides(data)
		if err != nil {
			return err
		}
		defer o.Close()
		return run(o, u, args[1:])
	}
	return cmd
}

func newOverrideHealth(t *tuning) *cobra.Command {
	return &cobra.Command{
		Use: "health RESOURCE_YAML_PATH", Aliases: []string{"assess-health"}, Short: "Judge the health of an object", Args: arguments,
		Example: "  towline admin settings resource-overrides health widget.yaml --argocd-cm-path argocd-cm.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			u, err := t.object(args[0])
			if err != nil {
				return err
			}
			data, err := t.data(cmd)
			if err != nil {
				return err
			}
			judge, err := t.env.Judge(HealthRules{Settings: data})
			if err != nil {
				return err
			}
			defer judge.Close()
			for _, p := range judge.Problems() {
				fmt.Fprintf(t.env.Err, "warning: %s\n", clean(p))
			}
			j := judge.Judge([]*unstructured.Unstructured{u})[0]
			if j.Health.Status == "" {
				fmt.Fprintln(t.env.Out, "There is no rule for the health of this kind.")
				return nil
			}
			fmt.Fprintf(t.env.Out, "STATUS: %s\nMESSAGE: %s\n", clean(string(j.Health.Status)), clean(j.Health.Message))
			return nil
		},
	}
}

func newOverrideIgnore(t *tuning) *cobra.Command {
	cmd := &cobra.Command{
		Use: "ignore-differences RESOURCE_YAML_PATH", Short: "Show which fields of an object are not compared",
		Example: "  towline admin settings resource-overrides ignore-differences web.yaml --argocd-cm-path argocd-cm.yaml",
	}
	return t.trying(cmd, func(o Overrides, u *unstructured.Unstructured, _ []string) error {
		left, problems := o.Stripped(u)
		for _, p := range problems {
			fmt.Fprintf(t.env.Err, "warning: %s\n", clean(p))
		}
		changes := diff.Compare(u, left)
		if len(changes) == 0 {
			fmt.Fprintln(t.env.Out, "No fields are ignored by the settings.")
			return nil
		}
		fmt.Fprintln(t.env.Out, "Following fields are ignored:")
		return t.changes(changes)
	})
}

// changes shows what differs, a field each.
func (t *tuning) changes(all []diff.Change) error {
	for _, c := range all {
		fmt.Fprintf(t.env.Out, "\n%s\n", clean(c.Path))
		if c.Live != nil {
			fmt.Fprintf(t.env.Out, "- %s\n", clean(fmt.Sprint(c.Live)))
		}
		if c.Desired != nil {
			fmt.Fprintf(t.env.Out, "+ %s\n", clean(fmt.Sprint(c.Desired)))
		}
	}
	return nil
}

func newOverrideActions(t *tuning) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list-actions RESOURCE_YAML_PATH", Short: "List what can be done with an object",
		Example: "  towline admin settings resource-overrides list-actions web.yaml --argocd-cm-path argocd-cm.yaml",
	}
	return t.trying(cmd, func(o Overrides, u *unstructured.Unstructured, _ []string) error {
		all, err := o.Discover(u)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			fmt.Fprintln(t.env.Out, "There are no actions for this kind.")
			return nil
		}
		list := &table{head: []string{"NAME", "DISABLED"}}
		for _, a := range all {
			list.row(word(a.Name), word(fmt.Sprint(a.Disabled)))
		}
		return list.write(t.env.Out, true)
	})
}

func newOverrideRun(t *tuning) *cobra.Command {
	var params []string
	cmd := &cobra.Command{
		Use: "run-action RESOURCE_YAML_PATH ACTION", Aliases: []string{"action"}, Short: "Show what an action would change of an object",
		Example: "  towline admin settings resource-overrides run-action web.yaml restart --argocd-cm-path argocd-cm.yaml",
	}
	cmd.Flags().StringArrayVar(&params, "param", nil, "parameter of the action, as in replicas=3 (may be repeated)")
	return t.trying(cmd, func(o Overrides, u *unstructured.Unstructured, args []string) error {
		given, err := pairs(params)
		if err != nil {
			return err
		}
		steps, err := o.Steps(u, engine.Act{Name: args[0], Params: given})
		if err != nil {
			return err
		}
		if len(steps) == 0 {
			fmt.Fprintln(t.env.Out, "No fields would be changed.")
		}
		for _, s := range steps {
			if s.Operation == action.Create {
				fmt.Fprintln(t.env.Out, "Following object would be created:")
				if err := (&output{form: outputYAML}).encode(t.env.Out, s.Object.Object); err != nil {
					return err
				}
				continue
			}
			fmt.Fprintln(t.env.Out, "Following fields would be changed:")
			if err := (&output{form: outputYAML}).encode(t.env.Out, s.Patch); err != nil {
				return err
			}
		}
		return nil
	})
}
