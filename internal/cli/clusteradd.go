package cli

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/roster"
)

// adding puts a cluster on the list.
type adding struct {
	*clustering
	target Target

	name, project        string
	namespaces           []string
	clusterResources     bool
	inCluster            bool
	endpoint             string
	account, system      string
	labels, annotations  []string
	shard                int64
	proxy                string
	disableCompression   bool
	aws                  roster.AWS
	command, apiVersion  string
	args                 []string
	variables            map[string]string
	hint                 string
	upsert, yes, minimal bool
}

// The addresses that a cluster can be added by.
const (
	endpointKubeconfig = "kubeconfig"
	endpointPublic     = "kube-public"
	endpointInternal   = "internal"
)

func newClusterAdd(env *Env, g *global) *cobra.Command {
	c := &adding{}
	cmd := &cobra.Command{
		Use:   "add CONTEXT",
		Short: "Add a cluster of the kubeconfig",
		Long: "Add the cluster of a context of the kubeconfig: make a service account with all rights there (or with rights in some\n" +
			"namespaces, or with the right to read), and keep its token in a secret of the hub. With --service-account the\n" +
			"account is one that is there; with --aws-cluster-name or --exec-command the controller makes the login itself\n" +
			"and nothing is made in the cluster.",
		Example: "  towline cluster add prod --label tier=prod\n" +
			"  towline cluster add prod --namespace shop --namespace shop-test --yes\n" +
			"  towline cluster add prod --aws-cluster-name prod --aws-role-arn arn:aws:iam::123456789012:role/deployer",
		Args: arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(); err != nil {
				return err
			}
			g.targets = true
			s, err := g.clusters(cmd.Context(), env)
			if err != nil {
				return err
			}
			c.clustering = s
			if c.target, err = env.Target(cmd.Context(), s.flags, args[0]); err != nil {
				return err
			}
			return c.run(cmd.Context(), args[0])
		},
	}
	c.register(cmd)
	return cmd
}

func (c *adding) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.name, "name", "", "name of the cluster (default: that of the context)")
	f.StringSliceVar(&c.namespaces, "namespace", nil, "manage only these namespaces, and give rights only there")
	f.BoolVar(&c.clusterResources, "cluster-resources", false, "with --namespace, also manage what is in no namespace")
	f.BoolVar(&c.inCluster, "in-cluster", false, "the hub runs in this cluster: use the address that is good inside of it")
	f.StringVar(&c.endpoint, "cluster-endpoint", "",
		"which address to use: kubeconfig, kube-public (what the cluster publishes) or internal")
	f.StringVar(&c.account, "service-account", "",
		"use this service account, which is there (default: make "+v1alpha1.ClusterManagerAccount+")")
	f.StringVar(&c.system, "system-namespace", roster.DefaultNamespace, "namespace of the service account")
	f.StringArrayVar(&c.labels, "label", nil, "label of the cluster, as in tier=prod (may be repeated)")
	f.StringArrayVar(&c.annotations, "annotation", nil, "annotation of the cluster (may be repeated)")
	f.Int64Var(&c.shard, "shard", -1, "shard of the controller (default: the controller chooses)")
	f.StringVar(&c.project, "project", "", "only applications of this project may use the cluster")
	f.StringVar(&c.proxy, "proxy-url", "", "proxy that leads to the cluster (default: that of the kubeconfig)")
	f.BoolVar(&c.disableCompression, "disable-compression", false, "do not ask for compressed answers")
	f.StringVar(&c.aws.ClusterName, "aws-cluster-name", "", "EKS cluster that the controller makes logins for")
	f.StringVar(&c.aws.RoleARN, "aws-role-arn", "", "role that it takes for that")
	f.StringVar(&c.aws.Profile, "aws-profile", "", "AWS profile that it takes for that")
	f.StringVar(&c.command, "exec-command", "", "program that makes logins; the controller runs it")
	f.StringArrayVar(&c.args, "exec-command-args", nil, "argument of that program (may be repeated)")
	f.StringToStringVar(&c.variables, "exec-command-env", nil, "variables of that program, as in KEY=value")
	f.StringVar(&c.apiVersion, "exec-command-api-version", "", "version of the protocol that it speaks")
	f.StringVar(&c.hint, "exec-command-install-hint", "", "what to say where the program is missing")
	f.BoolVar(&c.upsert, "upsert", false, "change a cluster that is on the list already")
	f.BoolVar(&c.minimal, "minimal", false, "give the account the right to read and no other; what it may write is up to you")
	f.BoolVarP(&c.yes, "yes", "y", false, "do not ask")
	fixed(cmd, "cluster-endpoint", endpointKubeconfig, endpointPublic, endpointInternal)
}

// made says that the login is one that the controller makes.
func (c *adding) made() bool { return c.aws.ClusterName != "" || c.command != "" }

