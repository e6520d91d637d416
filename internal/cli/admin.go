package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// NewAdmin makes the command "admin" with everything below it.
func NewAdmin(env *Env) *cobra.Command {
	g := &global{}
	cmd := family(env, &cobra.Command{
		Use:   "admin",
		Short: "Look after an installation",
		Long: "Look after an installation, straight on the cluster that it runs in, with your kubeconfig.\n\n" +
			"Exit codes: 0 done or yes, 1 no or invalid, 2 wrong usage, 4 not authorised, 20 anything else.",
	},
		newInitialPassword(env, g), newRBAC(env, g),
		family(env, &cobra.Command{Use: "settings", Short: "The same commands where argocd has them"}, newRBAC(env, g)))
	g.register(cmd, env)
	// Whoever signed in to a server means the cluster here all the same.
	g.servers.core = true
	return cmd
}

func newInitialPassword(env *Env, g *global) *cobra.Command {
	return &cobra.Command{
		Use: "initial-password", Short: "Print the password that the administrator signs in with first", Args: none,
		Long: "Print the password that was made for the administrator when Towline was first started. Whoever changes it should\n" +
			"delete secret " + v1alpha1.SecretInitialAdmin + ", which does not follow the change.",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, accounts, err := g.accounts(cmd.Context(), env)
			if err != nil {
				return err
			}
			password, err := accounts.InitialPassword(cmd.Context())
			if apierrors.IsNotFound(err) || err == nil && password.Empty() {
				return fmt.Errorf("there is no initial password in namespace %q: secret %q was deleted, "+
					"as it should be after the first change, or Towline was not started yet",
					s.flags.Namespace, v1alpha1.SecretInitialAdmin)
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(env.Out, "%s\n\n This password is for the first login only. "+
				"Change it with `account update-password`, and then delete secret %s.\n",
				password.Reveal(), v1alpha1.SecretInitialAdmin)
			return nil
		},
	}
}
