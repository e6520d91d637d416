package server

import (
	"encoding/json"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// harden sets what browsers are to hold themselves to.
func (s *Server) harden(a *answer) {
	h := a.header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "+
		"connect-src 'self'; form-action 'self'; base-uri 'self'; frame-ancestors 'self'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	frame := s.Settings().FrameOptions
	if frame == "" {
		frame = "sameorigin"
	}
	h.Set("X-Frame-Options", frame)
	if a.request.TLS != nil {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// form refuses what is not in the form that we take: a page of another site can send a form, but not JSON.
func (s *Server) form(req *Request) error {
	if safe(req.Method) {
		return nil
	}
	allowed := s.Settings().ContentTypes
	if allowed == nil {
		allowed = []string{"application/json"}
	}
	if len(allowed) == 0 {
		return nil
	}
	if req.Method == http.MethodDelete && req.ContentLength == 0 && req.Header.Get("Content-Type") == "" {
		// There is no body, and no form can ask for this.
		return nil
	}
	given, _, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if err != nil || !slices.Contains(allowed, given) {
		return &Fault{
			Code: InvalidArgument, Status: http.StatusUnsupportedMediaType,
			Message: "Invalid content type: send " + strings.Join(allowed, " or "),
		}
	}
	return nil
}

func safe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// identifier says who asks, and by what.
type identifier func(*Request) (Caller, proof, error)

// proof is what a caller showed.
type proof struct {
	token string
	// cookie says that a browser sends it by itself, and peer that another replica vouches for it.
	cookie, peer bool
}

// byToken asks for a token: in the header, or else in cookies. A token that is no good is never taken for none.
func (s *Server) byToken(req *Request) (Caller, proof, error) {
	var p proof
	if h := req.Header.Get("Authorization"); h != "" {
		p.token = bearer(h)
		if p.token == "" {
			return Caller{}, p, errNoSession
		}
	} else {
		p.token = cookieText(req.Request, v1alpha1.SessionCookie)
		p.cookie = p.token != ""
	}
	if s.Verifier == nil {
		return Caller{}, p, errNoSession
	}
	caller, err := s.Verifier.Verify(req.Context, p.token)
	return caller, p, err
}

func bearer(header string) string {
	scheme, token, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// mostChunks is into how many cookies a token may be cut.
const mostChunks = 20

// cookieText puts a text together that was too long for one cookie: then the first begins with how many there are.
func cookieText(r *http.Request, name string) string {
	first, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	count, rest, cut := strings.Cut(first.Value, ":")
	if !cut {
		return first.Value
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 || n > mostChunks {
		return first.Value
	}
	var b strings.Builder
	b.WriteString(rest)
	for i := 1; i < n; i++ {
		next, err := r.Cookie(name + "-" + strconv.Itoa(i))
		if err != nil {
			return first.Value
		}
		b.WriteString(next.Value)
	}
	return b.String()
}

// sameOrigin says that a request that a browser signed came from a page of ours.
func (s *Server) sameOrigin(r *http.Request) bool {
	if safe(r.Method) {
		return true
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return r.Header.Get("Sec-Fetch-Site") == "same-origin"
	}
	from, err := url.Parse(origin)
	if err != nil || from.Host == "" {
		return false
	}
	if strings.EqualFold(from.Host, r.Host) {
		return true
	}
	settings := s.Settings()
	return slices.ContainsFunc(append([]string{settings.URL}, settings.AdditionalURLs...), func(ours string) bool {
		at, err := url.Parse(ours)
		return err == nil && at.Host != "" && strings.EqualFold(at.Host, from.Host) && strings.EqualFold(at.Scheme, from.Scheme)
	})
}

// byPeer believes what a replica says.
func (s *Server) byPeer(believed func(*http.Request) (string, bool)) identifier {
	return func(req *Request) (Caller, proof, error) {
		var caller Caller
		text, ok := believed(req.Request)
		if !ok || json.Unmarshal([]byte(text), &caller) != nil || s.Verifier == nil || s.Verifier.Check(req.Context, caller) != nil {
			return Caller{}, proof{}, errNoSession
		}
		return caller, proof{peer: true}, nil
	}
}

// requestKey is where a request is found by those who only have that of HTTP.
type requestKey struct{}

// CallerOf is who asks, for handlers of their own.
func CallerOf(r *http.Request) Caller {
	if req, ok := r.Context().Value(requestKey{}).(*Request); ok {
		return req.Caller
	}
	return Caller{}
}

// Vouch is who asks, as another replica is told.
func Vouch(r *http.Request) (string, error) {
	text, err := json.Marshal(CallerOf(r))
	return string(text), err
}

// Still says whether a stream may go on: the token holds, and the rules let its caller.
func Still(r *http.Request) error {
	req, ok := r.Context().Value(requestKey{}).(*Request)
	if !ok {
		return errNoSession
	}
	return req.still()
}

// from is where a request comes from, for the audit. A replica that passed it on says where it had it from.
func (r *Request) from() string {
	if forwarded := r.Header.Get("X-Forwarded-For"); r.peer && forwarded != "" {
		return oneLine(forwarded)
	}
	return sourceOf(r.Request)
}

// sourceOf is where a request comes from, for those who count.
func sourceOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
