package rbac

import (
	"fmt"
	"slices"
	"strings"
)

// party is one of those who are asked for an answer, and what counts for it.
type party struct {
	view
	name string
	// what the party is to the subject, for the sentence.
	as string
}

const (
	asItself  = ""
	asGroup   = "group"
	asDefault = "default role"
)

// parties are all who may say yes, in the order in which they are asked.
func (r *Rights) parties(s Subject, project string) []party {
	base := view{table: r.table}
	var out []party
	role := r.table.config.Default
	// The default role is everybody's, whatever a project says.
	if role != "" {
		out = append(out, party{base, role, asDefault})
	}
	here := base
	if p := r.projects[project]; p != nil {
		here.project = p
		own, _, token := SplitProjectSubject(s.Name)
		// A token of one project is nobody in another.
		if token && own != project {
			return out
		}
		if role != "" {
			out = append(out, party{here, role, asDefault})
		}
		if token {
			return append(out, party{here, s.Name, asItself})
		}
	}
	out = append(out, party{here, s.Name, asItself})
	for _, g := range s.Groups {
		if here.grouped(g) {
			out = append(out, party{here, g, asGroup})
		}
	}
	return out
}

// found is a rule that matches, and the way to it.
type found struct {
	rule *rule
	path []string
}

// ask looks for a rule that denies, and for one that allows.
func (p party) ask(q Question) (allow, deny *found) {
	steps := p.reach(p.name)
	for i, s := range steps {
		for _, rules := range p.rules(s.name, q.Resource) {
			for _, r := range rules {
				if r.allow && allow != nil || !r.concerns(q.Resource, q.Action) || !r.object.match(q.Object) {
					continue
				}
				hit := &found{rule: r, path: way(steps, i)}
				if !r.allow {
					return nil, hit
				}
				allow = hit
			}
		}
	}
	return allow, nil
}

func (r *rule) concerns(resource, action string) bool {
	return r.resource.match(resource) && r.action.match(action)
}

func way(steps []step, i int) []string {
	var out []string
	for ; i >= 0; i = steps[i].from {
		out = append(out, steps[i].name)
	}
	slices.Reverse(out)
	return out
}

// actions are those of which one is enough.
func (t *Table) actions(resource, action string) []string {
	head, _, fine := strings.Cut(action, "/")
	if t.config.Inherit && fine && resource == Applications && (head == Update || head == Delete) {
		return []string{head, action}
	}
	return []string{action}
}

// Decide answers a question by the lines of the installation alone.
func (t *Table) Decide(s Subject, q Question) Verdict { return NewRights(t).Decide(s, q) }

// Decide answers a question.
func (r *Rights) Decide(s Subject, q Question) Verdict {
	if v, refused := r.refusal(); refused {
		return v
	}
	project := projectOf(q.Resource, q.Object)
	var denied *Verdict
	for _, action := range r.table.actions(q.Resource, q.Action) {
		q := Question{q.Resource, action, q.Object}
		for _, p := range r.parties(s, project) {
			allow, deny := p.ask(q)
			if allow != nil {
				return Verdict{Allowed: true, Line: allow.rule.line, Subject: allow.rule.subject, Why: p.sentence(s, q, allow)}
			}
			if deny != nil && denied == nil {
				denied = &Verdict{Line: deny.rule.line, Subject: deny.rule.subject, Why: p.sentence(s, q, deny)}
			}
		}
	}
	if denied != nil {
		return *denied
	}
	return Verdict{Why: r.nothing(s, q, project)}
}

// refusal is the answer where there is nothing to decide by.
func (r *Rights) refusal() (Verdict, bool) {
	if r == nil || r.table == nil {
		return Verdict{Why: "the permissions of this installation were not read yet; try again in a moment"}, true
	}
	if lock := r.table.lock; lock != nil {
		return Verdict{Line: lock.Line, Why: lock.String()}, true
	}
	return Verdict{}, false
}

// sentence says which line decided, and how it comes to be about the subject.
func (p party) sentence(s Subject, q Question, f *found) string {
	verb := "lets %s %s"
	if !f.rule.allow {
		verb = "forbids %s to %s"
	}
	if f.rule.broken {
		verb = "cannot be read, and so " + verb
	}
	out := fmt.Sprintf("%s "+verb, f.rule.line, f.rule.subject, q)
	path := strings.Join(f.path, " > ")
	switch {
	case p.as == asDefault && len(f.path) > 1:
		out += "; everybody has that role by policy.default: " + path
	case p.as == asDefault:
		out += "; everybody has that role by policy.default"
	case len(f.path) > 1:
		out += fmt.Sprintf("; %s has that role: %s", s.called(), path)
	case p.as == asGroup:
		out += fmt.Sprintf("; %s is in that group", s.called())
	}
	if !f.rule.allow {
		out += "; a deny holds whatever else the same one is allowed"
	}
	return out
}

func (s Subject) called() string {
	if s.Name == "" {
		return "somebody who is not signed in"
	}
	return s.Name
}

// nothing says who has no line, and which one would do.
func (r *Rights) nothing(s Subject, q Question, project string) string {
	if own, _, ok := SplitProjectSubject(s.Name); ok && r.projects[project] != nil && own != project {
		return fmt.Sprintf("%s is a role of project %s and has no say in project %s; use a role of that project", s.Name, own, project)
	}
	var asked, idle []string
	here := view{table: r.table, project: r.projects[project]}
	for _, g := range s.Groups {
		if here.grouped(g) {
			asked = append(asked, g)
		} else {
			idle = append(idle, g)
		}
	}
	whom := []string{s.called()}
	if len(asked) > 0 {
		whom = append(whom, plural("the group", asked))
	}
	if role := r.table.config.Default; role != "" {
		whom = append(whom, "the default role "+role)
	}
	out := fmt.Sprintf("no line lets %s %s", strings.Join(whom, " or "), q)
	if len(idle) > 0 {
		out += fmt.Sprintf("; nobody looks at %s, since no line g, GROUP, ROLE names it", plural("the group", idle))
	}
	if s.Name == "" {
		return out + "; sign in"
	}
	return out + fmt.Sprintf("; this one would: p, %s, %s, %s, %s, allow", s.Name, q.Resource, q.Action, q.Object)
}

// plural keeps a login with hundreds of groups readable.
func plural(one string, names []string) string {
	const most = 5
	if len(names) == 1 {
		return one + " " + names[0]
	}
	more := ""
	if len(names) > most {
		names, more = names[:most], fmt.Sprintf(" and %d more", len(names)-most)
	}
	return one + "s " + strings.Join(names, ", ") + more
}
