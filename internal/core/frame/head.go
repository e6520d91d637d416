package frame

import (
	"bytes"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Head says which object a text is about, and in which state.
type Head struct {
	Kind                     schema.GroupVersionKind
	Namespace, Name, Version string
}

// Known gives the object that a text is about, in what the caller has unless that is nil, where somebody has read that
// state of it before: the answer to a write comes once more in the watch. Nil is that nobody has. What is given is shared,
// and must not be changed.
type Known func(of Head, into runtime.Object) runtime.Object

// Lean reads without managedFields, which are a third of many objects, and nothing that is known.
func Lean(read Read, known Known) Read {
	return func(data []byte, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, bool) {
		m, ok := metaOf(data)
		if !ok {
			return read(data, into)
		}
		head := m.head()
		if o := known(head, into); o != nil {
			return o, &head.Kind, true
		}
		if len(m.managed) == 0 {
			return read(data, into)
		}
		lean := make([]byte, 0, len(data)-len(m.managed))
		lean = append(lean, data[:m.at]...)
		return read(append(lean, data[m.at+len(m.managed):]...), into)
	}
}

// meta is what a text says of its object before the object itself, as parts of the text.
type meta struct {
	api, kind, namespace, name, version []byte
	// managed are the managedFields, with the comma before or after them, and at is where they begin.
	managed []byte
	at      int
}

func (m meta) head() Head {
	return Head{
		Kind:      schema.FromAPIVersionAndKind(string(m.api), string(m.kind)),
		Namespace: string(m.namespace), Name: string(m.name), Version: string(m.version),
	}
}

// metaOf finds the metadata of an object that begins with its version, its kind and its metadata, as servers write it:
// without spaces. False is that it is written in another way, and says nothing about whether it is right.
func metaOf(data []byte) (m meta, ok bool) {
	rest, ok := bytes.CutPrefix(data, []byte(`{"apiVersion":`))
	if !ok {
		return m, false
	}
	if m.api, rest, ok = plain(rest, `,"kind":`); !ok {
		return m, false
	}
	if m.kind, rest, ok = plain(rest, `,"metadata":{`); !ok {
		return m, false
	}
	for more := true; more; {
		if rest, more, ok = m.field(data, rest); !ok {
			return m, false
		}
	}
	return m, true
}

// field reads the next field of the metadata, and says whether another one comes.
func (m *meta) field(data, rest []byte) (after []byte, more, ok bool) {
	at := len(data) - len(rest)
	key, rest, ok := plain(rest, ":")
	if !ok {
		return nil, false, false
	}
	value, rest, ok := valueOf(rest)
	if !ok || len(rest) == 0 {
		return nil, false, false
	}
	switch string(key) {
	case "namespace":
		m.namespace, _, ok = plain(value, "")
	case "name":
		m.name, _, ok = plain(value, "")
	case "resourceVersion":
		m.version, _, ok = plain(value, "")
	case "managedFields":
		ok = m.managed == nil
		m.at, m.managed = at, data[at:len(data)-len(rest)+1]
		if rest[0] != ',' {
			// The last one goes with the comma before it, and the brace stays.
			m.at, m.managed = at-1, data[at-1:len(data)-len(rest)]
			ok = ok && m.managed[0] == ','
		}
	}
	return rest[1:], rest[0] == ',', ok && (rest[0] == ',' || rest[0] == '}')
}

// plain takes a text in quotes and what has to follow it off the front, if it says without escapes what it says.
func plain(data []byte, then string) (text, rest []byte, ok bool) {
	text, rest, ok = quoted(data)
	if !ok || bytes.IndexByte(text, '\\') >= 0 {
		return nil, nil, false
	}
	rest, ok = bytes.CutPrefix(rest, []byte(then))
	return text, rest, ok
}

// quoted takes a text in quotes off the front, with its escapes.
func quoted(data []byte) (text, rest []byte, ok bool) {
	if len(data) == 0 || data[0] != '"' {
		return nil, nil, false
	}
	for i := 1; i < len(data); i++ {
		next := bytes.IndexByte(data[i:], '"')
		if next < 0 {
			return nil, nil, false
		}
		i += next
		slashes := 0
		for data[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return data[1:i], data[i+1:], true
		}
	}
	return nil, nil, false
}

// valueOf takes a value off the front, by its quotes and brackets. Whether it is JSON shows when it is read.
func valueOf(data []byte) (value, rest []byte, ok bool) {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			text, _, ok := quoted(data[i:])
			if !ok {
				return nil, nil, false
			}
			i += len(text) + 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return data[:i], data[i:], i > 0
			}
			depth--
		case ',':
			if depth == 0 {
				return data[:i], data[i:], i > 0
			}
		}
	}
	return nil, nil, false
}
