package signature

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// seal is the trailer of a commit that vouches for everything before it.
const seal = "argocd-gpg-seal:"

// Commit is a commit as it is signed.
type Commit struct {
	Tree    string
	Parents []string
	// Sealed says that whoever signed it vouches for its ancestors too.
	Sealed    bool
	payload   []byte
	signature string
}

// Tag is an annotated tag as it is signed.
type Tag struct {
	Name string
	// Object is what it points to, a commit.
	Object    string
	payload   []byte
	signature string
}

// Check says who signed the commit.
func (c Commit) Check(keys map[string]string, now time.Time) Signature {
	return Check(c.payload, c.signature, keys, now)
}

// Check says who signed the tag.
func (t Tag) Check(keys map[string]string, now time.Time) Signature {
	return Check(t.payload, t.signature, keys, now)
}

var hash = regexp.MustCompile(`^[0-9a-f]{40}$`)

// header is a line of an object before its message, with the lines that go on from it.
type header struct {
	name, value string
	raw         []byte
}

// split takes an object apart.
func split(data []byte) (headers []header, message []byte, err error) {
	for len(data) > 0 {
		line, rest, ok := bytes.Cut(data, []byte("\n"))
		if !ok || bytes.IndexByte(line, 0) >= 0 {
			return nil, nil, errors.New("a header is cut short")
		}
		if len(line) == 0 {
			return headers, rest, nil
		}
		raw := data[:len(line)+1]
		data = rest
		if line[0] == ' ' {
			if len(headers) == 0 {
				return nil, nil, errors.New("it begins in the middle of a header")
			}
			last := &headers[len(headers)-1]
			last.value += "\n" + string(line[1:])
			last.raw = slices.Concat(last.raw, raw)
			continue
		}
		name, value, spaced := strings.Cut(string(line), " ")
		if !spaced || name == "" {
			return nil, nil, fmt.Errorf("the header %.40q has no value", line)
		}
		headers = append(headers, header{name: name, value: value, raw: raw})
	}
	return nil, nil, errors.New("it has no message")
}

// once are the headers that mean something else when they are there twice.
var once = []string{"tree", "author", "committer", "encoding", "gpgsig", "gpgsig-sha256", "object", "type", "tag", "tagger"}

// unambiguous refuses what two readers could read in two ways.
func unambiguous(headers []header, first []string) error {
	seen := map[string]bool{}
	for i, h := range headers {
		if seen[h.name] && slices.Contains(once, h.name) {
			return fmt.Errorf("it has the header %q twice", h.name)
		}
		seen[h.name] = true
		if i < len(first) && h.name != first[i] {
			return fmt.Errorf("its header %d is %.20q and not %q", i+1, h.name, first[i])
		}
		if strings.Contains(h.value, "\n") && !slices.Contains([]string{"gpgsig", "gpgsig-sha256", "mergetag"}, h.name) {
			return fmt.Errorf("its header %.20q goes over several lines", h.name)
		}
	}
	if len(headers) < len(first) {
		return fmt.Errorf("it has no header %q", first[len(headers)])
	}
	return nil
}

// ParseCommit reads a commit.
func ParseCommit(data []byte) (Commit, error) {
	headers, message, err := split(data)
	if err != nil {
		return Commit{}, fmt.Errorf("reading a commit: %w", err)
	}
	var out Commit
	order := []string{"tree"}
	for range countParents(headers) {
		order = append(order, "parent")
	}
	if err := unambiguous(headers, append(order, "author", "committer")); err != nil {
		return Commit{}, fmt.Errorf("reading a commit: %w", err)
	}
	for _, h := range headers {
		switch h.name {
		case "gpgsig":
			out.signature = h.value
			continue
		case "gpgsig-sha256":
			return Commit{}, errors.New("reading a commit: it is signed for two kinds of hashes")
		case "tree":
			out.Tree = h.value
		case "parent":
			out.Parents = append(out.Parents, h.value)
		}
		if (h.name == "tree" || h.name == "parent") && !hash.MatchString(h.value) {
			return Commit{}, fmt.Errorf("reading a commit: its %s is not a SHA", h.name)
		}
		out.payload = append(out.payload, h.raw...)
	}
	out.payload = slices.Concat(out.payload, []byte("\n"), message)
	out.Sealed = sealed(message)
	return out, nil
}

func countParents(headers []header) int {
	n := 0
	for _, h := range headers {
		if h.name == "parent" {
			n++
		}
	}
	return n
}

// sealed looks for the trailer in the last paragraph of a message.
func sealed(message []byte) bool {
	text := strings.TrimSpace(string(message))
	if at := strings.LastIndex(text, "\n\n"); at >= 0 {
		text = text[at:]
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(line)), seal); ok && strings.TrimSpace(value) != "" {
			return true
		}
	}
	return false
}

// ParseTag reads an annotated tag of a commit.
func ParseTag(data []byte) (Tag, error) {
	headers, message, err := split(data)
	if err == nil {
		err = unambiguous(headers, []string{"object", "type", "tag", "tagger"})
	}
	if err != nil {
		return Tag{}, fmt.Errorf("reading a tag: %w", err)
	}
	if len(headers) != 4 || headers[1].value != "commit" || !hash.MatchString(headers[0].value) {
		return Tag{}, errors.New("reading a tag: it is not the tag of a commit")
	}
	start := len(data) - len(message)
	at := -1
	for offset := start; offset < len(data); {
		for _, begin := range []string{beginPGP, beginPGPm, beginSSH, beginX509} {
			if bytes.HasPrefix(data[offset:], []byte(begin)) {
				at = offset
			}
		}
		end := bytes.IndexByte(data[offset:], '\n')
		if end < 0 {
			break
		}
		offset += end + 1
	}
	out := Tag{Name: headers[2].value, Object: headers[0].value, payload: data}
	if at >= 0 {
		out.payload, out.signature = data[:at], string(data[at:])
	}
	return out, nil
}
