package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/account"
	"github.com/towline-cd/towline/internal/core/secret"
)

// NewAccount makes the command "account" with everything below it.
func NewAccount(env *Env) *cobra.Command {
	g := &global{}
	cmd := family(env, &cobra.Command{
		Use:   "account",
		Short: "See who you are, what you may do, and the local accounts",
		Long: "See the local accounts. Which there are is declared in config map " + v1alpha1.ConfigMapSettings + "; their passwords\n" +
			"and tokens are in secret " + v1alpha1.SecretSettings + ", and are never shown.",
	},
		newAccountList(env, g), newAccountGet(env, g), newBcrypt(env), newCanI(env, g), newUserInfo(env, g), newAccountToken(env, g),
		newAccountTokenDelete(env, g), newPassword(env, g), newSessionToken(env, g))
	g.register(cmd, env)
	return cmd
}

func (g *global) accounts(ctx context.Context, env *Env) (*session, Accounts, error) {
	s, _, err := g.connect(ctx, env, nil)
	if err != nil {
		return nil, nil, err
	}
	if s.flags.Remote != nil {
		remote, err := env.ServerAccounts(ctx, *s.flags.Remote)
		if err != nil {
			return nil, nil, fmt.Errorf("connecting to %s: %w", s.flags.where(), err)
		}
		return s, remoteAccounts{remote}, nil
	}
	a, err := env.Accounts(ctx, s.flags)
	if err != nil {
		return nil, nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	return s, a, nil
}

// accountDocument is an account in the structured output, with Argo CD's names.
type accountDocument struct {
	Name         string               `json:"name"`
	Enabled      bool                 `json:"enabled"`
	Capabilities []account.Capability `json:"capabilities"`
	Tokens       []tokenDocument      `json:"tokens,omitempty"`
}

type tokenDocument struct {
	ID        string `json:"id"`
	IssuedAt  int64  `json:"issuedAt"`
	ExpiresAt int64  `json:"expiresAt,omitempty"`
}

func accountOf(a account.Account) accountDocument {
	d := accountDocument{Name: a.Name, Enabled: a.Enabled, Capabilities: orEmpty(a.Capabilities)}
	for _, t := range a.Tokens {
		d.Tokens = append(d.Tokens, tokenDocument{ID: t.ID, IssuedAt: t.IssuedAt, ExpiresAt: t.ExpiresAt})
	}
	return d
}

func (d accountDocument) capabilities() string {
	return strings.Join(each(d.Capabilities, func(c account.Capability) string { return string(c) }), ", ")
}

func newAccountList(env *Env, g *global) *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the local accounts", Args: none,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			s, accounts, err := g.accounts(cmd.Context(), env)
			if err != nil {
				return err
			}
			all, err := accounts.Accounts(cmd.Context())
			if err != nil {
				return err
			}
			documents := each(all, accountOf)
			if o.structured() {
				return o.encode(env.Out, documents)
			}
			t := &table{head: []string{"NAME", "ENABLED", "CAPABILITIES"}, palette: s.out}
			for _, d := range documents {
				if o.form == outputName {
					fmt.Fprintln(env.Out, clean(d.Name))
					continue
				}
				t.row(word(d.Name), word(strconv.FormatBool(d.Enabled)), word(d.capabilities()))
			}
			if o.form == outputName {
				return nil
			}
			return t.write(env.Out, true)
		},
	}
	o.register(cmd, outputJSON, outputYAML, outputName)
	return cmd
}

func newAccountGet(env *Env, g *global) *cobra.Command {
	var o output
	name := ""
	cmd := &cobra.Command{
		Use: "get", Short: "Show an account and its tokens", Args: none,
		Example:           "  towline account get --account ci",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			s, accounts, err := g.accounts(cmd.Context(), env)
			if err != nil {
				return err
			}
			all, err := accounts.Accounts(cmd.Context())
			if err != nil {
				return err
			}
			for _, a := range all {
				if a.Name == name {
					return s.showAccount(accountOf(a), o)
				}
			}
			return fmt.Errorf("there is no account %q; %q shows those that there are", name, "towline account list")
		},
	}
	cmd.Flags().StringVarP(&name, "account", "a", v1alpha1.AdminAccount, "name of the account")
	o.register(cmd, outputJSON, outputYAML)
	return cmd
}

func (s *session) showAccount(d accountDocument, o output) error {
	if o.structured() {
		return o.encode(s.env.Out, d)
	}
	b := &block{palette: s.out, width: 20}
	b.field("Name", clean(d.Name))
	b.field("Enabled", strconv.FormatBool(d.Enabled))
	b.field("Capabilities", clean(d.capabilities()))
	b.field("Tokens", strconv.Itoa(len(d.Tokens)))
	if err := b.write(s.env.Out); err != nil || len(d.Tokens) == 0 {
		return err
	}
	fmt.Fprintln(s.env.Out)
	t := &table{head: []string{"ID", "ISSUED AT", "EXPIRING AT"}, palette: s.out}
	for _, token := range d.Tokens {
		expires := "never"
		if token.ExpiresAt > 0 {
			expires = moment(token.ExpiresAt)
			if token.ExpiresAt <= s.env.Now().Unix() {
				expires += " (expired)"
			}
		}
		t.row(word(token.ID), word(moment(token.IssuedAt)), word(expires))
	}
	return t.write(s.env.Out, true)
}

func moment(seconds int64) string { return time.Unix(seconds, 0).UTC().Format(time.RFC3339) }

func newBcrypt(env *Env) *cobra.Command {
	password := ""
	cmd := &cobra.Command{
		Use: "bcrypt", Short: "Print a password as " + v1alpha1.SecretSettings + " has it", Args: none,
		Long: "Print the bcrypt hash of a password, for the keys admin.password and accounts.<name>.password of secret\n" +
			v1alpha1.SecretSettings + ". Without --password it is read from the input, and is then in no list of processes.",
		Example:           "  towline account bcrypt --password mypassword\n  towline account bcrypt < password.txt",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			if password == "" {
				line, err := bufio.NewReader(env.In).ReadString('\n')
				if err != nil && !errors.Is(err, io.EOF) {
					return fmt.Errorf("reading the password: %w", err)
				}
				password = strings.TrimRight(line, "\r\n")
			}
			if password == "" {
				return usagef("write the password after --password, or into the input")
			}
			hash, err := env.Hash(secret.New(password))
			if err != nil {
				return err
			}
			fmt.Fprintln(env.Out, hash.Reveal())
			return nil
		},
	}
	cmd.Flags().StringVar(&password, "password", "", "the password")
	return cmd
}
