package rbac

import "strings"

// objects are patterns of objects, found by what stands before the first slash
// where the pattern says it.
type objects struct {
	all   bool
	exact map[string]bool
	under map[string][]pattern
	rest  []pattern
}

func (o *objects) add(p pattern) {
	if p.all() {
		o.all = true
		return
	}
	if text, ok := p.exact(); ok {
		if o.exact == nil {
			o.exact = map[string]bool{}
		}
		o.exact[text] = true
		return
	}
	if first, _, ok := strings.Cut(p.prefix(), "/"); ok {
		if o.under == nil {
			o.under = map[string][]pattern{}
		}
		o.under[first] = append(o.under[first], p)
		return
	}
	o.rest = append(o.rest, p)
}

func (o *objects) has(object string) bool {
	if o.all || o.exact[object] {
		return true
	}
	if len(o.under) > 0 {
		first, _, _ := strings.Cut(object, "/")
		if matches(o.under[first], object) {
			return true
		}
	}
	return matches(o.rest, object)
}

func matches(patterns []pattern, object string) bool {
	for _, p := range patterns {
		if p.match(object) {
			return true
		}
	}
	return false
}

// filter answers for all objects of one resource and action. Those who are
// denied nothing are taken together: that is nearly everybody.
type filter struct {
	free       objects
	restricted []struct{ allow, deny objects }
}

func (f *filter) has(object string) bool {
	if f.free.has(object) {
		return true
	}
	for i := range f.restricted {
		if f.restricted[i].allow.has(object) && !f.restricted[i].deny.has(object) {
			return true
		}
	}
	return false
}

// add takes in what a party may do.
func (f *filter) add(p party, resource, action string) {
	var allow, deny []pattern
	for _, s := range p.reach(p.name) {
		for _, rules := range p.rules(s.name, resource) {
			for _, r := range rules {
				switch {
				case !r.concerns(resource, action):
				case r.allow:
					allow = append(allow, r.object)
				default:
					deny = append(deny, r.object)
				}
			}
		}
	}
	into := &f.free
	if len(allow) == 0 {
		return
	}
	if len(deny) > 0 {
		f.restricted = append(f.restricted, struct{ allow, deny objects }{})
		last := &f.restricted[len(f.restricted)-1]
		for _, d := range deny {
			last.deny.add(d)
		}
		into = &last.allow
	}
	for _, a := range allow {
		into.add(a)
	}
}

// Allowing is Decide for many objects: what is known of the subject, the
// resource and the action is worked out once, and that of a project once for
// all its objects. The function remembers, and so belongs to one goroutine.
func (r *Rights) Allowing(s Subject, resource, action string) func(object string) bool {
	if _, refused := r.refusal(); refused {
		return func(string) bool { return false }
	}
	actions := r.table.actions(resource, action)
	filterOf := func(project string) *filter {
		f := &filter{}
		for _, p := range r.parties(s, project) {
			for _, action := range actions {
				f.add(p, resource, action)
			}
		}
		return f
	}
	base := filterOf("")
	known := r.known(s)
	_, _, ofProject := SplitProjectSubject(s.Name)
	filters := map[string]*filter{}
	return func(object string) bool {
		name := projectOf(resource, object)
		p := r.projects[name]
		if p == nil {
			return base.has(object)
		}
		f := filters[name]
		if f == nil {
			f = base
			if ofProject || p.concern(known) {
				f = filterOf(name)
			}
			filters[name] = f
		}
		return f.has(object)
	}
}

// Allowing is the same by the lines of the installation alone.
func (t *Table) Allowing(s Subject, resource, action string) func(object string) bool {
	return NewRights(t).Allowing(s, resource, action)
}

// known are all names that the subject goes by outside of projects.
func (r *Rights) known(s Subject) map[string]bool {
	out := map[string]bool{}
	base := view{table: r.table}
	for _, name := range append([]string{r.table.config.Default, s.Name}, s.Groups...) {
		for _, step := range base.reach(name) {
			out[step.name] = true
		}
	}
	return out
}

// concern says whether the roles of a project have a line for any of the names.
func (p *roles) concern(names map[string]bool) bool {
	for _, subject := range p.subjects {
		if names[subject] {
			return true
		}
	}
	return false
}
