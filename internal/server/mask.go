package server

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/towline-cd/towline/internal/core/object"
)

// hush hides in a text that somebody else wrote, such as the error of a server, the values that are known to be secret
// and the logins in URLs. Whole answers are not searched for values: the name of a namespace may well be the value of a
// Secret, and an answer without it would be none.
func hush(text string, hidden []string) string {
	for _, form := range hiddenForms(hidden) {
		text = strings.ReplaceAll(text, form, object.Masked)
	}
	return string(withoutLogins([]byte(text)))
}

// leastHidden is how long a value is at least that is looked for: a shorter one would hide words that are none.
const leastHidden = 4

// hiddenForms are how values may be told: as they are, encoded, and quoted. The longest come first, since one may be part
// of another.
func hiddenForms(values []string) []string {
	var out []string
	add := func(text string) {
		if len(text) < leastHidden {
			return
		}
		out = append(out, text)
		if quoted, err := json.Marshal(text); err == nil && len(quoted) > len(text)+2 {
			out = append(out, string(quoted[1:len(quoted)-1]))
		}
	}
	for _, v := range values {
		add(v)
		add(base64.StdEncoding.EncodeToString([]byte(v)))
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(out)
}

const (
	schemeEnd = "://"
	// hiddenLogin stands for a login in a URL.
	hiddenLogin = "******"
)

// withoutLogins hides passwords in URLs, and what stands there alone in URLs of HTTP: that is where people put tokens.
func withoutLogins(body []byte) []byte {
	var out []byte
	last := 0
	for from := 0; ; {
		i := bytes.Index(body[from:], []byte(schemeEnd))
		if i < 0 {
			break
		}
		begin := from + i + len(schemeEnd)
		end, colon := userinfo(body, begin)
		from = begin
		if end < 0 {
			continue
		}
		secretFrom := begin
		switch {
		case colon >= 0:
			secretFrom = colon + 1
		case !bytes.HasSuffix(bytes.ToLower(body[:begin-len(schemeEnd)]), []byte("http")) &&
			!bytes.HasSuffix(bytes.ToLower(body[:begin-len(schemeEnd)]), []byte("https")),
			string(body[begin:end]) == "git":
			// The user of SSH is part of the address.
			continue
		}
		out = append(append(out, body[last:secretFrom]...), hiddenLogin...)
		last, from = end, end
	}
	if last == 0 {
		return body
	}
	return append(out, body[last:]...)
}

// userinfo finds the "@" that ends a login that begins here, and the first ":" in it; -1 is none.
func userinfo(body []byte, begin int) (end, colon int) {
	end, colon = -1, -1
	for i := begin; i < len(body); i++ {
		switch c := body[i]; {
		case c == '@':
			// A password may hold one that is not encoded.
			end = i
		case c == ':' && colon < 0:
			colon = i
		case c == '/' || c == '?' || c == '#' || c == '"' || c == '\\' || c <= ' ' || c == '<' || c == '\'' || c == '`' || c == ',':
			if end < 0 {
				return -1, -1
			}
			if colon > end {
				colon = -1
			}
			return end, colon
		}
	}
	if colon > end {
		colon = -1
	}
	return end, colon
}

// fields leaves of an answer what was asked for: "items.metadata.name,items.spec", or with a "-" before it all but that.
func fields(body []byte, want string) ([]byte, error) {
	if want == "" {
		return body, nil
	}
	rest, except := strings.CutPrefix(want, "-")
	tree := &branch{}
	for path := range strings.SplitSeq(rest, ",") {
		tree.add(strings.Split(strings.TrimSpace(path), "."))
	}
	var value any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		return nil, err
	}
	out, err := json.Marshal(tree.of(value, except))
	return append(out, '\n'), err
}

// branch is the fields that were named below a place.
type branch struct {
	below map[string]*branch
	whole bool
}

func (b *branch) add(path []string) {
	if len(path) == 0 || path[0] == "" {
		b.whole = true
		return
	}
	if b.below == nil {
		b.below = map[string]*branch{}
	}
	next := b.below[path[0]]
	if next == nil {
		next = &branch{}
		b.below[path[0]] = next
	}
	next.add(path[1:])
}

func (b *branch) of(value any, except bool) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = b.of(v[i], except)
		}
		return v
	case map[string]any:
		for name := range v {
			next, named := b.below[name]
			switch {
			case named && next.whole && except, !named && !except:
				delete(v, name)
			case named && !next.whole:
				v[name] = next.of(v[name], except)
			}
		}
		return v
	}
	return value
}
