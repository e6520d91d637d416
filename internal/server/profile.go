package server

import (
	"net/http"
	"net/http/pprof"
	"strconv"
)

// mostProfile is how many seconds a profile may take.
const mostProfile = 60

// profiles are those that there are. None of them holds values; "cmdline" would, and is not among them.
var profiles = map[string]http.Handler{
	"allocs": pprof.Handler("allocs"), "block": pprof.Handler("block"), "goroutine": pprof.Handler("goroutine"),
	"heap": pprof.Handler("heap"), "mutex": pprof.Handler("mutex"), "threadcreate": pprof.Handler("threadcreate"),
	"profile": http.HandlerFunc(pprof.Profile), "trace": http.HandlerFunc(pprof.Trace),
}

// profileRoutes show administrators what this process is busy with. They take rights over everything that there is, which
// nobody else has: a profile tells what others are doing, and costs while it is made.
func (s *Server) profileRoutes() []*Route {
	return []*Route{{
		Method: http.MethodGet, Pattern: "/debug/pprof/{profile}", Summary: "A profile of this process, for administrators",
		Resource: "accounts", Verb: "update", Also: []Need{{"clusters", "delete"}, {"projects", "delete"}, {"repositories", "delete"}},
		Find:   func(*Request) (Target, error) { return Target{Object: "*", Found: true}, nil },
		Handle: s.profile,
		Query: []Param{
			{"seconds", "integer", "how long it is watched; at most 60"},
			{"debug", "integer", "1 for a text"},
		},
	}}
}

func (s *Server) profile(req *Request) (any, error) {
	handler, ok := profiles[req.Param("profile")]
	if !ok {
		return nil, notFound("there is no such profile")
	}
	if text := req.Text("seconds"); text != "" {
		if n, err := strconv.Atoi(text); err != nil || n < 1 || n > mostProfile {
			return nil, badRequest("seconds is a number from 1 to 60")
		}
	}
	// Stacks with the values of arguments are not for a network.
	if debug := req.Text("debug"); debug != "" && debug != "0" && debug != "1" {
		return nil, badRequest("debug is 0 or 1")
	}
	return handler, nil
}
