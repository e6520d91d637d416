package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/internal/core/account"
	"github.com/towline-cd/towline/internal/hub"
	"github.com/towline-cd/towline/internal/identity"
	"github.com/towline-cd/towline/internal/server"
)

// openKeeper makes those who know who asks.
func (p *parts) openKeeper(config *rest.Config) error {
	editor, err := hub.New(config, p.namespace)
	if err != nil {
		return err
	}
	limits, problems := identity.ReadLimits(os.Getenv)
	for _, problem := range problems {
		slog.Warn("a limit of failed logins could not be read", "problem", problem)
	}
	p.openProvider()
	p.keeper, err = identity.New(config, p.namespace, identity.Options{
		Values: p.settings, Projects: p.hub, Editor: editor.Projects(), Limits: limits, Provider: p.provider,
	})
	return err
}

// guard gives the server those who know who asks and what they may do.
func (p *parts) guard(o *server.Options) {
	people := people{p.keeper}
	o.Verifier, o.Sessions, o.Accounts, o.Tokens, o.Renew = people, people, people, people, people.renew
	o.Decider = &p.rights
	p.signingOn(o)
	p.rights.changed = func() { p.lists.recheck() }
}

// keepPeople signs people in and out until ctx ends.
func (p *parts) keepPeople(ctx context.Context, o runOptions) {
	// Other replicas are told too whether somebody may stay.
	if o.listen == "" && o.peerListen == "" {
		return
	}
	if o.listen != "" {
		if err := p.keeper.Ensure(ctx); err != nil && ctx.Err() == nil {
			slog.ErrorContext(ctx, "nobody can sign in: the secret of the installation could not be made", "error", err)
		}
	}
	if err := p.keeper.Run(ctx); err != nil && ctx.Err() == nil {
		slog.ErrorContext(ctx, "who signed out is not known any more", "error", err)
	}
}

// people are the accounts, as the server asks for them.
type people struct{ *identity.Keeper }

// Verify says whose a token is. Nobody's token is nobody, where the installation lets them in.
func (p people) Verify(ctx context.Context, token string) (server.Caller, error) {
	if token == "" {
		if c, ok := p.Anonymous(); ok {
			return server.Caller(c), nil
		}
	}
	c, err := p.Keeper.Verify(ctx, token)
	if r, ok := errors.AsType[*identity.RefusalError](err); ok && r.Kind == identity.Expired {
		err = errors.Join(server.ErrExpired, err)
	}
	return server.Caller(c), err
}

// Check says whether somebody may stay.
func (p people) Check(ctx context.Context, c server.Caller) error {
	return p.Keeper.Check(ctx, identity.Caller(c))
}

// Login begins a session.
func (p people) Login(ctx context.Context, l server.Login) (string, error) {
	token, err := p.Keeper.Login(ctx, identity.Attempt(l))
	if r, ok := errors.AsType[*identity.RefusalError](err); ok && r.Kind == identity.Unavailable {
		return "", server.NewFault(server.Unavailable, r.Error(), errors.New(r.Cause()))
	}
	return token, err
}

// Logout ends the session of a token.
func (p people) Logout(ctx context.Context, token string) error {
	c, err := p.Keeper.Verify(ctx, token)
	if err != nil {
		return err
	}
	return p.Keeper.Logout(ctx, c)
}

func (p people) renew(c server.Caller) string {
	token, err := p.Renew(identity.Caller(c))
	if err != nil {
		return ""
	}
	return token
}

// Accounts are the local accounts.
func (p people) Accounts(context.Context) ([]server.Account, error) {
	var out []server.Account
	for _, a := range p.Keeper.Accounts() {
		shown := server.Account{Name: a.Name, Enabled: a.Enabled}
		for _, c := range a.Capabilities {
			shown.Capabilities = append(shown.Capabilities, string(c))
		}
		for _, t := range a.Tokens {
			shown.Tokens = append(shown.Tokens, server.Token{ID: t.ID, IssuedAt: unix(t.IssuedAt), ExpiresAt: unix(t.ExpiresAt)})
		}
		out = append(out, shown)
	}
	return out, nil
}

// SetPassword changes a password.
func (p people) SetPassword(ctx context.Context, c server.PasswordChange) error {
	return asked(p.UpdatePassword(ctx, identity.NewPassword{
		Caller: identity.Caller(c.By), Source: c.Source, Account: c.Name, Current: c.Current, New: c.New,
	}))
}

// CreateToken makes a token of an account.
func (p people) CreateToken(ctx context.Context, name string, w server.TokenWish) (string, error) {
	token, err := p.Keeper.CreateToken(ctx, name, identity.Wish{ID: w.ID, Lifetime: w.Lasts})
	return token, asked(err)
}

// DeleteToken takes a token of an account away.
func (p people) DeleteToken(ctx context.Context, name, id string) error {
	return asked(p.Keeper.DeleteToken(ctx, name, id))
}

// CreateRoleToken makes a token of a role.
func (p people) CreateRoleToken(ctx context.Context, project, role string, w server.TokenWish) (string, error) {
	token, err := p.CreateProjectToken(ctx, project, role, identity.Wish{ID: w.ID, Lifetime: w.Lasts})
	return token, asked(err)
}

// DeleteRoleToken takes a token of a role away.
func (p people) DeleteRoleToken(ctx context.Context, project, role string, t server.Token) error {
	out := account.Token{ID: t.ID}
	if !t.IssuedAt.IsZero() {
		out.IssuedAt = t.IssuedAt.Unix()
	}
	return asked(p.DeleteProjectToken(ctx, project, role, out))
}

// asked gives what somebody asked for wrongly its code.
func asked(err error) error {
	if wrong, ok := errors.AsType[*identity.InputError](err); ok {
		return &server.Fault{Code: server.InvalidArgument, Message: wrong.Error()}
	}
	if r, ok := errors.AsType[*identity.RefusalError](err); ok {
		return &server.Fault{Code: server.Unauthenticated, Message: r.Error()}
	}
	return err
}

func unix(at int64) time.Time {
	if at == 0 {
		return time.Time{}
	}
	return time.Unix(at, 0)
}
