package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/core/roster"
)

// secretText is text that is not shown.
type secretText = repository.Secret

const (
	// acceptTimeout is how long a cluster may take to know a token that it has
	// just written, and acceptPause the time between two attempts.
	acceptTimeout = 15 * time.Second
	acceptPause   = 250 * time.Millisecond
)

// accepted signs in with a new token. An API server compares tokens with its
// own copy of their secrets, which is a moment behind: a refusal may be over at
// the next attempt, and nothing tells when.
func (c *clustering) accepted(ctx context.Context, cluster roster.Cluster) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, acceptTimeout)
	defer cancel()
	for {
		version, err = c.roster.Probe(ctx, cluster)
		if !apierrors.IsUnauthorized(err) {
			return version, err
		}
		select {
		case <-ctx.Done():
			return "", err
		case <-time.After(acceptPause):
		}
	}
}

// explainThere says what a failed request to a target cluster means.
func (c *clustering) explainThere(err error) error {
	switch {
	case apierrors.IsForbidden(err):
		return &told{text: err.Error() + "; giving rights takes a login that has them: use a context of an administrator", err: err}
	case apierrors.IsUnauthorized(err):
		return &told{text: err.Error() + "; the cluster did not accept the login: renew it, or use another context", err: err}
	}
	return err
}

func newClusterSet(env *Env, g *global) *cobra.Command {
	var name, project string
	var namespaces, labels, annotations []string
	var shard int64
	var clusterResources bool
	cmd := &cobra.Command{
		Use: "set SERVER|NAME", Short: "Change what the hub knows of a cluster",
		Long: "Change what the hub knows of a cluster. Rights in the cluster itself are not touched.",
		Example: "  towline cluster set prod --name production --namespace '*'\n" +
			"  towline cluster set prod --label tier=prod --label old-",
		Args:              arguments,
		ValidArgsFunction: g.completeCluster(env, false),
		RunE: func(cmd *cobra.Command, args []string) error {
			var e roster.Edit
			var err error
			if e.Labels, err = reassigned("--label", labels); err != nil {
				return err
			}
			if e.Annotations, err = reassigned("--annotation", annotations); err != nil {
				return err
			}
			f := cmd.Flags()
			if f.Changed("name") {
				e.Name = &name
			}
			if f.Changed("project") {
				e.Project = &project
			}
			if f.Changed("shard") {
				e.Shard = &shard
			}
			if f.Changed("cluster-resources") {
				e.ClusterResources = &clusterResources
			}
			if f.Changed("namespace") {
				if len(namespaces) == 1 && namespaces[0] == "*" {
					namespaces = nil
				}
				e.Namespaces = &namespaces
			}
			c, err := g.clusters(cmd.Context(), env)
			if err != nil {
				return err
			}
			return c.set(cmd.Context(), args[0], e)
		},
	}
	f := cmd.Flags()
	f.StringVar(&name, "name", "", "another name")
	f.StringSliceVar(&namespaces, "namespace", nil, "manage only these namespaces; * is all of them")
	f.BoolVar(&clusterResources, "cluster-resources", false, "with namespaces, also manage what is in none")
	f.StringArrayVar(&labels, "label", nil, "label to set, as in tier=prod, or to remove, as in tier- (may be repeated)")
	f.StringArrayVar(&annotations, "annotation", nil, "annotation to set or to remove (may be repeated)")
	f.StringVar(&project, "project", "", "only applications of this project may use the cluster; '' is all")
	f.Int64Var(&shard, "shard", -1, "shard of the controller")
	return cmd
}

// reassigned are labels to set, and those with a dash to remove.
func reassigned(flag string, values []string) (map[string]*string, error) {
	out := map[string]*string{}
	for _, v := range values {
		k, value, ok := strings.Cut(v, "=")
		switch gone, removed := strings.CutSuffix(v, "-"); {
		case ok && k != "":
			out[k] = &value
		case removed && gone != "":
			out[gone] = nil
		default:
			return nil, usagef("%s is NAME=VALUE, or NAME- to remove it, not %q", flag, v)
		}
	}
	return out, nil
}

func (c *clustering) set(ctx context.Context, selector string, e roster.Edit) error {
	if e.Name == nil && e.Project == nil && e.Shard == nil && e.Namespaces == nil && e.ClusterResources == nil &&
		len(e.Labels)+len(e.Annotations) == 0 {
		return usagef("say what to change, as in --name or --label")
	}
	found, err := c.find(ctx, selector)
	if err != nil {
		return err
	}
	if c.handle(found) == "" {
		return noSecret(found)
	}
	if err := c.roster.Edit(ctx, c.handle(found), e); err != nil {
		return c.explainOf(aCluster, selector, err)
	}
	fmt.Fprintf(c.env.Out, "Cluster '%s' updated.\n", clean(selector))
	if e.Name != nil && *e.Name != found.Name {
		c.renamed(ctx, found.Cluster)
	}
	return nil
}

