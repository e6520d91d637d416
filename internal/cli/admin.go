package cli

import "github.com/spf13/cobra"

// NewAdmin makes the command "admin" with everything below it.
func NewAdmin(env *Env) *cobra.Command {
	g := &global{}
	cmd := family(env, &cobra.Command{
		Use:   "admin",
		Short: "Look after an installation",
		Long: "Look after an installation, straight on the cluster that it runs in, with your kubeconfig.\n\n" +
			"Exit codes: 0 done or yes, 1 no or invalid, 2 wrong usage, 4 not authorised, 20 anything else.",
	},
		newRBAC(env, g),
		family(env, &cobra.Command{Use: "settings", Short: "The same commands where argocd has them"}, newRBAC(env, g)))
	g.register(cmd, env)
	return cmd
}
