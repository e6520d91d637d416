package rbac

import (
	"encoding/csv"
	"fmt"
	"strings"
	"unicode"
)

// rule is a p line.
type rule struct {
	subject                  string
	resource, action, object pattern
	allow                    bool
	// broken says that the line cannot be read as a whole.
	broken bool
	line   Line
}

// edge is a g line.
type edge struct {
	from, to string
	line     Line
}

// reader turns lines into rules and edges.
type reader struct {
	mode Mode
	// own is the only subject that the lines may speak of; empty is any.
	own string

	rules    []*rule
	edges    []edge
	problems []Problem
	// lock is the first line of which nobody can tell whom it concerns.
	lock *Line
}

func (r *reader) document(d Document) {
	number := 0
	for text := range strings.SplitSeq(d.Text, "\n") {
		number++
		r.line(Line{Document: d.Name, Number: number, Text: strings.TrimSpace(text)})
	}
}

func (r *reader) line(l Line) {
	if l.Text == "" || strings.HasPrefix(l.Text, "#") {
		return
	}
	fields, err := split(l.Text)
	if err != nil {
		// Whom it is about can still be told, unless that is what the quotes are around.
		r.unclear(l, plainly(l.Text), fmt.Sprintf("its quotes do not match (%v)", err),
			`write quotes around a whole field, as in "{shop,web}/*"`)
		return
	}
	switch kind := strings.TrimSpace(fields[0]); kind {
	case "p":
		r.permission(l, fields)
	case "g":
		r.membership(l, fields)
	default:
		r.unclear(l, fields, fmt.Sprintf("it begins with %q", kind), "begin with p, g or #, and put commas between the fields")
	}
}

// split takes a line apart as CSV: spaces before a field do not count, those
// after it do.
func split(text string) ([]string, error) {
	if !strings.Contains(text, `"`) {
		return plainly(text), nil
	}
	c := csv.NewReader(strings.NewReader(text))
	c.TrimLeadingSpace = true
	return c.Read()
}

func plainly(text string) []string {
	fields := strings.Split(text, ",")
	for i, f := range fields {
		fields[i] = strings.TrimLeftFunc(f, unicode.IsSpace)
	}
	return fields
}

const permissionFields = 6

func (r *reader) permission(l Line, fields []string) {
	if len(fields) != permissionFields {
		wayOut := "write p, SUBJECT, RESOURCE, ACTION, OBJECT, EFFECT"
		if len(fields) > permissionFields {
			wayOut += `, and quotes around a field with a comma in it`
		}
		r.unclear(l, fields, fmt.Sprintf("it has %d fields", len(fields)), wayOut)
		return
	}
	subject, effect := fields[1], strings.TrimSpace(fields[5])
	switch {
	case effect != "allow" && effect != "deny":
		r.unclear(l, fields, fmt.Sprintf("its effect is %q", effect), "write allow or deny, and comments in lines of their own")
		return
	case strings.TrimSpace(subject) == "":
		r.idle(l, "it has no subject", "name whom it is for")
		return
	case effect == "allow" && r.own != "" && subject != r.own:
		r.unclear(l, fields, fmt.Sprintf("it is about %q", subject), fmt.Sprintf("a role speaks of itself alone, write %q", r.own))
		return
	}
	rule := &rule{subject: subject, allow: effect == "allow", line: l}
	if !rule.allow {
		// What is denied with a space at its end was to be denied without.
		rule.subject = strings.TrimSpace(subject)
	}
	whole := true
	for i, into := range []*pattern{&rule.resource, &rule.action, &rule.object} {
		whole = r.field(rule, fields[i+2], into) && whole
	}
	if !whole {
		return
	}
	r.rules = append(r.rules, rule)
	r.hint(l, rule, fields)
}

