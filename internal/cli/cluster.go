package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/internal/core/roster"
)

// NewCluster makes the command "cluster" with everything below it.
func NewCluster(env *Env) *cobra.Command {
	g := &global{}
	cmd := family(env, &cobra.Command{
		Use:   "cluster",
		Short: "See, add and remove the clusters that are deployed to",
		Long: "See, add and remove the clusters that are deployed to. The hub keeps one secret for each.\n\n" +
			"--context and -n say where the hub is; the clusters that are added come from the same kubeconfig.\n" +
			"A login is never shown.",
		Aliases: []string{"clusters"},
	},
		newClusterAdd(env, g), newClusterList(env, g), newClusterGet(env, g),
		newClusterSet(env, g), newClusterRemove(env, g), newClusterRotate(env, g),
	)
	f := cmd.PersistentFlags()
	f.StringVar(&g.Kubeconfig, "kubeconfig", "", "path to the kubeconfig file (default: as kubectl does)")
	f.StringVar(&g.Context, "context", "", "context of the hub in the kubeconfig (default: the current one)")
	f.StringVar(&g.Context, "kube-context", "", "the same as --context")
	_ = f.MarkHidden("kube-context") // it was made a line above
	// Not --namespace: "add" and "set" mean those of the target by it.
	f.StringVarP(&g.Namespace, "hub-namespace", "n", env.namespace(), "namespace of the hub's secrets")
	f.StringVar(&env.colour, "color", colourAuto, "when to colour: auto, always or never")
	fixed(cmd, "color", colourAuto, colourAlways, colourNever)
	g.servers.register(f, env)
	return cmd
}

// clustering is a command about clusters under way.
type clustering struct {
	*session
	roster Roster
}

func (g *global) clusters(ctx context.Context, env *Env) (*clustering, error) {
	s, _, err := g.connect(ctx, env, nil)
	if err != nil {
		return nil, err
	}
	r, err := env.Roster(ctx, s.flags)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	return &clustering{session: s, roster: r}, nil
}

// handle is what a cluster of the list goes by when it is changed: its secret,
// or where a server is asked, which tells of no secrets, its address.
func (c *clustering) handle(e roster.Entry) string {
	if c.flags.Remote != nil {
		return e.Server
	}
	return e.Secret
}

// kept says where an entry of the list is kept, for people.
func (c *clustering) kept(secret string) string {
	if c.flags.Remote != nil {
		return "the list of " + c.flags.where()
	}
	return fmt.Sprintf("secret %q in namespace %q of the hub", secret, c.flags.Namespace)
}

func (g *global) completeCluster(env *Env, many bool) cobra.CompletionFunc {
	return g.completing(env, many, func(ctx context.Context, s *session) ([]string, error) {
		r, err := env.Roster(ctx, s.flags)
		if err != nil {
			return nil, err
		}
		all, err := r.Entries(ctx)
		return each(all, func(e roster.Entry) string { return e.Name }), err
	})
}

// elsewhere lets the namespace of the hub be called as it is for other
// commands, where nothing else goes by that name.
func (g *global) elsewhere(cmd *cobra.Command) {
	cmd.Flags().StringVar(&g.Namespace, "namespace", g.Namespace, "the same as --hub-namespace")
}

// find is the one cluster that a server or a name stands for.
func (c *clustering) find(ctx context.Context, selector string) (roster.Entry, error) {
	all, err := c.roster.Entries(ctx)
	if err != nil {
		return roster.Entry{}, c.explainOf(aCluster, "", err)
	}
	switch found := roster.Find(all, selector); len(found) {
	case 1:
		return found[0], nil
	case 0:
		if c.flags.Remote != nil {
			return roster.Entry{}, fmt.Errorf("%s knows no cluster %q, or you may not see it; %q shows those that you may",
				c.flags.where(), selector, c.lists(aCluster))
		}
		return roster.Entry{}, fmt.Errorf("cluster %q is not known in namespace %q; %q shows those that are",
			selector, c.flags.Namespace, c.lists(aCluster))
	default:
		return roster.Entry{}, fmt.Errorf("%d clusters go by %q: secrets %s; name the one that you mean by its server",
			len(found), selector, quoted(each(found, func(e roster.Entry) string { return e.Secret }), ", "))
	}
}

