package diff

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/gobwas/glob"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/internal/core/field"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/object"
)

// Expr is a compiled jq path expression: it returns the document without what
// the expression selects, and leaves its argument alone.
type Expr func(doc map[string]any) (map[string]any, error)

// NamedExpr is an expression with its text. Problem says why the text could
// not be compiled; Del is then nil.
type NamedExpr struct {
	Source  string
	Del     Expr
	Problem string
}

// Rule selects objects, and the fields of them whose difference does not
// count. Group and Kind are globs, Name and Namespace exact or empty for any;
// an empty Group is the core group.
type Rule struct {
	Group, Kind     string
	Name, Namespace string
	Pointers        []string
	Exprs           []NamedExpr
	Managers        []string
	// Origin is where a person finds the rule, as in
	// "spec.ignoreDifferences[0]".
	Origin string
}

// StatusField says whose top-level status does not count.
type StatusField string

// The choices for StatusField; the default is that of every object.
const (
	StatusOfAll  StatusField = ""
	StatusOfCRDs StatusField = "crd"
	StatusOfNone StatusField = "none"
)

// Options are the rules that need no text. The zero value is the default.
type Options struct {
	Status StatusField
	// AggregatedRoles leaves out the rules of a ClusterRole that a controller
	// fills in from others.
	AggregatedRoles bool
}

// The origins of the rules that Options stand for.
const (
	originStatus     = "argocd-cm resource.compareoptions ignoreResourceStatusField"
	originAggregated = "argocd-cm resource.compareoptions ignoreAggregatedRoles"
)

// Rules are ignore rules ready for use. They do not change; the zero value
// ignores nothing.
type Rules struct{ rules []ready }

// ready is a rule taken apart.
type ready struct {
	Rule

	group, kind *glob.Pattern // nil: could not be read, so it may mean any
	pointers    []pointer
	aggregated  bool
	broken      []string // what cannot be followed, and the way out
	digest      object.Digest
}

// NewRules takes rules apart. What cannot be read is a finding here, and again
// for each object that the rule is for, when it is judged.
func NewRules(in []Rule, o Options) (Rules, []finding.Finding) {
	var out Rules
	var found []finding.Finding
	for _, rule := range in {
		r := prepare(rule)
		for _, b := range r.broken {
			found = append(found, finding.Finding{
				Reason: finding.Comparison, Severity: finding.Warning, Message: r.Origin + ": " + b,
			})
		}
		if slices.Contains(rule.Managers, managerOfOurs) {
			found = append(found, finding.Finding{
				Reason: finding.Comparison, Severity: finding.Warning,
				Message: fmt.Sprintf("%s: ignores the fields of %s, which is who applies what Git says: "+
					"nothing of these objects is compared; name another manager in managedFieldsManagers", r.Origin, managerOfOurs),
			})
		}
		out.rules = append(out.rules, r)
	}
	out.rules = append(out.rules, builtIn(o)...)
	return out, finding.Sort(found)
}

func builtIn(o Options) []ready {
	var out []ready
	switch o.Status {
	case StatusOfNone:
	case StatusOfCRDs:
		out = append(out, prepare(Rule{
			Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Pointers: []string{"/status"}, Origin: originStatus,
		}))
	default:
		out = append(out, prepare(Rule{Group: "*", Kind: "*", Pointers: []string{"/status"}, Origin: originStatus}))
	}
	if o.AggregatedRoles {
		r := prepare(Rule{Group: groupRBAC, Kind: "ClusterRole", Origin: originAggregated})
		r.aggregated = true
		out = append(out, r)
	}
	return out
}

func prepare(rule Rule) ready {
	r := ready{Rule: rule}
	pattern := func(what, text string) *glob.Pattern {
		g, err := glob.Compile(text)
		if err != nil {
			r.broken = append(r.broken, fmt.Sprintf("the %s %q is not a glob (%v); write a name, or * for any", what, text, err))
			return nil
		}
		return g
	}
	r.group, r.kind = pattern("group", rule.Group), pattern("kind", rule.Kind)
	for _, text := range rule.Pointers {
		p, problem := parsePointer(text)
		if problem != "" {
			r.broken = append(r.broken, problem)
			continue
		}
		r.pointers = append(r.pointers, p)
	}
	for _, e := range rule.Exprs {
		if e.Del == nil {
			r.broken = append(r.broken, fmt.Sprintf(
				"the jq expression %q cannot be used (%s); correct it or remove it", e.Source, e.Problem))
		}
	}
	r.digest = digestRule(rule)
	return r
}

