package object

import (
	"maps"
	"slices"
	"strings"
)

// Labels is a set of labels as one text, "a=1,b=2", sorted. Objects that were
// made from one template have the same text, which is then kept once.
type Labels string

// NewLabels writes labels as one text.
func NewLabels(set map[string]string) Labels {
	if len(set) == 0 {
		return ""
	}
	pairs := make([]string, 0, len(set))
	for _, k := range slices.Sorted(maps.Keys(set)) {
		pairs = append(pairs, k+"="+set[k])
	}
	return Labels(strings.Join(pairs, ","))
}

// Match says whether the labels include all of a selector's. An empty selector
// selects nothing, as in a Service.
func (l Labels) Match(selector Labels) bool {
	if selector == "" {
		return false
	}
	for pair := range strings.SplitSeq(string(selector), ",") {
		if !l.has(pair) {
			return false
		}
	}
	return true
}

func (l Labels) has(pair string) bool {
	for p := range strings.SplitSeq(string(l), ",") {
		if p == pair {
			return true
		}
	}
	return false
}

// Map is the labels as they were given; nil for none.
func (l Labels) Map() map[string]string {
	if l == "" {
		return nil
	}
	out := map[string]string{}
	for pair := range strings.SplitSeq(string(l), ",") {
		k, v, _ := strings.Cut(pair, "=")
		out[k] = v
	}
	return out
}
