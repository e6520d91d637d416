package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/internal/core/login"
	"github.com/towline-cd/towline/internal/core/secret"
)

var anAccount = thing{one: "account", kind: "accounts", list: "towline account list"}

// accounting is a command about accounts under way.
type accounting struct {
	*session
	server   Server
	accounts ServerAccounts
}

func (g *global) account(ctx context.Context, env *Env) (*accounting, error) {
	r, server, err := g.signedIn(ctx, env)
	if err != nil {
		return nil, err
	}
	accounts, err := env.ServerAccounts(ctx, *r)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", r.Server.Server, err)
	}
	flags := g.Flags
	flags.Remote = r
	return &accounting{server: server, accounts: accounts, session: &session{
		env: env, flags: flags,
		out: palette{on: wantColour(env.colour, env.OutIsTerminal, env.Getenv)},
		err: palette{on: wantColour(env.colour, env.ErrIsTerminal, env.Getenv)},
	}}, nil
}

// accountCommand makes a command that runs on one account, or on none.
func (g *global) accountCommand(env *Env, cmd *cobra.Command, run func(context.Context, *accounting, []string) error) *cobra.Command {
	cmd.Args = arguments
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := g.account(cmd.Context(), env)
		if err != nil {
			return err
		}
		return run(cmd.Context(), c, args)
	}
	return cmd
}

// meant is an account by its name, or one's own.
func (c *accounting) meant(ctx context.Context, name string) (string, error) {
	if name != "" {
		return name, nil
	}
	who, err := c.server.User(ctx)
	if err != nil {
		return "", c.explainOf(anAccount, "", err)
	}
	if !who.LoggedIn {
		return "", usagef("you are signed in as nobody; %q signs in", "towline login "+c.flags.where())
	}
	return who.Username, nil
}

func newCanI(env *Env, g *global) *cobra.Command {
	return g.accountCommand(env, &cobra.Command{
		Use:   "can-i ACTION RESOURCE OBJECT",
		Short: "Say whether you may do something",
		Long: "Say whether you may do something: yes or no, as the server's own rules have it. The exit code is 0 in both cases,\n" +
			"as with Argo CD; \"towline admin rbac can\" tells by its exit code, and --explain names the rule.",
		Example: "  towline account can-i sync applications 'retail/*'\n  towline account can-i get projects retail",
	}, func(ctx context.Context, c *accounting, args []string) error {
		may, err := c.server.CanI(ctx, args[0], args[1], args[2])
		if err != nil {
			return c.explainOf(anAccount, "", err)
		}
		word := "no"
		if may {
			word = "yes"
		}
		fmt.Fprintln(env.Out, word)
		return nil
	})
}

func newUserInfo(env *Env, g *global) *cobra.Command {
	var o output
	cmd := g.accountCommand(env, &cobra.Command{
		Use: "get-user-info", Aliases: []string{"whoami"},
		Short: "Say who the server takes you for",
	},
		func(ctx context.Context, c *accounting, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			who, err := c.server.User(ctx)
			if err != nil {
				return c.explainOf(anAccount, "", err)
			}
			if o.structured() {
				return o.encode(env.Out, who)
			}
			fmt.Fprintf(env.Out, "Logged In: %t\n", who.LoggedIn)
			if who.LoggedIn {
				fmt.Fprintf(env.Out, "Username: %s\nIssuer: %s\nGroups: %s\n", clean(who.Username), clean(who.Issuer),
					clean(strings.Join(who.Groups, ",")))
			}
			return nil
		})
	o.register(cmd, outputJSON, outputYAML)
	return cmd
}

func newAccountToken(env *Env, g *global) *cobra.Command {
	var account, id, expires string
	cmd := g.accountCommand(env, &cobra.Command{Use: "generate-token", Short: "Make a token for an account, and print it"},
		func(ctx context.Context, c *accounting, _ []string) error {
			lasts, err := lasting("--expires-in", expires)
			if err != nil {
				return err
			}
			name, err := c.meant(ctx, account)
			if err != nil {
				return err
			}
			token, err := c.accounts.NewToken(ctx, name, id, int64(lasts/time.Second))
			if err != nil {
				return c.explainOf(anAccount, name, err)
			}
			fmt.Fprintln(env.Out, token.Reveal())
			return nil
		})
	cmd.Flags().StringVarP(&account, "account", "a", "", "name of the account (default: your own)")
	cmd.Flags().StringVar(&id, "id", "", "id of the token (default: one is made)")
	cmd.Flags().StringVarP(&expires, "expires-in", "e", "", "how long it is good, as in 12h or 7d (default: for ever)")
	return cmd
}

func newAccountTokenDelete(env *Env, g *global) *cobra.Command {
	var account string
	cmd := g.accountCommand(env, &cobra.Command{Use: "delete-token ID", Short: "End a token of an account"},
		func(ctx context.Context, c *accounting, args []string) error {
			name, err := c.meant(ctx, account)
			if err != nil {
				return err
			}
			if err := c.accounts.DeleteToken(ctx, name, args[0]); err != nil {
				return c.explainOf(anAccount, name, err)
			}
			c.note("token %q of account %q is no longer good", args[0], name)
			return nil
		})
	cmd.Flags().StringVarP(&account, "account", "a", "", "name of the account (default: your own)")
	return cmd
}

func newPassword(env *Env, g *global) *cobra.Command {
	var account, current, wanted string
	cmd := g.accountCommand(env, &cobra.Command{Use: "update-password", Short: "Change a password"},
		func(ctx context.Context, c *accounting, _ []string) error {
			name, err := c.meant(ctx, account)
			if err != nil {
				return err
			}
			in := bufio.NewReader(env.In)
			if current == "" {
				if current, err = env.hidden(in, "Your own password now: ", "--current-password"); err != nil {
					return err
				}
			}
			if wanted == "" {
				if wanted, err = env.hidden(in, fmt.Sprintf("New password of %s: ", clean(name)), "--new-password"); err != nil {
					return err
				}
			}
			err = c.accounts.SetPassword(ctx, login.Password{Name: name, Current: secret.New(current), Wanted: secret.New(wanted)})
			if err != nil {
				return c.explainOf(anAccount, name, err)
			}
			fmt.Fprintln(env.Out, "Password updated")
			c.note("logins of account %q from before are no longer good; sign in again", name)
			return nil
		})
	cmd.Flags().StringVar(&account, "account", "", "name of the account (default: your own)")
	cmd.Flags().StringVar(&current, "current-password", "", "your own password (default: you are asked)")
	cmd.Flags().StringVar(&wanted, "new-password", "", "the new one (default: you are asked)")
	return cmd
}

func newSessionToken(env *Env, g *global) *cobra.Command {
	return &cobra.Command{
		Use: "session-token", Short: "Print the token that you are signed in with", Args: none,
		Long: "Print the token that you are signed in with, for a tool that asks the API server itself. It is good for everything that\n" +
			"you may do: do not leave it in a log.",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			r, err := g.remote(env)
			switch {
			case err != nil:
				return err
			case r == nil || r.Token.Empty():
				return usagef("you are signed in to no API server; %q does that", "towline login SERVER")
			}
			fmt.Fprintln(env.Out, r.Token.Reveal())
			return nil
		},
	}
}
