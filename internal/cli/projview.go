package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/policy"
)

func newProjList(env *Env, g *global) *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List projects", Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			c, err := g.project(cmd.Context(), env)
			if err != nil {
				return err
			}
			return c.list(cmd.Context(), o)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	o.register(cmd, outputJSON, outputYAML, outputWide, outputName)
	return cmd
}

func (c *projecting) list(ctx context.Context, o output) error {
	list, err := c.projects.List(ctx, metav1.ListOptions{})
	if err != nil {
		return c.explainOf(aProject, "", err)
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.AppProject) int { return cmp.Compare(a.Name, b.Name) })
	t := &table{palette: c.out, head: []string{
		"NAME", "DESCRIPTION", "DESTINATIONS", "SOURCES", "CLUSTER-RESOURCE-WHITELIST", "NAMESPACE-RESOURCE-BLACKLIST",
		"SIGNATURE-KEYS", "ORPHANED-RESOURCES", "DESTINATION-SERVICE-ACCOUNTS",
	}}
	documents := make([]*v1alpha1.AppProject, len(list.Items))
	for i := range list.Items {
		p := &list.Items[i]
		documents[i] = exportableProject(p)
		t.row(projectRow(p)...)
	}
	switch {
	case o.structured():
		return o.encode(c.env.Out, documents)
	case o.form == outputName:
		for _, p := range documents {
			fmt.Fprintln(c.env.Out, clean(p.Name))
		}
		return nil
	case len(documents) == 0:
		c.note("no projects in namespace %q", c.flags.Namespace)
		return nil
	}
	return t.write(c.env.Out, true)
}

func projectRow(p *v1alpha1.AppProject) []cell {
	s := &p.Spec
	return []cell{
		word(p.Name), word(s.Description),
		word(oneOrCount(s.Destinations, "destination", destinationPair)),
		word(oneOrCount(s.SourceRepos, "repo", func(r string) string { return r })),
		word(oneOrCount(s.ClusterResourceWhitelist, "resource", kindPath)),
		word(oneOrCount(s.NamespaceResourceBlacklist, "resource", groupKindPath)),
		word(oneOrCount(s.SignatureKeys, "key", func(k v1alpha1.SignatureKey) string { return k.KeyID })),
		word(orphans(s.OrphanedResources)),
		word(oneOrCount(s.DestinationServiceAccounts, "account", accountTriple)),
	}
}

// oneOrCount shows the only item, or how many there are.
func oneOrCount[T any](list []T, what string, show func(T) string) string {
	switch len(list) {
	case 0:
		return "<none>"
	case 1:
		return show(list[0])
	}
	return plural(len(list), what)
}

func each[T, U any](list []T, show func(T) U) []U {
	out := make([]U, len(list))
	for i, item := range list {
		out[i] = show(item)
	}
	return out
}

func destinationPair(d v1alpha1.ApplicationDestination) string {
	return cmp.Or(d.Server, d.Name) + "," + d.Namespace
}

func accountTriple(a v1alpha1.ApplicationDestinationServiceAccount) string {
	return a.Server + "," + a.Namespace + "," + a.DefaultServiceAccount
}

func kindPath(r v1alpha1.ClusterResourceRestriction) string {
	out := r.Group + "/" + r.Kind
	if r.Name != "" {
		out += "/" + r.Name
	}
	return out
}

func groupKindPath(k metav1.GroupKind) string { return k.Group + "/" + k.Kind }

func orphans(o *v1alpha1.OrphanedResourcesMonitorSettings) string {
	if o == nil {
		return "disabled"
	}
	out := fmt.Sprintf("enabled (warn=%t", o.Warn == nil || *o.Warn)
	if n := len(o.Ignore); n > 0 {
		out += fmt.Sprintf(", ignored %d", n)
	}
	return out + ")"
}

// exportableProject is a project as it may leave the program.
func exportableProject(p *v1alpha1.AppProject) *v1alpha1.AppProject {
	out := p.DeepCopy()
	out.APIVersion, out.Kind = v1alpha1.GroupVersion().String(), v1alpha1.AppProjectKind
	out.ManagedFields = nil
	return out
}

func newProjGet(env *Env, g *global) *cobra.Command {
	var o output
	cmd := &cobra.Command{Use: "get PROJECT", Short: "Show a project"}
	o.register(cmd, outputJSON, outputYAML, outputWide, outputName)
	return g.looking(env, cmd, &o, func(c *projecting, p *v1alpha1.AppProject, _ []string) error {
		switch {
		case o.structured():
			return o.encode(c.env.Out, exportableProject(p))
		case o.form == outputName:
			fmt.Fprintln(c.env.Out, clean(p.Name))
			return nil
		}
		return c.view(p)
	})
}

