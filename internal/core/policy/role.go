package policy

import (
	"fmt"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/object"
)

// Faults are the mistakes in a project that no application would notice, for whoever writes it: in its roles and in its
// windows.
func Faults(p *v1alpha1.AppProject) []finding.Finding {
	var out []finding.Finding
	say := func(format string, args ...any) {
		out = append(out, finding.Finding{
			Reason: finding.InvalidSpec, Severity: finding.Warning, Message: fmt.Sprintf(format, args...),
		})
	}
	if u := object.UnreadableOf(p); u != nil {
		say("project %q: %s", p.Name, u)
	}
	seen := map[string]bool{}
	for i, role := range p.Spec.Roles {
		if role.Name == "" {
			say("roles[%d] has no name, so nobody can have it; name it", i)
		}
		if seen[role.Name] {
			say("roles[%d] has the name %q, which another one has; rename it", i, role.Name)
		}
		seen[role.Name] = true
		for j, line := range role.Policies {
			if why := policyFault(p.Name, role.Name, line); why != "" {
				say("roles[%d].policies[%d] of role %q %s", i, j, role.Name, why)
			}
		}
	}
	for _, fault := range WindowFaults(WindowsOf(p)) {
		say("%s", fault)
	}
	return finding.Sort(out)
}

// policyFault says what is wrong with a line of a role, which may speak of that role and of its project alone.
func policyFault(project, role, line string) string {
	parts := strings.Split(line, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	subject := fmt.Sprintf("proj:%s:%s", project, role)
	if len(parts) != 6 || parts[0] != "p" {
		return fmt.Sprintf("is not of the form \"p, %s, RESOURCE, ACTION, OBJECT, EFFECT\"; correct it", subject)
	}
	switch {
	case parts[1] != subject:
		return fmt.Sprintf("is about %q; a role speaks of itself alone, write %q", parts[1], subject)
	case parts[4] != project && !strings.HasPrefix(parts[4], project+"/"):
		return fmt.Sprintf("is about the object %q; a role speaks of its own project, begin it with %q", parts[4], project+"/")
	case parts[5] != "allow" && parts[5] != "deny":
		return fmt.Sprintf("has the effect %q; write allow or deny", parts[5])
	}
	return ""
}
