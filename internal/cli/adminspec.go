package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/core/roster"
	"github.com/towline-cd/towline/internal/core/secret"
)

// newProjSpec prints what "proj create" would write.
func newProjSpec(env *Env, g *global) *cobra.Command {
	var flags projFlags
	var file string
	var inline bool
	o := output{}
	cmd := &cobra.Command{
		Use: "generate-spec [PROJECT]", Short: "Print a project as a file for Git", Args: arguments,
		Long:              "Print what \"proj create\" with the same flags would write. Nothing is asked and nothing is written.",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			edit, _, err := flags.edit(cmd.Flags())
			if err != nil {
				return err
			}
			p, err := declared(env, file, args)
			if err != nil {
				return err
			}
			edit(&p.Spec)
			p.Namespace = g.Namespace
			return printSpec(env, o, specFile{inline: inline, name: file}, withoutStatus(exportableProject(p)))
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "file with an AppProject to begin with; - is the input")
	cmd.Flags().BoolVarP(&inline, "inline", "i", false, "write it into the file of -f, and not to the output")
	specOutput(cmd, &o)
	return cmd
}

// newAppSpec prints the application that "app create" would make.
func newAppSpec(env *Env, g *global) *cobra.Command {
	c := &creating{}
	var inline bool
	cmd := &cobra.Command{
		Use: "generate-spec [APPNAME]", Short: "Print an application as a file for Git", Args: arguments,
		Long:              "Print what \"app create\" with the same flags would make. Nothing is asked and nothing is written.",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.output.check(); err != nil {
				return err
			}
			apps, err := c.wanted(env, cmd, args)
			if err != nil {
				return err
			}
			if len(apps) != 1 {
				return usagef("%s holds %d Applications; give one", c.file, len(apps))
			}
			if apps[0].Namespace == "" {
				apps[0].Namespace = g.Namespace
			}
			return printSpec(env, c.output, specFile{inline: inline, name: c.file}, withoutStatus(exportable(apps[0])))
		},
	}
	c.describedBy(cmd)
	cmd.Flags().BoolVarP(&inline, "inline", "i", false, "write it into the file of -f, and not to the output")
	specOutput(cmd, &c.output)
	return cmd
}

// specOutput is the -o flag of those commands: YAML unless somebody says otherwise.
func specOutput(cmd *cobra.Command, o *output) {
	o.register(cmd, outputJSON, outputYAML)
	o.form = outputYAML
	cmd.Flag("output").DefValue = outputYAML
}

// specFile is where a file for Git goes.
type specFile struct {
	inline bool
	name   string
}

// withoutStatus is an object as people write it.
func withoutStatus(v any) map[string]any {
	text, err := yaml.Marshal(v)
	if err != nil {
		return nil
	}
	out := map[string]any{}
	if err := yaml.Unmarshal(text, &out); err != nil {
		return nil
	}
	delete(out, "status")
	if meta, ok := out["metadata"].(map[string]any); ok && meta["creationTimestamp"] == nil {
		delete(meta, "creationTimestamp")
	}
	return out
}

func printSpec(env *Env, o output, to specFile, v map[string]any) error {
	if !to.inline {
		return o.encode(env.Out, v)
	}
	if to.name == "" || to.name == "-" {
		return usagef("--inline writes into the file of -f, and there is none")
	}
	text, err := yaml.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding it: %w", err)
	}
	return env.WriteFile(to.name, text)
}

// newRepoSpec prints the secret that "repo add" would write.
func newRepoSpec(env *Env, g *global) *cobra.Command {
	flags := &entryFlags{}
	o := output{}
	cmd := &cobra.Command{
		Use: "generate-spec REPOURL", Short: "Print the secret of a repository as a file", Args: arguments,
		Long: "Print the secret that \"repo add\" with the same flags would write. Nothing is asked of the repository. The login is in\n" +
			"it: it is no file for Git as it is.",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			entry, err := flags.entry(env, args[0])
			if err != nil {
				return err
			}
			return printSpec(env, o, specFile{}, secretSpec(roster.Secret{
				Name: repository.SecretName(entry, false), Data: repository.Write(nil, entry, false),
				Labels:      map[string]string{v1alpha1.LabelSecretType: v1alpha1.SecretTypeRepository},
				Annotations: map[string]string{v1alpha1.AnnotationManagedBy: v1alpha1.ManagedByValue},
			}, g.Namespace))
		},
	}
	flags.register(cmd)
	specOutput(cmd, &o)
	return cmd
}

// secretSpec is a secret as people write it.
func secretSpec(s roster.Secret, namespace string) map[string]any {
	data := map[string]any{}
	for k, v := range s.Data {
		data[k] = string(v)
	}
	text := func(in map[string]string) map[string]any {
		out := map[string]any{}
		for k, v := range in {
			out[k] = v
		}
		return out
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Secret", "stringData": data,
		"metadata": map[string]any{
			"name": s.Name, "namespace": namespace, "labels": text(s.Labels), "annotations": text(s.Annotations),
		},
	}
}

// newClusterSpec prints the secret that "cluster add" would write.
func newClusterSpec(env *Env, g *global) *cobra.Command {
	c := &adding{}
	var token string
	o := output{}
	cmd := &cobra.Command{
		Use: "generate-spec CONTEXT", Short: "Print the secret of a cluster as a file", Args: arguments,
		Long: "Print the secret that \"cluster add\" with the same flags would write, for the cluster of a context of the kubeconfig.\n" +
			"Nothing is made there: the login is --bearer-token, or one that the controller makes.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if err := c.check(); err != nil {
				return err
			}
			if token == "" && !c.made() {
				return usagef("say how to sign in there: --bearer-token, --aws-cluster-name or --exec-command")
			}
			var err error
			if c.target, err = env.Target(cmd.Context(), g.Flags, args[0]); err != nil {
				return err
			}
			cluster, err := c.cluster(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			cluster.Config.BearerToken = secret.New(token)
			s, err := roster.Write(cluster)
			if err != nil {
				return err
			}
			return printSpec(env, o, specFile{}, secretSpec(s, g.Namespace))
		},
	}
	c.register(cmd)
	cmd.Flags().StringVar(&token, "bearer-token", "", "token to sign in with")
	specOutput(cmd, &o)
	return cmd
}
