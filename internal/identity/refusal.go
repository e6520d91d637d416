package identity

import (
	"errors"

	"github.com/towline-cd/towline/internal/core/account"
)

// Kind is what a refusal is about.
type Kind string

// The kinds. Those who ask are told the same of all tokens, and the same of all
// passwords.
const (
	NoToken     Kind = "no token"
	BadToken    Kind = "bad token"
	Expired     Kind = "expired token"
	Revoked     Kind = "revoked token"
	BadLogin    Kind = "bad login"
	Limited     Kind = "too many failures"
	Unavailable Kind = "not ready"
)

// What is told.
const (
	publicToken       = "invalid session"
	publicLogin       = "Invalid username or password"
	publicUnavailable = "sign-in is not available at the moment; try again"
)

// RefusalError is that somebody is not let in. Its text may be told to anybody; the
// cause is for the log.
type RefusalError struct {
	Kind  Kind
	cause string
}

// Error is what is told.
func (r *RefusalError) Error() string {
	switch r.Kind {
	case BadLogin, Limited:
		return publicLogin
	case Unavailable:
		return publicUnavailable
	case NoToken, BadToken, Expired, Revoked:
	}
	return publicToken
}

// Cause is for the log. It has nothing of the token or the password.
func (r *RefusalError) Cause() string { return r.cause }

// CauseOf is the cause of a refusal, for the log; empty is that it is none.
func CauseOf(err error) string {
	r, ok := errors.AsType[*RefusalError](err)
	if !ok {
		return ""
	}
	return r.cause
}

func refuse(kind Kind, cause string) *RefusalError { return &RefusalError{Kind: kind, cause: cause} }

// refusalOf is the refusal of a token for a cause.
func refusalOf(c account.Cause) *RefusalError {
	kind := BadToken
	switch c {
	case account.Expired:
		kind = Expired
	case account.Revoked, account.NotListed, account.PasswordChanged:
		kind = Revoked
	default:
	}
	return refuse(kind, string(c))
}

// InputError is what somebody asked for that cannot be, in words for them.
type InputError struct {
	// Missing says that what was named does not exist.
	Missing bool
	text    string
}

// Error says what is wrong.
func (e *InputError) Error() string { return e.text }
