package server

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/repository"
)

// GivenCertificate is somebody to trust: a key of an SSH server, or an authority for a host.
type GivenCertificate struct {
	ServerName  string `json:"serverName"`
	CertType    string `json:"certType"`
	CertSubType string `json:"certSubType,omitempty"`
	// CertData is a PEM text, or the key as known_hosts has it.
	CertData []byte `json:"certData"`
}

const (
	certSSH   = "ssh"
	certHTTPS = "https"
)

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
		if err := c.check(); err != nil {
			return nil, err
		}
		req.note("host", oneLine(c.ServerName))
	}
	out := List[Certificate]{Items: []Certificate{}}
	for _, kind := range []string{certSSH, certHTTPS} {
		made, err := s.trustAll(req, kind, q.Items, upsert)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, made...)
	}
	return out, nil
}

func (c GivenCertificate) check() error {
	switch c.CertType {
	case certSSH:
		if _, err := repository.PutHostKey("", c.hostKey(), false); err != nil {
			return badRequest(fmt.Sprintf("%q: %v", oneLine(c.ServerName), err))
		}
	case certHTTPS:
		// It becomes a key of a config map.
		if err := wellNamed("serverName", c.ServerName); err != nil {
			return err
		}
		if err := repository.CheckAuthority(string(c.CertData)); err != nil {
			return badRequest(fmt.Sprintf("%q: %v", c.ServerName, err))
		}
	default:
		return badRequest("certType is ssh or https")
	}
	return nil
}

func (c GivenCertificate) hostKey() repository.HostKey {
	key := strings.TrimSpace(string(c.CertData))
	if _, err := base64.StdEncoding.DecodeString(key); err != nil {
		// Some send the key itself, and not its text.
		key = base64.StdEncoding.EncodeToString(c.CertData)
	}
	return repository.HostKey{Host: c.ServerName, Type: c.CertSubType, Key: key}
}

// trustAll writes down those of one kind, all or none.
func (s *Server) trustAll(req *Request, kind string, list []GivenCertificate, upsert bool) ([]Certificate, error) {
	list = slices.DeleteFunc(slices.Clone(list), func(c GivenCertificate) bool { return c.CertType != kind })
	if len(list) == 0 {
		return nil, nil
	}
	var out []Certificate
	configMap := v1alpha1.ConfigMapTLSCerts
	if kind == certSSH {
		configMap = v1alpha1.ConfigMapSSHKnownHosts
	}
	err := s.Writing.Trust.Change(req, configMap, func(data map[string]string) error {
		out = nil
		for _, c := range list {
			shown, err := c.put(data, upsert)
			if errors.Is(err, repository.ErrOther) {
				return badRequest(fmt.Sprintf("%q: %v", c.ServerName, err))
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

// put adds what is to be trusted to the data of a config map.
func (c GivenCertificate) put(data map[string]string, upsert bool) ([]Certificate, error) {
	if c.CertType == certHTTPS {
		if now, there := data[c.ServerName]; there && strings.TrimSpace(now) != strings.TrimSpace(string(c.CertData)) && !upsert {
			return nil, repository.ErrOther
		}
		data[c.ServerName] = string(c.CertData)
		return authorities(map[string]string{c.ServerName: string(c.CertData)}), nil
	}
	k := c.hostKey()
	text, err := repository.PutHostKey(data[v1alpha1.KeySSHKnownHosts], k, upsert)
	if err != nil {
		return nil, err
	}
	data[v1alpha1.KeySSHKnownHosts] = text
	return knownHosts(k.Host + " " + k.Type + " " + k.Key), nil
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
	if !slices.Contains([]string{"", "*", certSSH, certHTTPS}, kind) {
		return nil, badRequest("certType is ssh or https")
	}
	q := distrust{kind: kind, sub: sub, takes: func(host string) bool {
		return matchesHost(pattern, host) && req.May("certificates", "delete", host)
	}}
	out := List[Certificate]{Items: []Certificate{}}
	for configMap, drop := range map[string]func(map[string]string) []Certificate{
		v1alpha1.ConfigMapSSHKnownHosts: q.hosts, v1alpha1.ConfigMapTLSCerts: q.authorities,
	} {
		var dropped []Certificate
		err := s.Writing.Trust.Change(req, configMap, func(data map[string]string) error {
			dropped = drop(data)
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

// distrust is who is not to be trusted any more.
type distrust struct {
	kind, sub string
	takes     func(host string) bool
}

func (q distrust) of(kind string) bool { return every(q.kind) || q.kind == kind }

func every(want string) bool { return want == "" || want == "*" }

// hosts takes them out of the known hosts.
func (q distrust) hosts(data map[string]string) []Certificate {
	if !q.of(certSSH) {
		return nil
	}
	text, dropped := repository.DropHostKeys(data[v1alpha1.KeySSHKnownHosts], func(host, is string) bool {
		return q.takes(host) && (every(q.sub) || q.sub == is)
	})
	if len(dropped) > 0 {
		data[v1alpha1.KeySSHKnownHosts] = text
	}
	var out []Certificate
	for _, k := range dropped {
		out = append(out, knownHosts(k.Host+" "+k.Type+" "+k.Key)...)
	}
	return out
}

// authorities takes them out of those for hosts.
func (q distrust) authorities(data map[string]string) []Certificate {
	if !q.of(certHTTPS) {
		return nil
	}
	var out []Certificate
	for _, host := range slices.Sorted(maps.Keys(data)) {
		theirs := authorities(map[string]string{host: data[host]})
		fits := every(q.sub) || slices.ContainsFunc(theirs, func(c Certificate) bool { return c.CertSubType == q.sub })
		if q.takes(host) && fits {
			delete(data, host)
			out = append(out, theirs...)
		}
	}
	return out
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
		out.Created.Items, out.Skipped = []GPGKey{}, []string{}
		for _, id := range slices.Sorted(maps.Keys(keys)) {
			if _, there := data[id]; there && !req.Flag("upsert") {
				out.Skipped = append(out.Skipped, id)
				continue
			}
			data[id] = keys[id]
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
