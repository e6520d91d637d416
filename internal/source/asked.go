package source

import "time"

// Asked is a question that the server of a repository was asked.
type Asked struct {
	// Repo is the address, without a login.
	Repo string
	// What is "ls-remote" or "fetch", the latter of a Revision.
	What, Revision string
	Took           time.Duration
	Err            error
}

func (s *Store) tell(a Asked) {
	if s.told != nil {
		s.told(a)
	}
}
