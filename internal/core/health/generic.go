package health

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Generic judges an object of a kind that nobody described, by the conditions that controllers agree on. The bool says
// whether it has any of them: without them nothing is known, and nothing may wait for it.
//
// A guess is shown to people. Whether it may count is up to the caller, who finds FromConditions as its source.
func Generic(obj *unstructured.Unstructured) (Health, bool) {
	f := &fields{object: obj.Object}
	h, ok := generic(f)
	if !ok || f.problem != "" {
		// A field of that name with another meaning is no mistake of anybody.
		return Health{}, false
	}
	h.Source = FromConditions
	h.Message = shorten(h.Message)
	return h, true
}

// bad are conditions that are True when something is wrong, and not about to mend itself.
var bad = []string{"Stalled", "Failed", "Failure", "Degraded"}

// good are conditions that sum up the others when True, the most telling first.
var good = []string{"Ready", "Available", "Succeeded", "Complete", "Completed", "Healthy"}

func generic(f *fields) (Health, bool) {
	all := f.conditions(statusConditions)
	verdict, decided, found := conventions(all)
	if !found {
		return Health{}, false
	}
	if h, waiting := f.unobservedIfTold(); waiting {
		return h, true
	}
	if seen := decided.ObservedGeneration; seen > 0 {
		if wanted := f.count("metadata", "generation"); wanted > seen {
			return behind(wanted, seen), true
		}
	}
	return verdict, true
}

// conventions are those of the Kubernetes API, of kstatus, and of the operators that followed them.
func conventions(all []condition) (Health, condition, bool) {
	for _, kind := range bad {
		if c := pickCondition(all, kind); c.isTrue() {
			return Health{Status: Degraded, Message: c.text()}, c, true
		}
	}
	synced := pickCondition(all, "Synced")
	if synced.Status == "False" && spellsFailure(synced.Reason) {
		return Health{Status: Degraded, Message: synced.text()}, synced, true
	}
	reconciling := pickCondition(all, "Reconciling")
	for _, kind := range good {
		c := pickCondition(all, kind)
		switch {
		case c.Type == "":
			continue
		case c.Status == "False" && spellsFailure(c.Reason):
			return Health{Status: Degraded, Message: c.text()}, c, true
		case reconciling.isTrue():
			return Health{Status: Progressing, Message: reconciling.text()}, reconciling, true
		case c.isTrue():
			return Health{Status: Healthy}, c, true
		}
		return Health{Status: Progressing, Message: c.text()}, c, true
	}
	// These two say what is going on only when no other sums it up: a Deployment is Progressing for ever.
	for _, kind := range []string{"Reconciling", "Progressing"} {
		switch c := pickCondition(all, kind); {
		case c.isTrue():
			return Health{Status: Progressing, Message: c.text()}, c, true
		case c.Status == "False" && spellsFailure(c.Reason):
			return Health{Status: Degraded, Message: c.text()}, c, true
		case c.Status == "False":
			return Health{Status: Healthy}, c, true
		}
	}
	for _, kind := range bad {
		// What could have gone wrong did not.
		if c := pickCondition(all, kind); c.Status == "False" {
			return Health{Status: Healthy}, c, true
		}
	}
	return Health{}, condition{}, false
}

func pickCondition(all []condition, kind string) condition {
	for _, c := range all {
		if c.Type == kind {
			return c
		}
	}
	return condition{}
}

// spellsFailure says whether a reason tells of a failure and not of work that goes on.
func spellsFailure(reason string) bool {
	for _, word := range []string{"Fail", "Error", "Invalid", "Denied", "Forbidden", "Rejected", "Exceeded", "BackOff", "Unauthorized"} {
		if strings.Contains(reason, word) {
			return true
		}
	}
	return false
}
