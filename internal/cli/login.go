package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/login"
	"github.com/towline-cd/towline/internal/core/secret"
)

// signing is a sign-in under way.
type signing struct {
	env            *Env
	flags          *global
	user, password string
	name           string
	sso, skipTest  bool
	// port is where a browser comes back to, and launch has one started here.
	port   int
	launch bool
}

// NewLogin makes the command "login".
func NewLogin(env *Env) *cobra.Command {
	c := &signing{env: env, flags: &global{}}
	cmd := family(env, &cobra.Command{
		Use:   "login SERVER",
		Short: "Sign in to an API server",
		Long: "Sign in to an API server, and keep that for the commands to come.\n\n" +
			"Without --username and --password you are asked. With --sso you sign in by your organisation's own sign-on, in a\n" +
			"browser; where there is none on this machine, open the address that is shown in any other, and paste here the\n" +
			"address at which it ends. With --core there is no server: the commands talk to the cluster\n" +
			"with your kubeconfig, as they do before anybody signed in.",
		Example: "  towline login cd.example.com\n  towline login localhost:8080 --username admin --password \"$PASSWORD\" --insecure\n" +
			"  towline login cd.example.com --sso",
	})
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if c.flags.servers.core && len(args) == 0 {
			return nil
		}
		return arguments(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if c.flags.servers.core {
			return c.core()
		}
		c.flags.servers.server = args[0]
		return c.run(cmd.Context())
	}
	c.flags.register(cmd, env)
	f := cmd.Flags()
	f.StringVar(&c.user, "username", "", "name of the account")
	f.StringVar(&c.password, "password", "", "its password; who reads your processes sees it: leave it out to be asked")
	f.StringVar(&c.name, "name", "", "name of the context (default: the server's address)")
	f.BoolVar(&c.sso, "sso", false, "sign in by your organisation's own sign-on")
	c.registerSSO(cmd)
	f.BoolVar(&c.skipTest, "skip-test-tls", false, "has no effect: the certificate is looked at in any case")
	_ = f.MarkHidden("skip-test-tls") // it was made a line above
	return cmd
}

// core makes the cluster what commands talk to.
func (c *signing) core() error {
	name := c.name
	if name == "" {
		name = "kubernetes"
	}
	book, err := c.env.Logins.Read(c.flags.servers.config)
	if err != nil {
		return err
	}
	book = book.With(login.Target{Name: name, User: name, Server: login.Server{Server: name, Core: true}})
	if err := c.env.Logins.Write(c.flags.servers.config, book); err != nil {
		return err
	}
	fmt.Fprintf(c.env.Out, "Context '%s' updated: commands talk to the cluster with your kubeconfig\n", name)
	return nil
}

func (c *signing) run(ctx context.Context) error {
	r, err := c.flags.remote(c.env)
	if err != nil {
		return err
	}
	r.Token, r.Refresh = secret.New(c.flags.servers.token), secret.Text{}
	server, err := c.env.Server(ctx, *r)
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", r.Server.Server, err)
	}
	who := "with a token"
	switch {
	case !r.Token.Empty():
	case c.sso:
		got, err := c.signOn(ctx, *r)
		if err != nil {
			return fmt.Errorf("signing in to %s: %w", r.Server.Server, err)
		}
		r.Token, r.Refresh = got.Token, got.Refresh
		who = "'" + got.Who + "'"
	default:
		if r.Token, err = c.signIn(ctx, server); err != nil {
			return fmt.Errorf("signing in to %s: %w", r.Server.Server, err)
		}
		who = "'" + c.user + ":login'"
	}
	if c.name != "" {
		r.Name, r.User = c.name, c.name
	}
	book, err := c.env.Logins.Read(c.flags.servers.config)
	if err != nil {
		return err
	}
	if err := c.env.Logins.Write(c.flags.servers.config, book.With(r.Target)); err != nil {
		return err
	}
	fmt.Fprintf(c.env.Out, "%s logged in successfully\nContext '%s' updated\n", clean(who), clean(r.Name))
	return nil
}

// signIn asks the person for what the flags do not say.
func (c *signing) signIn(ctx context.Context, server Server) (secret.Text, error) {
	var err error
	in := bufio.NewReader(c.env.In)
	if c.user == "" {
		if c.user, err = c.env.prompt(in, "Username: ", "--username"); err != nil {
			return secret.Text{}, err
		}
	}
	if c.password == "" {
		if c.password, err = c.env.hidden(in, "Password: ", "--password"); err != nil {
			return secret.Text{}, err
		}
	}
	return server.Login(ctx, c.user, secret.New(c.password))
}

// prompt reads a line from the person at the terminal, or from what is piped in.
func (e *Env) prompt(in *bufio.Reader, text, flag string) (string, error) {
	if e.InIsTerminal {
		fmt.Fprint(e.Err, text)
	}
	line, err := in.ReadString('\n')
	if errors.Is(err, io.EOF) && line == "" {
		return "", usagef("nobody is there to ask; add %s", flag)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading the answer: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// hidden does so without showing what is typed.
func (e *Env) hidden(in *bufio.Reader, text, flag string) (string, error) {
	if !e.InIsTerminal || e.Hidden == nil {
		return e.prompt(in, text, flag)
	}
	fmt.Fprint(e.Err, text)
	line, err := e.Hidden()
	fmt.Fprintln(e.Err)
	if err != nil {
		return "", fmt.Errorf("reading the answer: %w", err)
	}
	return line, nil
}

// NewLogout makes the command "logout".
func NewLogout(env *Env) *cobra.Command {
	g := &global{}
	cmd := family(env, &cobra.Command{
		Use:   "logout [CONTEXT]",
		Short: "Sign out of an API server",
		Long: "Sign out of an API server: it forgets the token, and so does this machine. Where the server does not answer, the\n" +
			"machine forgets it all the same, and the command says so.",
	})
	cmd.Args = arguments
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			g.servers.context = args[0]
		}
		r, server, err := g.signedIn(cmd.Context(), env)
		if err != nil {
			return err
		}
		book, err := env.Logins.Read(g.servers.config)
		if err != nil {
			return err
		}
		book, had := book.SignedOut(r.Name)
		if !had {
			return usagef("you are not signed in to %q", r.Name)
		}
		told := server.Logout(cmd.Context())
		if err := env.Logins.Write(g.servers.config, book); err != nil {
			return err
		}
		if told != nil {
			fmt.Fprintf(env.Err, "the server was not told, so the token stays good until its end: %s\n", clean(told.Error()))
		}
		fmt.Fprintf(env.Out, "Logged out from '%s'\n", clean(r.Name))
		return nil
	}
	g.register(cmd, env)
	return cmd
}

// NewRelogin makes the command "relogin".
func NewRelogin(env *Env) *cobra.Command {
	c := &signing{env: env, flags: &global{}}
	cmd := family(env, &cobra.Command{
		Use:   "relogin",
		Short: "Sign in again where the login has ended",
	})
	cmd.Args = arguments
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r, _, err := c.flags.signedIn(cmd.Context(), env)
		if err != nil {
			return err
		}
		c.flags.servers.server, c.name = r.Server.Server, r.Name
		// Whoever signed in elsewhere does so again.
		issuer, _ := login.Claims(r.Token)
		c.sso = issuer != "" && issuer != v1alpha1.TokenIssuer && c.user == "" && c.password == ""
		return c.run(cmd.Context())
	}
	c.flags.register(cmd, env)
	c.registerSSO(cmd)
	cmd.Flags().StringVar(&c.user, "username", "", "name of the account")
	cmd.Flags().StringVar(&c.password, "password", "", "its password (default: you are asked)")
	return cmd
}
