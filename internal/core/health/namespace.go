package health

import "strings"

// namespace is Healthy while it takes objects. Argo CD does not judge it.
func namespace(f *fields) Health {
	if f.text("status", "phase") == "Terminating" {
		return Health{Status: Progressing, Message: "Pending deletion" + strings.Join(holders(f), ""), Source: FromTable}
	}
	return Health{Status: Healthy, Source: FromTable}
}

// holding says what a deletion waits for, where the object tells. Of the built-in kinds only a namespace does.
func holding(f *fields, group, kind string) string {
	if group != "" || kind != "Namespace" {
		return ""
	}
	return strings.Join(holders(f), "")
}

// holders are the conditions that keep a namespace from going away. Each is True while it does.
func holders(f *fields) []string {
	var all []string
	for _, c := range f.conditions(statusConditions) {
		if !c.isTrue() || !strings.HasPrefix(c.Type, "Namespace") || c.Message == "" {
			continue
		}
		sep := "; "
		if len(all) == 0 {
			sep = ": "
		}
		all = append(all, sep+c.Message)
	}
	return all
}
