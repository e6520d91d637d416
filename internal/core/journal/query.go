package journal

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Filter says which records are meant. What is empty is any.
type Filter struct {
	Kinds        []string
	App, Subject string
	// Object is KIND/NAME, or a part of that: "ConfigMap", "/settings". Namespace is that of the object.
	Object, Namespace string
	// Actions are those of deeds.
	Actions      []string
	Since, Until time.Time
	Revision     string
}

// Match is the record with only those of its deeds that are meant, and whether it is meant at all.
func (f Filter) Match(r Record) (Record, bool) {
	switch {
	case len(f.Kinds) > 0 && !slices.Contains(f.Kinds, string(r.Kind)),
		f.App != "" && !f.concerns(r),
		f.Subject != "" && !r.By.Is(Who{Subject: f.Subject}),
		!f.Since.IsZero() && r.Time.Before(f.Since),
		!f.Until.IsZero() && r.Time.After(f.Until),
		f.Revision != "" && !slices.ContainsFunc(r.Revisions, func(s string) bool { return strings.HasPrefix(s, f.Revision) }):
		return r, false
	}
	if f.Object == "" && f.Namespace == "" && len(f.Actions) == 0 {
		return r, true
	}
	r.Objects = slices.DeleteFunc(slices.Clone(r.Objects), func(d Deed) bool { return !f.Deed(d) })
	return r, len(r.Objects) > 0
}

// concerns says that a record is about the application: a request names it as rules do, below its project.
func (f Filter) concerns(r Record) bool {
	return r.App == f.App || r.Asked != nil && strings.HasSuffix(r.Asked.Object, "/"+f.App)
}

// Deed says that something that was done to an object is meant.
func (f Filter) Deed(d Deed) bool {
	kind, name, _ := strings.Cut(f.Object, "/")
	return (kind == "" || strings.EqualFold(kind, d.Kind) || strings.EqualFold(kind, d.Kind+"."+d.Group)) &&
		(name == "" || name == d.Name) && (f.Namespace == "" || f.Namespace == d.Namespace) &&
		(len(f.Actions) == 0 || slices.Contains(f.Actions, string(d.Action)))
}

// Answer says of one deletion who wanted it and why.
type Answer struct {
	Deed Deed `json:"object"`
	// Record has the deletion; Began is the operation that it was part of, and Asked the request for that operation, as far as
	// the log tells.
	Record Record  `json:"record"`
	Began  *Record `json:"began,omitempty"`
	Asked  *Record `json:"asked,omitempty"`
}

// Deletions finds who deleted what. It is shown all records in their order, and keeps no more of them than answers need.
type Deletions struct {
	Filter  Filter
	Answers []Answer

	began map[string]Record
	asked map[string]Record
}

// See takes the next record.
func (q *Deletions) See(r Record) {
	if q.began == nil {
		q.began, q.asked = map[string]Record{}, map[string]Record{}
	}
	switch r.Kind {
	case Began:
		q.began[r.App] = r
	case Request:
		q.request(r)
	case Objects:
		q.objects(r)
	case Opened, Lost, Dropped, Ended, Held, Deletes, Released:
	}
}

// nameOf is an application as rules name it, without its project.
func nameOf(object string) string {
	_, name, ok := strings.Cut(object, "/")
	if !ok {
		return object
	}
	return name
}

func (q *Deletions) objects(r Record) {
	f := q.Filter
	f.Actions = []string{string(Delete)}
	found, ok := f.Match(r)
	if !ok {
		return
	}
	for _, d := range found.Objects {
		if d.Failed != "" {
			continue
		}
		a := Answer{Deed: d, Record: r}
		a.Record.Objects = nil
		if b, ok := q.began[r.App]; ok && b.Operation == r.Operation && r.Operation != "" {
			b.Objects, a.Began = nil, &b
		}
		if asked, ok := q.asked[r.App]; ok && ledTo(asked, a) {
			a.Asked = &asked
		}
		q.Answers = append(q.Answers, a)
	}
}

// request takes what somebody asked for over the API. It is written when it was answered, which may be after what came of it.
func (q *Deletions) request(r Record) {
	if r.Asked == nil || r.Asked.Status >= 300 {
		return
	}
	app := nameOf(r.Asked.Object)
	q.asked[app] = r
	for i := range q.Answers {
		if a := &q.Answers[i]; a.Record.App == app && a.Asked == nil && ledTo(r, *a) {
			a.Asked = &r
		}
	}
}

// ledTo says that a request is the one that a deletion came of: it was for the same application, before it, by whom the
// deletion names.
func ledTo(r Record, a Answer) bool {
	switch by := a.Record.By; {
	case by.Automated || r.Time.After(a.Record.Time):
		return false
	case by.Request != "":
		return by.Request == r.By.Request
	case a.Began != nil:
		return r.By.Is(a.Began.By)
	default:
		return a.Deed.Proof != nil && a.Deed.Proof.Reason == Cascade && strings.HasPrefix(r.Asked.Does, "DELETE ")
	}
}

// Why says in a sentence why an object was deleted.
func (p *Proof) Why() string {
	if p == nil {
		return "not known"
	}
	var b strings.Builder
	b.WriteString(p.Reason)
	if p.Reason == Undesired {
		fmt.Fprintf(&b, ": all of its %d objects were rendered, nothing was left out, and it is not among them", p.Desired)
	}
	if p.Mark != "" {
		fmt.Fprintf(&b, "; it carried the mark of application %q", p.Mark)
	}
	if p.Looked {
		b.WriteString("; a second look at the source found the same")
	}
	if p.Approved != "" {
		b.WriteString("; a person approved it at " + p.Approved)
	}
	return b.String()
}
