package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Route is one thing that can be asked. What it says of who may ask is all that counts: there is no other check, and a
// route that says nothing is refused to everybody.
type Route struct {
	Method  string
	Pattern string
	// Summary is for people.
	Summary string
	// Resource and Verb are those of argocd-rbac-cm, asked for the object that Find finds. Also are further resources
	// that must be allowed for the same object.
	Resource, Verb string
	Also           []Need
	Find           func(*Request) (Target, error)
	// Finer is what is asked for instead of Verb, where that depends on what the request says: the object of an
	// application that it is about, or what a patch changes. It must not depend on what is there.
	Finer func(*Request) ([]string, error)
	// Without says how the answer is kept to what the caller may see, where there is no one object to ask for.
	Without string
	// Open routes are for everybody; Probe ones are not even counted.
	Open, Probe bool
	// Hook routes are for programs that prove by what they say who they are: they are asked for neither a token nor a
	// form, and bound those who ask by themselves. Where many come from one address, those of strangers must not use up
	// what others need.
	Hook bool
	// Page routes are files that are the same for everybody: nobody is asked who they are.
	Page bool
	// Foreign routes pass on to another program, which asks for what it needs itself, in its own forms.
	Foreign bool
	// Live routes need the clusters, which only the replica that leads has.
	Live bool
	// Reads says that nothing is changed, whatever the method is.
	Reads bool
	// Limit is how large a body may be; zero is the usual.
	Limit  int64
	Handle func(*Request) (any, error)
	// Query, In and Out are for the document: the parameters, and values of the types that go in and come out.
	Query   []Param
	In, Out any
}

// Need is a right.
type Need struct{ Resource, Verb string }

// needs are the rights that a request takes.
func (r *Route) needs(req *Request) ([]Need, error) {
	verbs := []string{r.Verb}
	if r.Finer != nil {
		var err error
		if verbs, err = r.Finer(req); err != nil {
			return nil, err
		}
	}
	out := slices.Clone(r.Also)
	for _, v := range verbs {
		out = append(out, Need{r.Resource, v})
	}
	if len(verbs) == 0 {
		return nil, errDenied
	}
	return out, nil
}

// Param is a query parameter.
type Param struct{ Name, Type, About string }

// Target is what a route is about, as rules name it. Where it was not found the object is what it would have been
// called: the rules are asked all the same, so that nobody can tell the two apart.
type Target struct {
	Object string
	Found  bool
	// Named says that the caller said where to look, so that the rules could be asked about that place; Missing is what
	// it is then told.
	Named   bool
	Missing string
}

// Request is a request that was understood.
type Request struct {
	context.Context
	*http.Request
	Route    *Route
	Caller   Caller
	SignedIn bool

	server  *Server
	control *http.ResponseController
	token   string
	params  map[string]string
	body    []byte
	read    bool
	// found is what Find found, for the handler.
	found any
	// hidden are values that must not be told, whatever text they stand in.
	hidden []string
	// object and verbs are what the rules were asked about, for the audit; noted is what else there is to say.
	object string
	verbs  []string
	noted  []any
	// peer says that another replica passed it on, and passed that we pass it on ourselves.
	peer, passed bool
}

// Param is a part of the path.
func (r *Request) Param(name string) string { return r.params[name] }

// Text is a query parameter.
func (r *Request) Text(names ...string) string {
	for _, name := range names {
		if v := r.URL.Query().Get(name); v != "" {
			return v
		}
	}
	return ""
}

