package server

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/repository"
)

// GivenCertificate is somebody to trust: a key of an SSH server, or an authority for a host.
type GivenCertificate = repository.GivenCertificate

// mostCertificates is how many are taken at once.
const mostCertificates = 200

// createCertificates has hosts trusted.
func (s *Server) createCertificates(req *Request) (any, error) {
	if s.Writing.Trust == nil {
		return nil, absent("writing certificates")
	}
	var q Items[GivenCertificate]
	if err := req.Body(&q); err != nil {
		return nil, err
	}
	if len(q.Items) == 0 || len(q.Items) > mostCertificates {
		return nil, badRequest(fmt.Sprintf("items has none, or more than %d", mostCertificates))
	}
	upsert := req.Flag("upsert")
	for _, c := range q.Items {
		if !req.May("certificates", "create", c.ServerName) || upsert && !req.May("certificates", "update", c.ServerName) {
			return nil, errDenied
		}
		if err := checkCertificate(c); err != nil {
			return nil, err
		}
		req.note("host", oneLine(c.ServerName))
	}
	out := List[Certificate]{Items: []Certificate{}}
	for _, kind := range []string{repository.CertSSH, repository.CertHTTPS} {
		made, err := s.trustAll(req, kind, q.Items, upsert)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, made...)
	}
	return out, nil
}

func checkCertificate(c GivenCertificate) error {
	if c.CertType == repository.CertHTTPS {
		// It becomes a key of a config map.
		if err := wellNamed("serverName", c.ServerName); err != nil {
			return err
		}
	}
	if err := c.Check(); err != nil {
		return badRequest(fmt.Sprintf("%q: %v", oneLine(c.ServerName), err))
	}
	return nil
}

// trustAll writes down those of one kind, all or none.
func (s *Server) trustAll(req *Request, kind string, list []GivenCertificate, upsert bool) ([]Certificate, error) {
	list = slices.DeleteFunc(slices.Clone(list), func(c GivenCertificate) bool { return c.CertType != kind })
	if len(list) == 0 {
		return nil, nil
	}
	var out []Certificate
	err := s.Writing.Trust.Change(req, list[0].ConfigMap(), func(data map[string]string) error {
		out = nil
		for _, c := range list {
			shown, err := c.Put(data, upsert)
			if errors.Is(err, repository.ErrOther) {
				return badRequest(err.Error())
			}
			if err != nil {
				return err
			}
			out = append(out, shown...)
		}
		return nil
	})
	return out, err
}

// deleteCertificates takes back the trust in hosts.
func (s *Server) deleteCertificates(req *Request) (any, error) {
	if s.Writing.Trust == nil {
		return nil, absent("deleting certificates")
	}
	pattern, kind, sub := req.Text("hostNamePattern"), req.Text("certType"), req.Text("certSubType")
	if pattern == "" {
		return nil, badRequest("hostNamePattern is missing; * is all of them")
	}
	if !slices.Contains([]string{"", "*", repository.CertSSH, repository.CertHTTPS}, kind) {
		return nil, badRequest("certType is ssh or https")
	}
	q := repository.Distrust{CertType: kind, CertSubType: sub, Takes: func(host string) bool {
		return repository.MatchesHost(pattern, host) && req.May("certificates", "delete", host)
	}}
	out := List[Certificate]{Items: []Certificate{}}
	for _, configMap := range []string{v1alpha1.ConfigMapSSHKnownHosts, v1alpha1.ConfigMapTLSCerts} {
		var dropped []Certificate
		err := s.Writing.Trust.Change(req, configMap, func(data map[string]string) error {
			dropped = q.Drop(configMap, data)
			return nil
		})
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, dropped...)
	}
	out.Items = sortedBy(out.Items, func(c Certificate) string { return c.CertType + " " + c.ServerName })
	req.note("removed", len(out.Items))
	return out, nil
}

// GivenKey is a key that commits may be signed with.
type GivenKey struct {
	KeyData string `json:"keyData"`
}

// CreatedKeys are the keys that are trusted now, and those that were already.
type CreatedKeys struct {
	Created List[GPGKey] `json:"created"`
	Skipped []string     `json:"skipped"`
}

// createGPGKeys has keys trusted. They are named by themselves: what the caller calls them does not count.
func (s *Server) createGPGKeys(req *Request) (any, error) {
	if s.Writing.Trust == nil || s.Writing.Keys == nil || s.Places == nil {
		return nil, absent("writing keys")
	}
	var g GivenKey
	if err := req.Body(&g); err != nil {
		return nil, err
	}
	keys, err := s.Writing.Keys(g.KeyData)
	if err != nil {
		return nil, badRequest("keyData is no armoured text of public keys: " + err.Error())
	}
	for id := range keys {
		if !req.May("gpgkeys", "create", id) {
			return nil, errDenied
		}
		req.note("key", id)
	}
	out := CreatedKeys{Created: List[GPGKey]{Items: []GPGKey{}}, Skipped: []string{}}
	err = s.Writing.Trust.Change(req, v1alpha1.ConfigMapGPGKeys, func(data map[string]string) error {
		created, skipped := repository.PutKeys(data, keys, req.Flag("upsert"))
		out.Created.Items, out.Skipped = []GPGKey{}, filled(skipped)
		for _, id := range created {
			out.Created.Items = append(out.Created.Items, GPGKey{KeyID: id, Trust: "unknown"})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.settle(req, TopicRepositories, func() bool {
		known := s.Places.Repositories().Trust().PublicKeys
		return !slices.ContainsFunc(slices.Collect(maps.Keys(keys)), func(id string) bool { return known[id] == "" })
	})
	return out, nil
}

// findDropKey is the key that a query names.
func (s *Server) findDropKey(req *Request) (Target, error) {
	id := strings.ToUpper(req.Text("keyID"))
	if s.Places == nil {
		return Target{}, absent("the list of keys")
	}
	if id == "" {
		return Target{}, badRequest("keyID is missing")
	}
	_, ok := s.Places.Repositories().Trust().PublicKeys[id]
	return Target{Object: id, Found: ok, Named: true, Missing: "no such key"}, nil
}

func (s *Server) deleteGPGKey(req *Request) (any, error) {
	if s.Writing.Trust == nil {
		return nil, absent("deleting keys")
	}
	err := s.Writing.Trust.Change(req, v1alpha1.ConfigMapGPGKeys, func(data map[string]string) error {
		delete(data, req.object)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.settle(req, TopicRepositories, func() bool {
		_, there := s.Places.Repositories().Trust().PublicKeys[req.object]
		return !there
	})
	return nothing{}, nil
}
