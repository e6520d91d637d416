package main

import "github.com/towline-cd/towline/internal/server"

// guard gives the server those who know what callers may do.
func (p *parts) guard(o *server.Options) { o.Decider = &p.rights }
