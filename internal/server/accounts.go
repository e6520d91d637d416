package server

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/secret"
)

// UserInfo is who the caller is.
type UserInfo struct {
	LoggedIn bool     `json:"loggedIn"`
	Username string   `json:"username,omitempty"`
	Issuer   string   `json:"iss,omitempty"`
	Groups   []string `json:"groups,omitempty"`
}

func (s *Server) userInfo(req *Request) (any, error) {
	if !req.SignedIn {
		return UserInfo{}, nil
	}
	c := req.Caller
	return UserInfo{LoggedIn: true, Username: cmp.Or(c.Username, c.Subject), Issuer: c.Issuer, Groups: c.Groups}, nil
}

// Credentials are what somebody signs in with.
type Credentials struct {
	Username string `json:"username"`
	Password string `json:"password"`
	Token    string `json:"token,omitempty"`
}

// Session is a session that was begun.
type Session struct {
	Token string `json:"token"`
}

// signedIn is a session, and the cookies that hold it.
type signedIn struct {
	token   string
	cookies []*http.Cookie
}

func (s *Server) login(req *Request) (any, error) {
	if s.Sessions == nil {
		return nil, absent("signing in")
	}
	if origin := req.Header.Get("Origin"); origin != "" && !s.sameOrigin(req.Request) {
		return nil, &Fault{Code: PermissionDenied, Message: "the request comes from another site"}
	}
	var given Credentials
	if err := req.Body(&given); err != nil {
		return nil, err
	}
	if given.Token != "" {
		return nil, badRequest("a session begins with a name and a password, not with a token")
	}
	token, err := s.Sessions.Login(req, Login{
		Name: given.Username, Password: secret.New(given.Password), Source: sourceOf(req.Request),
	})
	if _, ours := errors.AsType[*Fault](err); ours {
		return nil, err
	}
	if err != nil {
		return nil, &Fault{Code: Unauthenticated, Message: "Invalid username or password", cause: err}
	}
	return signedIn{token: token, cookies: s.cookies(req, token)}, nil
}

// mostCookie is how long the value of a cookie may be: browsers take 4096 bytes with the name and what is said of it.
const mostCookie = 3800

// cookie is one that scripts cannot read, and that other sites cannot have sent.
func (s *Server) cookie(req *Request, name, value string) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: "/" + strings.Trim(cmp.Or(s.Settings().BaseHref, s.Settings().RootPath), "/"),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: req.TLS != nil || strings.HasPrefix(s.Settings().URL, "https://"),
	}
}

// cookies hold a token.
func (s *Server) cookies(req *Request, token string) []*http.Cookie {
	return s.cut(req, v1alpha1.SessionCookie, token)
}

// cut is a text in cookies, cut to pieces if it is long.
func (s *Server) cut(req *Request, name, text string) []*http.Cookie {
	if len(text) <= mostCookie {
		return []*http.Cookie{s.cookie(req, name, text)}
	}
	var out []*http.Cookie
	for i := 0; len(text) > 0; i++ {
		n, piece := min(len(text), mostCookie), name
		if i > 0 {
			piece += "-" + strconv.Itoa(i)
		}
		out = append(out, s.cookie(req, piece, text[:n]))
		text = text[n:]
	}
	out[0].Value = fmt.Sprintf("%d:%s", len(out), out[0].Value)
	return out
}

// forget has the browser forget cookies, with the pieces of those that were cut.
func (s *Server) forget(req *Request, names ...string) []*http.Cookie {
	var out []*http.Cookie
	for _, name := range names {
		for _, have := range req.Cookies() {
			if have.Name == name || strings.HasPrefix(have.Name, name+"-") {
				gone := s.cookie(req, have.Name, "")
				gone.MaxAge = -1
				out = append(out, gone)
			}
		}
	}
	return out
}

