package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/wish"
)

func newEdit(env *Env, g *global) *cobra.Command {
	return &cobra.Command{
		Use: "edit NAME", Short: "Change an application in an editor",
		Long: "Change the spec of an application in the editor that $KUBE_EDITOR or $EDITOR names. Nothing is written if nothing is\n" +
			"changed; what cannot be read or is refused is shown again with the reason.",
		Example: "  EDITOR=nano towline app edit shop",
		Args:    exactlyOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, names, err := g.connect(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			return s.edit(cmd.Context(), names[0])
		},
		ValidArgsFunction: g.complete(env, false),
	}
}

// edit shows the spec in an editor until it can be stored, or the person gives
// up by leaving it as it is.
func (s *session) edit(ctx context.Context, name string) error {
	if s.env.Edit == nil {
		return usagef("editing application %q: there is no editor here", name)
	}
	app, err := applications{s}.Get(ctx, name)
	if err != nil {
		return s.explain(name, err)
	}
	text, err := yaml.Marshal(app.Spec)
	if err != nil {
		return fmt.Errorf("encoding application %q: %w", name, err)
	}
	head := fmt.Sprintf("# The spec of application %q. Lines with # are left out; to give up, leave it as it is.\n", name)
	var bad error
	for {
		edited, err := s.env.Edit(ctx, "application-"+name+".yaml", append([]byte(head), text...))
		if err != nil {
			return fmt.Errorf("editing application %q: %w", name, err)
		}
		edited = uncommented(edited)
		if bad != nil && bytes.Equal(edited, text) {
			return fmt.Errorf("editing application %q: nothing was written: %w", name, bad)
		}
		var changed bool
		if changed, bad = s.store(ctx, app, edited); bad == nil {
			did := "nothing was changed"
			if changed {
				did = "changed"
			}
			fmt.Fprintf(s.env.Out, "application '%s': %s\n", clean(name), did)
			return nil
		}
		if !mendable(bad) {
			s.note("nothing was written; this is what you typed:")
			fmt.Fprintf(s.env.Err, "%s\n", edited)
			return s.explain(name, bad)
		}
		text = edited
		head = fmt.Sprintf("# This is refused: %s\n# Mend it, or leave it as it is to give up.\n", clean(bad.Error()))
	}
}

// store writes a spec over the one that was shown. Not over what somebody else
// wrote meanwhile: nobody has seen the two together.
func (s *session) store(ctx context.Context, app *v1alpha1.Application, text []byte) (changed bool, err error) {
	var spec v1alpha1.ApplicationSpec
	if err := yaml.UnmarshalStrict(text, &spec); err != nil {
		return false, &refusal{"it cannot be read: " + err.Error()}
	}
	patch, err := wish.Difference(app.DeepCopy(), func(next *v1alpha1.Application) error {
		next.Spec = spec
		return nil
	})
	if err != nil || patch == nil {
		return false, err
	}
	_, err = applications{s}.Patch(ctx, app.Name, patch, false)
	return err == nil, err
}

// mendable says that another text might be taken.
func mendable(err error) bool {
	if _, ok := errors.AsType[*refusal](err); ok {
		return true
	}
	return apierrors.IsBadRequest(err) || apierrors.IsInvalid(err)
}
