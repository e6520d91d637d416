package repository

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// The kinds of what is trusted, in Argo CD's words.
const (
	CertSSH   = "ssh"
	CertHTTPS = "https"
)

// Certificate is what is trusted: a key of an SSH server, or an authority for a host. Its JSON is that of Argo CD's API.
type Certificate struct {
	ServerName  string `json:"serverName"`
	CertType    string `json:"certType"`
	CertSubType string `json:"certSubType,omitempty"`
	CertInfo    string `json:"certInfo,omitempty"`
}

// GivenCertificate is somebody to trust.
type GivenCertificate struct {
	ServerName  string `json:"serverName"`
	CertType    string `json:"certType"`
	CertSubType string `json:"certSubType,omitempty"`
	// CertData is a PEM text, or the key as known_hosts has it.
	CertData []byte `json:"certData"`
}

// Listed is all that is trusted: hosts as known_hosts has them, then authorities by host.
func (t Trust) Listed() []Certificate {
	return slices.Concat(knownHosts(t.KnownHosts), authorities(t.Certificates))
}

// knownHosts reads lines as OpenSSH has them.
func knownHosts(text string) []Certificate {
	var out []Certificate
	for line := range strings.Lines(text) {
		hosts, k, ok := parseHostLine(line)
		if !ok {
			continue
		}
		key, err := base64.StdEncoding.DecodeString(k.Key)
		if err != nil {
			continue
		}
		sum := sha256.Sum256(key)
		for _, host := range hosts {
			out = append(out, Certificate{
				ServerName: host, CertType: CertSSH, CertSubType: k.Type,
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
			c := Certificate{ServerName: host, CertType: CertHTTPS}
			if parsed, err := x509.ParseCertificate(block.Bytes); err == nil {
				c.CertSubType, c.CertInfo = strings.ToLower(parsed.PublicKeyAlgorithm.String()), parsed.Subject.String()
			}
			out = append(out, c)
		}
	}
	return out
}

// MatchesHost says whether a name fits a pattern with one star.
func MatchesHost(pattern, name string) bool {
	before, after, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	return len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}

// HostKeysOf reads what ssh-keyscan prints, or a known_hosts file: one for each host of each line.
func HostKeysOf(text string) []GivenCertificate {
	var out []GivenCertificate
	for line := range strings.Lines(text) {
		hosts, k, ok := parseHostLine(line)
		if !ok {
			continue
		}
		for _, host := range hosts {
			out = append(out, GivenCertificate{ServerName: host, CertType: CertSSH, CertSubType: k.Type, CertData: []byte(k.Key)})
		}
	}
	return out
}

// Check says what is wrong with somebody to trust.
func (c GivenCertificate) Check() error {
	switch c.CertType {
	case CertSSH:
		_, err := PutHostKey("", c.hostKey(), false)
		return err
	case CertHTTPS:
		return CheckAuthority(string(c.CertData))
	}
	return errors.New("certType is ssh or https")
}

// ConfigMap is the one that has what is trusted of this kind.
func (c GivenCertificate) ConfigMap() string {
	if c.CertType == CertSSH {
		return v1alpha1.ConfigMapSSHKnownHosts
	}
	return v1alpha1.ConfigMapTLSCerts
}

func (c GivenCertificate) hostKey() HostKey {
	key := strings.TrimSpace(string(c.CertData))
	if _, err := base64.StdEncoding.DecodeString(key); err != nil {
		// Some send the key itself, and not its text.
		key = base64.StdEncoding.EncodeToString(c.CertData)
	}
	return HostKey{Host: c.ServerName, Type: c.CertSubType, Key: key}
}

// Put adds what is to be trusted to the data of its config map. Where another one is trusted it takes its place, or is
// refused: ErrOther.
func (c GivenCertificate) Put(data map[string]string, upsert bool) ([]Certificate, error) {
	if c.CertType == CertHTTPS {
		if now, there := data[c.ServerName]; there && strings.TrimSpace(now) != strings.TrimSpace(string(c.CertData)) && !upsert {
			return nil, fmt.Errorf("%q: %w", c.ServerName, ErrOther)
		}
		data[c.ServerName] = string(c.CertData)
		return authorities(map[string]string{c.ServerName: string(c.CertData)}), nil
	}
	k := c.hostKey()
	text, err := PutHostKey(data[v1alpha1.KeySSHKnownHosts], k, upsert)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", c.ServerName, err)
	}
	data[v1alpha1.KeySSHKnownHosts] = text
	return knownHosts(k.Host + " " + k.Type + " " + k.Key), nil
}

// Distrust is who is not to be trusted any more. An empty kind, or *, is every one.
type Distrust struct {
	CertType, CertSubType string
	Takes                 func(host string) bool
}

// every says that a wish is for all of them.
func every(want string) bool { return want == "" || want == "*" }

// Drop takes them out of the data of a config map, and says which.
func (q Distrust) Drop(configMap string, data map[string]string) []Certificate {
	if configMap == v1alpha1.ConfigMapSSHKnownHosts {
		return q.hosts(data)
	}
	return q.authorities(data)
}

func (q Distrust) hosts(data map[string]string) []Certificate {
	if !every(q.CertType) && q.CertType != CertSSH {
		return nil
	}
	text, dropped := DropHostKeys(data[v1alpha1.KeySSHKnownHosts], func(host, is string) bool {
		return q.Takes(host) && (every(q.CertSubType) || q.CertSubType == is)
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

func (q Distrust) authorities(data map[string]string) []Certificate {
	if !every(q.CertType) && q.CertType != CertHTTPS {
		return nil
	}
	var out []Certificate
	for _, host := range slices.Sorted(maps.Keys(data)) {
		theirs := authorities(map[string]string{host: data[host]})
		fits := every(q.CertSubType) || slices.ContainsFunc(theirs, func(c Certificate) bool { return c.CertSubType == q.CertSubType })
		if q.Takes(host) && fits {
			delete(data, host)
			out = append(out, theirs...)
		}
	}
	return out
}

// PublicKey is a key that commits may be signed with. Its JSON is that of Argo CD's API.
type PublicKey struct {
	KeyID       string `json:"keyID"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Owner       string `json:"owner,omitempty"`
	Trust       string `json:"trust,omitempty"`
	SubType     string `json:"subType,omitempty"`
}

// Keys are those that commits may be signed with, by their ids.
func (t Trust) Keys() []PublicKey {
	var out []PublicKey
	for _, id := range slices.Sorted(maps.Keys(t.PublicKeys)) {
		out = append(out, PublicKey{KeyID: id, Trust: "unknown"})
	}
	return out
}

// PutKeys adds armoured keys by their ids to the data of their config map, and says which are new and which were there.
func PutKeys(data, keys map[string]string, upsert bool) (created, skipped []string) {
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		if _, there := data[id]; there && !upsert {
			skipped = append(skipped, id)
			continue
		}
		data[id] = keys[id]
		created = append(created, id)
	}
	return created, skipped
}

// DropKey takes a key out of the data of its config map; it is false where there is none.
func DropKey(data map[string]string, id string) bool {
	for have := range data {
		if strings.EqualFold(have, id) {
			delete(data, have)
			return true
		}
	}
	return false
}
