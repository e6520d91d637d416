// Command cluster builds and runs a real Kubernetes control plane on loopback for development and tests; it is not
// part of the product and must not be used to run workloads.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "cluster",
		Short:         "Build and run a real Kubernetes control plane on loopback",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(buildCommand(), upCommand(), saveCommand(), kubeconfigCommand(), downCommand(), listCommand())
	return root
}

func nameFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("name", "dev", "the cluster's name")
}

func buildCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "build",
		Short: "Build the pinned programs into the cache",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			start := time.Now()
			binaries, err := controlplane.Build(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "Kubernetes %s is ready (%s)\n",
				binaries.KubernetesVersion, time.Since(start).Round(time.Millisecond))
			fmt.Fprintln(cmd.OutOrStdout(), binaries.Dir)
			return nil
		},
	}
}

func upCommand() *cobra.Command {
	var opts controlplane.Options
	var audit string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster in the background and print its kubeconfig's path",
		Args:  cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Name, "name", "dev", "the cluster's name")
	flags.IntVar(&opts.Nodes, "nodes", 1, "the number of fake nodes")
	flags.StringVar(&audit, "audit", "", "write an audit log: Metadata, Request or RequestResponse (the default if no level is given)")
	flags.Lookup("audit").NoOptDefVal = string(controlplane.AuditRequestResponse)
	flags.BoolVar(&opts.Fsync, "fsync", true, "make etcd's writes safe against a crash of the machine; false is faster")
	flags.StringArrayVar(&opts.APIServerArgs, "apiserver-arg", nil, "a further kube-apiserver argument, as key=value (repeatable)")
	flags.StringArrayVar(&opts.EtcdArgs, "etcd-arg", nil, "a further etcd argument, as key=value (repeatable)")
	flags.StringArrayVar(&opts.KwokConfig, "kwok-config", nil, "a further file of kwok objects, for example ClusterLogs (repeatable)")
	flags.StringVar(&opts.Restore, "restore", "", "start from a file that save wrote")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		opts.Audit = controlplane.AuditLevel(audit)
		if opts.Nodes == 0 {
			opts.Nodes = -1
		}
		return up(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), opts)
	}
	return cmd
}

func up(ctx context.Context, out, progress io.Writer, opts controlplane.Options) error {
	record, err := controlplane.Lookup(opts.Name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && record.Alive() {
		return fmt.Errorf("starting cluster %q: it runs already (its kubeconfig is %s); `go run ./hack/cluster down --name %s` removes it",
			opts.Name, record.Kubeconfig, opts.Name)
	}
	if err == nil {
		fmt.Fprintf(progress, "cluster %q has stopped; starting it again with its objects\n", opts.Name)
		if err := record.Kill(ctx); err != nil {
			return err
		}
	}
	if opts.Dir, err = controlplane.ClusterDir(opts.Name); err != nil {
		return err
	}
	opts.Detach, opts.Log = true, progress
	if _, err := controlplane.Build(ctx, progress); err != nil {
		return err
	}
	start := time.Now()
	plane, err := controlplane.Start(ctx, opts)
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "cluster %q is ready at %s (%s)\n", opts.Name, plane.Server(), time.Since(start).Round(time.Millisecond))
	fmt.Fprintln(out, plane.Kubeconfig())
	return nil
}

func saveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "save FILE",
		Short: "Write a cluster's objects to a file that up --restore takes",
		Args:  cobra.ExactArgs(1),
	}
	name := nameFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		plane, err := controlplane.Attach(*name)
		if err != nil {
			return err
		}
		return plane.Save(cmd.Context(), args[0])
	}
	return cmd
}

func kubeconfigCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of a cluster's kubeconfig",
		Args:  cobra.NoArgs,
	}
	name := nameFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		plane, err := controlplane.Attach(*name)
		if err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), plane.Kubeconfig())
		return nil
	}
	return cmd
}

func downCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop a cluster and delete its data",
		Args:  cobra.NoArgs,
	}
	name := nameFlag(cmd)
	all := cmd.Flags().Bool("all", false, "stop all clusters")
	cmd.MarkFlagsMutuallyExclusive("name", "all")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !*all {
			return controlplane.Remove(cmd.Context(), *name)
		}
		records, err := controlplane.List()
		if err != nil {
			return err
		}
		var errs []error
		for _, record := range records {
			errs = append(errs, controlplane.Remove(cmd.Context(), record.Name))
		}
		return errors.Join(errs...)
	}
	return cmd
}

// row is a line of the list.
type row struct {
	Name       string `json:"name"`
	Server     string `json:"server"`
	Alive      bool   `json:"alive"`
	Kubeconfig string `json:"kubeconfig"`
	Dir        string `json:"dir"`
}

func listCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the clusters",
		Args:  cobra.NoArgs,
	}
	output := cmd.Flags().StringP("output", "o", "", "json for machines")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *output != "" && *output != "json" {
			return fmt.Errorf("choosing the output %q: only json is known", *output)
		}
		records, err := controlplane.List()
		if err != nil {
			return err
		}
		rows := []row{}
		for _, r := range records {
			rows = append(rows, row{Name: r.Name, Server: r.Server, Alive: r.Alive(), Kubeconfig: r.Kubeconfig, Dir: r.Dir})
		}
		if *output == "json" {
			encoder := json.NewEncoder(cmd.OutOrStdout())
			encoder.SetIndent("", "  ")
			return encoder.Encode(rows)
		}
		return printRows(cmd.OutOrStdout(), rows)
	}
	return cmd
}

func printRows(out io.Writer, rows []row) error {
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSERVER\tSTATE")
	for _, r := range rows {
		state := "stopped"
		if r.Alive {
			state = "running"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", r.Name, r.Server, state)
	}
	return table.Flush()
}
