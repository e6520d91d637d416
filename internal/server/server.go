// Package server is the HTTP side of Towline: the REST API that clients of Argo CD know, and routes of our own. It
// shows what the engine knows and passes on what is asked of it. It must not decide what an application needs, it has no
// way of its own to a cluster, and nothing leaves it but through one door, which hides what is secret.
//
// Every route is a value in one table (routes.go) that says who may use it. A route that says nothing is refused.
package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/journal"
	"github.com/towline-cd/towline/internal/core/secret"
	"github.com/towline-cd/towline/internal/engine"
)

// Caller is who asks, as a token proved it.
type Caller struct {
	// Subject is whom rules speak of: "admin", "proj:web:ci"; empty is somebody who did not sign in.
	Subject  string `json:"sub"`
	Username string `json:"username"`
	// Groups are what a login provider says.
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

// Verifier says whose a token is. An empty token is nobody's: whether nobody may come in is decided there too. Every
// error is the same to the one who asks.
type Verifier interface {
	Verify(ctx context.Context, token string) (Caller, error)
	// Check says whether somebody who was let in may stay: for what is told for long, and for those whom another replica
	// let in.
	Check(ctx context.Context, caller Caller) error
}

// Question is what somebody wants to do: an action on an object of a resource, in the words of argocd-rbac-cm.
type Question struct{ Resource, Action, Object string }

// Verdict is the answer to a question, and the line of the rules that gave it.
type Verdict struct {
	Allowed bool
	// Line names the rule that decided, and Why says it to people.
	Line, Why string
}

// Decider says what a caller may do.
type Decider interface {
	Decide(caller Caller, q Question) Verdict
	// Allowing answers the same question about many objects, quickly and without reasons.
	Allowing(caller Caller, resource, action string) func(object string) bool
}

// Login is an attempt to sign in.
type Login struct {
	Name     string
	Password secret.Text
	// Source is where it comes from, for those who count attempts.
	Source string
}

// Sessions begin and end.
type Sessions interface {
	Login(ctx context.Context, l Login) (token string, err error)
	Logout(ctx context.Context, token string) error
}

// Departure is somebody who goes to sign in elsewhere: where to, and what their browser keeps meanwhile.
type Departure struct {
	URL    string
	Sealed string
	Lasts  time.Duration
}

// Arrival is somebody who has signed in elsewhere.
type Arrival struct {
	Token string
	// Sealed is what their session goes on by; empty is that it ends with the token.
	Sealed string
	// Return is where they wanted to be.
	Return string
}

// Leaving is somebody who signs out. Token and Sealed are what their browser has.
type Leaving struct{ Token, Sealed, Host string }

// SignOn signs people in elsewhere.
type SignOn interface {
	// Begin sends somebody away whose browser asked a host, and wants to be at an address in the end.
	Begin(ctx context.Context, host, want string) (Departure, error)
	// Finish takes them back: by what their browser was told to say, and what it kept.
	Finish(ctx context.Context, said url.Values, sealed string) (Arrival, error)
	// Due says that somebody's token ends so soon that the next one is asked for, and Refresh asks.
	Due(c Caller) bool
	Refresh(ctx context.Context, sealed string) (Arrival, error)
	// Leave ends what they have, and says where to go then.
	Leave(ctx context.Context, l Leaving) (string, error)
}

// ErrExpired is that a token was good and has ended; other refusals are not told apart.
var ErrExpired = errors.New("the token has ended")

// Account is a local account.
type Account struct {
	Name         string
	Enabled      bool
	Capabilities []string
	Tokens       []Token
}

// Token is what is known of a token after it was given out.
type Token struct {
	ID       string
	IssuedAt time.Time
	// ExpiresAt is zero for one that does not end.
	ExpiresAt time.Time
}

// PasswordChange is the wish for another password. Current is that of whoever asks.
type PasswordChange struct {
	Name string
	By   Caller
	// Source is where it comes from, for those who count attempts.
	Source       string
	Current, New secret.Text
}

// Accounts are the local accounts.
type Accounts interface {
	Accounts(ctx context.Context) ([]Account, error)
	SetPassword(ctx context.Context, c PasswordChange) error
	CreateToken(ctx context.Context, account string, w TokenWish) (token string, err error)
	DeleteToken(ctx context.Context, account, id string) error
}

// RoleTokens are the tokens of the roles of projects.
type RoleTokens interface {
	CreateRoleToken(ctx context.Context, project, role string, w TokenWish) (token string, err error)
	// DeleteRoleToken takes one away, by its id or else by the time of its issue.
	DeleteRoleToken(ctx context.Context, project, role string, t Token) error
}

// TokenWish is a token that somebody wants.
type TokenWish struct {
	// ID is its name; empty is a random one. Lasts is zero for one that does not end.
	ID    string
	Lasts time.Duration
}

// Streams are handlers of their own: they tell what happens until somebody hangs up. CallerOf says for whom, and Still
// whether they may go on.
type Streams struct {
	Applications, Tree, Sets, Events http.Handler
}

// Options are what a server is made of. What is nil is not there: its routes say so.
type Options struct {
	// Namespace is the control namespace.
	Namespace string
	Version   Version
	Verifier  Verifier
	Decider   Decider
	Sessions  Sessions
	Accounts  Accounts
	Tokens    RoleTokens
	// SignOn is how people sign in elsewhere, and Dex the one that runs beside.
	SignOn SignOn
	Dex    http.Handler
	// Renew is another token for a session that ends soon; empty is that it does not.
	Renew func(Caller) string
	Hub   Hub
	Sets  Sets
	// Inspector and Reader look at applications by the engine; Sources looks at repositories.
	Inspector Inspector
	Reader    Reader
	Adviser   Adviser
	Sources   Sources
	Places    Places
	Events    Events
	// Writing is where what people declare is written, and Hands do what they ask for in clusters: the engine.
	Writing Writing
	Hands   Hands
	// Journal is told of every request that changes something, and of those that were not let; nil is that nobody writes
	// them down.
	Journal func(journal.Record)
	// Answered is told of every answer: the route by its pattern, the status, and how long it took. It must not block; nil
	// is that nobody counts.
	Answered func(method, route string, status int, took time.Duration)
	// Hooks takes webhooks.
	Hooks Hooks
	// Listing answers lists of applications; nil has them answered here, in the form that Argo CD has.
	Listing  http.Handler
	Streams  Streams
	Settings func() Settings
	// Ready says whether questions can be answered; nil is always.
	Ready func() error
	// Leading says that this process has the clusters; one that has not passes on what needs them to Forward.
	Leading func() bool
	Forward http.Handler
	// Pages are the files of the UI; nil serves none.
	Pages fs.FS
	// Notices are what there is to subscribe to; nil is nothing.
	Notices func() Notices
	// Binary is the path of this program, for those who download it; empty is nowhere.
	Binary string
	Now    func() time.Time
}

// Server answers requests.
type Server struct {
	Options
	table *table
	open  *limiter
	waits *waits[*v1alpha1.Application]
	// topics are those who wait for something else than an application.
	topics *waits[struct{}]
	paces  *paces
	hooks  *hooks
	// recheck is how often it is looked whether a stream may go on.
	recheck time.Duration
	// openAPI is the document, made once.
	openAPI []byte
}

// New makes a server.
func New(o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Settings == nil {
		o.Settings = func() Settings { return Settings{} }
	}
	if o.Answered == nil {
		o.Answered = func(string, string, int, time.Duration) {}
	}
	if o.Journal == nil {
		o.Journal = func(journal.Record) {}
	}
	if o.Ready == nil {
		o.Ready = func() error { return nil }
	}
	s := &Server{
		Options: o, open: newLimiter(openRate, openBurst), recheck: usualRecheck,
		waits: newWaits[*v1alpha1.Application](), topics: newWaits[struct{}](), paces: newPaces(o.Now),
		hooks: newHooks(),
	}
	var err error
	if s.table, err = newTable(s.routes()); err != nil {
		return nil, err
	}
	if s.openAPI, err = document(s.table.routes, o.Version); err != nil {
		return nil, err
	}
	return s, nil
}

// Handler answers those who come from outside.
func (s *Server) Handler() http.Handler { return s.handler(s.byToken, nil) }

// Peers answers other replicas, which have asked the caller for a token already. believed is whom a replica says it to
// be; whoever knows must have made sure that it is a replica who says so.
func (s *Server) Peers(believed func(*http.Request) (string, bool)) http.Handler {
	return s.handler(s.byPeer(believed), believed)
}

// handler answers by what identifies the caller. believed says that a replica asks; it is nil where none does.
func (s *Server) handler(identify identifier, believed func(*http.Request) (string, bool)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := newAnswer(w, r)
		if believed != nil {
			_, a.peer = believed(r)
		}
		defer s.finish(a)
		defer s.caught(a)
		s.harden(a)
		path, ok := s.within(r.URL.EscapedPath())
		if !ok {
			a.fail(notFound("Not Found"))
			return
		}
		if isGRPC(r) {
			a.grpc()
			return
		}
		s.serve(a, path, identify)
	})
}

