package main

import (
	"github.com/towline-cd/towline/internal/server"
)

// guard gives the server those who know who asks and what they may do.
func (p *parts) guard(o *server.Options) {
	o.Decider = nobody{}
}

// nobody may do anything.
type nobody struct{}

// Decide says no.
func (nobody) Decide(server.Caller, server.Question) server.Verdict { return server.Verdict{} }

// Allowing says no to everything.
func (nobody) Allowing(server.Caller, string, string) func(string) bool {
	return func(string) bool { return false }
}