// logout ends the session, and has the browser forget it.
func (s *Server) logout(req *Request) (any, error) {
	if s.Sessions != nil && req.token != "" {
		if err := s.Sessions.Logout(req, req.token); err != nil {
			return nil, err
		}
	}
	if sealed := cookieText(req.Request, v1alpha1.RefreshCookie); s.SignOn != nil && sealed != "" {
		if _, err := s.SignOn.Leave(req, Leaving{Sealed: sealed, Host: req.Host}); err != nil {
			return nil, err
		}
	}
	gone := s.cookies(req, "")
	gone[0].MaxAge = -1
	return signedIn{cookies: append(gone, s.forget(req, v1alpha1.RefreshCookie)...)}, nil
}

// AccountAnswer is a local account.
type AccountAnswer struct {
	Name         string        `json:"name"`
	Enabled      bool          `json:"enabled"`
	Capabilities []string      `json:"capabilities"`
	Tokens       []TokenAnswer `json:"tokens"`
}

// TokenAnswer is what is told of a token: never the token.
type TokenAnswer struct {
	ID        string `json:"id"`
	IssuedAt  int64  `json:"issuedAt,string"`
	ExpiresAt int64  `json:"expiresAt,string,omitempty"`
}

func accountOf(a Account) AccountAnswer {
	out := AccountAnswer{Name: a.Name, Enabled: a.Enabled, Capabilities: filled(a.Capabilities), Tokens: []TokenAnswer{}}
	for _, t := range a.Tokens {
		shown := TokenAnswer{ID: t.ID, IssuedAt: t.IssuedAt.Unix()}
		if !t.ExpiresAt.IsZero() {
			shown.ExpiresAt = t.ExpiresAt.Unix()
		}
		out.Tokens = append(out.Tokens, shown)
	}
	return out
}

// maySee says whether the caller may do something with an account; everybody may look at their own.
func (r *Request) mayAccount(verb, name string) bool {
	return r.own(name) || r.May("accounts", verb, name)
}

// own says that an account is the caller's.
func (r *Request) own(name string) bool {
	return r.Caller.Issuer == v1alpha1.TokenIssuer && r.Caller.Subject == name && !strings.HasPrefix(r.Caller.Subject, "proj:")
}

func (s *Server) listAccounts(req *Request) (any, error) {
	if s.Accounts == nil {
		return nil, absent("the list of accounts")
	}
	all, err := s.Accounts.Accounts(req)
	if err != nil {
		return nil, err
	}
	out := Items[AccountAnswer]{Items: []AccountAnswer{}}
	for _, a := range all {
		if req.mayAccount("get", a.Name) {
			out.Items = append(out.Items, accountOf(a))
		}
	}
	out.Items = sortedBy(out.Items, func(a AccountAnswer) string { return a.Name })
	return out, nil
}

// account finds an account that the caller may do something with.
func (s *Server) account(req *Request, verb, name string) (Account, error) {
	if s.Accounts == nil {
		return Account{}, absent("the list of accounts")
	}
	if !req.mayAccount(verb, name) {
		return Account{}, errDenied
	}
	all, err := s.Accounts.Accounts(req)
	if err != nil {
		return Account{}, err
	}
	for _, a := range all {
		if a.Name == name {
			return a, nil
		}
	}
	return Account{}, notFound(fmt.Sprintf("account '%s' does not exist", name))
}

func (s *Server) getAccount(req *Request) (any, error) {
	a, err := s.account(req, "get", req.Param("name"))
	if err != nil {
		return nil, err
	}
	return accountOf(a), nil
}

// PasswordQuery asks for another password.
type PasswordQuery struct {
	Name            string `json:"name,omitempty"`
	CurrentPassword string `json:"currentPassword"`
	NewPassword     string `json:"newPassword"`
}

