package identity

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/account"
	"github.com/towline-cd/towline/internal/core/secret"
)

// Attempt is somebody who wants to sign in.
type Attempt struct {
	Name     string
	Password secret.Text
	// Source is the address that they come from; empty is not known, and then
	// only failures of the account count.
	Source string
}

const (
	// maxName and maxPassword bound what is looked at; bcrypt takes no more than
	// 72 bytes anyway.
	maxName     = 256
	maxPassword = 1024
)

// Login signs somebody in: it answers with the token of a new session. A
// refusal tells nothing, neither by its words nor by the time that it takes.
func (k *Keeper) Login(ctx context.Context, a Attempt) (string, error) {
	start := time.Now()
	book, err := k.checkPassword(ctx, a)
	if err != nil {
		k.pad(ctx, start)
		return "", err
	}
	now := k.o.Now()
	token, err := k.sign(book, account.Claims{
		Subject: account.Subject{Account: a.Name, Capability: account.Login}.String(),
		ID:      newID(), IssuedAt: now, Expires: now.Add(book.Config().Session),
	})
	if err != nil {
		return "", err
	}
	slog.InfoContext(ctx, "somebody signed in", "account", a.Name, "source", a.Source)
	return token, nil
}

// pad waits until a whole number of floors has passed: whether a password was
// hashed at all does not show.
func (k *Keeper) pad(ctx context.Context, start time.Time) {
	took := time.Since(start)
	rest := k.o.Floor - took%k.o.Floor
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// checkPassword says whether a password is that of an account which may sign
// in. A try is reserved before anything is checked.
func (k *Keeper) checkPassword(ctx context.Context, a Attempt) (*account.Book, error) {
	if _, ready := k.ledger.sessions(); !ready {
		return nil, refuse(Unavailable, "it is not known yet who failed before")
	}
	if a.Name == "" || a.Password.Empty() || len(a.Name) > maxName || len(a.Password.Reveal()) > maxPassword {
		return nil, refuse(BadLogin, "the name or the password is empty or too long")
	}
	book := k.current()
	if book.Key().Empty() {
		// The key and the first password come together: until then a right one would count as a failure.
		return nil, refuse(Unavailable, "there is no key to sign tokens with")
	}
	who, known := book.Find(a.Name)
	r, ok := k.ledger.reserve(a.Name, known, a.Source)
	if !ok {
		slog.DebugContext(ctx, "a login was refused unseen", "source", a.Source, "account", nameOr(a.Name, known))
		return nil, refuse(Limited, "there were too many failures")
	}
	if !known {
		k.pretend(a.Password)
		r.fail()
		k.ledger.linger(ctx)
		// What was typed may be a password in the wrong field.
		slog.InfoContext(ctx, "a login failed", "source", a.Source, "cause", "no such account")
		return nil, refuse(BadLogin, "there is no such account")
	}
	right, err := k.compare(ctx, who.Password, a.Password)
	if err != nil {
		r.release()
		return nil, refuse(Unavailable, "waiting for a place to check the password: "+err.Error())
	}
	if !right {
		// The answer waits, or a restart in time would give another try.
		if err := r.fail().wait(ctx); err != nil {
			slog.WarnContext(ctx, "a failed login is remembered by this process only", "account", a.Name, "error", err)
		}
		slog.WarnContext(ctx, "a login failed", "account", a.Name, "source", a.Source, "cause", "wrong password")
		return nil, refuse(BadLogin, "the password is wrong")
	}
	if !who.Enabled || !who.May(account.Login) {
		r.release()
		slog.WarnContext(ctx, "a login failed", "account", a.Name, "source", a.Source,
			"cause", "the account is disabled, or has no capability to sign in")
		return nil, refuse(BadLogin, "the account is disabled, or has no capability to sign in")
	}
	r.succeed()
	return book, nil
}

func nameOr(name string, known bool) string {
	if known {
		return name
	}
	return "unknown"
}

// compare checks a password when there is a place for it. Those who wait have
// reserved a try, so that there are never many of them.
func (k *Keeper) compare(ctx context.Context, hash, password secret.Text) (bool, error) {
	select {
	case k.slots <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { <-k.slots }()
	if hash.Empty() {
		_ = k.o.compare(k.decoy(), []byte(password.Reveal()))
		return false, nil
	}
	return k.o.compare([]byte(hash.Reveal()), []byte(password.Reveal())) == nil, nil
}

// pretend takes the time of checking a password. Anybody can make up names, so
// nobody waits for it: without a place, the padding has to do.
func (k *Keeper) pretend(password secret.Text) {
	select {
	case k.slots <- struct{}{}:
		defer func() { <-k.slots }()
		_ = k.o.compare(k.decoy(), []byte(password.Reveal()))
	default:
	}
}

// decoy is the hash of what nobody types.
func decoy() []byte {
	hash, err := bcrypt.GenerateFromPassword([]byte(newID()), bcrypt.DefaultCost)
	if err != nil {
		return nil
	}
	return hash
}

// hash hashes a password when there is a place for it.
func (k *Keeper) hash(ctx context.Context, password secret.Text) (secret.Text, error) {
	select {
	case k.slots <- struct{}{}:
	case <-ctx.Done():
		return secret.Text{}, ctx.Err()
	}
	defer func() { <-k.slots }()
	return Hash(password)
}

// Hash is a password as argocd-secret has it.
func Hash(password secret.Text) (secret.Text, error) {
	hash, err := bcrypt.GenerateFromPassword([]byte(password.Reveal()), bcrypt.DefaultCost)
	if err != nil {
		return secret.Text{}, &InputError{text: "the password cannot be used: it may have 72 bytes at most"}
	}
	return secret.New(string(hash)), nil
}

// Logout ends a session, for all replicas and whichever of its tokens is shown.
// Tokens that are no sessions are deleted, not signed out; for them it does
// nothing and says so.
func (k *Keeper) Logout(ctx context.Context, c Caller) error {
	if c.Issuer != v1alpha1.TokenIssuer && !c.Anonymous {
		return k.EndForeign(ctx, c.Subject, c.TokenID, c.Expires)
	}
	if !c.Session {
		return &InputError{text: "this token is no session; delete it if it is not to be used any more"}
	}
	// A renewed token has the same id, and may be as young as now.
	until := k.o.Now().Add(k.current().Config().Session)
	if c.Expires.After(until) {
		until = c.Expires
	}
	if err := k.ledger.end(c.Subject, c.TokenID, until).wait(ctx); err != nil {
		return refuse(Unavailable, "signing out: "+err.Error())
	}
	slog.InfoContext(ctx, "somebody signed out", "account", c.Subject)
	return nil
}
