package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
)

// Rendering says how an application is rendered.
type Rendering struct {
	// Hub is where the settings and the credentials are; nil is nowhere.
	Hub *Flags
	// Repo is a folder of this machine that stands for the application's own
	// repository; "" is the repository itself.
	Repo string
	// Revisions override those of the sources.
	Revisions []string
	// Kube overrides what the cluster says of itself.
	Kube manifest.Kube
	// Live asks for the objects as they are in the cluster, in place of what is
	// rendered.
	Live bool
}

// Rendered is what an application asks for.
type Rendered struct {
	Objects []*unstructured.Unstructured
	// Skipped and Notes are what people should know of it.
	Skipped, Notes []string
	// Incomplete says that something could not be rendered.
	Incomplete bool
}

type rendering struct {
	env       *Env
	output    output
	file      string
	rendering Rendering
}

// NewRender makes the command "render", which needs no cluster.
func NewRender(env *Env) *cobra.Command {
	c := &rendering{env: env}
	cmd := &cobra.Command{
		Use:   "render -f FILE",
		Short: "Show the manifests of an application in a file",
		Long: "Show the manifests that an Application in a file stands for, rendered by the code that the controller uses.\n" +
			"No cluster is asked. With --repo the files of a folder stand for those of the application's first repository, as\n" +
			"they are there, committed or not.\n\n" +
			"Secrets are shown as they are.",
		Example:       "  towline render -f app.yaml --repo .\n  towline render -f app.yaml --repo . | towline health -f -",
		Args:          none,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.SetIn(env.In)
	cmd.SetOut(env.Out)
	cmd.SetErr(env.Err)
	f := cmd.Flags()
	f.StringVarP(&c.file, "file", "f", "", "file with the Application; - is the input")
	f.StringVar(&c.rendering.Repo, "repo", "", "folder to take the application's first repository from")
	f.StringSliceVar(&c.rendering.Revisions, "revision", nil, "revision to render, one for each source")
	f.StringVar(&c.rendering.Kube.Version, "kube-version", "", "version of Kubernetes that charts are told")
	f.StringSliceVar(&c.rendering.Kube.APIs, "api-versions", nil, "APIs that charts are told of, as in apps/v1 or apps/v1/Deployment")
	c.output.register(cmd, outputJSON, outputYAML, outputName)
	return cmd
}

func (c *rendering) run(ctx context.Context) error {
	if err := c.output.check(); err != nil {
		return err
	}
	if c.file == "" {
		return usagef("name the file with the Application: -f app.yaml")
	}
	app, err := c.application()
	if err != nil {
		return err
	}
	got, err := c.env.Render(ctx, app, c.rendering)
	if err != nil {
		return fmt.Errorf("rendering application %q: %w", app.Name, err)
	}
	return writeRendered(c.env, c.output, got)
}

// application reads the one Application of the file.
func (c *rendering) application() (*v1alpha1.Application, error) {
	data, err := c.read()
	if err != nil {
		return nil, err
	}
	objects, err := manifest.Parse(c.file, data)
	if err != nil {
		return nil, err
	}
	var found *v1alpha1.Application
	for _, u := range objects {
		if u.GroupVersionKind() != v1alpha1.GroupVersion().WithKind(v1alpha1.ApplicationKind) {
			continue
		}
		if found != nil {
			return nil, usagef("%s holds several Applications; render one at a time", c.file)
		}
		text, err := u.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", c.file, err)
		}
		found = &v1alpha1.Application{}
		if err := yaml.UnmarshalStrict(text, found); err != nil {
			return nil, fmt.Errorf("reading Application %q of %s: %w", u.GetName(), c.file, err)
		}
	}
	if found == nil {
		return nil, usagef("%s holds no Application (%s)", c.file, v1alpha1.GroupVersion())
	}
	return found, nil
}

func (c *rendering) read() ([]byte, error) {
	if c.file == "-" {
		return io.ReadAll(c.env.In)
	}
	return c.env.ReadFile(c.file)
}

// writeRendered shows manifests: as a stream of YAML for people and kubectl,
// as a list for programs.
func writeRendered(env *Env, o output, got Rendered) error {
	for _, s := range got.Skipped {
		fmt.Fprintln(env.Err, "left out: "+clean(s))
	}
	for _, n := range got.Notes {
		fmt.Fprintln(env.Err, "note: "+clean(n))
	}
	if got.Incomplete {
		return errors.New("not all of the source could be rendered, as told above")
	}
	switch o.form {
	case outputJSON:
		items := make([]any, 0, len(got.Objects))
		for _, u := range got.Objects {
			items = append(items, u.Object)
		}
		return o.encode(env.Out, map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	case outputName:
		for _, u := range got.Objects {
			fmt.Fprintln(env.Out, clean(object.KeyOf(u).String()))
		}
		return nil
	}
	for _, u := range got.Objects {
		text, err := yaml.Marshal(u.Object)
		if err != nil {
			return fmt.Errorf("encoding %s: %w", object.KeyOf(u), err)
		}
		if _, err := fmt.Fprintf(env.Out, "---\n%s", text); err != nil {
			return err
		}
	}
	return nil
}
