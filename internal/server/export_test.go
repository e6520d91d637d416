package server

import "time"

// Routes are the routes of the table.
func (s *Server) Routes() []*Route { return s.table.routes }

// SetRecheck has streams looked at more often.
func (s *Server) SetRecheck(d time.Duration) { s.recheck = d }

// Check says what a route does not declare.
func Check(r *Route) error { return r.check() }

// Hush and the others are tested from outside.
var (
	Hush          = hush
	WithoutLogins = withoutLogins
	WebLink       = webLink
	Fields        = fields
)

// SetHookTime has webhooks take less time to come.
func (s *Server) SetHookTime(d time.Duration) { s.hooks.time = d }
