package health

import (
	"fmt"
	"strconv"
	"strings"
)

// rule gives a status when all its tests hold.
type rule struct {
	status Status
	tests  []test
	say    []piece
}

// test asks one question about an object. It notes what it saw in the cause, for the message.
type test interface {
	holds(f *fields, e *entry, why *cause) bool
	// early says that the answer does not depend on the status.
	early() bool
}

// cause is what a decision was made by: a condition or the value of a field.
type cause struct {
	condition condition
	path      []string
	value     string
}

func (t ruleText) compile() (rule, error) {
	var r rule
	var text string
	for _, s := range []struct {
		status Status
		text   string
	}{
		{Healthy, t.Healthy}, {Suspended, t.Suspended}, {Progressing, t.Progressing}, {Degraded, t.Degraded}, {Unknown, t.Unknown},
	} {
		if s.text == "" {
			continue
		}
		if text != "" {
			return rule{}, fmt.Errorf("the rule %q has a second status", text)
		}
		r.status, text = s.status, s.text
	}
	if text == "" {
		return rule{}, fmt.Errorf("a rule has no status")
	}
	for part := range strings.SplitSeq(text, " and ") {
		one, err := parseTest(strings.TrimSpace(part))
		if err != nil {
			return rule{}, err
		}
		r.tests = append(r.tests, one)
	}
	say, err := parseSay(t.Say)
	r.say = say
	return r, err
}

func (r *rule) early() bool {
	for _, t := range r.tests {
		if !t.early() {
			return false
		}
	}
	return true
}

// holds tells the cause by the first test: the others only say when it counts.
func (r *rule) holds(f *fields, e *entry, why *cause) bool {
	var aside cause
	for _, t := range r.tests {
		if !t.holds(f, e, why) {
			return false
		}
		why = &aside
	}
	return true
}

// message is what the rule says, or else what decided. A healthy object needs no words, and those that controllers
// have for it often change with every revision: each change would be a write.
func (r *rule) message(f *fields, e *entry, why *cause) string {
	switch {
	case r.say != nil:
		return fill(r.say, f, why)
	case r.status == Healthy:
		return ""
	case why.condition.Type != "":
		return why.condition.text()
	case why.path != nil:
		return e.phrase(f, why.path, why.value)
	}
	return e.waiting().Message
}

// parseTest reads one test:
//
//	always
//	Ready is True            a condition; also "is not", "is absent", "is present", "is False|Unknown"
//	Ready is False for A|B*  the same, with its reason
//	status.phase is A|B      a field; also "is not", "is absent", "is present"
//	status.ready < spec.replicas
func parseTest(text string) (test, error) {
	subject, rest, _ := strings.Cut(text, " ")
	if subject == "always" && rest == "" {
		return always{}, nil
	}
	op, rest, _ := strings.Cut(rest, " ")
	isField := strings.HasPrefix(subject, "status.") || strings.HasPrefix(subject, "spec.") || strings.HasPrefix(subject, "metadata.")
	if isField && (op == "<" || op == ">") {
		return parseCompare(subject, op, rest)
	}
	if op != "is" || rest == "" {
		return nil, fmt.Errorf("cannot read the test %q", text)
	}
	rest, not := strings.CutPrefix(rest, "not ")
	if !isField {
		statuses, reasons, _ := strings.Cut(rest, " for ")
		return conditionTest{kind: subject, not: not, statuses: alternatives(statuses), reasons: alternatives(reasons)}, nil
	}
	t := fieldTest{path: splitPath(subject), not: not, values: alternatives(rest)}
	switch rest {
	case "absent":
		t.not, t.values = !not, nil
	case "present":
		t.values = nil
	}
	return t, nil
}

func parseCompare(left, op, right string) (test, error) {
	c := compareTest{left: splitPath(left), less: op == "<"}
	if n, err := strconv.ParseInt(right, 10, 64); err == nil {
		c.number = n
		return c, nil
	}
	if !strings.Contains(right, ".") {
		return nil, fmt.Errorf("%q is neither a number nor a field", right)
	}
	c.right = splitPath(right)
	return c, nil
}

type always struct{}

func (always) holds(*fields, *entry, *cause) bool { return true }
func (always) early() bool                        { return false }

type conditionTest struct {
	kind              string
	not               bool
	statuses, reasons []string
}

func (t conditionTest) early() bool { return false }

func (t conditionTest) holds(f *fields, e *entry, why *cause) bool {
	all := f.conditions(e.conditions)
	found := false
	for i := range all {
		c := &all[i]
		if !matches(t.kind, c.Type) {
			continue
		}
		found = true
		if t.matches(c) != t.not {
			why.condition = *c
			return true
		}
	}
	// An absent condition is nothing that is True, and is absent.
	return !found && (t.not || t.statuses[0] == "absent")
}

