package truth_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/jsonpath"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// nothing is how a value that is not there is written.
const nothing = "nothing"

// verdict is what a user is told: by the Application and by the command line.
type verdict struct {
	lines []string
	sync  string
}

// add adds a line; one of many is joined to one.
func (v *verdict) add(format string, args ...any) {
	line := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " | ")
	v.lines = append(v.lines, strings.TrimRight(line, " |"))
}

// document is what `towline app diff -o json` prints.
type document struct {
	Status  string
	Objects []struct {
		Kind, Name, Action, Sync string
		Changes                  []struct {
			Path          string
			Live, Desired any
		}
	}
}

// look asks for the verdict. The controller remembers what it asked before;
// the command line does not, and asks the server about everything: the two
// must agree, unless the server does not answer the command line.
func (p *play) look(wanted string) verdict {
	p.Helper()
	// The first look is for the events of the last step to arrive.
	p.refresh()
	out, errOut, code, err := p.towline(p.Context(), "app", "diff", p.situation.name, "-o", "json")
	p.must(err)
	var d document
	switch {
	case out == "" && errOut != "":
		d.Status = string(v1alpha1.SyncStatusCodeUnknown)
	case json.Unmarshal([]byte(out), &d) != nil:
		p.Fatalf("towline app diff ended with %d and said:\n%s%s", code, out, errOut)
	}
	app := p.refresh()
	v := verdict{sync: string(app.Status.Sync.Status)}
	v.add("sync: %s", v.sync)
	if out == "" {
		v.add("diff: %s", errOut)
	}
	if v.sync != d.Status && d.Status != string(v1alpha1.SyncStatusCodeUnknown) {
		p.Errorf("the controller says %s, the command line says %s:\n%s", v.sync, d.Status, out)
	}
	v.changes(d)
	v.conditions(app)
	p.objects(&v, wanted)
	return v
}

// explained is what the command line says of the differences.
func (p *play) explained() verdict {
	p.Helper()
	out, errOut, code, err := p.towline(p.Context(), "app", "explain", p.situation.name)
	p.must(err)
	if code != 0 {
		p.Fatalf("towline app explain ended with %d and said:\n%s%s", code, out, errOut)
	}
	v := verdict{}
	for line := range strings.Lines(out) {
		if strings.TrimSpace(line) != "" {
			v.add("%s", strings.TrimRight(line, "\n"))
		}
	}
	return v
}

func (v *verdict) changes(d document) {
	if len(d.Objects) > 0 {
		v.add("changes:")
	}
	for _, o := range d.Objects {
		switch {
		case o.Sync == string(v1alpha1.SyncStatusCodeUnknown):
			v.add("  %s/%s: unknown", o.Kind, o.Name)
		case len(o.Changes) == 0:
			v.add("  %s/%s: %s", o.Kind, o.Name, o.Action)
		}
		for _, c := range o.Changes {
			v.add("  %s/%s %s: %s -> %s", o.Kind, o.Name, c.Path, value(c.Live), value(c.Desired))
		}
	}
}

func (v *verdict) conditions(app *v1alpha1.Application) {
	if len(app.Status.Conditions) > 0 {
		v.add("conditions:")
	}
	for _, c := range app.Status.Conditions {
		v.add("  %s: %s", c.Type, c.Message)
	}
}

func (v *verdict) operation(app *v1alpha1.Application) {
	op := app.Status.OperationState
	if op == nil {
		v.add("operation: none")
		return
	}
	v.add("operation: %s", op.Phase)
	if op.Phase != v1alpha1.OperationSucceeded {
		v.add("  %s", op.Message)
	}
	if op.SyncResult == nil {
		return
	}
	for _, r := range op.SyncResult.Resources {
		if r.Status != v1alpha1.ResultCodeSynced {
			v.add("  %s/%s %s: %s", r.Kind, r.Name, r.Status, r.Message)
		}
	}
}

func value(v any) string {
	if v == nil {
		return nothing
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// objects reads the fields of live objects that are asked for by lines such as
// `ConfigMap/settings .data = …`.
func (p *play) objects(v *verdict, wanted string) {
	p.Helper()
	for line := range strings.Lines(wanted) {
		head, _, ok := strings.Cut(strings.TrimSpace(line), " = ")
		if !ok || strings.HasPrefix(line, " ") {
			continue
		}
		target, path, _ := strings.Cut(head, " ")
		v.add("%s = %s", head, p.field(target, path))
	}
}

func (p *play) field(target, path string) string {
	p.Helper()
	r, name := p.named(target)
	u, err := r.Get(p.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nothing
	}
	j := jsonpath.New("field").AllowMissingKeys(true)
	p.must(j.Parse("{" + path + "}"))
	found, err := j.FindResults(u.Object)
	p.must(err)
	var out []any
	for _, set := range found {
		for _, f := range set {
			out = append(out, f.Interface())
		}
	}
	switch len(out) {
	case 0:
		return nothing
	case 1:
		return value(out[0])
	}
	return value(out)
}

// compare holds what was seen against a section, or writes it there.
func (p *play) compare(section string, v verdict) {
	p.Helper()
	wanted, _ := p.text(section)
	want := slices.DeleteFunc(strings.Split(wanted, "\n"), func(s string) bool { return strings.TrimSpace(s) == "" })
	got := v.lines
	for i := range got {
		// Where only a part is worth saying, … stands for the rest.
		if j := slices.IndexFunc(want, func(w string) bool { return matches(w, got[i]) }); j >= 0 {
			got[i] = want[j]
		}
	}
	if *update && p.known == "" {
		p.must(p.record(section, strings.Join(got, "\n")+"\n"))
		return
	}
	if d := cmp.Diff(want, got); d != "" {
		p.Errorf("%s: wrong (-want +got):\n%s", section, d)
	}
}

// matches reports whether a line is as wanted, where … stands for anything.
func matches(want, got string) bool {
	parts := strings.Split(want, "…")
	if len(parts) == 1 {
		return want == got
	}
	if !strings.HasPrefix(got, parts[0]) || !strings.HasSuffix(got, parts[len(parts)-1]) {
		return false
	}
	for _, part := range parts {
		_, rest, ok := strings.Cut(got, part)
		if !ok {
			return false
		}
		got = rest
	}
	return true
}