// within takes off the path what a proxy in front of us leaves on it.
func (s *Server) within(path string) (string, bool) {
	root := strings.Trim(s.Settings().RootPath, "/")
	if root == "" {
		return path, true
	}
	rest, ok := strings.CutPrefix(path, "/"+root)
	if ok && (rest == "" || strings.HasPrefix(rest, "/")) {
		return cmp.Or(rest, "/"), true
	}
	// Probes come past the proxy.
	return path, path == "/healthz" || path == "/readyz"
}

// serve finds the route, the caller and the right, in this order, and then answers.
func (s *Server) serve(a *answer, path string, identify identifier) {
	route, params, known := s.table.find(a.request.Method, path)
	if route == nil {
		a.fail(s.unknown(a, known))
		return
	}
	a.route = route
	req := &Request{
		Context: a.request.Context(), Request: a.request, Route: route, params: params, server: s,
		control: http.NewResponseController(a.writer), peer: a.peer,
	}
	a.req = req
	if err := s.admit(a, req, identify); err != nil {
		a.fail(err)
		return
	}
	a.request = a.request.WithContext(context.WithValue(a.request.Context(), requestKey{}, req))
	req.Request = a.request
	req.Context = engine.OnBehalf(req.Context, a.who())
	if (route.Live || refreshes(req)) && s.Forward != nil && s.Leading != nil && !s.Leading() {
		a.status, req.passed = http.StatusOK, true
		if req.read {
			// The rules were asked about what it says.
			a.request.Body, a.request.ContentLength = io.NopCloser(bytes.NewReader(req.body)), int64(len(req.body))
		}
		s.Forward.ServeHTTP(a.writer, a.request)
		return
	}
	out, err := route.Handle(req)
	if err != nil {
		a.fail(err)
		return
	}
	a.give(out)
}

