package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/status"
	"github.com/towline-cd/towline/internal/core/tree"
)

// Trees are the objects of applications with what came from them.
type Trees interface {
	Tree(ctx context.Context, app string) (tree.Listed, error)
}

type resourcing struct {
	*session
	output   output
	orphaned bool
	// project is the one that the application must be in; empty is any.
	project string
}

func newResources(env *Env, g *global) *cobra.Command {
	c := &resourcing{}
	cmd := &cobra.Command{
		Use:   "resources NAME",
		Short: "List the objects of an application and what came from them",
		Long: "List the objects of an application and what came from them, as the server that watches the cluster knows them.\n" +
			"With --core there is nobody who watches: the objects that Git asks for are listed then, and no others.",
		Example: "  towline app resources shop\n  towline app resources shop -o tree",
		Args:    exactlyOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.output.check(); err != nil {
				return err
			}
			s, names, err := g.connect(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			c.session = s
			if err := s.inProject(cmd.Context(), names[0], c.project); err != nil {
				return err
			}
			return c.run(cmd.Context(), names[0])
		},
		ValidArgsFunction: g.complete(env, false),
	}
	cmd.Flags().StringVar(&c.project, "project", "", "project that the application must be in")
	c.output.register(cmd, outputJSON, outputYAML, outputWide, outputName, outputTree, outputTreeDetailed)
	cmd.Flags().BoolVar(&c.orphaned, "orphaned", false, "only the objects that belong to no application")
	return cmd
}

// inProject refuses an application of another project than somebody named; empty is any.
func (s *session) inProject(ctx context.Context, name, project string) error {
	if project == "" {
		return nil
	}
	app, err := s.hub.Application(ctx, name)
	if err != nil {
		return s.explain(name, err)
	}
	if app.ProjectName() != project {
		return usagef("application %q is in project %q, and not in %q", name, app.ProjectName(), project)
	}
	return nil
}

func (c *resourcing) run(ctx context.Context, name string) error {
	found, err := c.tree(ctx, name)
	if err != nil {
		return err
	}
	if c.orphaned {
		found.Nodes = nil
	}
	switch {
	case c.output.structured():
		found.Nodes = orEmpty(found.Nodes)
		return c.output.encode(c.env.Out, found)
	case c.output.form == outputName:
		for _, n := range append(found.Nodes, found.Orphans...) {
			fmt.Fprintln(c.env.Out, clean(nodeName(n.Ref)))
		}
		return nil
	case c.output.drawn() && !c.orphaned:
		return c.draw(found, c.output.form == outputTreeDetailed)
	case len(found.Nodes)+len(found.Orphans) == 0:
		c.note("application %q has no objects", name)
		return nil
	}
	return c.table(found)
}

// tree is what a server knows, or else what the application's status says.
func (s *session) tree(ctx context.Context, name string) (tree.Listed, error) {
	if s.flags.Remote == nil {
		app, err := s.hub.Application(ctx, name)
		if err != nil {
			return tree.Listed{}, s.explain(name, err)
		}
		s.note("without a server only the objects that Git asks for are known; \"towline login SERVER\" shows what came from them")
		if listed, all := status.Listed(app.Status); listed < all {
			s.note("the status lists %d of %d objects, those that are not Synced and Healthy before all others", listed, all)
		}
		return ownObjects(app), nil
	}
	trees, err := s.env.Trees(ctx, s.flags)
	if err != nil {
		return tree.Listed{}, fmt.Errorf("connecting to %s: %w", s.flags.where(), err)
	}
	found, err := trees.Tree(ctx, name)
	return found, s.explain(name, err)
}

// ownObjects are those of the status as a tree that has no branches.
func ownObjects(app *v1alpha1.Application) tree.Listed {
	var out tree.Listed
	for _, r := range app.Status.Resources {
		n := tree.ListedNode{Ref: tree.Ref{Group: r.Group, Version: r.Version, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}}
		if r.Health != nil {
			n.Health = &tree.ListedHealth{Status: string(r.Health.Status), Message: r.Health.Message}
		}
		out.Nodes = append(out.Nodes, n)
	}
	return out
}

func nodeName(r tree.Ref) string {
	kind := r.Kind
	if r.Group != "" {
		kind += "." + r.Group
	}
	return strings.TrimPrefix(r.Namespace+"/", "/") + kind + "/" + r.Name
}

func (c *resourcing) table(found tree.Listed) error {
	wide := c.output.form == outputWide
	t := &table{head: []string{"GROUP", "KIND", "NAMESPACE", "NAME", "ORPHANED"}, palette: c.out}
	if wide {
		t.head = append(t.head, "HEALTH", "AGE", "IMAGES")
	}
	add := func(n tree.ListedNode, orphaned string) {
		row := []cell{word(n.Group), word(n.Kind), word(n.Namespace), word(n.Name), word(orphaned)}
		if wide {
			row = append(row, c.health(n), word(since(c.env.Now(), n.Created)), word(strings.Join(n.Images, ",")))
		}
		t.row(row...)
	}
	for _, n := range found.Nodes {
		add(n, "No")
	}
	for _, n := range found.Orphans {
		add(n, "Yes")
	}
	return t.write(c.env.Out, true)
}

func (s *session) health(n tree.ListedNode) cell {
	if n.Health == nil {
		return word(nothing)
	}
	status := v1alpha1.HealthStatusCode(n.Health.Status)
	return cell{text: orNothing(clean(n.Health.Status)), colour: healthColour(status)}
}

// draw shows each object below the one that it came from.
func (s *session) draw(found tree.Listed, detailed bool) error {
	t := &table{head: []string{"KIND/NAME", "HEALTH"}, palette: s.out}
	if detailed {
		t.head = append(t.head, "NAMESPACE", "AGE", "MESSAGE")
	}
	for _, b := range found.Branches() {
		row := []cell{{text: b.Lead + clean(b.Kind+"/"+b.Name)}, s.health(b.ListedNode)}
		if detailed {
			message := ""
			if b.Health != nil {
				message = b.Health.Message
			}
			row = append(row, word(orNothing(b.Namespace)), word(since(s.env.Now(), b.Created)), word(message))
		}
		t.row(row...)
	}
	return t.write(s.env.Out, true)
}

func since(now time.Time, at *time.Time) string {
	if at == nil {
		return nothing
	}
	return duration.HumanDuration(max(now.Sub(*at), 0))
}
