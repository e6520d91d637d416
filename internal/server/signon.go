package server

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// sent is an answer that sends the browser elsewhere.
type sent struct {
	to      string
	cookies []*http.Cookie
}

func (s *Server) signOnRoutes() []*Route {
	open := func(pattern, summary string, handle func(*Request) (any, error), query ...Param) *Route {
		return &Route{Method: http.MethodGet, Pattern: pattern, Summary: summary, Open: true, Handle: handle, Query: query}
	}
	answers := []Param{{"code", "string", "what the provider gave"}, {"state", "string", "what it was asked with"}}
	dex := func(method string) *Route {
		return &Route{
			Method: method, Pattern: v1alpha1.DexPath + "/{path...}", Summary: "Passed on to the Dex that runs beside", Open: true,
			Foreign: true, Reads: true, Handle: s.dex,
		}
	}
	return []*Route{
		open("/auth/login", "Sign in elsewhere: sends the browser to the login provider", s.signOn,
			Param{"return_url", "string", "page of this server to be at in the end"}),
		open("/auth/callback", "Where the login provider sends the browser back to", s.signedOn, answers...),
		open("/pkce/verify", "The same, where the login provider knows pages as the client", s.signedOn, answers...),
		open("/auth/logout", "Sign out, and go to where the login provider signs people out", s.signOff),
		dex(http.MethodGet), dex(http.MethodPost),
	}
}

// dex passes on to the Dex that runs beside.
func (s *Server) dex(*Request) (any, error) {
	if s.Dex == nil {
		return nil, absent("Dex")
	}
	return s.Dex, nil
}

// signOn sends the browser to the login provider. What it has to come back with stays in a cookie, which comes along when
// it is sent back from there: that is a visit from another site.
func (s *Server) signOn(req *Request) (any, error) {
	if s.SignOn == nil {
		return nil, absent("signing in elsewhere")
	}
	d, err := s.SignOn.Begin(req, req.Host, req.Text("return_url"))
	if err != nil {
		return nil, err
	}
	keep := s.cookie(req, v1alpha1.SignOnCookie, d.Sealed)
	keep.SameSite, keep.MaxAge = http.SameSiteLaxMode, int(d.Lasts.Seconds())
	return sent{to: d.URL, cookies: []*http.Cookie{keep}}, nil
}

// signedOn takes the browser back.
func (s *Server) signedOn(req *Request) (any, error) {
	if s.SignOn == nil {
		return nil, absent("signing in elsewhere")
	}
	a, err := s.SignOn.Finish(req, req.URL.Query(), cookieText(req.Request, v1alpha1.SignOnCookie))
	if err != nil {
		slog.InfoContext(req, "signing in elsewhere failed", "source", sourceOf(req.Request), "error", req.hush(logged(err)))
		return nil, err
	}
	cookies := append(s.signed(req, a), s.forget(req, v1alpha1.SignOnCookie)...)
	if a.Sealed == "" {
		cookies = append(cookies, s.forget(req, v1alpha1.RefreshCookie)...)
	}
	return sent{to: a.Return, cookies: cookies}, nil
}

// signed are the cookies of somebody who has signed in elsewhere.
func (s *Server) signed(req *Request, a Arrival) []*http.Cookie {
	out := s.cookies(req, a.Token)
	if a.Sealed != "" {
		out = append(out, s.cut(req, v1alpha1.RefreshCookie, a.Sealed)...)
	}
	return out
}

// signOff ends what the browser has, and sends it to where the login provider signs people out. A page of another site
// that sends it here ends nothing.
func (s *Server) signOff(req *Request) (any, error) {
	if s.SignOn == nil {
		return nil, absent("signing out elsewhere")
	}
	l := Leaving{Host: req.Host}
	foreign := req.Header.Get("Sec-Fetch-Site") == "cross-site"
	if !foreign {
		l.Token, l.Sealed = cookieText(req.Request, v1alpha1.SessionCookie), cookieText(req.Request, v1alpha1.RefreshCookie)
	}
	to, err := s.SignOn.Leave(req, l)
	if err != nil {
		return nil, err
	}
	if foreign {
		return sent{to: to}, nil
	}
	return sent{to: to, cookies: s.forget(req, v1alpha1.SessionCookie, v1alpha1.RefreshCookie, v1alpha1.SignOnCookie)}, nil
}

// visitor is who asks, and what became of that.
type visitor struct {
	caller Caller
	by     proof
	err    error
}

// goOn has a session of the login provider go on whose token ends soon, or has ended while nobody looked. A token that is
// refused for any other reason stays refused.
func (s *Server) goOn(a *answer, req *Request, v visitor) (Caller, proof, error) {
	ended := errors.Is(v.err, ErrExpired)
	due := v.err == nil && v.caller.Issuer != v1alpha1.TokenIssuer && s.SignOn.Due(v.caller)
	sealed := cookieText(req.Request, v1alpha1.RefreshCookie)
	if sealed == "" || !ended && !due {
		return v.caller, v.by, v.err
	}
	next, err := s.SignOn.Refresh(req, sealed)
	if err == nil {
		var caller Caller
		if caller, err = s.Verifier.Verify(req, next.Token); err == nil && (ended || caller.Subject == v.caller.Subject) {
			a.setCookies(s.signed(req, next))
			v.by.token = next.Token
			return caller, v.by, nil
		}
	}
	slog.InfoContext(req, "a session could not go on", "subject", v.caller.Subject, "error", err)
	return v.caller, v.by, v.err
}
