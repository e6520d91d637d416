package rbac

import (
	"fmt"
	"slices"
	"strings"
)

// hint tells of a rule that can be read and yet cannot do anything.
func (r *reader) hint(l Line, rule *rule, fields []string) {
	if l.Document == builtinName {
		return
	}
	var cause, wayOut string
	resource, plain := rule.resource.exact()
	action, simple := rule.action.exact()
	object, single := rule.object.exact()
	spaced := slices.IndexFunc(fields[1:5], func(f string) bool { return f != strings.TrimRight(f, " \t") })
	switch {
	case spaced >= 0:
		cause, wayOut = fmt.Sprintf("%q ends with a space, which counts", fields[spaced+1]), "put commas right behind the fields"
	case plain && actionsOf[resource] == nil:
		cause, wayOut = fmt.Sprintf("there is no resource %q", resource), "write one of "+strings.Join(Resources(), ", ")
	case plain && simple && !Known(resource, action) && action != "":
		cause, wayOut = fmt.Sprintf("%s cannot be asked for %q", resource, action), "write one of "+strings.Join(actionsOf[resource], ", ")
	case plain && single && InApplications(resource) && !strings.Contains(object, "/"):
		cause, wayOut = fmt.Sprintf("no application is called %q here", object), fmt.Sprintf("write PROJECT/NAME, as in %q", object+"/*")
	default:
		return
	}
	effect := "it allows nothing"
	if !rule.allow {
		effect = "it denies nothing"
		if spaced >= 0 {
			effect = "it is read without"
		}
	}
	r.problems = append(r.problems, Problem{Line: l, Cause: cause, Effect: effect, WayOut: wayOut, Hint: true})
}

// hintDefault tells of a default role that nothing is said about.
func (t *Table) hintDefault() []Problem {
	role := t.config.Default
	if role == "" || t.by[role] != nil || t.roles[role] != nil {
		return nil
	}
	problem := Problem{
		Line: Line{Document: "policy.default", Text: role}, Cause: fmt.Sprintf("no line is about %q", role),
		Effect: "it allows nothing", WayOut: "write a role that has lines, as in role:readonly", Hint: true,
	}
	if t.by["role:"+role] != nil {
		problem.WayOut = fmt.Sprintf("write %q", "role:"+role)
	}
	return []Problem{problem}
}
