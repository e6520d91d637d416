package repair

import "strings"

// variables keeps the last definition of each environment variable, which is
// the one that counts in a container. What was written between two definitions
// saw the earlier one: where it refers to it, its value is put in its place. An
// earlier one that comes from elsewhere has no value to put there; if somebody
// refers to it both stay, and the server refuses them.
func (m *mender) variables(items []any, where string) []any {
	out := items
	for i := 0; i < len(out); {
		name, next := again(out, i)
		if next < 0 {
			i++
			continue
		}
		first, _ := out[i].(map[string]any)
		value, literal := first["value"].(string)
		if first["valueFrom"] == nil && first["value"] == nil {
			literal = true
		}
		if !literal && referred(out[i+1:next+1], name) {
			i++
			continue
		}
		rest := make([]any, 0, len(out)-1)
		rest = append(rest, out[:i]...)
		for j, item := range out[i+1:] {
			if i+1+j <= next {
				item = replaced(item, name, value)
			}
			rest = append(rest, item)
		}
		out = rest
		m.note("%s has %s twice; the last one counts, remove the other", where, name)
	}
	return out
}

// again is where the name of an item comes again, or -1.
func again(items []any, i int) (name string, next int) {
	item, _ := items[i].(map[string]any)
	name, _ = item["name"].(string)
	if name == "" {
		return "", -1
	}
	for j := i + 1; j < len(items); j++ {
		if other, ok := items[j].(map[string]any); ok && other["name"] == name {
			return name, j
		}
	}
	return name, -1
}

func referred(items []any, name string) bool {
	for _, item := range items {
		m, _ := item.(map[string]any)
		if value, ok := m["value"].(string); ok && expand(value, name, "") != value {
			return true
		}
	}
	return false
}

func replaced(item any, name, value string) any {
	m, ok := item.(map[string]any)
	old, isText := m["value"].(string)
	if ok && isText {
		m["value"] = expand(old, name, value)
	}
	return item
}

// expand puts a value in the place of each $(name); $$ is a dollar sign.
func expand(s, name, value string) string {
	reference := "$(" + name + ")"
	var b strings.Builder
	for s != "" {
		switch {
		case strings.HasPrefix(s, "$$"):
			b.WriteString("$$")
			s = s[2:]
		case strings.HasPrefix(s, reference):
			b.WriteString(value)
			s = s[len(reference):]
		default:
			b.WriteByte(s[0])
			s = s[1:]
		}
	}
	return b.String()
}
