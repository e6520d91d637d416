package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/plan"
)

// delta is a plan as a person reads it: the objects that differ, each with its
// fields, and a count of the rest.
type delta struct {
	plan     plan.Plan
	revision string
	palette  palette
}

func (d delta) write(w io.Writer) error {
	var b strings.Builder
	counts := map[plan.Action]int{}
	for _, it := range d.plan.Items {
		if open(it) {
			counts[notKnown]++
		} else {
			counts[it.Action]++
		}
		if it.Action != plan.Unchanged {
			d.item(&b, it)
		}
	}
	fmt.Fprintf(&b, "%s at %s: %s\n", d.palette.paint(bold, "diff"), orNothing(clean(short(d.revision))), summary(counts))
	_, err := io.WriteString(w, b.String())
	return err
}

// notKnown stands in the summary for objects whose action nobody can tell.
const notKnown plan.Action = "unknown"

func open(it plan.Item) bool { return it.Action == plan.Update && it.Sync == plan.Unknown }

func summary(counts map[plan.Action]int) string {
	words := []struct {
		action plan.Action
		text   string
	}{
		{plan.Create, "to create"},
		{plan.Update, "to update"},
		{plan.Prune, "to prune"},
		{plan.RunHook, "to run"},
		{plan.Skip, "left out"},
		{plan.Deny, "denied"},
		{notKnown, "not known"},
		{plan.Unchanged, "unchanged"},
	}
	var out []string
	for _, w := range words {
		if n := counts[w.action]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, w.text))
		}
	}
	if len(out) == 0 {
		return "no objects"
	}
	return strings.Join(out, ", ")
}

// sign and colour of what would happen to an object.
func (d delta) sign(it plan.Item) (string, colour) {
	switch {
	case it.Action == plan.Create:
		return "+", green
	case it.Action == plan.Prune:
		return "-", red
	case it.Action == plan.Update && !open(it):
		return "~", yellow
	case it.Action == plan.RunHook:
		return ">", blue
	}
	return "!", red
}

func (d delta) item(b *strings.Builder, it plan.Item) {
	sign, colour := d.sign(it)
	action := string(it.Action)
	if open(it) {
		action = "not known"
	}
	line := fmt.Sprintf("%s %s  %s", sign, clean(it.Key.String()), action)
	if it.Prunable && it.Live != nil && it.Live.Extra {
		line += ", does not count (IgnoreExtraneous)"
	}
	fmt.Fprintln(b, d.palette.paint(colour, explained(line, it.Reason)))
	for _, c := range it.Verdict.Changes {
		d.change(b, c)
	}
	b.WriteByte('\n')
}

func (d delta) change(b *strings.Builder, c diff.Change) {
	path := clean(c.Path)
	live, desired := text(c.Live), text(c.Desired)
	flat := len(live) <= 1 && len(desired) <= 1
	switch {
	case c.Live == nil && flat:
		fmt.Fprintln(b, "    "+d.palette.paint(green, "+ "+path+": "+only(desired)))
	case c.Desired == nil && flat:
		fmt.Fprintln(b, "    "+d.palette.paint(red, "- "+path+": "+only(live)))
	case flat:
		fmt.Fprintf(b, "    %s %s: %s → %s\n", d.palette.paint(yellow, "~"), path,
			d.palette.paint(red, only(live)), d.palette.paint(green, only(desired)))
	case c.Live == nil:
		d.block(b, d.palette.paint(green, "+ "+path+":"), lineDiff(live, desired))
	case c.Desired == nil:
		d.block(b, d.palette.paint(red, "- "+path+":"), lineDiff(live, desired))
	default:
		d.block(b, d.palette.paint(yellow, "~")+" "+path+":", lineDiff(live, desired))
	}
	for _, h := range c.Holders {
		fmt.Fprintln(b, "      "+d.palette.paint(faint, "held by "+clean(h.Manager)+" ("+how(h)+")"))
	}
}

// block shows a change of a text, a list or a map line by line.
func (d delta) block(b *strings.Builder, head string, edits []edit) {
	fmt.Fprintln(b, "    "+head)
	for _, e := range edits {
		colour := plain
		switch e.sign {
		case "+":
			colour = green
		case "-":
			colour = red
		case "…":
			colour = faint
		}
		fmt.Fprintln(b, "        "+d.palette.paint(colour, strings.TrimRight(e.sign+" "+e.line, " ")))
	}
}

func only(lines []string) string {
	if len(lines) == 0 {
		return "null"
	}
	return lines[0]
}

// text is a value in lines: one for what fits on one, the YAML of anything
// bigger, and nothing for what is not there.
func text(v any) []string {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		if strings.Contains(strings.TrimRight(v, "\n"), "\n") {
			return safeLines(v)
		}
	case map[string]any, []any:
		if out, err := yaml.Marshal(v); err == nil {
			return safeLines(string(out))
		}
	}
	out, err := json.Marshal(v)
	if err != nil {
		return []string{clean(fmt.Sprint(v))}
	}
	return []string{clean(string(out))}
}

// safeLines keeps the indentation that clean would trim.
func safeLines(s string) []string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, l := range lines {
		body := strings.TrimLeft(l, " ")
		lines[i] = strings.Repeat(" ", len(l)-len(body)) + clean(body)
	}
	return lines
}