// clusterDocument is a cluster in the structured output, with Argo CD's names.
type clusterDocument struct {
	Server           string            `json:"server"`
	Name             string            `json:"name"`
	Config           roster.Config     `json:"config"`
	ConnectionState  contact           `json:"connectionState"`
	ServerVersion    string            `json:"serverVersion,omitempty"`
	Info             clusterInfo       `json:"info"`
	Namespaces       []string          `json:"namespaces,omitempty"`
	ClusterResources bool              `json:"clusterResources,omitempty"`
	Shard            *int64            `json:"shard,omitempty"`
	Project          string            `json:"project,omitempty"`
	Labels           map[string]string `json:"labels,omitempty"`
	Annotations      map[string]string `json:"annotations,omitempty"`
}

type clusterInfo struct {
	ConnectionState   contact `json:"connectionState"`
	ServerVersion     string  `json:"serverVersion,omitempty"`
	ApplicationsCount int     `json:"applicationsCount"`
}

// documents are clusters with what they said and how many applications deploy
// to each.
func (c *clustering) documents(ctx context.Context, all []roster.Entry) ([]clusterDocument, error) {
	count, err := c.counting(ctx)
	if err != nil {
		return nil, err
	}
	said := c.contacts(ctx, all)
	out := make([]clusterDocument, len(all))
	for i, e := range all {
		out[i] = clusterDocument{
			Server: e.Server, Name: e.Name, Config: e.Config, ConnectionState: said[i], ServerVersion: said[i].version,
			Info:       clusterInfo{said[i], said[i].version, count(e)},
			Namespaces: e.Namespaces, ClusterResources: e.ClusterResources, Shard: e.Shard, Project: e.Project,
			Labels: e.Labels, Annotations: e.Annotations,
		}
	}
	return out, nil
}

const outputServer = "server"

func newClusterList(env *Env, g *global) *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the clusters, and whether they answer", Args: none,
		Example: "  towline cluster list\n  towline cluster list -o server",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			c, err := g.clusters(cmd.Context(), env)
			if err != nil {
				return err
			}
			all, err := c.roster.Entries(cmd.Context())
			if err != nil {
				return c.explainOf(aCluster, "", err)
			}
			return c.list(cmd.Context(), all, o)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	o.register(cmd, outputJSON, outputYAML, outputWide, outputServer, outputName)
	g.elsewhere(cmd)
	return cmd
}

func (c *clustering) list(ctx context.Context, all []roster.Entry, o output) error {
	if o.form == outputServer || o.form == outputName {
		for _, e := range all {
			fmt.Fprintln(c.env.Out, clean(map[string]string{outputServer: e.Server, outputName: e.Name}[o.form]))
		}
		return nil
	}
	documents, err := c.documents(ctx, all)
	if err != nil {
		return err
	}
	if o.structured() {
		return o.encode(c.env.Out, documents)
	}
	t := &table{head: []string{"SERVER", "NAME", "VERSION", "STATUS", "MESSAGE", "PROJECT"}, palette: c.out}
	if o.form == outputWide {
		t.head = append(t.head, "LOGIN", "APPS", "SHARD", "LABELS")
	}
	for _, d := range documents {
		t.row(c.row(d, o.form == outputWide)...)
	}
	return t.write(c.env.Out, true)
}

// login is the way in which one signs in to a cluster. A server does not tell
// of that.
func (c *clustering) login(d clusterDocument) string {
	if c.flags.Remote != nil {
		return nothing
	}
	return d.Config.Login()
}

// messageWidth is how much of a message a table shows; "get" has all of it.
const messageWidth = 80

