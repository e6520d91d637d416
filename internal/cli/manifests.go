package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/internal/core/object"
)

type manifesting struct {
	*session
	output    output
	rendering Rendering
	source    string
	// sources are the revisions of some of several sources, and root that of the folder that stands for the first.
	sources request
	root    string
}

func newManifests(env *Env, g *global) *cobra.Command {
	c := &manifesting{}
	cmd := &cobra.Command{
		Use:   "manifests NAME",
		Short: "Show the manifests that Git asks for",
		Long: "Show the manifests that the sources of an application render to, as the controller would render them now, with\n" +
			"the settings and the credentials of the installation. The values of Secrets are masked.",
		Example: "  towline app manifests shop --revision feature-x",
		Args:    exactlyOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(); err != nil {
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
	c.output.register(cmd, outputJSON, outputYAML, outputName)
	cmd.Flags().StringSliceVar(&c.rendering.Revisions, "revision", nil,
		"render this branch, tag, commit or version, one for each source (default: those of the application)")
	cmd.Flags().StringVar(&c.source, "source", fromGit, "what to show: git, or live for the objects as they are in the cluster")
	fixed(cmd, "source", fromGit, fromLive)
	cmd.Flags().StringArrayVar(&c.sources.revisions, "revisions", nil, "revision of one of several sources (may be repeated)")
	cmd.Flags().IntSliceVar(&c.sources.positions, "source-positions", nil, "which sources the --revisions are for, from 1 on")
	cmd.Flags().StringArrayVar(&c.sources.names, "source-names", nil, "the same by their names (may be repeated)")
	cmd.Flags().StringVar(&c.root, "local-repo-root", "", "root of the repository that the folder is in")
	cmd.Flags().StringVar(&c.rendering.Repo, "local", "", "render a folder of this machine in place of the first repository")
	return cmd
}

// Where manifests are taken from.
const (
	fromGit  = "git"
	fromLive = "live"
)

func (c *manifesting) check() error {
	c.rendering.Live = c.source == fromLive
	switch {
	case c.source != fromGit && c.source != fromLive:
		return usagef("--source is git or live, not %q", c.source)
	case c.rendering.Live && (c.rendering.Repo != "" || len(c.rendering.Revisions) > 0):
		return usagef("what is live has no revision and no folder; leave out --source, or --revision and --local")
	}
	if len(c.sources.revisions) > 0 && len(c.rendering.Revisions) > 0 {
		return usagef("name revisions either with --revision or with --revisions")
	}
	if c.root != "" && c.rendering.Repo == "" {
		return usagef("--local-repo-root is the root of the folder that --local names")
	}
	if c.root != "" {
		// The application's own path says where in it the folder is.
		c.rendering.Repo = c.root
	}
	return c.output.check()
}

func (c *manifesting) run(ctx context.Context, name string) error {
	app, err := c.hub.Application(ctx, name)
	if err != nil {
		return c.explain(name, err)
	}
	c.rendering.Hub = &c.flags
	placed, err := c.sources.placed(app)
	if err != nil {
		return err
	}
	for i, revision := range placed {
		c.rendering.Revisions = append(c.rendering.Revisions, cmp.Or(revision, target(app.Sources()[i])))
	}
	got, err := c.env.Render(ctx, app, c.rendering)
	if err != nil {
		return fmt.Errorf("rendering application %q: %w", name, err)
	}
	for i, u := range got.Objects {
		got.Objects[i] = object.Redact(u)
	}
	return writeRendered(c.env, c.output, got)
}
