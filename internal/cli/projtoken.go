package cli

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/secret"
)

// RoleTokens are the tokens of the roles of projects. An API server signs them.
type RoleTokens interface {
	// NewRoleToken makes one that ends after the seconds of ExpiresAt; zero never ends.
	NewRoleToken(ctx context.Context, project, role string, t v1alpha1.JWTToken) (secret.Text, error)
	DeleteRoleToken(ctx context.Context, project, role string, issuedAt int64) error
}

// lasting reads how long something is good, as in 12h or 7d; zero is for ever.
func lasting(flag, text string) (time.Duration, error) {
	if text == "" || text == "0" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d != d.Truncate(time.Second) {
		return 0, usagef("%s is how long it is good, in whole seconds, as in 30m, 12h or 7d, not %q", flag, text)
	}
	return d, nil
}

func (c *projecting) roleTokens(ctx context.Context) (RoleTokens, error) {
	if c.flags.Remote == nil {
		return nil, usagef("a token is signed with the key of an API server, and you are signed in to none; %q does that",
			"towline login SERVER")
	}
	t, err := c.env.RoleTokens(ctx, *c.flags.Remote)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", c.flags.where(), err)
	}
	return t, nil
}

func newTokenCreate(env *Env, g *global) *cobra.Command {
	var expires string
	var bare bool
	var wanted v1alpha1.JWTToken
	cmd := &cobra.Command{
		Use: "create-token PROJECT ROLE-NAME", Aliases: []string{"token-create"}, Short: "Make a token for a role",
		Long: "Make a token for a role. It is shown once and kept nowhere: whoever loses it makes another.",
		Example: "  towline proj role create-token retail ci --expires-in 12h\n" +
			"  TOKEN=$(towline proj role create-token retail ci --token-only)",
		Args: arguments, ValidArgsFunction: g.completeProject(env),
		RunE: func(cmd *cobra.Command, args []string) error {
			lasts, err := lasting("--expires-in", expires)
			if err != nil {
				return err
			}
			c, err := g.project(cmd.Context(), env)
			if err != nil {
				return err
			}
			tokens, err := c.roleTokens(cmd.Context())
			if err != nil {
				return err
			}
			wanted.ExpiresAt = int64(lasts / time.Second)
			token, err := tokens.NewRoleToken(cmd.Context(), args[0], args[1], wanted)
			if err != nil {
				return c.explainOf(aProject, args[0], err)
			}
			return c.newToken(args[0], args[1], token, bare)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&expires, "expires-in", "e", "", "how long it is good, as in 12h or 7d (default: for ever)")
	f.StringVarP(&wanted.ID, "id", "i", "", "id of the token (default: one is made)")
	f.BoolVarP(&bare, "token-only", "t", false, "print the token and nothing else")
	return cmd
}

// newToken shows a token: this once.
func (c *projecting) newToken(project, role string, token secret.Text, bare bool) error {
	if bare {
		fmt.Fprintln(c.env.Out, token.Reveal())
		return nil
	}
	claims := claimsOf(token)
	fmt.Fprintf(c.env.Out, "Create token succeeded for proj:%s:%s.\n", clean(project), clean(role))
	b := &block{palette: c.out, width: 13}
	b.field("  ID", clean(orNothing(claims.ID)))
	b.field("  Issued At", moment(claims.IssuedAt))
	expires := "Never"
	if claims.ExpiresAt > 0 {
		expires = moment(claims.ExpiresAt)
	}
	b.field("  Expires At", expires)
	b.field("  Token", token.Reveal())
	return b.write(c.env.Out)
}

// claimsOf is what a token says of itself. It is one that we were just given: nobody is let in by this.
func claimsOf(token secret.Text) (out v1alpha1.JWTToken) {
	parts := strings.Split(token.Reveal(), ".")
	if len(parts) != 3 {
		return out
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return out
	}
	var claims struct {
		ID       string `json:"jti"`
		IssuedAt int64  `json:"iat"`
		Expires  int64  `json:"exp"`
	}
	if json.Unmarshal(text, &claims) != nil {
		return out
	}
	return v1alpha1.JWTToken{ID: claims.ID, IssuedAt: claims.IssuedAt, ExpiresAt: claims.Expires}
}

func newTokenDelete(env *Env, g *global) *cobra.Command {
	return &cobra.Command{
		Use: "delete-token PROJECT ROLE-NAME ISSUED-AT", Aliases: []string{"token-delete", "remove-token"},
		Short: "Make a token of a role worth nothing", Args: arguments, ValidArgsFunction: g.completeProject(env),
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := strconv.ParseInt(args[2], 10, 64)
			if err != nil {
				return usagef("%q is no time in seconds since 1970, as list-tokens --unixtime shows them", args[2])
			}
			c, err := g.project(cmd.Context(), env)
			if err != nil {
				return err
			}
			if c.flags.Remote == nil {
				return c.apply(cmd.Context(), args[0], deleteToken(args[1], at))
			}
			return c.deleteToken(cmd.Context(), args[0], args[1], at)
		},
	}
}

// deleteToken has a server end a token, if there is such a one.
func (c *projecting) deleteToken(ctx context.Context, project, role string, at int64) error {
	p, err := c.get(ctx, project)
	if err != nil {
		return err
	}
	said, err := deleteToken(role, at)(p)
	if err != nil {
		return err
	}
	tokens, err := c.roleTokens(ctx)
	if err != nil {
		return err
	}
	if err := tokens.DeleteRoleToken(ctx, project, role, at); err != nil {
		return c.explainOf(aProject, project, err)
	}
	fmt.Fprintf(c.env.Out, "project %q: %s\n", project, clean(said))
	return nil
}
