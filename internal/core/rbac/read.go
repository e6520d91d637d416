package rbac

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// DefaultScopes are the claims that hold groups where nothing else is said.
func DefaultScopes() []string { return []string{"groups"} }

// Read is what the data of argocd-rbac-cm says.
func Read(data map[string]string) (Config, []Problem) {
	c := Config{Default: strings.TrimSpace(data[v1alpha1.KeyPolicyDefault])}
	var problems []Problem
	var ok bool
	if c.Mode, ok = parseMode(data[v1alpha1.KeyPolicyMatchMode]); !ok {
		problems = append(problems, Problem{
			Line:   Line{Document: v1alpha1.KeyPolicyMatchMode, Text: data[v1alpha1.KeyPolicyMatchMode]},
			Cause:  fmt.Sprintf("%q is neither glob nor regex", data[v1alpha1.KeyPolicyMatchMode]),
			Effect: "patterns are read as globs", WayOut: "write one of the two",
		})
	}
	if c.Scopes, ok = parseScopes(data[v1alpha1.KeyPolicyScopes]); !ok {
		problems = append(problems, Problem{
			Line:   Line{Document: v1alpha1.KeyPolicyScopes, Text: data[v1alpha1.KeyPolicyScopes]},
			Cause:  "it is not a list of names",
			Effect: "no login has any groups", WayOut: `write a list, as in "[groups, email]"`,
		})
	}
	if text := data[v1alpha1.KeyPolicyCSV]; text != "" {
		c.Documents = append(c.Documents, Document{Name: v1alpha1.KeyPolicyCSV, Text: text})
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		switch key {
		case v1alpha1.KeyPolicyCSV, v1alpha1.KeyPolicyDefault, v1alpha1.KeyPolicyMatchMode, v1alpha1.KeyPolicyScopes:
			continue
		}
		if strings.HasPrefix(key, v1alpha1.KeyPolicyPrefix) && strings.HasSuffix(key, v1alpha1.KeyPolicySuffix) {
			c.Documents = append(c.Documents, Document{Name: key, Text: data[key]})
			continue
		}
		problems = append(problems, Problem{
			Line: Line{Document: key}, Cause: "nobody reads a key of this name", Effect: "it does nothing",
			WayOut: "lines stand in policy.csv or in a key like policy.team.csv", Hint: true,
		})
	}
	return c, problems
}

func parseMode(text string) (Mode, bool) {
	switch strings.TrimSpace(text) {
	case "", "glob":
		return Glob, true
	case "regex":
		return Regex, true
	}
	return Glob, false
}

// parseScopes reads a list, or one name alone.
func parseScopes(text string) ([]string, bool) {
	if strings.TrimSpace(text) == "" {
		return DefaultScopes(), true
	}
	var list []string
	if yaml.Unmarshal([]byte(text), &list) == nil {
		return list, true
	}
	var one string
	if yaml.Unmarshal([]byte(text), &one) == nil && one != "" {
		return []string{one}, true
	}
	return nil, false
}