// admit lets a request pass: by its form, by who asks, and by what they may do.
func (s *Server) admit(a *answer, req *Request, identify identifier) error {
	if req.Route.Hook || req.Route.Page {
		return nil
	}
	if req.Route.Open && !req.Route.Probe && !s.open.take(sourceOf(a.request), s.Now()) {
		return &Fault{Code: ResourceExhausted, Message: "too many requests; wait a moment"}
	}
	if req.Route.Foreign {
		return nil
	}
	if err := s.form(req); err != nil {
		return err
	}
	caller, by, err := identify(req)
	if by.cookie && s.SignOn != nil && !strings.HasPrefix(req.Route.Pattern, "/auth/") {
		caller, by, err = s.goOn(a, req, visitor{caller, by, err})
	}
	switch {
	case err == nil:
		req.Caller, req.SignedIn, req.token, req.peer = caller, caller.Subject != "", by.token, by.peer
	case !req.Route.Open:
		return errNoSession
	}
	if err == nil && by.cookie && !s.sameOrigin(a.request) {
		return &Fault{Code: PermissionDenied, Message: "the request comes from another site"}
	}
	if err == nil && s.Renew != nil {
		s.renew(a, req, by)
	}
	if req.Route.Open {
		return nil
	}
	return s.authorise(req)
}

// RenewedHeader has the next token of a session that ends soon, for those who keep theirs themselves.
const RenewedHeader = "Renewed-Token"

// renew hands out the next token of a session that ends soon, in the way in which the last one came.
func (s *Server) renew(a *answer, req *Request, by proof) {
	token := s.Renew(req.Caller)
	switch {
	case token == "":
	case by.cookie:
		a.setCookies(s.cookies(req, token))
	default:
		a.header().Set(RenewedHeader, token)
	}
}

// authorise asks for what the route needs.
func (s *Server) authorise(req *Request) error {
	route := req.Route
	if route.Find == nil {
		if route.Without != "" {
			return nil
		}
		return errDenied
	}
	target, err := route.Find(req)
	if err != nil {
		return err
	}
	req.object = target.Object
	needs, err := route.needs(req)
	if err != nil {
		return err
	}
	for _, need := range needs {
		req.verbs = append(req.verbs, need.Resource+"."+need.Verb)
		v := s.Decider.Decide(req.Caller, Question{Resource: need.Resource, Action: need.Verb, Object: target.Object})
		if !v.Allowed {
			return errDenied
		}
	}
	if !target.Found {
		// Only who named the place and may see what is in it is told that it is empty.
		if target.Named {
			return notFound(target.Missing)
		}
		return errDenied
	}
	return nil
}