func (s *Server) setPassword(req *Request) (any, error) {
	if s.Accounts == nil {
		return nil, absent("changing passwords")
	}
	var q PasswordQuery
	if err := req.Body(&q); err != nil {
		return nil, err
	}
	name := cmp.Or(q.Name, req.Caller.Subject)
	if !req.mayAccount("update", name) {
		return nil, errDenied
	}
	err := s.Accounts.SetPassword(req, PasswordChange{
		Name: name, By: req.Caller, Source: sourceOf(req.Request), Current: secret.New(q.CurrentPassword), New: secret.New(q.NewPassword),
	})
	return nothing{}, err
}

// TokenQuery asks for a token.
type TokenQuery struct {
	ID        string `json:"id,omitempty"`
	ExpiresIn any    `json:"expiresIn,omitempty"`
}

// mostSeconds is a hundred years.
const mostSeconds = 100 * 365 * 24 * 60 * 60

// seconds reads a number that may be written as a text, as the gateway of gRPC does with long ones.
func seconds(value any) (time.Duration, error) {
	switch v := value.(type) {
	case nil:
		return 0, nil
	case float64:
		if v >= 0 && v <= mostSeconds {
			return time.Duration(v) * time.Second, nil
		}
	case string:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil && n >= 0 && n <= mostSeconds {
			return time.Duration(n) * time.Second, nil
		}
	}
	return 0, badRequest("expiresIn is not a number of seconds")
}

func (s *Server) createToken(req *Request) (any, error) {
	name := req.Param("name")
	if _, err := s.account(req, "update", name); err != nil {
		return nil, err
	}
	var q TokenQuery
	if err := req.Body(&q); err != nil {
		return nil, err
	}
	lasts, err := seconds(q.ExpiresIn)
	if err != nil {
		return nil, err
	}
	token, err := s.Accounts.CreateToken(req, name, TokenWish{ID: q.ID, Lasts: lasts})
	if err != nil {
		return nil, err
	}
	return Session{Token: token}, nil
}

func (s *Server) deleteToken(req *Request) (any, error) {
	name := req.Param("name")
	if _, err := s.account(req, "update", name); err != nil {
		return nil, err
	}
	return nothing{}, s.Accounts.DeleteToken(req, name, req.Param("id"))
}

// RoleTokenQuery asks for a token of a role.
type RoleTokenQuery struct {
	ID          string `json:"id,omitempty"`
	Description string `json:"description,omitempty"`
	ExpiresIn   any    `json:"expiresIn,omitempty"`
}

func (s *Server) createRoleToken(req *Request) (any, error) {
	if s.Tokens == nil {
		return nil, absent("making tokens")
	}
	var q RoleTokenQuery
	if err := req.Body(&q); err != nil {
		return nil, err
	}
	lasts, err := seconds(q.ExpiresIn)
	if err != nil {
		return nil, err
	}
	token, err := s.Tokens.CreateRoleToken(req, req.project().Name, req.Param("role"), TokenWish{ID: q.ID, Lasts: lasts})
	if err != nil {
		return nil, err
	}
	return Session{Token: token}, nil
}

func (s *Server) deleteRoleToken(req *Request) (any, error) {
	if s.Tokens == nil {
		return nil, absent("taking tokens away")
	}
	issued, err := strconv.ParseInt(req.Param("iat"), 10, 64)
	if err != nil {
		return nil, badRequest("the time of issue is not a number")
	}
	t := Token{ID: req.Text("id")}
	if issued > 0 {
		t.IssuedAt = time.Unix(issued, 0)
	}
	return nothing{}, s.Tokens.DeleteRoleToken(req, req.project().Name, req.Param("role"), t)
}

// CanI is the answer to a question about rights.
type CanI struct {
	Value string `json:"value"`
	// Line and Reason are ours: the line that decided, and why.
	Line   string `json:"line,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func (s *Server) canI(req *Request) (any, error) {
	v := s.Decider.Decide(req.Caller, Question{
		Resource: req.Param("resource"), Action: req.Param("action"), Object: req.Param("subresource"),
	})
	out := CanI{Value: "no", Line: v.Line, Reason: v.Why}
	if v.Allowed {
		out.Value = "yes"
	}
	return out, nil
}