func (c *clustering) row(d clusterDocument, wide bool) []cell {
	server := d.Server
	if n := len(d.Namespaces); n > 0 {
		server += " (" + plural(n, "namespace") + ")"
	}
	paint := map[string]colour{connected: green, unconnected: red, unasked: yellow}[d.ConnectionState.Status]
	row := []cell{
		word(server), word(d.Name), word(orNothing(d.ServerVersion)),
		{text: d.ConnectionState.Status, colour: paint},
		word(cut(d.ConnectionState.Message, messageWidth)), word(d.Project),
	}
	if !wide {
		return row
	}
	shard := nothing
	if d.Shard != nil {
		shard = strconv.FormatInt(*d.Shard, 10)
	}
	return append(row, word(c.login(d)), word(strconv.Itoa(d.Info.ApplicationsCount)), word(shard), word(commaed(assigned(d.Labels))))
}

// assigned are labels as people write them.
func assigned(labels map[string]string) []string {
	var out []string
	for k, v := range labels {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

func newClusterGet(env *Env, g *global) *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use: "get SERVER|NAME...", Short: "Show clusters",
		Example: "  towline cluster get prod -o wide\n  towline cluster get https://10.0.0.1:6443",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			c, err := g.clusters(cmd.Context(), env)
			if err != nil {
				return err
			}
			var found []roster.Entry
			for _, a := range args {
				e, err := c.find(cmd.Context(), a)
				if err != nil {
					return err
				}
				found = append(found, e)
			}
			return c.get(cmd.Context(), found, o)
		},
		ValidArgsFunction: g.completeCluster(env, true),
	}
	o.register(cmd, outputJSON, outputYAML, outputWide, outputServer)
	// As in Argo CD, whose users pipe it into something.
	o.form = outputYAML
	cmd.Flag("output").DefValue = outputYAML
	g.elsewhere(cmd)
	return cmd
}

func (c *clustering) get(ctx context.Context, found []roster.Entry, o output) error {
	if o.form == outputServer {
		return c.list(ctx, found, o)
	}
	documents, err := c.documents(ctx, found)
	switch {
	case err != nil:
		return err
	case o.structured() && len(documents) == 1:
		return o.encode(c.env.Out, documents[0])
	case o.structured():
		return o.encode(c.env.Out, documents)
	}
	for i, d := range documents {
		if i > 0 {
			fmt.Fprintln(c.env.Out)
		}
		if err := c.view(d, found[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *clustering) view(d clusterDocument, e roster.Entry) error {
	b := &block{palette: c.out, width: 20}
	b.field("Server URL", clean(d.Server))
	b.field("Server Name", clean(d.Name))
	b.field("Server Version", clean(d.ServerVersion))
	paint := map[string]colour{connected: green, unconnected: red, unasked: yellow}[d.ConnectionState.Status]
	b.field("Connection", explained(c.out.paint(paint, d.ConnectionState.Status), d.ConnectionState.Message))
	namespaces := "all namespaces"
	if len(d.Namespaces) > 0 {
		namespaces = strings.Join(d.Namespaces, ", ")
		if d.ClusterResources {
			namespaces += ", and what is in none"
		}
	}
	b.field("Namespaces", clean(namespaces))
	b.field("Project", clean(cmp.Or(d.Project, "all projects")))
	b.field("Applications", strconv.Itoa(d.Info.ApplicationsCount))
	if c.flags.Remote == nil {
		b.field("Login", c.login(d))
		b.field("Client cert", yesNo(len(d.Config.TLS.CertData) > 0))
	}
	b.field("Cert validation", yesNo(!d.Config.TLS.Insecure))
	if d.Config.ProxyURL != "" {
		b.field("Proxy", clean(d.Config.ProxyURL.String()))
	}
	if d.Shard != nil {
		b.field("Shard", strconv.FormatInt(*d.Shard, 10))
	}
	b.fields("Labels", assigned(d.Labels))
	b.fields("Annotations", assigned(d.Annotations))
	if c.flags.Remote == nil {
		b.field("Secret", clean(cmp.Or(e.Secret, "none: it is the cluster that the hub is")))
	}
	return b.write(c.env.Out)
}