// digestRule names what a rule says. Where it stands does not count: moving a
// rule asks no question again.
func digestRule(rule Rule) object.Digest {
	h := sha256.New()
	list := func(in []string) {
		field.HashValue(h, int64(len(in)))
		for _, s := range in {
			field.HashValue(h, s)
		}
	}
	exprs := make([]string, len(rule.Exprs))
	for i, e := range rule.Exprs {
		exprs[i] = e.Source
	}
	list([]string{rule.Group, rule.Kind, rule.Name, rule.Namespace})
	list(rule.Pointers)
	list(exprs)
	list(rule.Managers)
	var d object.Digest
	copy(d[:], h.Sum(nil))
	return d
}

// For are the rules that are about one object.
func (r Rules) For(k object.Key) Rules {
	var out Rules
	for _, rule := range r.rules {
		if rule.about(k) {
			out.rules = append(out.rules, rule)
		}
	}
	return out
}

// Empty reports whether there is no rule.
func (r Rules) Empty() bool { return len(r.rules) == 0 }

func (r *ready) about(k object.Key) bool {
	return (r.Name == "" || r.Name == k.Name) &&
		(r.Namespace == "" || r.Namespace == k.Namespace) &&
		(r.group == nil || r.group.Match(k.Group)) &&
		(r.kind == nil || r.kind.Match(k.Kind))
}

// Digest names what the rules say: their text and order, not where they stand.
func (r Rules) Digest() object.Digest {
	if len(r.rules) == 0 {
		return object.Digest{}
	}
	h := sha256.New()
	for _, rule := range r.rules {
		_, _ = h.Write(rule.digest[:])
	}
	var d object.Digest
	copy(d[:], h.Sum(nil))
	return d
}

// Strip returns both sides without what the rules ignore; the arguments stay
// as they are, and what is not touched is shared with them. A rule that fails
// is a problem and is applied to neither side: sides that agree then still
// agree in truth, but a difference may be one that the user told us to ignore,
// so the object is not judged.
//
// What managers own is left out first, while list items still have their keys;
// then rule after rule, pointers before expressions, each on what the one
// before left.
func (r Rules) Strip(live, predicted *unstructured.Unstructured) (l, p *unstructured.Unstructured, problems []finding.Finding) {
	k := object.KeyOf(live)
	mine := r.For(k)
	if mine.Empty() {
		return live, predicted, nil
	}
	s := sides{key: k, live: live.Object, predicted: predicted.Object}
	s.managers(mine.rules, live, predicted)
	// Put back at the end: often half of an object, and nothing that a rule is
	// about.
	managed := pointer{"metadata", "managedFields"}
	s.live, s.predicted = managed.without(s.live), managed.without(s.predicted)
	for i := range mine.rules {
		s.apply(&mine.rules[i])
	}
	s.tidy()
	return restored(s.live, live), restored(s.predicted, predicted), finding.Sort(s.problems)
}

// sides are two documents on the way through the rules. The maps of the
// originals are never written to.
type sides struct {
	key             object.Key
	live, predicted map[string]any
	problems        []finding.Finding
}

func (s *sides) apply(r *ready) {
	for _, b := range r.broken {
		s.fail(r.Origin, b)
	}
	for _, p := range r.pointers {
		s.live, s.predicted = p.without(s.live), p.without(s.predicted)
	}
	for _, e := range r.Exprs {
		s.expr(r.Origin, e)
	}
	if r.aggregated {
		s.aggregatedRules()
	}
}

func (s *sides) expr(origin string, e NamedExpr) {
	if e.Del == nil {
		return
	}
	l, err := e.Del(s.live)
	var p map[string]any
	if err == nil {
		p, err = e.Del(s.predicted)
	}
	if err == nil {
		s.live, s.predicted = l, p
		return
	}
	reason := err.Error()
	if s.key.Secret() {
		reason = "the details could hold the Secret's values and are not shown"
	}
	s.fail(origin, fmt.Sprintf("the jq expression %q failed: %s; correct the rule, or guard it with ? or select", e.Source, reason))
}

func (s *sides) fail(origin, what string) {
	s.problems = append(s.problems, finding.Finding{
		Reason: finding.Comparison, Severity: finding.Error, Key: s.key,
		Message: fmt.Sprintf("%s is not judged: %s: %s", s.key, origin, what),
	})
}

const groupRBAC = "rbac.authorization.k8s.io"

// aggregatedRules leaves out the rules that a controller copies from other
// ClusterRoles.
func (s *sides) aggregatedRules() {
	if s.live["aggregationRule"] == nil && s.predicted["aggregationRule"] == nil {
		return
	}
	rules := pointer{"rules"}
	s.live, s.predicted = rules.without(s.live), rules.without(s.predicted)
}
