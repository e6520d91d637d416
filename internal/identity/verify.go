package identity

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/account"
	"github.com/towline-cd/towline/internal/core/fault"
)

// Caller is who is calling.
type Caller struct {
	// Subject is whom policies speak of: the name of an account, or
	// proj:<project>:<role>. It is empty for somebody without a token.
	Subject  string `json:"sub"`
	Username string `json:"username"`
	// Groups are what a login provider says; local accounts have none.
	Groups  []string `json:"groups,omitempty"`
	Issuer  string   `json:"iss"`
	TokenID string   `json:"jti,omitempty"`
	// IssuedAt and Expires are those of the token; no expiry is never.
	IssuedAt time.Time `json:"iat,omitzero"`
	Expires  time.Time `json:"exp,omitzero"`
	// Session says that somebody signed in for it with a password.
	Session bool `json:"session,omitempty"`
	// Project and Role are those of a token of a project.
	Project string `json:"project,omitempty"`
	Role    string `json:"role,omitempty"`
	// Anonymous is somebody who showed no token, where that is permitted.
	Anonymous bool `json:"anonymous,omitempty"`
}

const (
	// maxToken bounds what is looked at. A token of ours has some 300 characters.
	maxToken = 16 << 10
	// algorithm is the only one: a token that names another is not looked at.
	algorithm = "HS256"
)

// parser reads tokens and checks their signature. The claims are judged by
// account.Judge, all of them and in one place.
var parser = jwt.NewParser(jwt.WithValidMethods([]string{algorithm}), jwt.WithoutClaimsValidation(), jwt.WithStrictDecoding())

// Verify says who shows a token. It is the one way in: whatever is wrong with a
// token, the answer is a refusal, and nobody is anonymous who shows one.
func (k *Keeper) Verify(ctx context.Context, token string) (Caller, error) {
	if token == "" {
		return Caller{}, refuse(NoToken, "there is no token")
	}
	if len(token) > maxToken {
		return Caller{}, refuse(BadToken, "it is too long")
	}
	if k.o.Provider != nil && k.o.Provider.Issues(issuerOf(token)) {
		return k.foreign(ctx, token)
	}
	key := k.current().Key()
	if key.Empty() {
		return Caller{}, refuse(Unavailable, "there is no key to check tokens with")
	}
	var read jwt.RegisteredClaims
	_, err := parser.ParseWithClaims(token, &read, func(*jwt.Token) (any, error) { return []byte(key.Reveal()), nil })
	if err != nil {
		return Caller{}, refuse(BadToken, parseCause(err))
	}
	c := account.Claims{
		Issuer: read.Issuer, Subject: read.Subject, ID: read.ID, Audience: read.Audience,
		IssuedAt: timeOf(read.IssuedAt), NotBefore: timeOf(read.NotBefore), Expires: timeOf(read.ExpiresAt),
	}
	return k.judge(ctx, c)
}

// parseCause says what is wrong with a token in words that have nothing of it.
func parseCause(err error) string {
	switch {
	case errors.Is(err, jwt.ErrTokenMalformed):
		return "it is no token"
	case errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return "its signature is wrong, or made by another algorithm"
	case errors.Is(err, jwt.ErrTokenUnverifiable):
		return "it cannot be checked"
	}
	return "it cannot be read"
}

func timeOf(d *jwt.NumericDate) time.Time {
	if d == nil {
		return time.Time{}
	}
	return d.Time
}

// judge holds claims against what is known now.
func (k *Keeper) judge(ctx context.Context, c account.Claims) (Caller, error) {
	sessions, ready := k.ledger.sessions()
	if !ready {
		return Caller{}, refuse(Unavailable, "it is not known yet which sessions were ended")
	}
	f := account.Facts{Book: k.current(), Sessions: sessions, Now: k.o.Now()}
	if s, ok := account.ParseSubject(c.Subject); ok && s.Project != "" {
		p, err := k.project(ctx, s.Project)
		if err != nil && fault.ClassOf(err) != fault.Terminal {
			return Caller{}, refuse(Unavailable, "reading its project: "+err.Error())
		}
		f.Project = p
	}
	v := account.Judge(c, f)
	if v.Cause != account.Accepted {
		return Caller{}, refusalOf(v.Cause)
	}
	return Caller{
		Subject: v.Subject.Name(), Username: v.Subject.Name(), Issuer: c.Issuer, TokenID: c.ID,
		IssuedAt: c.IssuedAt, Expires: v.Expires, Session: v.Subject.Capability == account.Login,
		Project: v.Subject.Project, Role: v.Subject.Role,
	}, nil
}

// claims are those of the token that somebody showed.
func (c Caller) claims() account.Claims {
	s := account.Subject{Account: c.Subject, Capability: account.APIKey}
	switch {
	case c.Project != "":
		s = account.Subject{Project: c.Project, Role: c.Role}
	case c.Session:
		s.Capability = account.Login
	}
	return account.Claims{Issuer: c.Issuer, Subject: s.String(), ID: c.TokenID, IssuedAt: c.IssuedAt, Expires: c.Expires}
}

// Check says whether somebody who was let in may stay: for what is open for
// long, and for callers whose token another replica has verified.
func (k *Keeper) Check(ctx context.Context, c Caller) error {
	if c.Anonymous {
		if _, ok := k.Anonymous(); !ok {
			return refuse(Revoked, "nobody is let in without a token any more")
		}
		return nil
	}
	if c.Issuer != v1alpha1.TokenIssuer {
		return k.checkForeign(c)
	}
	_, err := k.judge(ctx, c.claims())
	return err
}

// Anonymous is who calls without any token, where the installation permits it.
// It is not for those whose token was refused.
func (k *Keeper) Anonymous() (Caller, bool) {
	if !k.current().Config().Anonymous {
		return Caller{}, false
	}
	return Caller{Anonymous: true}, true
}

// Renew makes the next token of a session that is about to end; otherwise it is
// empty. It keeps its id, so that signing out ends it whichever of its tokens
// is shown.
func (k *Keeper) Renew(c Caller) (string, error) {
	if !c.Session {
		return "", nil
	}
	now, book := k.o.Now(), k.current()
	sessions, ready := k.ledger.sessions()
	if !ready {
		return "", nil
	}
	if v := account.Judge(c.claims(), account.Facts{Book: book, Sessions: sessions, Now: now}); !v.Renew {
		return "", nil
	}
	length := book.Config().Session
	return k.sign(book, account.Claims{
		Subject: account.Subject{Account: c.Subject, Capability: account.Login}.String(),
		ID:      c.TokenID, IssuedAt: now, Expires: now.Add(length),
	})
}

// sign makes a token as Argo CD does.
func (k *Keeper) sign(book *account.Book, c account.Claims) (string, error) {
	key := book.Key()
	if key.Empty() {
		return "", refuse(Unavailable, "there is no key to sign tokens with")
	}
	claims := jwt.RegisteredClaims{
		Issuer: v1alpha1.TokenIssuer, Subject: c.Subject, ID: c.ID,
		IssuedAt: jwt.NewNumericDate(c.IssuedAt), NotBefore: jwt.NewNumericDate(c.IssuedAt),
	}
	if !c.Expires.IsZero() {
		claims.ExpiresAt = jwt.NewNumericDate(c.Expires)
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(key.Reveal()))
	if err != nil {
		return "", fmt.Errorf("signing a token: %w", err)
	}
	return token, nil
}

// newID is a random UUID. Random bytes never fail to come.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}
