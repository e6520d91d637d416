package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/internal/core/roster"
	"github.com/towline-cd/towline/internal/core/status"
)

func newAdminCluster(env *Env, g *global) *cobra.Command {
	namespaces := newClusterNamespaces(env, g)
	const mode = "\"towline cluster set SERVER --namespace ...\" says which namespaces of a cluster are managed"
	namespaces.AddCommand(refusing("enable-namespaced-mode PATTERN", mode), refusing("disable-namespaced-mode PATTERN", mode))
	return family(env, &cobra.Command{Use: "cluster", Short: "Clusters, straight on the hub"},
		newKubeconfig(env, g), newClusterStats(env, g), namespaces, newClusterSpec(env, g),
		refusing("shards", "there are no shards: one replica acts for all clusters, and the others stand by"))
}

func newKubeconfig(env *Env, g *global) *cobra.Command {
	return &cobra.Command{
		Use: "kubeconfig SERVER|NAME OUTPUT_PATH", Short: "Write a kubeconfig that reaches a cluster as the hub does", Args: arguments,
		Long: "Write a kubeconfig that reaches a cluster as the hub does, with its login. It is for you alone to read; - is the output.\n" +
			"Delete it when you are done.",
		ValidArgsFunction: g.completeCluster(env, false),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := g.clusters(cmd.Context(), env)
			if err != nil {
				return err
			}
			e, err := c.find(cmd.Context(), args[0])
			switch {
			case err != nil:
				return err
			case e.Problem != "":
				return errors.New(e.Problem)
			case e.Secret == "":
				return fmt.Errorf("cluster %q is the one that the hub is, and your own kubeconfig reaches it", e.Name)
			}
			text, err := roster.Kubeconfig(e.Cluster)
			if _, elsewhere := errors.AsType[*roster.ElsewhereError](err); elsewhere {
				return fmt.Errorf("the login of cluster %q is made by the controller (%s), and is in no secret", e.Name, e.Config.Login())
			}
			if err != nil {
				return err
			}
			if args[1] == "-" {
				_, err := env.Out.Write(text)
				return err
			}
			if err := env.WriteFile(args[1], text); err != nil {
				return err
			}
			c.note("wrote %s; there is a login in it", args[1])
			return nil
		},
	}
}

func newClusterStats(env *Env, g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use: "stats", Short: "Show how it is with each cluster, and how much is deployed there", Args: none,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := g.clusters(cmd.Context(), env)
			if err != nil {
				return err
			}
			all, used, err := c.usage(cmd.Context())
			if err != nil {
				return err
			}
			said := c.contacts(cmd.Context(), all)
			t := &table{palette: c.out, head: []string{
				"SERVER", "SHARD", "CONNECTION", "NAMESPACES COUNT", "APPS COUNT", "RESOURCES COUNT",
			}}
			for i, e := range all {
				shard := nothing
				if e.Shard != nil {
					shard = strconv.FormatInt(*e.Shard, 10)
				}
				t.row(word(e.Server), word(shard), word(said[i].Status), word(strconv.Itoa(len(used[i].namespaces))),
					word(strconv.Itoa(used[i].apps)), word(strconv.Itoa(used[i].objects)))
			}
			return t.write(env.Out, true)
		},
	}
	const shards = "there are no shards: one replica acts for all clusters, and the others stand by"
	refuse(cmd, refusedFlag{name: "shard", reason: shards}, refusedFlag{name: "replicas", reason: shards},
		refusedFlag{name: "sharding-method", reason: shards})
	return cmd
}

// use is what is deployed to a cluster, as the applications of the hub tell it.
type use struct {
	apps, objects int
	namespaces    []string
}

func (c *clustering) usage(ctx context.Context) ([]roster.Entry, []use, error) {
	all, err := c.roster.Entries(ctx)
	if err != nil {
		return nil, nil, c.explainOf(aCluster, "", err)
	}
	apps, err := c.hub.Applications(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, c.explain("", err)
	}
	out := make([]use, len(all))
	for i, e := range all {
		for _, app := range apps.Items {
			if len(deployedTo(append(apps.Items[:0:0], app), e.Cluster)) == 0 {
				continue
			}
			out[i].apps++
			_, objects := status.Listed(app.Status)
			out[i].objects += objects
			out[i].namespaces = append(out[i].namespaces, app.Spec.Destination.Namespace)
			for _, r := range app.Status.Resources {
				out[i].namespaces = append(out[i].namespaces, r.Namespace)
			}
		}
		slices.Sort(out[i].namespaces)
		out[i].namespaces = slices.DeleteFunc(slices.Compact(out[i].namespaces), func(n string) bool { return n == "" })
	}
	return all, out, nil
}

func newClusterNamespaces(env *Env, g *global) *cobra.Command {
	cmd := family(env, &cobra.Command{Use: "namespaces", Short: "Show which namespaces of each cluster are deployed to"})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknown(cmd, args[0])
		}
		c, err := g.clusters(cmd.Context(), env)
		if err != nil {
			return err
		}
		all, used, err := c.usage(cmd.Context())
		if err != nil {
			return err
		}
		for i, e := range all {
			fmt.Fprintf(env.Out, "* %s (%s)\n", clean(e.Server), clean(cmp.Or(e.Name, nothing)))
			managed := "all namespaces"
			if len(e.Namespaces) > 0 {
				managed = strings.Join(e.Namespaces, ", ")
			}
			fmt.Fprintf(env.Out, "  managed: %s\n  deployed to: %s\n", clean(managed), clean(commaed(used[i].namespaces)))
		}
		return nil
	}
	return cmd
}