func (c *projecting) view(p *v1alpha1.AppProject) error {
	s := &p.Spec
	b := &block{palette: c.out, width: 31}
	b.field("Name", clean(p.Name))
	b.field("Description", clean(s.Description))
	b.fields("Destinations", each(s.Destinations, destinationPair))
	b.fields("Repositories", s.SourceRepos)
	b.fields("Source Namespaces", s.SourceNamespaces)
	b.fields("Allowed Cluster Resources", each(s.ClusterResourceWhitelist, kindPath))
	b.fields("Denied Cluster Resources", each(s.ClusterResourceBlacklist, kindPath))
	if s.NamespaceResourceWhitelist == nil {
		b.field("Allowed Namespaced Resources", "all")
	} else {
		b.fields("Allowed Namespaced Resources", each(s.NamespaceResourceWhitelist, groupKindPath))
	}
	b.fields("Denied Namespaced Resources", each(s.NamespaceResourceBlacklist, groupKindPath))
	b.fields("Destination Service Accounts", each(s.DestinationServiceAccounts, accountTriple))
	b.fields("Signature keys", each(s.SignatureKeys, func(k v1alpha1.SignatureKey) string { return k.KeyID }))
	b.field("Orphaned Resources", orphans(s.OrphanedResources))
	b.fields("Roles", each(s.Roles, func(r v1alpha1.ProjectRole) string { return explained(r.Name, r.Description) }))
	b.fields("Sync Windows", each(policy.WindowsOf(p), func(w policy.Window) string { return w.String() }))
	if s.PermitOnlyProjectScopedClusters {
		b.field("Clusters", "only those of the project itself")
	}
	if err := b.write(c.env.Out); err != nil {
		return err
	}
	for _, f := range policy.WindowFaults(policy.WindowsOf(p)) {
		c.note("note: %s", f)
	}
	return nil
}

func newWindowsList(env *Env, g *global) *cobra.Command {
	var o output
	cmd := &cobra.Command{Use: "list PROJECT", Short: "List the sync windows of a project, and whether they are open"}
	o.register(cmd, outputJSON, outputYAML, outputWide)
	return g.looking(env, cmd, &o, func(c *projecting, p *v1alpha1.AppProject, _ []string) error {
		switch {
		case o.structured():
			return o.encode(c.env.Out, orEmpty(p.Spec.SyncWindows))
		case len(p.Spec.SyncWindows) == 0:
			c.note("project %q has no sync windows: its applications may be synced at any time", p.Name)
			return nil
		}
		return c.windows(p)
	})
}

func (c *projecting) windows(p *v1alpha1.AppProject) error {
	t := &table{palette: c.out, head: []string{
		"ID", "STATUS", "KIND", "SCHEDULE", "DURATION", "APPLICATIONS", "NAMESPACES", "CLUSTERS", "MANUALSYNC", "SYNCOVERRUN",
		"TIMEZONE", "USEANDOPERATOR", "UNTIL", "DESCRIPTION",
	}}
	enabled := map[bool]string{true: "Enabled", false: "Disabled"}
	for i, w := range policy.WindowsOf(p) {
		now, spec := w.State(c.env.Now().UTC()), p.Spec.SyncWindows[i]
		state, until := cell{text: "Inactive"}, nothing
		switch {
		case now.Problem != "":
			state = cell{text: "Broken", colour: red}
		case now.Open:
			state = cell{text: "Active", colour: green}
		}
		if !now.Turns.IsZero() {
			until = now.Turns.UTC().Format("2006-01-02 15:04 MST")
		}
		t.row(word(strconv.Itoa(i)), state, word(string(spec.Kind)), word(spec.Schedule), word(spec.Duration),
			word(commaed(spec.Applications)), word(commaed(spec.Namespaces)), word(commaed(spec.Clusters)),
			word(enabled[spec.ManualSync]), word(enabled[spec.SyncOverrun]), word(now.TimeZone), word(enabled[spec.UseAndOperator]),
			word(until), word(spec.Description))
	}
	if err := t.write(c.env.Out, true); err != nil {
		return err
	}
	for _, f := range policy.WindowFaults(policy.WindowsOf(p)) {
		c.note("note: %s", f)
	}
	return nil
}
