package server

import "github.com/towline-cd/towline/internal/core/repository"

// Certificate is what is trusted: a key of an SSH server, or an authority for a host.
type Certificate = repository.Certificate

func (s *Server) certificates(req *Request) (any, error) {
	if s.Places == nil {
		return nil, absent("the list of certificates")
	}
	out := List[Certificate]{Items: []Certificate{}}
	for _, c := range s.Places.Repositories().Trust().Listed() {
		fits := (req.Text("hostNamePattern") == "" || repository.MatchesHost(req.Text("hostNamePattern"), c.ServerName)) &&
			(req.Text("certType") == "" || req.Text("certType") == c.CertType) &&
			(req.Text("certSubType") == "" || req.Text("certSubType") == c.CertSubType)
		if fits && req.May("certificates", "get", c.ServerName) {
			out.Items = append(out.Items, c)
		}
	}
	return out, nil
}

// GPGKey is a key that commits may be signed with.
type GPGKey = repository.PublicKey

func (s *Server) gpgKeys(req *Request) (any, error) {
	if s.Places == nil {
		return nil, absent("the list of keys")
	}
	out := List[GPGKey]{Items: []GPGKey{}}
	for _, k := range s.Places.Repositories().Trust().Keys() {
		if want := req.Text("keyID"); (want == "" || want == k.KeyID) && req.May("gpgkeys", "get", k.KeyID) {
			out.Items = append(out.Items, k)
		}
	}
	return out, nil
}

func (s *Server) findGPGKey(req *Request) (Target, error) {
	id := req.Param("keyID")
	if s.Places == nil {
		return Target{}, absent("the list of keys")
	}
	_, ok := s.Places.Repositories().Trust().PublicKeys[id]
	return Target{Object: id, Found: ok, Named: true, Missing: "no such key"}, nil
}

func (s *Server) gpgKey(req *Request) (any, error) {
	return GPGKey{KeyID: req.Param("keyID"), Trust: "unknown"}, nil
}
