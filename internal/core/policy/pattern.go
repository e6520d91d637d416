package policy

import (
	"fmt"
	"strings"

	"github.com/gobwas/glob"
)

// outcome is what one pattern says about one value.
type outcome int

const (
	misses outcome = iota
	hits
	invalid
)

// pattern is one entry of a list, taken apart. Written is what the user wrote, for the reasons.
type pattern struct {
	written string
	glob    string
	deny    bool
}

func parsePattern(written string) pattern {
	text, deny := strings.CutPrefix(strings.TrimSpace(written), "!")
	return pattern{written: written, glob: text, deny: deny}
}

// match compares a value with the pattern's glob; whether a hit is good or bad is for the caller. A lone "*" takes
// every value, separators or not.
func (p pattern) match(value string, separators ...rune) outcome {
	if p.glob == "*" {
		return hits
	}
	if !strings.ContainsAny(p.glob, `*?[]{}\`) {
		return hitIf(p.glob == value)
	}
	compiled, err := glob.Compile(p.glob, separators...)
	if err != nil {
		return invalid
	}
	return hitIf(compiled.Match(value))
}

func hitIf(yes bool) outcome {
	if yes {
		return hits
	}
	return misses
}

// tally gathers what the rules of a list say once no deny has hit.
type tally struct {
	allow  string   // the first rule that allows
	pass   string   // the first deny rule that did not hit
	broken []string // allow rules that cannot be understood
}

func (t *tally) passed(rule string) {
	if t.pass == "" {
		t.pass = rule
	}
}

func (t *tally) asked(rule string, result outcome) {
	if result == invalid {
		t.broken = append(t.broken, rule)
	}
	if result == hits && t.allow == "" {
		t.allow = rule
	}
}

// verdict words the result; subject is what was asked, list the field of the project, all the rule that would let
// everything in.
func (t *tally) verdict(p Project, subject, list, all string) Verdict {
	if t.allow != "" {
		return allowed("%s is allowed by %s %s of %s", subject, list, t.allow, p.called())
	}
	if t.pass != "" && p.DenyAllowsRest {
		return allowed("%s is allowed by %s %s of %s, which does not deny it", subject, list, t.pass, p.called())
	}
	wayOut := "add it there"
	if t.pass != "" {
		// A list that only denies surprises: it allows nothing.
		wayOut += fmt.Sprintf(", or add %s to allow whatever is not denied", all)
	}
	return refused("%s matches no allow rule in %s of %s%s; %s",
		subject, list, p.called(), brokenHint(t.broken), wayOut)
}

// brokenHint tells of allow rules that were skipped; without it a typing error looks like a rule that is not there.
func brokenHint(broken []string) string {
	if len(broken) == 0 {
		return ""
	}
	return " (skipped, as not a valid pattern: " + strings.Join(broken, ", ") + ")"
}