func (t conditionTest) matches(c *condition) bool {
	if t.statuses[0] == "absent" || t.statuses[0] != "present" && !oneOf(t.statuses, c.Status) {
		return false
	}
	return len(t.reasons) == 0 || oneOf(t.reasons, c.Reason)
}

// fieldTest compares a field with values; without values it asks whether the field is there.
type fieldTest struct {
	path   []string
	not    bool
	values []string
}

func (t fieldTest) early() bool { return t.path[0] != "status" }

func (t fieldTest) holds(f *fields, _ *entry, why *cause) bool {
	found := false
	f.each(t.path, func(v any) bool {
		value := scalar(v)
		if t.values == nil {
			found = !isEmpty(v)
		} else {
			found = oneOf(t.values, value)
		}
		if found != t.not {
			why.path, why.value = t.path, value
		}
		return !found
	})
	return found != t.not
}

type compareTest struct {
	left, right []string
	number      int64
	less        bool
}

func (t compareTest) early() bool {
	return t.left[0] != "status" && (t.right == nil || t.right[0] != "status")
}

// holds reads an absent left side as zero, as in every count of a status; without a right side there is nothing to say.
func (t compareTest) holds(f *fields, _ *entry, _ *cause) bool {
	left, right := f.count(t.left...), t.number
	if t.right != nil {
		n, found := f.number(t.right...)
		if !found {
			return false
		}
		right = n
	}
	if t.less {
		return left < right
	}
	return left > right
}

// piece is a part of a message: fixed words, or the first of some values that is there.
type piece struct {
	words string
	from  [][]string
	word  string // "message" or "reason" of the deciding condition
	other string // what stands there if no value does
}

// parseSay reads a message such as "{status.ready|0} of {spec.replicas} ready: {message}".
func parseSay(text string) ([]piece, error) {
	var all []piece
	for text != "" {
		words, rest, open := strings.Cut(text, "{")
		if words != "" {
			all = append(all, piece{words: words})
		}
		if !open {
			return all, nil
		}
		inner, after, closed := strings.Cut(rest, "}")
		if !closed {
			return nil, fmt.Errorf("a brace is not closed in %q", text)
		}
		var p piece
		for option := range strings.SplitSeq(inner, "|") {
			switch {
			case option == "message" || option == "reason":
				p.word = option
			case strings.Contains(option, "."):
				p.from = append(p.from, splitPath(option))
			default:
				p.other = option
			}
		}
		all = append(all, p)
		text = after
	}
	return all, nil
}

func fill(pieces []piece, f *fields, why *cause) string {
	var b strings.Builder
	for i := range pieces {
		b.WriteString(pieces[i].fill(f, why))
	}
	// An explanation that is not there leaves its colon behind.
	return strings.TrimRight(b.String(), ": ")
}

func (p *piece) fill(f *fields, why *cause) string {
	switch {
	case p.words != "":
		return p.words
	case p.word == "message":
		if text := why.condition.text(); why.condition.Type != "" {
			return text
		}
	case p.word == "reason" && why.condition.Reason != "":
		return why.condition.Reason
	}
	for _, path := range p.from {
		if text := first(f, path); text != "" {
			return text
		}
	}
	return p.other
}

// first is the first value at a path, as text.
func first(f *fields, path []string) string {
	text := ""
	f.each(path, func(v any) bool {
		text = scalar(v)
		return text == ""
	})
	return text
}

func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

func alternatives(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "|")
}

func oneOf(patterns []string, value string) bool {
	for _, p := range patterns {
		if matches(p, value) {
			return true
		}
	}
	return false
}

// matches compares with a pattern that may begin or end with a star.
func matches(pattern, value string) bool {
	if tail, ok := strings.CutPrefix(pattern, "*"); ok {
		if middle, ok := strings.CutSuffix(tail, "*"); ok {
			return strings.Contains(value, middle)
		}
		return strings.HasSuffix(value, tail)
	}
	if head, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(value, head)
	}
	return pattern == value
}

// splitPath turns "status.parents[].conditions" into segments. A name with dots stands in brackets, as in
// "metadata.annotations[example.com/paused]".
func splitPath(path string) []string {
	var all []string
	for path != "" {
		if rest, ok := strings.CutPrefix(path, "["); ok {
			name, after, _ := strings.Cut(rest, "]")
			if name == "" {
				name = everyItem
			}
			all, path = append(all, name), strings.TrimPrefix(after, ".")
			continue
		}
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			return append(all, path)
		}
		all, path = append(all, path[:end]), strings.TrimPrefix(path[end:], ".")
	}
	return all
}
