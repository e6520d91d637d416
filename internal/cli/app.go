package cli

import (
	"github.com/spf13/cobra"
)

// NewApp makes the command "app" with everything below it.
func NewApp(env *Env) *cobra.Command {
	g := &global{}
	cmd := &cobra.Command{
		Use:   "app",
		Short: "See, make, change, sync and delete applications",
		Long: "See, make, change, sync and delete applications.\n\n" +
			"The commands talk to the server that you signed in to, or else (and with --core) to the cluster that the applications\n" +
			"are declared in, with your kubeconfig.\n" +
			"Exit codes: 0 done, 1 a diff found differences, 2 wrong usage, 4 not authorised, 20 anything else.",
		Aliases:       []string{"application", "apps"},
		SilenceErrors: true,
		SilenceUsage:  true,
		// As far apart as a slip of the finger.
		SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknown(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	cmd.SetIn(env.In)
	cmd.SetOut(env.Out)
	cmd.SetErr(env.Err)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; %q shows the flags", err, cmd.CommandPath()+" --help")
	})
	g.register(cmd, env)
	cmd.PersistentFlags().StringVarP(&g.AppNamespace, "app-namespace", "N", "",
		"namespace of the applications, if it is another; NAMESPACE/NAME says it too")
	for _, sub := range []*cobra.Command{
		newList(env, g), newGet(env, g), newDiff(env, g), newManifests(env, g), newExplain(env, g), newDrift(env, g), newWindows(env, g),
		newResources(env, g), newLogs(env, g),
		newSync(env, g), newWait(env, g), newTerminate(env, g), newHistory(env, g), newRollback(env, g),
		newHold(env, g), newUnhold(env, g), newConfirm(env, g), newDelete(env, g), newActions(env, g),
		newCreate(env, g), newSet(env, g), newUnset(env, g), newEdit(env, g), newPatch(env, g),
		newAddSource(env, g), newRemoveSource(env, g), newGetResource(env, g), newPatchResource(env, g), newDeleteResource(env, g),
	} {
		sub.SilenceErrors, sub.SilenceUsage = true, true
		cmd.AddCommand(sub)
	}
	return cmd
}

func unknown(cmd *cobra.Command, name string) error {
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		return usagef("%q has no command %q; did you mean %s?", cmd.CommandPath(), name, quoted(near, " or "))
	}
	return usagef("%q has no command %q; %q shows them", cmd.CommandPath(), name, cmd.CommandPath()+" --help")
}
