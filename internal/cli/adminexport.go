package cli

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/internal/core/backup"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// Backup is everything that an installation keeps, as objects.
type Backup interface {
	Read(ctx context.Context) ([]*unstructured.Unstructured, error)
	Create(ctx context.Context, u *unstructured.Unstructured, dryRun bool) error
	// Update writes an object in place of the one that was read; anyway, also of one that was changed since.
	Update(ctx context.Context, u *unstructured.Unstructured, dryRun, anyway bool) error
	// Delete deletes the very object that was read, and nothing besides it.
	Delete(ctx context.Context, u *unstructured.Unstructured, dryRun bool) error
}

// Namespaces are those, besides that of the installation, that applications and ApplicationSets live in: globs. Nil are those
// of the settings.
type Namespaces struct{ Applications, Sets []string }

var aPart = thing{one: "object", kind: "Applications", list: "towline admin export"}

// saving is an export or an import under way.
type saving struct {
	*session
	backup     Backup
	namespaces Namespaces
}

func (c *saving) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&c.namespaces.Applications, "application-namespaces", nil,
		"other namespaces that applications live in, as in team-* (default: those of the settings)")
	f.StringSliceVar(&c.namespaces.Sets, "applicationset-namespaces", nil,
		"other namespaces that ApplicationSets live in (default: those of the settings)")
}

func (c *saving) begin(ctx context.Context, env *Env, g *global) error {
	s, _, err := g.connect(ctx, env, nil)
	if err != nil {
		return err
	}
	c.session = s
	if c.backup, err = env.Backup(ctx, s.flags, c.namespaces); err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	return nil
}

func newExport(env *Env, g *global) *cobra.Command {
	c := &saving{}
	out := ""
	cmd := &cobra.Command{
		Use: "export", Short: "Write down everything that the installation keeps", Args: none,
		Long: "Write down everything that the installation keeps, as YAML: its config maps, its secret and those of repositories and\n" +
			"clusters, projects, applications with their history, and ApplicationSets. There are logins in it, as they stand in\n" +
			"the secrets: keep it as you keep those. A file is made for you alone to read.",
		Example:           "  towline admin export -o backup.yaml\n  towline admin export -n argocd > backup.yaml",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.begin(cmd.Context(), env, g); err != nil {
				return err
			}
			return c.export(cmd.Context(), out)
		},
	}
	c.register(cmd)
	cmd.Flags().StringVarP(&out, "out", "o", "-", "file to write; - is the output")
	return cmd
}

func (c *saving) export(ctx context.Context, out string) error {
	all, err := c.backup.Read(ctx)
	if err != nil {
		return c.explainOf(aPart, "", err)
	}
	kept := backup.Kept(all, c.flags.Namespace)
	if len(kept) == 0 {
		return fmt.Errorf("there is nothing to export in namespace %q; is -n right?", c.flags.Namespace)
	}
	var text bytes.Buffer
	for _, u := range kept {
		one, err := yaml.Marshal(u.Object)
		if err != nil {
			return fmt.Errorf("encoding %s %q: %w", u.GetKind(), u.GetName(), err)
		}
		text.WriteString("---\n")
		text.Write(one)
	}
	c.note("exported %s; there are logins among them", plural(len(kept), "object"))
	if out == "-" {
		_, err := c.env.Out.Write(text.Bytes())
		return err
	}
	return c.env.WriteFile(out, text.Bytes())
}

// restoring is an import under way.
type restoring struct {
	saving
	backup.Options
	dryRun, conflicts, verbose bool
	skip                       string
}

func newImport(env *Env, g *global) *cobra.Command {
	c := &restoring{}
	cmd := &cobra.Command{
		Use: "import SOURCE", Short: "Make the installation what an export says", Args: arguments,
		Long: "Make the installation what an export says; - is the input. What is not there is created, with its history and its\n" +
			"tokens; what is there gets the labels, annotations and content of the export, and keeps how it does. No operation\n" +
			"is started.\n\n" +
			"With --prune what the export does not have is deleted, as it was read and not if somebody changed it meanwhile:\n" +
			"applications without their objects, ApplicationSets without their applications. An export that has nothing of a\n" +
			"kind at all is no reason to delete all of it, and neither the settings nor the default project are ever deleted.",
		Example:           "  towline admin import --dry-run backup.yaml\n  towline admin import - < backup.yaml",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := env.read(args[0])
			if err != nil {
				return err
			}
			objects, err := manifest.Parse(args[0], text)
			if err != nil {
				return err
			}
			if err := c.begin(cmd.Context(), env, g); err != nil {
				return err
			}
			return c.restore(cmd.Context(), objects)
		},
	}
	c.register(cmd)
	f := cmd.Flags()
	f.BoolVar(&c.dryRun, "dry-run", false, "write nothing, and say what would be")
	f.BoolVar(&c.Prune, "prune", false, "delete what the export does not have")
	f.BoolVar(&c.conflicts, "override-conflicts", false, "write what somebody else changed meanwhile, too")
	f.BoolVar(&c.IgnoreTracking, "ignore-tracking", false, "leave the marks of whoever manages an object as they are")
	f.BoolVar(&c.StopOperation, "stop-operation", false, "end the operations of applications")
	f.StringVar(&c.skip, "skip-resources-with-label", "", "leave objects with a label alone, as in team=shop")
	f.BoolVar(&c.verbose, "verbose", false, "tell of what stays as it is, too")
	return cmd
}

func (c *restoring) restore(ctx context.Context, objects []*unstructured.Unstructured) error {
	c.Namespace = c.flags.Namespace
	c.SkipLabel, c.SkipValue, _ = strings.Cut(c.skip, "=")
	live, err := c.backup.Read(ctx)
	if err != nil {
		return c.explainOf(aPart, "", err)
	}
	steps, err := backup.Import(objects, live, c.Options)
	if err != nil {
		return err
	}
	did := map[backup.Action]int{}
	for _, s := range steps {
		if err := c.carryOut(ctx, s); err != nil {
			return fmt.Errorf("%w; what stands above is done", c.explainOf(aPart, s.Object.GetName(), err))
		}
		did[s.Action]++
		c.tell(s)
	}
	c.note("%d created, %d updated, %d pruned, %d unchanged, %d skipped%s", did[backup.Created], did[backup.Updated], did[backup.Pruned],
		did[backup.Unchanged], did[backup.Skipped], c.dry())
	return nil
}

func (c *restoring) dry() string {
	if c.dryRun {
		return " (dry run)"
	}
	return ""
}

func (c *restoring) carryOut(ctx context.Context, s backup.Step) error {
	switch s.Action {
	case backup.Created:
		return c.backup.Create(ctx, s.Object, c.dryRun)
	case backup.Updated:
		return c.backup.Update(ctx, s.Object, c.dryRun, c.conflicts)
	case backup.Pruned:
		return c.backup.Delete(ctx, s.Object, c.dryRun)
	case backup.Unchanged, backup.Skipped:
	}
	return nil
}

func (c *restoring) tell(s backup.Step) {
	if s.Action == backup.Unchanged && !c.verbose {
		return
	}
	u := s.Object
	line := fmt.Sprintf("%s/%s %s in namespace %s %s%s", u.GroupVersionKind().Group, u.GetKind(), u.GetName(), u.GetNamespace(), s.Action,
		c.dry())
	fmt.Fprintln(c.env.Out, clean(explained(line, s.Why)))
}
