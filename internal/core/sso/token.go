package sso

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Token is whom an ID token stands for.
type Token struct {
	Issuer string
	// Subject is whom policies speak of, and Username what people know them by.
	Subject, Username string
	Groups            []string
	// ID tells it from others.
	ID                string
	IssuedAt, Expires time.Time
	Nonce             string
}

// RefusalError is that a token is not let in. Its text is for the log, and has nothing of the token.
type RefusalError struct {
	Cause   string
	Expired bool
}

// Error is the cause.
func (r *RefusalError) Error() string { return r.Cause }

func refuse(cause string) error { return &RefusalError{Cause: cause} }

// skew is how far the clock of a provider may be ahead of ours.
const skew = time.Minute

// Facts are what a token is held against.
type Facts struct {
	// Scopes are the claims that hold groups.
	Scopes []string
	// Audiences are those of which it must have one; nil are those of the configuration.
	Audiences []string
	Now       time.Time
}

// Judge says whom the claims of a token stand for. Whoever has them has checked its signature.
func (c *Config) Judge(raw string, claims map[string]any, f Facts) (Token, error) {
	t := Token{Issuer: text(claims, "iss"), Subject: subject(claims, c.Dex != nil), Nonce: text(claims, "nonce"), ID: text(claims, "jti")}
	t.IssuedAt, t.Expires = moment(claims, "iat"), moment(claims, "exp")
	if t.ID == "" {
		t.ID = Digest(raw)
	}
	audiences := f.Audiences
	if audiences == nil {
		audiences = c.Audiences
	}
	theirs := texts(claims["aud"])
	switch {
	case t.Issuer == "" || t.Issuer == v1alpha1.TokenIssuer || !c.issued(t.Issuer):
		return Token{}, refuse("it is of another issuer")
	case len(theirs) == 0 && !c.NoAudience:
		return Token{}, refuse("it is for no audience")
	case len(theirs) > 0 && !slices.ContainsFunc(theirs, func(a string) bool { return slices.Contains(audiences, a) }):
		return Token{}, refuse("it is for another audience")
	case t.Expires.IsZero():
		return Token{}, refuse("it does not say when it ends")
	case !f.Now.Before(t.Expires):
		return Token{}, &RefusalError{Cause: "it has expired", Expired: true}
	case moment(claims, "nbf").After(f.Now.Add(skew)):
		return Token{}, refuse("it is not valid yet")
	case t.IssuedAt.After(f.Now.Add(skew)):
		return Token{}, refuse("it was issued in the future")
	case t.Subject == "":
		return Token{}, refuse("it has no subject")
	case ours(t.Subject):
		return Token{}, refuse("its subject is what only we call somebody")
	}
	t.Username = t.Subject
	if email := text(claims, "email"); email != "" {
		t.Username = email
	}
	t.Groups = Groups(claims, f.Scopes)
	return t, nil
}

// issued says that an issuer is ours, as it may write its name.
func (c *Config) issued(by string) bool {
	const google = "accounts.google.com"
	return by == c.Issuer || c.Issuer == "https://"+google && by == google
}

// Issues says that tokens of an issuer are for the provider to vouch for.
func (c *Config) Issues(issuer string) bool { return c.On() && issuer != "" && c.issued(issuer) }

// ours says that a name is one of those which we give: a provider that uses it would give rights that are not its to give.
func ours(name string) bool {
	return strings.HasPrefix(name, "role:") || strings.HasPrefix(name, "proj:")
}

// subject is who it is: where Dex vouches, as they are called where they signed in.
func subject(claims map[string]any, dex bool) string {
	if there, is := claims["federated_claims"].(map[string]any); dex && is {
		if id := text(there, "user_id"); id != "" {
			return id
		}
	}
	return text(claims, "sub")
}

// Groups are what claims say that somebody belongs to. An address of which the provider says itself that nobody has
// verified it gives no rights: whoever signs up there could have chosen it.
func Groups(claims map[string]any, scopes []string) []string {
	var out []string
	for _, scope := range scopes {
		if verified, said := claims["email_verified"].(bool); scope == "email" && said && !verified {
			continue
		}
		for _, g := range texts(claims[scope]) {
			if g != "" && !ours(g) && !slices.Contains(out, g) {
				out = append(out, g)
			}
		}
	}
	return out
}

func text(claims map[string]any, name string) string {
	s, is := claims[name].(string)
	if !is {
		return ""
	}
	return s
}

// texts are those of a claim that is one of them or a list.
func texts(claim any) []string {
	switch v := claim.(type) {
	case string:
		if v != "" {
			return []string{v}
		}
	case []any:
		var out []string
		for _, one := range v {
			if s, is := one.(string); is {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// moment is a claim that is a time.
func moment(claims map[string]any, name string) time.Time {
	var seconds float64
	switch v := claims[name].(type) {
	case float64:
		seconds = v
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return time.Time{}
		}
		seconds = f
	default:
		return time.Time{}
	}
	if math.IsNaN(seconds) || seconds <= 0 {
		return time.Time{}
	}
	const farthest = 1 << 40
	return time.Unix(int64(min(seconds, farthest)), 0)
}

// Digest tells one token from another without telling either.
func Digest(raw string) string {
	sum := sha256.Sum256([]byte(raw))
	return "#" + base64.RawURLEncoding.EncodeToString(sum[:16])
}
