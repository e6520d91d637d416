package rbac

import "fmt"

// maxDocuments is more than a config map can hold.
const maxDocuments = 4 << 20

// maxDepth is how many g lines may lie between a subject and a role.
const maxDepth = 10

// Table is a compiled policy. It does not change, and a nil one refuses all.
type Table struct {
	config Config
	lines
	// lock is the line that makes the table refuse all.
	lock *Problem
}

// lines are rules by their subjects, and who has which roles.
type lines struct {
	by    map[string]*ruleset
	roles map[string][]edge
}

// ruleset are the rules of one subject. Those with a resource in letters are
// found by it; all lists keep the order in which the lines stand.
type ruleset struct {
	named map[string][]*rule
	rest  []*rule
}

func (s *ruleset) of(resource string) []*rule {
	if s == nil {
		return nil
	}
	if named, ok := s.named[resource]; ok {
		return named
	}
	return s.rest
}

// Compile makes a table. It always does: what cannot be read is a problem, and
// gives no rights.
func Compile(c Config) (*Table, []Problem) {
	t := &Table{config: c}
	size := 0
	for _, d := range c.Documents {
		size += len(d.Text)
	}
	if size > maxDocuments {
		t.lock = &Problem{
			Line: Line{Document: "argocd-rbac-cm"}, Cause: fmt.Sprintf("its lines are %d bytes, and %d is the most", size, maxDocuments),
			Effect: "everything is denied to everybody", WayOut: "give roles to groups instead of users",
		}
		return t, []Problem{*t.lock}
	}
	builtins, own := reader{mode: Glob}, reader{mode: c.Mode}
	if !c.NoBuiltin {
		builtins.document(Builtin())
	}
	for _, d := range c.Documents {
		own.document(d)
	}
	t.lines = index(append(builtins.rules, own.rules...), append(builtins.edges, own.edges...))
	if own.lock != nil {
		for _, p := range own.problems {
			if p.Line == *own.lock {
				t.lock = &p
				break
			}
		}
	}
	return t, append(own.problems, t.hintDefault()...)
}

// Grouped says whether a g line of the installation names somebody. A group
// that none names is not looked at.
func (t *Table) Grouped(name string) bool { return t != nil && t.roles[name] != nil }

// Scopes are the claims of a login that hold groups.
func (t *Table) Scopes() []string {
	if t == nil {
		return nil
	}
	return t.config.Scopes
}

func index(rules []*rule, edges []edge) lines {
	out := lines{by: map[string]*ruleset{}, roles: map[string][]edge{}}
	for _, r := range rules {
		s := out.by[r.subject]
		if s == nil {
			s = &ruleset{named: map[string][]*rule{}}
			out.by[r.subject] = s
		}
		s.add(r)
	}
	for _, e := range edges {
		out.roles[e.from] = append(out.roles[e.from], e)
	}
	return out
}

func (s *ruleset) add(r *rule) {
	if resource, ok := r.resource.exact(); ok {
		if _, known := s.named[resource]; !known {
			// The patterns that stand before it and match it come first.
			s.named[resource] = matching(s.rest, resource)
		}
		s.named[resource] = append(s.named[resource], r)
		return
	}
	s.rest = append(s.rest, r)
	for resource, named := range s.named {
		if r.resource.match(resource) {
			s.named[resource] = append(named, r)
		}
	}
}

func matching(rules []*rule, resource string) []*rule {
	var out []*rule
	for _, r := range rules {
		if r.resource.match(resource) {
			out = append(out, r)
		}
	}
	return out
}

// step is a role on the way from a subject: by which line, and from which step.
type step struct {
	name string
	line Line
	from int
}

// view is what counts for a question: the lines of the installation and those
// of one project.
type view struct {
	table   *Table
	project *roles
}

// reach are the subject and all roles that it has, the nearest first.
func (v view) reach(subject string) []step {
	out := []step{{name: subject, from: -1}}
	seen := map[string]bool{subject: true}
	// level is where those begin that are as far away as the last ones.
	for depth, level := 0, 0; depth < maxDepth && level < len(out); depth++ {
		end := len(out)
		for i := level; i < end; i++ {
			for _, edges := range [][]edge{v.table.roles[out[i].name], v.ofProject().roles[out[i].name]} {
				for _, e := range edges {
					if !seen[e.to] {
						seen[e.to] = true
						out = append(out, step{name: e.to, line: e.line, from: i})
					}
				}
			}
		}
		level = end
	}
	return out
}

func (v view) ofProject() lines {
	if v.project == nil {
		return lines{}
	}
	return v.project.lines
}

// rules are the lines about a subject and a resource.
func (v view) rules(subject, resource string) [2][]*rule {
	return [2][]*rule{v.table.by[subject].of(resource), v.ofProject().by[subject].of(resource)}
}

// grouped says whether a g line names a group; others are not looked at.
func (v view) grouped(group string) bool {
	return v.table.roles[group] != nil || v.ofProject().roles[group] != nil
}
