package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/wish"
)

const (
	patchMerge = "merge"
	patchJSON  = "json"
)

func newPatch(env *Env, g *global) *cobra.Command {
	var text, kind string
	cmd := &cobra.Command{
		Use: "patch NAME", Short: "Change an application by a patch",
		Example: "  towline app patch shop --patch '{\"spec\": {\"source\": {\"targetRevision\": \"v2\"}}}' --type merge\n" +
			"  towline app patch shop --patch '[{\"op\": \"replace\", \"path\": \"/spec/source/path\", \"value\": \"deploy\"}]'",
		Args: exactlyOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := patchOf(text, kind)
			if err != nil {
				return err
			}
			s, names, err := g.connect(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			return s.patchApp(cmd.Context(), names[0], p)
		},
		ValidArgsFunction: g.complete(env, false),
	}
	cmd.Flags().StringVar(&text, "patch", "", "the patch, as JSON")
	cmd.Flags().StringVar(&kind, "type", patchJSON, "what it is: json is a list of steps, merge an object to be merged")
	fixed(cmd, "type", patchJSON, patchMerge)
	return cmd
}

func patchOf(text, kind string) (wish.Patch, error) {
	switch {
	case text == "":
		return wish.Patch{}, usagef("say what to change with --patch")
	case kind != patchJSON && kind != patchMerge:
		return wish.Patch{}, usagef("--type is %s or %s, not %q", patchJSON, patchMerge, kind)
	}
	p := wish.Patch{JSON: kind == patchJSON, Text: []byte(text)}
	if _, err := p.Touches(); err != nil {
		hint := ""
		if p.JSON && strings.HasPrefix(strings.TrimSpace(text), "{") {
			hint = "; --type merge takes an object"
		}
		return p, usagef("%w%s", err, hint)
	}
	return p, nil
}

func (s *session) patchApp(ctx context.Context, name string, p wish.Patch) error {
	did := "patched"
	if server := s.server(); server != nil {
		if _, err := server.ChangeApplication(ctx, name, p); err != nil {
			return s.explain(name, err)
		}
	} else {
		changed, err := s.declare(ctx, name, func(app *v1alpha1.Application) error { return patched(app, p) })
		if err != nil {
			return err
		}
		if !changed {
			did = "is so already"
		}
	}
	fmt.Fprintf(s.env.Out, "application '%s' %s\n", clean(name), did)
	return nil
}

// patched makes an application what a patch says, as far as people declare it.
func patched(app *v1alpha1.Application, p wish.Patch) error {
	if touched, err := p.Touches(); err != nil || touched.Operates {
		return usagef("patching application %q: the patch starts or ends an operation; %q and %q do that", app.Name,
			"towline app sync "+app.Name, "towline app terminate-op "+app.Name)
	}
	next, err := p.On(app)
	if err != nil {
		return usagef("patching application %q: %w", app.Name, err)
	}
	if bad := wish.Undeclared(app, next); len(bad) > 0 {
		return usagef("patching application %q: the patch changes what people do not: %s", app.Name, strings.Join(bad, ", "))
	}
	wish.Declare(app, next)
	return nil
}
