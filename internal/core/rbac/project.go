package rbac

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// roles are the compiled roles of a project. They count for questions about
// that project and its objects alone.
type roles struct {
	name string
	// spec is kept to read it anew when the mode changes.
	spec []v1alpha1.ProjectRole
	lines
	// subjects are all who have something to do with the roles.
	subjects []string
}

// compileRoles reads the roles of a project.
func compileRoles(mode Mode, project string, spec []v1alpha1.ProjectRole) (*roles, []Problem) {
	var rules []*rule
	var edges []edge
	var problems []Problem
	for _, role := range spec {
		if role.Name == "" {
			continue
		}
		own := ProjectSubject(project, role.Name)
		document := fmt.Sprintf("project %s, role %s", project, role.Name)
		r := reader{mode: mode, own: own}
		// Who has a role of a project may see the project.
		see := Line{Document: document, Text: fmt.Sprintf("p, %s, %s, %s, %s, allow", own, Projects, Get, project)}
		r.rules = append(r.rules, &rule{
			subject: own, resource: exactly(Projects), action: exactly(Get), object: exactly(project), allow: true, line: see,
		})
		for i, text := range role.Policies {
			for line := range strings.SplitSeq(text, "\n") {
				r.line(Line{Document: document, Number: i + 1, Text: strings.TrimSpace(line)})
			}
		}
		for _, group := range role.Groups {
			// Those who are not signed in have an empty name, and no groups.
			if group == "" {
				continue
			}
			line := Line{Document: document, Text: fmt.Sprintf("g, %s, %s", group, own)}
			r.edges = append(r.edges, edge{from: group, to: own, line: line})
		}
		rules, edges, problems = append(rules, r.rules...), append(edges, r.edges...), append(problems, r.problems...)
	}
	out := &roles{name: project, spec: spec, lines: index(rules, edges)}
	out.subjects = slices.Collect(maps.Keys(out.by))
	for group := range out.roles {
		out.subjects = append(out.subjects, group)
	}
	return out, problems
}

// Rights are a table and the roles of all projects: all that decides. They do
// not change; With, Without and On make others. The nil ones refuse all.
type Rights struct {
	table    *Table
	projects map[string]*roles
}

// NewRights has no projects yet.
func NewRights(t *Table) *Rights { return &Rights{table: t} }

// With adds the roles of projects, or puts them in the place of what stood
// there. It copies the list of projects, so that many are better added at once.
func (r *Rights) With(projects ...*v1alpha1.AppProject) (*Rights, []Problem) {
	out := &Rights{table: r.table, projects: maps.Clone(r.projects)}
	if out.projects == nil {
		out.projects = make(map[string]*roles, len(projects))
	}
	var problems []Problem
	for _, p := range projects {
		spec := make([]v1alpha1.ProjectRole, len(p.Spec.Roles))
		for i := range p.Spec.Roles {
			p.Spec.Roles[i].DeepCopyInto(&spec[i])
		}
		compiled, bad := compileRoles(r.table.mode(), p.Name, spec)
		out.projects[p.Name], problems = compiled, append(problems, bad...)
	}
	return out, problems
}

// Without takes a project away.
func (r *Rights) Without(project string) *Rights {
	out := &Rights{table: r.table, projects: maps.Clone(r.projects)}
	delete(out.projects, project)
	return out
}

// On puts another table under the same projects.
func (r *Rights) On(t *Table) (*Rights, []Problem) {
	out := &Rights{table: t, projects: r.projects}
	if t.mode() == r.table.mode() {
		return out, nil
	}
	out.projects = make(map[string]*roles, len(r.projects))
	var problems []Problem
	for _, name := range slices.Sorted(maps.Keys(r.projects)) {
		compiled, bad := compileRoles(t.mode(), name, r.projects[name].spec)
		out.projects[name], problems = compiled, append(problems, bad...)
	}
	return out, problems
}

// Table is what holds for all projects.
func (r *Rights) Table() *Table {
	if r == nil {
		return nil
	}
	return r.table
}

func (t *Table) mode() Mode {
	if t == nil {
		return Glob
	}
	return t.config.Mode
}