// List is a query parameter that may be given more than once, by any of its names.
func (r *Request) List(names ...string) []string {
	var out []string
	for _, name := range names {
		for _, v := range r.URL.Query()[name] {
			if v != "" && !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	return out
}

// Number is a query parameter that is a whole number.
func (r *Request) Number(name string) (int64, error) {
	text := r.Text(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, badRequest(fmt.Sprintf("%s is not a number", name))
	}
	return n, nil
}

// Flag is a query parameter that is true or false.
func (r *Request) Flag(name string) bool {
	on, err := strconv.ParseBool(r.Text(name))
	return err == nil && on
}

const (
	// usualLimit is how large a body may be, and bodyTime how long it may take to come.
	usualLimit = 1 << 20
	bodyTime   = 30 * time.Second
)

// Body decodes the body. It may be asked for more than once.
func (r *Request) Body(into any) error {
	if !r.read {
		limit := cmp.Or(r.Route.Limit, usualLimit)
		// Whoever sends a body bit by bit does not keep us waiting; not every connection can be bounded, and those of tests
		// need not.
		_ = r.control.SetReadDeadline(time.Now().Add(bodyTime))
		defer func() { _ = r.control.SetReadDeadline(time.Time{}) }()
		data, err := io.ReadAll(http.MaxBytesReader(nil, r.Request.Body, limit))
		if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return &Fault{
				Code: InvalidArgument, Status: http.StatusRequestEntityTooLarge,
				Message: fmt.Sprintf("the body has more than %d bytes", large.Limit),
			}
		}
		if err != nil {
			return badRequest("the body could not be read")
		}
		r.body, r.read = data, true
	}
	if len(r.body) == 0 {
		return nil
	}
	if err := json.Unmarshal(r.body, into); err != nil {
		// What the decoder says may repeat what it was given, passwords among it.
		return badRequest("the body is not the JSON that was expected here")
	}
	return nil
}

// May says whether the caller may do something.
func (r *Request) May(resource, verb, object string) bool {
	return r.server.Decider.Decide(r.Caller, Question{Resource: resource, Action: verb, Object: object}).Allowed
}

// Allowing says of many objects whether the caller may do something with them.
func (r *Request) Allowing(resource, verb string) func(object string) bool {
	return r.server.Decider.Allowing(r.Caller, resource, verb)
}

// note has something said in the audit.
func (r *Request) note(key string, value any) { r.noted = append(r.noted, key, value) }

// hide has values never told in the texts of the answer to this request.
func (r *Request) hide(values ...string) { r.hidden = append(r.hidden, values...) }

// hush is a text without what is hidden.
func (r *Request) hush(text string) string { return hush(text, r.hidden) }

// table finds routes.
type table struct {
	routes []*Route
	// sorted are the routes by how many parts their patterns have.
	sorted map[int][]entry
	// rests are those that take any rest of a path.
	rests []entry
}

type entry struct {
	route *Route
	parts []string
}

// newTable checks the routes: two for the same path, or one that does not say who may use it, is a mistake of ours.
func newTable(routes []*Route) (*table, error) {
	t := &table{routes: routes, sorted: map[int][]entry{}}
	seen := map[string]bool{}
	for _, r := range routes {
		if err := r.check(); err != nil {
			return nil, err
		}
		if seen[r.Method+" "+r.Pattern] {
			return nil, fmt.Errorf("route %s %s is there twice", r.Method, r.Pattern)
		}
		seen[r.Method+" "+r.Pattern] = true
		e := entry{route: r, parts: strings.Split(strings.TrimPrefix(r.Pattern, "/"), "/")}
		if strings.HasSuffix(r.Pattern, "...}") {
			t.rests = append(t.rests, e)
			continue
		}
		t.sorted[len(e.parts)] = append(t.sorted[len(e.parts)], e)
	}
	return t, nil
}

// check says what a route does not declare.
func (r *Route) check() error {
	say := func(what string) error { return fmt.Errorf("route %s %s: %s", r.Method, r.Pattern, what) }
	switch {
	case r.Handle == nil:
		return say("it has no handler")
	case r.Summary == "":
		return say("it does not say what it is for")
	case r.Hook && !r.Open:
		return say("it is for strangers, and not open")
	case r.Open && !slices.Contains(openRoutes, r.Method+" "+r.Pattern):
		return say("it is open, and not on the closed list of open routes")
	case r.Open:
		return nil
	case r.Find == nil && r.Without == "":
		return say("it declares neither an object to ask the rules about, nor how it does without one")
	case r.Find != nil && (r.Resource == "" || r.Verb == ""):
		return say("it declares no resource and verb to ask the rules about")
	}
	return nil
}

// find is the route of a path, and whether the path is known at all.
func (t *table) find(method, path string) (route *Route, params map[string]string, known []string) {
	parts, ok := split(path)
	if !ok {
		return nil, nil, nil
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var best entry
	for _, e := range slices.Concat(t.sorted[len(parts)], t.rests) {
		if !e.fits(parts) {
			continue
		}
		known = append(known, e.route.Method)
		if e.route.Method == method && (best.route == nil || e.closer(best)) {
			best = e
		}
	}
	if best.route == nil {
		return nil, nil, known
	}
	return best.route, best.params(parts), known
}

// split takes a path apart. A part may hold an encoded slash.
func split(path string) ([]string, bool) {
	rest, ok := strings.CutPrefix(path, "/")
	if !ok {
		return nil, false
	}
	parts := strings.Split(rest, "/")
	for i, p := range parts {
		text, err := url.PathUnescape(p)
		if err != nil {
			return nil, false
		}
		parts[i] = text
	}
	return parts, true
}

func (e entry) fits(parts []string) bool {
	rest := strings.HasSuffix(e.route.Pattern, "...}")
	if rest && len(parts) < len(e.parts) || !rest && len(parts) != len(e.parts) {
		return false
	}
	for i, p := range e.parts {
		if strings.HasPrefix(p, "{") {
			if parts[i] == "" {
				return false
			}
			continue
		}
		if p != parts[i] {
			return false
		}
	}
	return true
}

// closer says that an entry says more of the path than another that fits too.
func (e entry) closer(other entry) bool {
	for i := range min(len(e.parts), len(other.parts)) {
		mine, theirs := strings.HasPrefix(e.parts[i], "{"), strings.HasPrefix(other.parts[i], "{")
		if mine != theirs {
			return theirs
		}
	}
	return len(e.parts) > len(other.parts)
}

func (e entry) params(parts []string) map[string]string {
	out := map[string]string{}
	for i, p := range e.parts {
		name, is := strings.CutPrefix(p, "{")
		if !is {
			continue
		}
		if name, rest := strings.CutSuffix(name, "...}"); rest {
			out[name] = strings.Join(parts[i:], "/")
			break
		}
		out[strings.TrimSuffix(name, "}")] = parts[i]
	}
	return out
}

// unknown is what is told where there is no route.
func (s *Server) unknown(a *answer, known []string) error {
	if len(known) > 0 {
		slices.Sort(known)
		a.header().Set("Allow", strings.Join(slices.Compact(known), ", "))
		return &Fault{
			Code: Unimplemented, Message: "this version does not serve " + a.request.Method + " here; change the object with kubectl, " +
				"or with `towline --core`",
		}
	}
	for _, e := range excluded {
		if e.fits(a.request.URL.Path) {
			return &Fault{Code: Unimplemented, Message: e.Why}
		}
	}
	return notFound("Not Found")
}
