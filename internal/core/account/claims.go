package account

import (
	"slices"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Claims are what a token says. Whoever has them has checked its signature.
type Claims struct {
	Issuer   string
	Subject  string
	ID       string
	Audience []string
	// A time that is zero is not in the token.
	IssuedAt, NotBefore, Expires time.Time
}

// Subject is whom a token stands for: an account, or a role of a project.
type Subject struct {
	Account       string
	Capability    Capability
	Project, Role string
}

// projectPrefix begins the subject of a role.
const projectPrefix = "proj"

// ParseSubject reads the subject of a token. The oldest tokens of accounts have
// no capability; they are not sessions.
func ParseSubject(text string) (Subject, bool) {
	parts := strings.Split(text, ":")
	if slices.Contains(parts, "") {
		return Subject{}, false
	}
	switch {
	case len(parts) == 3 && parts[0] == projectPrefix:
		return Subject{Project: parts[1], Role: parts[2]}, true
	case len(parts) == 1:
		return Subject{Account: parts[0], Capability: APIKey}, true
	case len(parts) == 2 && (parts[1] == string(Login) || parts[1] == string(APIKey)):
		return Subject{Account: parts[0], Capability: Capability(parts[1])}, true
	}
	return Subject{}, false
}

// String is the subject as a token has it.
func (s Subject) String() string {
	if s.Project != "" {
		return s.Name()
	}
	return s.Account + ":" + string(s.Capability)
}

// Name is whom policies speak of.
func (s Subject) Name() string {
	if s.Project != "" {
		return projectPrefix + ":" + s.Project + ":" + s.Role
	}
	return s.Account
}

// Cause is why a token is refused. It is for the log: whoever showed the token
// is told the same of all of them.
type Cause string

// The causes. Accepted is none.
const (
	Accepted        Cause = ""
	WrongIssuer     Cause = "it is of another issuer"
	WrongAudience   Cause = "it is for another audience"
	UnknownSubject  Cause = "its subject is neither an account nor a role of a project"
	NoIssueTime     Cause = "it does not say when it was issued"
	FromTheFuture   Cause = "it was issued in the future"
	NotYet          Cause = "it is not valid yet"
	Expired         Cause = "it has expired"
	NoID            Cause = "it has no id"
	NoAccount       Cause = "its account does not exist"
	Disabled        Cause = "its account is disabled"
	NotCapable      Cause = "its account does not have the capability"
	NotListed       Cause = "it is not on the list of tokens"
	Revoked         Cause = "it was revoked"
	PasswordChanged Cause = "the password was changed after it was issued"
	NoProject       Cause = "its project does not exist"
	NoRole          Cause = "its project does not have the role"
)

// Facts are what a token is held against.
type Facts struct {
	Book     *Book
	Sessions *Sessions
	// Project is that of the subject; nil is none.
	Project *v1alpha1.AppProject
	Now     time.Time
}

// Verdict is what becomes of a token.
type Verdict struct {
	Cause   Cause
	Subject Subject
	// Expires is when it ends; zero is never. A session ends always.
	Expires time.Time
	// Renew says that it is a session that is about to end.
	Renew bool
}

const (
	// skew is how far the clocks of two replicas may be apart.
	skew = 5 * time.Second
	// renewal is how long before its end a session is renewed, as in Argo CD.
	renewal = 5 * time.Minute
)

// Judge holds the claims of a token against the facts. It is the only place
// where that is decided.
func Judge(c Claims, f Facts) Verdict {
	v := Verdict{Expires: c.Expires}
	var known bool
	v.Subject, known = ParseSubject(c.Subject)
	switch {
	case c.Issuer != v1alpha1.TokenIssuer:
		v.Cause = WrongIssuer
	case len(c.Audience) > 0 && !slices.Contains(c.Audience, v1alpha1.TokenIssuer):
		v.Cause = WrongAudience
	case !known:
		v.Cause = UnknownSubject
	case c.IssuedAt.IsZero():
		v.Cause = NoIssueTime
	case c.IssuedAt.After(f.Now.Add(skew)):
		v.Cause = FromTheFuture
	case c.NotBefore.After(f.Now.Add(skew)):
		v.Cause = NotYet
	}
	if v.Cause != Accepted {
		return v
	}
	session := v.Subject.Capability == Login
	if session && v.Expires.IsZero() {
		// Where sessions were made not to end, ours do.
		v.Expires = c.IssuedAt.Add(f.Book.config.Session)
	}
	if !v.Expires.IsZero() && !f.Now.Before(v.Expires) {
		v.Cause = Expired
		return v
	}
	if v.Subject.Project != "" {
		v.Cause = judgeRole(c, v.Subject, f)
	} else {
		v.Cause = judgeAccount(c, v.Subject, f)
	}
	v.Renew = v.Cause == Accepted && session && v.Expires.Sub(f.Now) < renewal
	return v
}

func judgeAccount(c Claims, s Subject, f Facts) Cause {
	a, known := f.Book.Find(s.Account)
	switch {
	case !known:
		return NoAccount
	case !a.Enabled:
		return Disabled
	case !a.May(s.Capability):
		return NotCapable
	case c.ID == "":
		return NoID
	case s.Capability == Login && f.Sessions.Ended(s.Account, c.ID, c.IssuedAt):
		return Revoked
	case s.Capability == APIKey && !slices.ContainsFunc(a.Tokens, func(t Token) bool { return matches(t, c.ID, c.IssuedAt) }):
		return NotListed
	case c.IssuedAt.Before(a.PasswordSet):
		return PasswordChanged
	}
	return Accepted
}

func judgeRole(c Claims, s Subject, f Facts) Cause {
	switch {
	case f.Project == nil || f.Project.Name != s.Project:
		return NoProject
	case roleIndex(f.Project, s.Role) < 0:
		return NoRole
	}
	for _, t := range ProjectTokens(f.Project, s.Role) {
		entry := Token{ID: t.ID, IssuedAt: t.IssuedAt}
		if matches(entry, c.ID, c.IssuedAt) || matchesOld(entry, c.IssuedAt) {
			return Accepted
		}
	}
	return NotListed
}
