package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/towline-cd/towline/internal/core/repository"
)

// entryWords are how an entry is called in messages.
func entryWords(address string, many bool) string {
	if many {
		return fmt.Sprintf("Repository credentials for '%s'", clean(address))
	}
	return fmt.Sprintf("Repository '%s'", clean(address))
}

// newRepoAdd makes "add" for one repository, or for many.
func newRepoAdd(env *Env, g *global, many bool) *cobra.Command {
	o := &entryFlags{many: many}
	cmd := &cobra.Command{
		Use: "add URL", Short: "Add a repository, after signing in there",
		Long: "Add a repository: sign in there, and keep the login in a secret of the hub. A password that is not given is asked\n" +
			"for, and is not shown. One that is there already and says the same is left alone; --upsert changes one that does not.",
		Example: "  towline repo add https://git.example.com/shop.git --username ci\n" +
			"  towline repo add git@git.example.com:shop.git --ssh-private-key-path ~/.ssh/id_ed25519\n" +
			"  towline repo add https://charts.example.com --type helm --name charts",
		Args: arguments, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			entry, err := o.entry(env, args[0])
			if err != nil {
				return err
			}
			c, err := g.entries(cmd.Context(), env)
			if err != nil {
				return err
			}
			if err := c.book.PutRepository(cmd.Context(), entry, repository.Wish{Many: many, Upsert: o.upsert}); err != nil {
				return c.explainOf(aRepository, args[0], err)
			}
			fmt.Fprintln(env.Out, entryWords(args[0], many)+" added")
			return nil
		},
	}
	if many {
		cmd.Short = "Add a login for all repositories whose addresses begin alike"
		cmd.Long = "Add a login for all repositories whose addresses begin alike, in a secret of the hub. A repository takes it if no\n" +
			"entry of its own has a login. It is not tried: it is for no repository in particular."
		cmd.Example = "  towline repocreds add https://git.example.com/shop --username ci\n" +
			"  towline repocreds add git@git.example.com --ssh-private-key-path ~/.ssh/id_ed25519"
	}
	o.register(cmd)
	return cmd
}

// newRepoRemove makes "rm" for one repository, or for many.
func newRepoRemove(env *Env, g *global, many bool) *cobra.Command {
	project := ""
	cmd := &cobra.Command{
		Use: "rm URL...", Aliases: []string{"remove", "delete"}, Short: "Remove repositories from the list",
		Long: "Remove repositories from the list: the secret is deleted if adding the repository made it; another keeps its content\n" +
			"and loses the label that makes it count. Applications that use it go on without a login.",
		Args: arguments, ValidArgsFunction: g.completeRepository(env),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := g.entries(cmd.Context(), env)
			if err != nil {
				return err
			}
			for _, address := range args {
				if err := c.remove(cmd.Context(), repository.Repository{URL: address, Project: project}, many); err != nil {
					return err
				}
			}
			return nil
		},
	}
	if many {
		cmd.Short, cmd.ValidArgsFunction = "Remove logins for many repositories", cobra.NoFileCompletions
	}
	cmd.Flags().StringVar(&project, "project", "", "the entry of this project")
	return cmd
}

func (c *repoWork) remove(ctx context.Context, r repository.Repository, many bool) error {
	err := c.book.DropRepository(ctx, r, many)
	if apierrors.IsNotFound(err) {
		list := "towline repo list"
		if many {
			list = "towline repocreds list"
		}
		of := ""
		if r.Project != "" {
			of = fmt.Sprintf(" of project %q", r.Project)
		}
		return fmt.Errorf("there is no entry%s for %q; %q shows those that there are", of, r.URL, list)
	}
	if err != nil {
		return c.explainOf(aRepository, r.URL, err)
	}
	fmt.Fprintln(c.env.Out, entryWords(r.URL, many)+" removed")
	return nil
}
