package repository

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// HostKey is a key that an SSH server shows.
type HostKey struct {
	// Host is a name, or [name]:port. Type and Key are as a line of known_hosts has them.
	Host, Type, Key string
}

// check says what is wrong with a key. What is written down becomes a line of a file that is read by position, so nothing
// in it may have spaces.
func (k HostKey) check() error {
	for name, text := range map[string]string{"name of the host": k.Host, "type of the key": k.Type, "key": k.Key} {
		if text == "" || strings.ContainsAny(text, " \t\r\n,#@|*?!") && name == "name of the host" || strings.ContainsAny(text, " \t\r\n") {
			return fmt.Errorf("the %s is missing, or has a character in it that it cannot have", name)
		}
	}
	blob, err := base64.StdEncoding.DecodeString(k.Key)
	if err != nil || len(blob) < 4 {
		return errors.New("the key is not base64 as in known_hosts")
	}
	n := binary.BigEndian.Uint32(blob)
	if uint64(n) > uint64(len(blob)-4) || string(blob[4:4+n]) != k.Type {
		return fmt.Errorf("the key is not one of the type %q", k.Type)
	}
	return nil
}

// parseHostLine reads a line of known_hosts; false is one that is about something else.
func parseHostLine(line string) (hosts []string, k HostKey, ok bool) {
	words := strings.Fields(line)
	if len(words) < 3 || strings.HasPrefix(words[0], "#") || strings.HasPrefix(words[0], "@") {
		return nil, HostKey{}, false
	}
	return strings.Split(words[0], ","), HostKey{Type: words[1], Key: words[2]}, true
}

// PutHostKey adds a key to the lines of known_hosts. Where the host has another key of that type it takes its place, or is
// refused: ErrOther.
func PutHostKey(text string, k HostKey, replace bool) (string, error) {
	if err := k.check(); err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		hosts, is, ok := parseHostLine(line)
		if !ok || is.Type != k.Type || !slices.Contains(hosts, k.Host) {
			continue
		}
		switch {
		case is.Key == k.Key:
			return text, nil
		case !replace:
			return "", ErrOther
		}
	}
	text, _ = DropHostKeys(text, func(host, kind string) bool { return host == k.Host && kind == k.Type })
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + k.Host + " " + k.Type + " " + k.Key + "\n", nil
}

// ErrOther says that something else is trusted there.
var ErrOther = errors.New("another one is trusted there; upsert takes its place")

// DropHostKeys takes keys out of the lines of known_hosts, and says which. All other lines stay as they are.
func DropHostKeys(text string, drop func(host, kind string) bool) (string, []HostKey) {
	var b strings.Builder
	var dropped []HostKey
	for line := range strings.Lines(text) {
		hosts, k, ok := parseHostLine(line)
		if !ok {
			b.WriteString(line)
			continue
		}
		var kept []string
		for _, h := range hosts {
			if !drop(h, k.Type) {
				kept = append(kept, h)
				continue
			}
			dropped = append(dropped, HostKey{Host: h, Type: k.Type, Key: k.Key})
		}
		switch len(kept) {
		case len(hosts):
			b.WriteString(line)
		case 0:
		default:
			// What follows the first word stays as it is.
			_, rest, _ := strings.Cut(strings.TrimLeft(line, " \t"), " ")
			b.WriteString(strings.Join(kept, ",") + " " + rest)
		}
	}
	return b.String(), dropped
}

// CheckAuthority says what is wrong with a PEM text of certificates.
func CheckAuthority(text string) error {
	found := 0
	rest := []byte(text)
	for {
		block, more := pem.Decode(rest)
		if block == nil {
			break
		}
		rest = more
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("the PEM text has a %s in it; only certificates are trusted", block.Type)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return errors.New("the PEM text has a certificate in it that cannot be read")
		}
		found++
	}
	if found == 0 || strings.TrimSpace(string(rest)) != "" {
		return errors.New("it is no PEM text of certificates")
	}
	return nil
}
