package server

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"maps"
	"slices"
	"strings"
)

// Certificate is what is trusted: a key of an SSH server, or an authority for a host.
type Certificate struct {
	ServerName  string `json:"serverName"`
	CertType    string `json:"certType"`
	CertSubType string `json:"certSubType,omitempty"`
	CertInfo    string `json:"certInfo,omitempty"`
}

func (s *Server) certificates(req *Request) (any, error) {
	if s.Places == nil {
		return nil, absent("the list of certificates")
	}
	out := List[Certificate]{Items: []Certificate{}}
	trust := s.Places.Repositories().Trust()
	all := slices.Concat(knownHosts(trust.KnownHosts), authorities(trust.Certificates))
	for _, c := range all {
		fits := (req.Text("hostNamePattern") == "" || matchesHost(req.Text("hostNamePattern"), c.ServerName)) &&
			(req.Text("certType") == "" || req.Text("certType") == c.CertType) &&
			(req.Text("certSubType") == "" || req.Text("certSubType") == c.CertSubType)
		if fits && req.May("certificates", "get", c.ServerName) {
			out.Items = append(out.Items, c)
		}
	}
	return out, nil
}

// matchesHost says whether a name fits a pattern with stars.
func matchesHost(pattern, name string) bool {
	before, after, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	return len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}

// knownHosts reads lines as OpenSSH has them.
func knownHosts(text string) []Certificate {
	var out []Certificate
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 3 || strings.HasPrefix(words[0], "#") || strings.HasPrefix(words[0], "@") {
			continue
		}
		key, err := base64.StdEncoding.DecodeString(words[2])
		if err != nil {
			continue
		}
		sum := sha256.Sum256(key)
		for host := range strings.SplitSeq(words[0], ",") {
			out = append(out, Certificate{
				ServerName: host, CertType: "ssh", CertSubType: words[1],
				CertInfo: "SHA256:" + strings.TrimRight(base64.StdEncoding.EncodeToString(sum[:]), "="),
			})
		}
	}
	return out
}

// authorities reads PEM by host.
func authorities(byHost map[string]string) []Certificate {
	var out []Certificate
	for _, host := range slices.Sorted(maps.Keys(byHost)) {
		rest := []byte(byHost[host])
		for {
			block, more := pem.Decode(rest)
			if block == nil {
				break
			}
			rest = more
			c := Certificate{ServerName: host, CertType: "https"}
			if parsed, err := x509.ParseCertificate(block.Bytes); err == nil {
				c.CertSubType, c.CertInfo = strings.ToLower(parsed.PublicKeyAlgorithm.String()), parsed.Subject.String()
			}
			out = append(out, c)
		}
	}
	return out
}

// GPGKey is a key that commits may be signed with.
type GPGKey struct {
	KeyID       string `json:"keyID"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Owner       string `json:"owner,omitempty"`
	Trust       string `json:"trust,omitempty"`
	SubType     string `json:"subType,omitempty"`
}

func (s *Server) gpgKeys(req *Request) (any, error) {
	if s.Places == nil {
		return nil, absent("the list of keys")
	}
	out := List[GPGKey]{Items: []GPGKey{}}
	for _, id := range slices.Sorted(maps.Keys(s.Places.Repositories().Trust().PublicKeys)) {
		if want := req.Text("keyID"); (want == "" || want == id) && req.May("gpgkeys", "get", id) {
			out.Items = append(out.Items, GPGKey{KeyID: id, Trust: "unknown"})
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
