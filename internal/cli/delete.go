package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/status"
	"github.com/towline-cd/towline/internal/core/wish"
)

const (
	foreground = "foreground"
	background = "background"
)

type deleting struct {
	*session
	cascade     bool
	propagation string
	yes, wait   bool
	selector    string
	timeout     uint
}

func newDelete(env *Env, g *global) *cobra.Command {
	c := &deleting{}
	cmd := &cobra.Command{
		Use:     "delete NAME...",
		Aliases: []string{"rm"},
		Short:   "Delete applications, with or without their objects",
		Example: "  towline app delete shop --wait\n  towline app delete shop --cascade=false --yes",
		Args:    atLeastOne(&c.selector),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(cmd.Flags().Changed("propagation-policy")); err != nil {
				return err
			}
			s, names, err := g.connect(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			c.session = s
			names, err = s.named(cmd.Context(), names, c.selector)
			if err != nil {
				return err
			}
			return c.run(cmd.Context(), names)
		},
		ValidArgsFunction: g.complete(env, true),
	}
	f := cmd.Flags()
	f.BoolVar(&c.cascade, "cascade", true, "also delete the objects of the application")
	f.StringVar(&c.propagation, "propagation-policy", foreground, "how to delete the objects: foreground or background")
	f.BoolVarP(&c.yes, "yes", "y", false, "do not ask")
	f.BoolVar(&c.wait, "wait", false, "wait until the application is gone")
	f.UintVar(&c.timeout, "timeout", 0, "with --wait, how many seconds; 0 is no limit")
	f.StringVarP(&c.selector, "selector", "l", "", "all applications with these labels")
	fixed(cmd, "propagation-policy", foreground, background)
	return cmd
}

func (c *deleting) check(propagationGiven bool) error {
	if c.propagation != foreground && c.propagation != background {
		return usagef("--propagation-policy is foreground or background, not %q", c.propagation)
	}
	if !c.cascade && propagationGiven {
		return usagef("--propagation-policy says how objects are deleted, and --cascade=false deletes none")
	}
	return nil
}

func (c *deleting) run(ctx context.Context, names []string) error {
	apps := make([]*v1alpha1.Application, 0, len(names))
	for _, n := range names {
		app, err := c.hub.Application(ctx, n)
		if err != nil {
			return c.explain(n, err)
		}
		apps = append(apps, app)
	}
	for _, app := range apps {
		c.note("%s", c.consequence(app))
	}
	if err := c.confirm(names); err != nil {
		return err
	}
	for _, app := range apps {
		if err := c.remove(ctx, app); err != nil {
			return err
		}
	}
	if !c.wait {
		return nil
	}
	return c.gone(ctx, names)
}

// consequence says what deleting the application does to its objects.
func (c *deleting) consequence(app *v1alpha1.Application) string {
	listed, n := status.Listed(app.Status)
	n -= listed
	for _, r := range app.Status.Resources {
		if !r.Hook {
			n++
		}
	}
	objects := "the " + plural(n, "object") + " that it is known to have"
	where := destination(app.Spec.Destination)
	if !c.cascade {
		return fmt.Sprintf("deleting application %q leaves %s in %s as they are, and nothing manages them any more",
			app.Name, objects, where)
	}
	how := "and waits for each to be gone"
	if c.propagation == background {
		how = "in the background"
	}
	out := fmt.Sprintf("deleting application %q also deletes %s in %s %s", app.Name, objects, where, how)
	if app.Status.Summary.IsAppOfApps {
		out += "; some of them are applications, whose objects may go with them"
	}
	return out
}

// confirm asks the person at the terminal. Where there is none, the flag has to
// say it: a script that is wrong must not be able to delete.
func (c *deleting) confirm(names []string) error {
	if c.yes || c.unasked {
		return nil
	}
	if !c.env.InIsTerminal {
		return usagef("deleting application %s: nobody is there to ask; add --yes if you mean it", quoted(names, ", "))
	}
	answers := []string{"y", "yes"}
	question := "Type y to go on: "
	if len(names) == 1 {
		answers = append(answers, names[0])
		question = fmt.Sprintf("Type y or %s to go on: ", names[0])
	}
	fmt.Fprint(c.env.Err, question)
	line, err := bufio.NewReader(c.env.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the answer: %w", err)
	}
	answer := strings.TrimSpace(line)
	if slices.Contains(answers, answer) || strings.EqualFold(answer, "y") {
		return nil
	}
	return fmt.Errorf("deleting application %s: not confirmed, nothing was deleted", quoted(names, ", "))
}

func (c *deleting) remove(ctx context.Context, app *v1alpha1.Application) error {
	uid := app.UID
	how := wish.Removal{Cascade: c.cascade, Background: c.propagation == background}
	if server := c.server(); server != nil {
		if err := server.Remove(ctx, app.Name, uid, how); err != nil && !apierrors.IsNotFound(err) {
			return c.explain(app.Name, err)
		}
		c.note("asked for the deletion of application %q", app.Name)
		return nil
	}
	app, err := c.change(ctx, app.Name, func(now *v1alpha1.Application) (map[string]any, error) {
		if now.UID != uid {
			return nil, fmt.Errorf("deleting application %q: it was deleted and made anew meanwhile", now.Name)
		}
		return how.Patch(now), nil
	})
	if err != nil {
		return err
	}
	if !app.DeletionTimestamp.IsZero() {
		c.note("application %q is being deleted already", app.Name)
		return nil
	}
	if err := c.hub.DeleteApplication(ctx, app.Name, app.UID); err != nil && !apierrors.IsNotFound(err) {
		return c.explain(app.Name, err)
	}
	c.note("asked for the deletion of application %q", app.Name)
	return nil
}

func (c *deleting) gone(ctx context.Context, names []string) error {
	w := &waiting{session: c.session, goal: goal{deleted: true}, timeout: c.timeout}
	return w.run(ctx, names)
}