func (c *adding) check() error {
	switch {
	case c.aws.ClusterName != "" && c.command != "":
		return usagef("--aws-cluster-name and --exec-command are two ways to sign in: choose one")
	case c.aws.ClusterName == "" && (c.aws.RoleARN != "" || c.aws.Profile != ""):
		return usagef("--aws-role-arn and --aws-profile need --aws-cluster-name")
	case c.minimal && (c.made() || c.account != ""):
		return usagef("--minimal is about the account that is made, and none is")
	case !slices.Contains([]string{"", endpointKubeconfig, endpointPublic, endpointInternal}, c.endpoint):
		return usagef("--cluster-endpoint is kubeconfig, kube-public or internal, not %q", c.endpoint)
	case c.inCluster && c.endpoint != "" && c.endpoint != endpointInternal:
		return usagef("--in-cluster is --cluster-endpoint internal, and you also say %s", c.endpoint)
	case c.clusterResources && len(c.namespaces) == 0:
		return usagef("--cluster-resources adds to --namespace; without that everything is managed")
	}
	return nil
}

func (c *adding) run(ctx context.Context, from string) error {
	cluster, err := c.cluster(ctx, from)
	if err != nil {
		return err
	}
	all, err := c.roster.Entries(ctx)
	if err != nil {
		return c.explainOf(aCluster, "", err)
	}
	known, err := c.known(all, cluster)
	if err != nil {
		return err
	}
	if known != nil && !c.upsert {
		c.note("cluster %q (%s) is on the list already, as you say; nothing was done (%q renews its token)",
			cluster.Name, cluster.Server, "towline cluster rotate-auth "+cluster.Name)
		return nil
	}
	if !c.made() {
		if cluster.Config.BearerToken, err = c.login(ctx, from, cluster); err != nil {
			return err
		}
	}
	return c.write(ctx, cluster, known)
}

// cluster is what the flags and the kubeconfig say, without a login.
func (c *adding) cluster(ctx context.Context, from string) (roster.Cluster, error) {
	at, err := c.target.Endpoint(ctx, c.endpoint == endpointPublic)
	if err != nil {
		return roster.Cluster{}, err
	}
	out := roster.Cluster{
		Name: cmp.Or(c.name, from), Server: strings.TrimRight(at.Server, "/"),
		Namespaces: c.namespaces, ClusterResources: c.clusterResources, Project: c.project,
		Config: roster.Config{
			TLS:                roster.TLS{Insecure: at.Insecure, ServerName: at.ServerName, CAData: at.CAData},
			ProxyURL:           at.ProxyURL,
			DisableCompression: at.DisableCompression || c.disableCompression,
		},
	}
	if c.inCluster || c.endpoint == endpointInternal {
		out.Server = v1alpha1.InClusterServer
	}
	if c.proxy != "" {
		out.Config.ProxyURL = roster.ProxyURL(c.proxy)
	}
	if c.shard >= 0 {
		out.Shard = &c.shard
	}
	switch {
	case c.aws.ClusterName != "":
		out.Config.AWS = &c.aws
	case c.command != "":
		out.Config.Exec = roster.NewExec(c.command, c.args, c.variables)
		out.Config.Exec.APIVersion, out.Config.Exec.InstallHint = c.apiVersion, c.hint
	}
	if out.Labels, err = assignments("--label", c.labels); err != nil {
		return out, err
	}
	out.Annotations, err = assignments("--annotation", c.annotations)
	return out, err
}

// assignments are the values of a flag such as --label.
func assignments(flag string, values []string) (map[string]string, error) {
	out := map[string]string{}
	for _, text := range values {
		k, v, ok := strings.Cut(text, "=")
		if !ok || k == "" {
			return nil, usagef("%s is NAME=VALUE, not %q", flag, text)
		}
		out[k] = v
	}
	return out, nil
}

// known is the line that the list has for the server; nil if there is none. It
// is an error where adding would change it unasked.
func (c *adding) known(all []roster.Entry, cluster roster.Cluster) (*roster.Entry, error) {
	for i := range all {
		e := &all[i]
		if c.unwritten(*e) || !roster.SameServer(e.Server, cluster.Server) {
			continue
		}
		wanted := cluster
		switch {
		case c.flags.Remote != nil:
			// A server tells neither logins nor labels, so there is nothing to compare them with.
			wanted.Config, wanted.Labels, wanted.Annotations = e.Config, nil, nil
		case !c.made():
			wanted.Config.BearerToken = e.Config.BearerToken
		}
		if d := roster.Differences(e.Cluster, wanted); len(d) > 0 && !c.upsert {
			return nil, fmt.Errorf("cluster %q (%s) is on the list already and differs in %s; --upsert changes it, and %q shows it",
				e.Name, e.Server, strings.Join(d, ", "), "towline cluster get "+e.Server)
		}
		return e, nil
	}
	for _, e := range roster.Find(all, cluster.Name) {
		if !c.unwritten(e) {
			return nil, fmt.Errorf("the name %q is taken by %s; give this one another with --name: applications find a cluster by it",
				cluster.Name, e.Server)
		}
	}
	return nil, nil
}

// unwritten is the cluster that the hub is, where nothing is written down of it.
func (c *adding) unwritten(e roster.Entry) bool {
	if c.flags.Remote != nil {
		return e.Server == v1alpha1.InClusterServer && e.Name == v1alpha1.InClusterName
	}
	return e.Secret == ""
}

