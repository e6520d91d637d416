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
		newInitialPassword(env, g), newRBAC(env, g), newExport(env, g), newImport(env, g), newSettings(env, g), newAdminCluster(env, g),
		newDex(env, g), newAudit(env),
		family(env, &cobra.Command{Use: "app", Short: "Applications, without a server"}, newAppSpec(env, g),
			refusing("get-reconcile-results PATH", "\"towline app diff\" and \"towline app list -o yaml\" tell how applications compare"),
			refusing("diff-reconcile-results PATH1 PATH2", "compare two outputs of \"towline app list -o yaml\" with diff")),
		family(env, &cobra.Command{Use: "proj", Aliases: []string{"project", "projects"}, Short: "Projects, without a server"},
			newProjSpec(env, g),
			refusing("generate-allow-list CLUSTERPERMISSION_PATH PROJ_NAME",
				"name the kinds yourself, with \"towline proj allow-cluster-resource\""),
			refusing("update-role-policy PROJECT_GLOB MODIFICATION ACTION",
				"\"towline proj role add-policy\" and \"remove-policy\" change one project at a time; "+
					"\"towline proj list -o name\" has the names for a loop")),
		family(env, &cobra.Command{Use: "repo", Short: "Repositories, without a server"}, newRepoSpec(env, g)),
		refusing("dashboard", "the server has the web interface; \"towline run\" serves it, and kubectl port-forward brings it here"),
		refusing("redis-initial-password", "there is no Redis in this installation, and so no password of one"),
		newNotices(env, g))
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
