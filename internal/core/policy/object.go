package policy

import (
	"fmt"
	"path"
	"strings"
)

// String shows the kind with its group, and the name if there is one.
func (k Kind) String() string {
	s := k.Kind
	if k.Group != "" {
		s = k.Group + "/" + k.Kind
	}
	if k.Name != "" {
		s += " " + k.Name
	}
	return s
}

// Object says whether the project allows an object of a kind. Whether its namespace is allowed is a question for
// DestinationOf.
func Object(p Project, group, kind, name string, namespaced bool) Verdict {
	object := Kind{Group: group, Kind: kind, Name: name}
	scope, white, black := "cluster", p.ClusterWhitelist, p.ClusterBlacklist
	if namespaced {
		scope, white, black = "namespace", p.NamespaceWhitelist, p.NamespaceBlacklist
	}
	for _, rule := range black {
		switch rule.match(object) {
		case invalid:
			return refused("%s is denied by %sResourceBlacklist %q of %s, which is not a valid pattern and so denies "+
				"all; correct that rule", object, scope, rule, p.called())
		case hits:
			return refused("%s is denied by %sResourceBlacklist %q of %s; "+
				"remove the object from the source or the rule from the project", object, scope, rule, p.called())
		case misses:
		}
	}
	if namespaced && p.NamespaceWhitelistNil && len(white) == 0 {
		return Verdict{Allowed: true}
	}
	var broken []string
	for _, rule := range white {
		switch rule.match(object) {
		case invalid:
			broken = append(broken, fmt.Sprintf("%q", rule))
		case hits:
			return Verdict{Allowed: true}
		case misses:
		}
	}
	hints := emptyHint(white) + caseHint(white, object) + brokenHint(broken)
	return refused("%s is not in %sResourceWhitelist of %s%s; add {group: %q, kind: %q} there",
		object, scope, p.called(), hints, group, kind)
}

// match compares with the patterns of path.Match, whose classes are spelled otherwise than those of the other globs:
// Argo CD reads kinds with them.
func (k Kind) match(object Kind) outcome {
	result := hits
	for _, field := range [...][2]string{{k.Group, object.Group}, {k.Kind, object.Kind}, {k.namePattern(), object.Name}} {
		ok, err := path.Match(field[0], field[1])
		if err != nil {
			return invalid
		}
		if !ok {
			result = misses
		}
	}
	return result
}

func (k Kind) namePattern() string {
	if k.Name == "" {
		return "*"
	}
	return k.Name
}

func emptyHint(white []Kind) string {
	if len(white) > 0 {
		return ""
	}
	return " (it is empty and so allows none)"
}

// caseHint finds the rule that was meant: kinds are spelled with capitals.
func caseHint(white []Kind, object Kind) string {
	lower := func(k Kind) Kind {
		return Kind{Group: strings.ToLower(k.Group), Kind: strings.ToLower(k.Kind), Name: k.Name}
	}
	for _, rule := range white {
		if lower(rule).match(lower(object)) == hits {
			return fmt.Sprintf(" (%q differs in upper and lower case)", rule)
		}
	}
	return ""
}
