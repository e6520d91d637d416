package identity

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/towline-cd/towline/internal/core/account"
	"github.com/towline-cd/towline/internal/core/sso"
)

// Provider is the login provider of the installation: it vouches for tokens
// that are not ours.
type Provider interface {
	// Issues says that tokens of an issuer are for it to vouch for.
	Issues(issuer string) bool
	// Verify says whom a token stands for. A *sso.RefusalError is that it is no
	// good; any other error that nobody knows now.
	Verify(ctx context.Context, token string) (sso.Token, error)
}

// issuerOf is who a token says it is of. That decides who checks it, and nothing
// else: each takes its own keys and algorithms alone.
func issuerOf(token string) string {
	var read jwt.RegisteredClaims
	if _, _, err := parser.ParseUnverified(token, &read); err != nil {
		return ""
	}
	return read.Issuer
}

// foreignPrefix begins what people of a login provider are called where ended
// sessions are kept. No account has such a name.
const foreignPrefix = "sso:"

func elsewhere(name string) bool { return strings.HasPrefix(name, foreignPrefix) }

// foreign says who shows a token of the login provider.
func (k *Keeper) foreign(ctx context.Context, token string) (Caller, error) {
	t, err := k.o.Provider.Verify(ctx, token)
	if no, refused := errors.AsType[*sso.RefusalError](err); refused {
		if no.Expired {
			return Caller{}, refuse(Expired, no.Cause)
		}
		return Caller{}, refuse(BadToken, no.Cause)
	}
	if err != nil {
		return Caller{}, refuse(Unavailable, "asking the login provider: "+err.Error())
	}
	c := Caller{
		Subject: t.Subject, Username: t.Username, Groups: t.Groups, Issuer: t.Issuer, TokenID: t.ID,
		IssuedAt: t.IssuedAt, Expires: t.Expires,
	}
	if err := k.checkForeign(c); err != nil {
		return Caller{}, err
	}
	return c, nil
}

// checkForeign holds somebody of the login provider against what is known now.
func (k *Keeper) checkForeign(c Caller) error {
	sessions, ready := k.ledger.sessions()
	switch {
	case !ready:
		return refuse(Unavailable, "it is not known yet which sessions were ended")
	case k.o.Provider == nil || !k.o.Provider.Issues(c.Issuer):
		return refuse(BadToken, string(account.WrongIssuer))
	case c.Subject == "" || c.Project != "" || c.Session:
		return refuse(BadToken, string(account.UnknownSubject))
	case !k.o.Now().Before(c.Expires):
		return refuse(Expired, string(account.Expired))
	case sessions.Ended(foreignPrefix+c.Subject, c.TokenID, c.IssuedAt):
		return refuse(Revoked, string(account.Revoked))
	}
	if _, local := k.current().Find(c.Subject); local {
		// Rules speak of both by the same name, and would give one the rights of the other.
		return refuse(BadToken, "its subject is the name of a local account")
	}
	return nil
}

// EndForeign ends a token, or a session by its id, of somebody of the login
// provider, for as long as it could live.
func (k *Keeper) EndForeign(ctx context.Context, subject, id string, until time.Time) error {
	if err := k.ledger.end(foreignPrefix+subject, id, until).wait(ctx); err != nil {
		return refuse(Unavailable, "signing out: "+err.Error())
	}
	slog.InfoContext(ctx, "somebody signed out", "subject", subject)
	return nil
}

// EndedForeign says that a session of somebody of the login provider was ended.
// While that is not known, it was.
func (k *Keeper) EndedForeign(subject, id string, began time.Time) bool {
	sessions, ready := k.ledger.sessions()
	return !ready || sessions.Ended(foreignPrefix+subject, id, began)
}