// login makes the account, unless it is there, and has it write a token.
func (c *adding) login(ctx context.Context, from string, cluster roster.Cluster) (out secretText, err error) {
	account := roster.Account{Namespace: c.system, Name: c.account}
	if c.account == "" {
		account = roster.Manager(c.system)
		grant := roster.Grant{Account: account, Namespaces: c.namespaces, ReadOnly: c.minimal}
		c.note("%s", warning(from, grant))
		if err := c.agree(c.yes, fmt.Sprintf("adding cluster %q", cluster.Name)); err != nil {
			return out, err
		}
		did, err := c.target.Allow(ctx, grant)
		c.tell(did)
		if err != nil {
			return out, c.explainThere(err)
		}
	}
	token, err := c.target.Token(ctx, account, false)
	if err != nil {
		return out, c.explainThere(err)
	}
	c.note("took the token of ServiceAccount %s/%s from secret %s", account.Namespace, account.Name, token.Secret)
	return token.Value, c.tried(ctx, cluster, token)
}

// tried signs in with a token, by the address that this machine knows.
func (c *adding) tried(ctx context.Context, cluster roster.Cluster, token roster.Token) error {
	at, err := c.target.Endpoint(ctx, false)
	if err != nil {
		return err
	}
	cluster.Server, cluster.Config.BearerToken = at.Server, token.Value
	cluster.Config.TLS = roster.TLS{Insecure: at.Insecure, ServerName: at.ServerName, CAData: at.CAData}
	version, err := c.accepted(ctx, cluster)
	if err != nil {
		return fmt.Errorf("signing in to cluster %q with the new token: %w; nothing was written to the hub", cluster.Name, err)
	}
	c.note("the cluster takes it; it is Kubernetes %s", version)
	return nil
}

// warning says what the account will be able to do.
func warning(from string, g roster.Grant) string {
	where := fmt.Sprintf("in the cluster of context %q", from)
	if len(g.Namespaces) > 0 {
		where = fmt.Sprintf("in %s of the cluster of context %q", numberedNames("namespace", g.Namespaces), from)
	}
	may := "may do everything"
	if g.ReadOnly {
		may = "may read everything, secrets among it, and write nothing,"
	}
	return fmt.Sprintf("WARNING: this makes a service account %q that %s %s", g.Account.Name, may, where)
}

func numberedNames(what string, names []string) string {
	if len(names) > 1 {
		what += "s"
	}
	return what + " " + quoted(names, ", ")
}

// tell reports steps that were done in the target cluster.
func (c *clustering) tell(did []string) {
	for _, what := range did {
		c.note("%s", what)
	}
}

func (c *adding) write(ctx context.Context, cluster roster.Cluster, known *roster.Entry) error {
	if known != nil {
		if err := c.replace(ctx, cluster, known); err != nil {
			return c.explainOf(aCluster, cluster.Name, err)
		}
		c.note("changed %s", c.kept(known.Secret))
	} else {
		secret, err := c.roster.Create(ctx, cluster)
		if err != nil {
			return c.explainOf(aCluster, cluster.Name, err)
		}
		did := "made"
		if c.flags.Remote != nil {
			did = "put it on"
		}
		c.note("%s %s", did, c.kept(secret))
	}
	fmt.Fprintf(c.env.Out, "Cluster '%s' added\n", clean(cluster.Server))
	c.afterthoughts(cluster)
	return nil
}

// replace makes what is known of a cluster what was said.
func (c *adding) replace(ctx context.Context, cluster roster.Cluster, known *roster.Entry) error {
	// A server takes the whole of it, the login among it.
	if r, ok := c.roster.(interface {
		Replace(ctx context.Context, c roster.Cluster) error
	}); ok {
		return r.Replace(ctx, cluster)
	}
	return c.roster.Edit(ctx, known.Secret, roster.Whole(cluster))
}

// afterthoughts are what a person may have to do next.
func (c *adding) afterthoughts(cluster roster.Cluster) {
	if c.made() {
		c.note("note: nothing was made in the cluster, and the login was not tried: it is the controller that makes it, where the program" +
			" or the AWS role must be at hand; \"app get\" of an application there tells how it went")
	}
	if c.minimal {
		c.note("note: nothing can be synced yet, and not even compared, for the server refuses a dry-run to who may not write:"+
			" bind a role that may create, patch and delete what you deploy to ServiceAccount %s/%s;"+
			" or let a project sync as service accounts of its own (\"proj add-destination-service-account\"),"+
			" and give this one the right to impersonate these",
			c.system, v1alpha1.ClusterManagerAccount)
	}
	if c.clusterResources {
		c.note("note: what is in no namespace is managed too, but the account has rights in %s only: give it those that it needs besides",
			quoted(c.namespaces, ", "))
	}
	if u, err := url.Parse(cluster.Server); err == nil && loopback(u.Hostname()) {
		c.note("note: %s is an address of the machine that one is on: a controller in a pod does not find the cluster there;"+
			" --cluster-endpoint has others", cluster.Server)
	}
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}
