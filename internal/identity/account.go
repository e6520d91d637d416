package identity

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/account"
	"github.com/towline-cd/towline/internal/core/secret"
)

// Wish is a token that somebody wants for an account, or for a role of a
// project.
type Wish struct {
	// ID is its name on the list; empty is a random one.
	ID string
	// Lifetime is how long it is valid; zero is for ever.
	Lifetime time.Duration
}

// maxTokenID bounds what people write on a list.
const maxTokenID = 253

// grant is the entry of a new token, and its claims.
func (k *Keeper) grant(s account.Subject, w Wish) (account.Token, account.Claims, error) {
	if w.Lifetime < 0 || len(w.ID) > maxTokenID {
		return account.Token{}, account.Claims{}, &InputError{text: fmt.Sprintf(
			"a token cannot expire in the past, nor have an id of more than %d characters", maxTokenID)}
	}
	if w.ID == "" {
		w.ID = newID()
	}
	now := k.o.Now()
	c := account.Claims{Subject: s.String(), ID: w.ID, IssuedAt: now}
	t := account.Token{ID: w.ID, IssuedAt: now.Unix()}
	if w.Lifetime > 0 {
		c.Expires = now.Add(w.Lifetime)
		t.ExpiresAt = c.Expires.Unix()
	}
	return t, c, nil
}

// find is an account, or that there is none.
func (k *Keeper) find(name string) (account.Account, error) {
	a, ok := k.current().Find(name)
	if !ok {
		return a, &InputError{Missing: true, text: fmt.Sprintf("account %q does not exist; declare it in config map %q as %s%s",
			name, v1alpha1.ConfigMapSettings, v1alpha1.KeyAccountsPrefix, name)}
	}
	return a, nil
}

// CreateToken makes a token for an account. It is on the account's list before
// anybody has it, and told once: only its id is kept.
func (k *Keeper) CreateToken(ctx context.Context, name string, w Wish) (string, error) {
	a, err := k.find(name)
	if err != nil {
		return "", err
	}
	if !a.May(account.APIKey) {
		return "", &InputError{text: fmt.Sprintf("account %q does not have the capability %s; give it in config map %q with %s%s",
			name, account.APIKey, v1alpha1.ConfigMapSettings, v1alpha1.KeyAccountsPrefix, name)}
	}
	t, c, err := k.grant(account.Subject{Account: name, Capability: account.APIKey}, w)
	if err != nil {
		return "", err
	}
	err = k.edit(ctx, func(data map[string][]byte) error {
		if err := account.AddToken(data, name, t); err != nil {
			return &InputError{text: err.Error()}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	slog.InfoContext(ctx, "a token was made", "account", name, "tokenId", t.ID)
	return k.sign(k.current(), c)
}

// DeleteToken takes a token off the list of an account; it is refused from then
// on.
func (k *Keeper) DeleteToken(ctx context.Context, name, id string) error {
	if _, err := k.find(name); err != nil {
		return err
	}
	err := k.edit(ctx, func(data map[string][]byte) error {
		found, err := account.RemoveToken(data, name, id)
		if err == nil && !found {
			return &InputError{Missing: true, text: fmt.Sprintf("account %q has no token with the id %q", name, id)}
		}
		return err
	})
	if err == nil {
		slog.InfoContext(ctx, "a token was deleted", "account", name, "tokenId", id)
	}
	return err
}

// NewPassword is somebody who wants to change the password of an account. The
// right to do so is the server's to check; that they are who they say they are
// is not, for local accounts.
type NewPassword struct {
	Caller Caller
	// Source is the address that they come from.
	Source string
	// Account is whose password it is; empty is the caller's own.
	Account string
	// Current is the caller's own password.
	Current, New secret.Text
}

// UpdatePassword changes a password. All that was issued for the account before
// is void.
func (k *Keeper) UpdatePassword(ctx context.Context, p NewPassword) error {
	if p.Account == "" {
		p.Account = p.Caller.Subject
	}
	if p.Caller.Project != "" || p.Caller.Anonymous {
		return &InputError{text: "only a person or an account can change passwords, not a token of a project"}
	}
	if p.Caller.Issuer == v1alpha1.TokenIssuer {
		start := time.Now()
		if _, err := k.checkPassword(ctx, Attempt{Name: p.Caller.Subject, Password: p.Current, Source: p.Source}); err != nil {
			k.pad(ctx, start)
			return err
		}
	}
	if _, err := k.find(p.Account); err != nil {
		return err
	}
	c := k.current().Config()
	if !c.Fits(p.New) {
		return &InputError{text: fmt.Sprintf("the new password does not fit the expression %s (%s of config map %q)",
			c.Pattern, v1alpha1.KeyPasswordPattern, v1alpha1.ConfigMapSettings)}
	}
	hash, err := k.hash(ctx, p.New)
	if err != nil {
		return err
	}
	err = k.edit(ctx, func(data map[string][]byte) error {
		account.SetPassword(data, p.Account, hash, k.o.Now())
		return nil
	})
	if err != nil {
		return err
	}
	k.ledger.pardon(p.Account)
	slog.InfoContext(ctx, "a password was changed", "account", p.Account, "by", p.Caller.Subject)
	return nil
}