// field reads a pattern of a rule. It says whether the rule still stands.
func (r *reader) field(rule *rule, text string, into *pattern) bool {
	if !rule.allow {
		text = strings.TrimSpace(text)
	}
	p, err := compile(r.mode, text)
	if err == nil {
		*into = p
		return true
	}
	problem := Problem{
		Line: rule.line, Cause: fmt.Sprintf("%q is no %s (%v)", short(text), r.mode.called(), err),
		Effect: "it allows nothing", WayOut: "correct it",
	}
	if r.mode == Regex && strings.Contains(text, "*") {
		problem.WayOut = `policy.matchMode is regex: write ".*" for anything`
	}
	if !rule.allow {
		problem.Effect = "it denies whatever stands there"
		*into, rule.broken = anything, true
	}
	r.problems = append(r.problems, problem)
	return !rule.allow
}

func (m Mode) called() string {
	if m == Regex {
		return "regular expression"
	}
	return "glob"
}

// short keeps a message readable.
func short(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

func (r *reader) membership(l Line, fields []string) {
	const wayOut = "write g, SUBJECT, ROLE"
	switch {
	case r.own != "":
		r.unclear(l, fields, "it gives a role to somebody", "name the groups of a role under groups")
		return
	case len(fields) < 3:
		r.unclear(l, fields, "it names no role", wayOut)
		return
	case strings.TrimSpace(fields[1]) == "":
		r.idle(l, "it names nobody", wayOut)
		return
	case strings.TrimSpace(fields[2]) == "":
		r.idle(l, "it names no role", wayOut)
		return
	}
	if len(fields) > 3 {
		r.problems = append(r.problems, Problem{
			Line: l, Cause: fmt.Sprintf("it has %d fields", len(fields)), Effect: "what comes after the role is not read",
			WayOut: wayOut, Hint: true,
		})
	}
	if name := fields[1]; name != strings.TrimRight(name, " \t") {
		r.idle(l, fmt.Sprintf("%q ends with a space, which counts", name), "put commas right behind the fields")
	}
	r.edges = append(r.edges, edge{from: fields[1], to: fields[2], line: l})
}

// idle is for a line that can be read and is about nobody.
func (r *reader) idle(l Line, cause, wayOut string) {
	r.problems = append(r.problems, Problem{Line: l, Cause: cause, Effect: "it does nothing", WayOut: wayOut, Hint: true})
}

// unclear is for a line that cannot be read as a whole; see the package on what
// it does then.
func (r *reader) unclear(l Line, fields []string, cause, wayOut string) {
	problem := Problem{Line: l, Cause: cause, WayOut: wayOut}
	defer func() { r.problems = append(r.problems, problem) }()
	if meantToAllow(l.Text, fields) {
		problem.Effect = "it allows nothing"
		return
	}
	subject, known := r.subjectOf(fields)
	if !known {
		problem.Effect = "everything is denied to everybody, since nobody can tell whom it may have been meant to deny what"
		if r.lock == nil {
			r.lock = &l
		}
		return
	}
	denied := &rule{subject: subject, resource: anything, action: anything, object: anything, broken: true, line: l}
	what := "everything"
	if strings.TrimSpace(fields[0]) == "p" && len(fields) > 2 && len(fields) <= permissionFields {
		what = "what it names"
		for i, into := range []*pattern{&denied.resource, &denied.action, &denied.object} {
			if i+2 >= len(fields) {
				break
			}
			if p, err := compile(r.mode, strings.TrimSpace(fields[i+2])); err == nil && fields[i+2] != "" {
				*into = p
			}
		}
	}
	problem.Effect = fmt.Sprintf("%s is denied to %q, since it may have been meant to deny", what, subject)
	r.rules = append(r.rules, denied)
}

// meantToAllow says that a line which cannot be read was not to deny anything.
func meantToAllow(text string, fields []string) bool {
	last := strings.ToLower(strings.TrimSpace(fields[len(fields)-1]))
	return strings.HasPrefix(last, "allow") && !strings.Contains(strings.ToLower(text), "deny")
}

// subjectOf is whom an unclear line is about. More fields than a line has may
// be several lines, and so about several.
func (r *reader) subjectOf(fields []string) (string, bool) {
	kind := strings.TrimSpace(fields[0])
	several := len(fields) > permissionFields
	if (kind == "p" || kind == "g") && len(fields) > 1 && !several && fields[1] != "" && !strings.Contains(fields[1], `"`) {
		return strings.TrimSpace(fields[1]), true
	}
	// Whatever stands in a role of a project is about that role at least.
	return r.own, r.own != ""
}
