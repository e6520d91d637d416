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
	if front, back, ok := oneStar(p.glob); ok {
		rest, begins := strings.CutPrefix(value, front)
		rest, ends := strings.CutSuffix(rest, back)
		return hitIf(begins && ends && !strings.ContainsAny(rest, string(separators)))
	}
	compiled, err := glob.Compile(p.glob, separators...)
	if err != nil {
		return invalid
	}
	return hitIf(compiled.Match(value))
}

// oneStar takes apart what most patterns are, a text with one "*" in it: to compile it takes much longer than to ask it.
func oneStar(glob string) (front, back string, ok bool) {
	front, back, ok = strings.Cut(glob, "*")
	return front, back, ok && !strings.ContainsAny(front, `?[]{}\`) && !strings.ContainsAny(back, `*?[]{}\`)
}

func hitIf(yes bool) outcome {
	if yes {
		return hits
	}
	return misses
}

// tally gathers what the rules of a list say once no deny has hit.
type tally struct {
	allow  fmt.Stringer // the first rule that allows
	pass   fmt.Stringer // the first deny rule that did not hit
	broken []string     // allow rules that cannot be understood
}

func (t *tally) passed(rule fmt.Stringer) {
	if t.pass == nil {
		t.pass = rule
	}
}

func (t *tally) asked(rule fmt.Stringer, result outcome) {
	if result == invalid {
		t.broken = append(t.broken, rule.String())
	}
	if result == hits && t.allow == nil {
		t.allow = rule
	}
}

func (t *tally) allows(p Project) bool {
	return t.allow != nil || t.pass != nil && p.DenyAllowsRest
}

// verdict words the result; subject is what was asked, list the field of the project, all the rule that would let
// everything in.
func (t *tally) verdict(p Project, subject fmt.Stringer, list, all string) Verdict {
	if t.allow != nil {
		return allowed("%s is allowed by %s %s of %s", subject, list, t.allow, p.called())
	}
	if t.allows(p) {
		return allowed("%s is allowed by %s %s of %s, which does not deny it", subject, list, t.pass, p.called())
	}
	wayOut := "add it there"
	if t.pass != nil {
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