func noSecret(e roster.Entry) error {
	return fmt.Errorf("cluster %q is the one that the hub is, and there is no secret for it; %q makes one",
		e.Name, "towline cluster add CONTEXT --in-cluster")
}

// renamed warns of applications that look for the old name.
func (c *clustering) renamed(ctx context.Context, old roster.Cluster) {
	apps, err := c.hub.Applications(ctx, metav1.ListOptions{})
	if err != nil {
		return // only a warning is lost
	}
	old.Server = ""
	if users := deployedTo(apps.Items, old); len(users) > 0 {
		c.note("note: nobody goes by the name %q any more, and %s for it: %s", old.Name,
			numbered(len(users), "application looks", "applications look"), some(users))
	}
}

func numbered(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func newClusterRemove(env *Env, g *global) *cobra.Command {
	var yes, rights bool
	var through, system string
	cmd := &cobra.Command{
		Use: "rm SERVER|NAME...", Aliases: []string{"remove", "delete"}, Short: "Remove clusters from the list",
		Long: "Remove clusters from the list: the secret of the hub is deleted if adding the cluster made it; another keeps its\n" +
			"content and loses the label that makes it count. What was deployed stays. With --rbac the service account that\n" +
			"adding the cluster made there goes too, with its rights and tokens, through a context of the kubeconfig.",
		Example: "  towline cluster rm prod\n  towline cluster rm prod --rbac --target-context prod-admin --yes",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := g.clusters(cmd.Context(), env)
			if err != nil {
				return err
			}
			r := removing{clustering: c, rights: rights || through != "", through: through, system: system, yes: yes}
			for _, a := range args {
				if err := r.run(cmd.Context(), a); err != nil {
					return err
				}
			}
			return nil
		},
		ValidArgsFunction: g.completeCluster(env, true),
	}
	f := cmd.Flags()
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.BoolVar(&rights, "rbac", false, "also remove the account, its rights and its tokens in the cluster")
	f.StringVar(&through, "target-context", "",
		"context of the kubeconfig to do that with (default: the one that is called as the cluster)")
	f.StringVar(&system, "system-namespace", roster.DefaultNamespace, "namespace of the account")
	g.elsewhere(cmd)
	return cmd
}

type removing struct {
	*clustering
	rights, yes     bool
	through, system string
}

func (c *removing) run(ctx context.Context, selector string) error {
	found, err := c.find(ctx, selector)
	if err != nil {
		return err
	}
	if c.handle(found) == "" {
		return fmt.Errorf("cluster %q is the one that the hub is; to have nothing deployed to it, set %s to \"false\" in config map %s",
			found.Name, v1alpha1.KeyInClusterEnabled, v1alpha1.ConfigMapSettings)
	}
	apps, err := c.hub.Applications(ctx, metav1.ListOptions{})
	if err != nil {
		return c.explain("", err)
	}
	c.note("%s", removalWords(found, deployedTo(apps.Items, found.Cluster)))
	var target Target
	if c.rights {
		// Before anything is removed: half of it would be hard to find again.
		if target, err = c.env.Target(ctx, c.flags, cmp.Or(c.through, found.Name)); err != nil {
			return fmt.Errorf("%w; --target-context names another, and without --rbac the account stays", err)
		}
		c.note("its account %s/%s goes too: another hub that uses it loses its way to the cluster", c.system, roster.Manager(c.system).Name)
	}
	if err := c.agree(c.yes, fmt.Sprintf("removing cluster %q", found.Name)); err != nil {
		return err
	}
	deleted, err := c.roster.Remove(ctx, found)
	if err != nil {
		return c.explainOf(aCluster, selector, err)
	}
	switch {
	case c.flags.Remote != nil:
		c.note("%s took it off its list", c.flags.where())
	case deleted:
		c.note("deleted secret %q in namespace %q of the hub", found.Secret, c.flags.Namespace)
	default:
		c.note("secret %q in namespace %q was not made by adding a cluster: it stays, without the label that made it count",
			found.Secret, c.flags.Namespace)
	}
	fmt.Fprintf(c.env.Out, "Cluster '%s' removed\n", clean(selector))
	if target == nil {
		return nil
	}
	did, err := target.Revoke(ctx, roster.Grant{Account: roster.Manager(c.system), Namespaces: found.Namespaces})
	c.tell(did)
	return c.explainThere(err)
}

