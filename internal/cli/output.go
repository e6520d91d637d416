package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
)

const (
	outputJSON = "json"
	outputYAML = "yaml"
	outputWide = "wide"
	outputName = "name"
	outputTree = "tree"

	outputTreeDetailed = "tree=detailed"
)

// output is the -o flag of a command, with the forms that it knows. The empty
// form is for people.
type output struct {
	form  string
	forms []string
}

func (o *output) register(cmd *cobra.Command, forms ...string) {
	o.forms = forms
	cmd.Flags().StringVarP(&o.form, "output", "o", "", "output format: "+strings.Join(forms, ", "))
	fixed(cmd, "output", forms...)
}

func (o *output) check() error {
	if o.form != "" && !slices.Contains(o.forms, o.form) {
		return usagef("the output %q is not known; choose one of %s", o.form, strings.Join(o.forms, ", "))
	}
	return nil
}

// structured reports whether the output is for a program.
func (o *output) structured() bool { return o.form == outputJSON || o.form == outputYAML }

// drawn reports whether the output is a picture of a tree.
func (o *output) drawn() bool { return o.form == outputTree || o.form == outputTreeDetailed }

// encode writes a value as JSON or YAML.
func (o *output) encode(w io.Writer, v any) error {
	if o.form == outputYAML {
		b, err := yaml.Marshal(v)
		if err != nil {
			return fmt.Errorf("encoding as YAML: %w", err)
		}
		_, err = w.Write(b)
		return err
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("encoding as JSON: %w", err)
	}
	return nil
}

// stream writes one of several values that follow each other: JSON a line
// each, YAML a document each.
func (o *output) stream(w io.Writer, v any) error {
	if o.form == outputYAML {
		fmt.Fprintln(w, "---")
		return o.encode(w, v)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("encoding as JSON: %w", err)
	}
	return nil
}

// exportable is an application as it may leave the program: lists from the
// server lack the kind, and managed fields are noise.
func exportable(app *v1alpha1.Application) *v1alpha1.Application {
	out := app.DeepCopy()
	out.APIVersion, out.Kind = v1alpha1.GroupVersion().String(), v1alpha1.ApplicationKind
	out.ManagedFields = nil
	return out
}

func qualified(app *v1alpha1.Application) string {
	if app.Namespace == "" {
		return app.Name
	}
	return app.Namespace + "/" + app.Name
}

// fixed offers the values of a flag to the shell.
func fixed(cmd *cobra.Command, flag string, values ...string) {
	// The only error is a flag that is not there, and it was just made.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
