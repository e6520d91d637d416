package health

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// entry is a compiled description of a kind.
type entry struct {
	kind       string
	source     Source
	conditions []string
	observed   []string
	silent     Status
	detail     []string
	phase      []string
	// early rules look at what the user asks for alone; they hold whether or not a controller has seen it.
	early, rules []rule
}

// compile turns a description into rules. The written ones come first, then those of the summing condition.
func (d description) compile() (*entry, error) {
	e := &entry{
		conditions: statusConditions, observed: []string{"status", "observedGeneration"},
		silent: d.Silent, detail: splitPath(d.Detail), phase: splitPath(d.Phase),
	}
	for _, kind := range d.Added {
		if kind != "all" && !slices.Contains(d.Kinds, kind) {
			return nil, fmt.Errorf("%s is added and not described", kind)
		}
	}
	if d.Conditions != "" {
		e.conditions = splitPath(d.Conditions)
	}
	if d.Observed != "" {
		e.observed = splitPath(d.Observed)
	}
	if d.Observed == "none" {
		e.observed = nil
	}
	if d.Group == "" || len(d.Kinds) == 0 {
		return nil, fmt.Errorf("it names no group or no kind")
	}
	texts := append(append([]ruleText{}, d.Rules...), d.readyRules()...)
	if len(texts) == 0 && d.Silent == "" {
		return nil, fmt.Errorf("it has no rules")
	}
	for _, text := range texts {
		r, err := text.compile()
		if err != nil {
			return nil, err
		}
		if r.early() {
			e.early = append(e.early, r)
			continue
		}
		e.rules = append(e.rules, r)
	}
	return e, nil
}

func (d description) source(kind string) Source {
	if slices.Contains(d.Added, kind) || slices.Contains(d.Added, "all") {
		return FromTable
	}
	return FromKind
}

func (d description) readyRules() []ruleText {
	if d.Ready == "" {
		return nil
	}
	rules := []ruleText{{Healthy: d.Ready + " is True"}}
	if d.Pending != "" {
		rules = append(rules, ruleText{Progressing: d.Ready + " is False for " + d.Pending})
	}
	if d.Failing != "" {
		return append(rules,
			ruleText{Degraded: d.Ready + " is False for " + d.Failing},
			ruleText{Progressing: d.Ready + " is False|Unknown"})
	}
	return append(rules, ruleText{Degraded: d.Ready + " is False"}, ruleText{Progressing: d.Ready + " is Unknown"})
}

func (e *entry) judge(f *fields) Health {
	h := e.decide(f)
	h.Source = e.source
	return h
}

func (e *entry) decide(f *fields) Health {
	for i := range e.early {
		if h, ok := e.try(&e.early[i], f); ok {
			return h
		}
	}
	if !hasStatus(f) {
		if e.silent != "" {
			return Health{Status: e.silent}
		}
		return e.waiting()
	}
	if h, waiting := e.unobserved(f); waiting {
		return h
	}
	for i := range e.rules {
		if h, ok := e.try(&e.rules[i], f); ok {
			return h
		}
	}
	if e.phase != nil {
		if phase := scalar(f.value(e.phase...)); phase != "" {
			return Health{Status: Progressing, Message: e.phrase(f, e.phase, phase)}
		}
	}
	return e.waiting()
}

// try gives the verdict of a rule that holds. A condition that speaks of an older spec decides nothing but that the
// newer one is still to be looked at.
func (e *entry) try(r *rule, f *fields) (Health, bool) {
	var why cause
	if !r.holds(f, e, &why) {
		return Health{}, false
	}
	if seen := why.condition.ObservedGeneration; seen > 0 && e.observed != nil {
		if wanted := f.count("metadata", "generation"); wanted > seen {
			return behind(wanted, seen), true
		}
	}
	return Health{Status: r.status, Message: r.message(f, e, &why)}, true
}

func (e *entry) waiting() Health {
	who := e.kind
	if who == "*" {
		who = "object"
	}
	return Health{Status: Progressing, Message: "Waiting for the " + who + "'s controller to report"}
}

func hasStatus(f *fields) bool {
	switch v := f.value("status").(type) {
	case nil:
		return false
	case map[string]any:
		return len(v) > 0
	}
	f.blame([]string{"status"}, "is not a map")
	return true
}

// unobserved is the verdict while the status speaks of an older spec. Some controllers keep the number as a text.
func (e *entry) unobserved(f *fields) (Health, bool) {
	if e.observed == nil {
		return Health{}, false
	}
	var seen int64
	switch v := f.value(e.observed...).(type) {
	case int64:
		seen = v
	case float64:
		seen = int64(v)
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return Health{}, false
		}
		seen = n
	default:
		return Health{}, false
	}
	if wanted := f.count("metadata", "generation"); wanted > seen {
		return behind(wanted, seen), true
	}
	return Health{}, false
}

// phrase is the message about a field: "The phase is Failed: no space left".
func (e *entry) phrase(f *fields, path []string, value string) string {
	text := "The " + path[len(path)-1] + " is " + value
	if value == "true" || value == "false" || value == "" {
		text = strings.Join(path, ".") + " is " + value
	}
	if e.detail == nil {
		return text
	}
	if detail := first(f, e.detail); detail != "" {
		return text + ": " + detail
	}
	return text
}