func removalWords(e roster.Entry, apps []string) string {
	out := fmt.Sprintf("removing cluster %q (%s)", e.Name, e.Server)
	if len(apps) == 0 {
		return out + ": no application deploys to it"
	}
	return fmt.Sprintf("%s: %s to it and will be Unknown, and cannot be deleted with their objects: %s", out,
		numbered(len(apps), "application deploys", "applications deploy"), some(apps))
}

func newClusterRotate(env *Env, g *global) *cobra.Command {
	var through string
	cmd := &cobra.Command{
		Use: "rotate-auth SERVER|NAME", Short: "Give the hub a new token of a cluster",
		Long: "Give the hub a new token of a cluster: have one made there, try it, put it into the hub's secret, and delete the\n" +
			"old one. Nobody is without a login at any time.",
		Args: arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := g.clusters(cmd.Context(), env)
			if err != nil {
				return err
			}
			return c.rotate(cmd.Context(), args[0], through)
		},
		ValidArgsFunction: g.completeCluster(env, false),
	}
	cmd.Flags().StringVar(&through, "target-context", "", "context of the kubeconfig to do it with (default: the login that the hub has)")
	g.elsewhere(cmd)
	return cmd
}

func (c *clustering) rotate(ctx context.Context, selector, through string) error {
	found, err := c.find(ctx, selector)
	if err != nil {
		return err
	}
	if c.flags.Remote != nil {
		return c.rotateThere(ctx, found)
	}
	old, ok := roster.TokenOf(found.Config.BearerToken)
	switch {
	case found.Secret == "":
		return noSecret(found)
	case found.Problem != "":
		return errors.New(found.Problem)
	case found.Config.Login() != "token":
		return fmt.Errorf("cluster %q does not sign in with a token but with: %s; renew that where it comes from",
			found.Name, found.Config.Login())
	case !ok:
		return fmt.Errorf("the token of cluster %q is not one that Kubernetes keeps in a secret of a service account; "+
			"\"towline cluster add CONTEXT --upsert\" gives it one that is", found.Name)
	}
	target, err := c.door(ctx, found.Cluster, through)
	if err != nil {
		return err
	}
	fresh, err := target.Token(ctx, old.Account, true)
	if err != nil {
		return c.explainThere(err)
	}
	c.note("made a new token of ServiceAccount %s/%s, in secret %s", fresh.Account.Namespace, fresh.Account.Name, fresh.Secret)
	if err := c.swap(ctx, found, fresh); err != nil {
		// Not with the caller's context: it may be why we are here.
		return errors.Join(err, target.Forget(context.WithoutCancel(ctx), fresh))
	}
	c.note("put it into secret %q in namespace %q of the hub", found.Secret, c.flags.Namespace)
	found.Config.BearerToken = fresh.Value
	if target, err = c.door(ctx, found.Cluster, through); err != nil {
		return err
	}
	if err := target.Forget(ctx, old); err != nil {
		return fmt.Errorf("the new token is in use, but the old one is still good: %w", c.explainThere(err))
	}
	c.note("deleted the old token, in secret %s", old.Secret)
	fmt.Fprintf(c.env.Out, "Cluster '%s' rotated auth\n", clean(selector))
	return nil
}

// rotateThere has a server make a new login.
func (c *clustering) rotateThere(ctx context.Context, e roster.Entry) error {
	r, ok := c.roster.(interface {
		Rotate(ctx context.Context, server string) error
	})
	if !ok {
		return usagef("%s is not asked for that; --core does it, with your kubeconfig", c.flags.where())
	}
	if err := r.Rotate(ctx, e.Server); err != nil {
		return c.explainOf(aCluster, e.Name, err)
	}
	fmt.Fprintf(c.env.Out, "Cluster '%s' rotated auth\n", clean(e.Server))
	return nil
}

// door is the way into a cluster that is on the list.
func (c *clustering) door(ctx context.Context, cluster roster.Cluster, through string) (Target, error) {
	if through != "" {
		return c.env.Target(ctx, c.flags, through)
	}
	t, err := c.env.Member(ctx, c.flags, cluster)
	if err != nil {
		return nil, fmt.Errorf("reaching cluster %q: %w; --target-context names a context to do it with", cluster.Name, err)
	}
	return t, nil
}

// swap tries a new token and puts it where the old one is.
func (c *clustering) swap(ctx context.Context, e roster.Entry, fresh roster.Token) error {
	tried := e.Cluster
	tried.Config.BearerToken = fresh.Value
	if _, err := c.accepted(ctx, tried); err != nil {
		return fmt.Errorf("signing in with the new token: %w; the old one stays in use", err)
	}
	err := c.roster.Edit(ctx, e.Secret, roster.Edit{Token: fresh.Value, Old: e.Config.BearerToken})
	return c.explainOf(aCluster, e.Name, err)
}
