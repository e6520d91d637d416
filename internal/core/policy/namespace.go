package policy

import (
	"fmt"
	"regexp"
	"strings"
)

// MatchesNamespace says whether a namespace is in a list of globs, or of regular expressions between slashes. broken are
// the entries that cannot be understood, which take in nothing.
func MatchesNamespace(list []string, namespace string) (matches bool, broken []string) {
	for _, written := range list {
		var result outcome
		if inner, ok := strings.CutPrefix(written, "/"); ok && strings.HasSuffix(inner, "/") && len(inner) > 1 {
			expression, err := regexp.Compile(strings.TrimSuffix(inner, "/"))
			result = invalid
			if err == nil {
				result = hitIf(expression.MatchString(namespace))
			}
		} else {
			result = globPattern(written).match(namespace)
		}
		switch result {
		case hits:
			matches = true
		case invalid:
			broken = append(broken, fmt.Sprintf("%q", written))
		case misses:
		}
	}
	return matches, broken
}

// SourceNamespace says whether an application of a namespace may belong to the project. Those of the control namespace
// always may.
func SourceNamespace(p Project, control, namespace string) Verdict {
	if namespace == "" || namespace == control {
		return allowed("namespace %q is the control namespace", control)
	}
	matches, broken := MatchesNamespace(p.SourceNamespaces, namespace)
	if matches {
		return allowed("namespace %q is allowed by sourceNamespaces of project %q", namespace, p.Name)
	}
	return refused("applications of namespace %q may not belong to project %q: it is not in sourceNamespaces%s; add it there, "+
		"or move the application to namespace %q", namespace, p.Name, brokenHint(broken), control)
}
