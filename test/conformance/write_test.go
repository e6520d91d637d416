package conformance_test

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

// write is one write, as it is told.
type write struct {
	text     string
	from, to time.Time
}

// writes are the implementation's since the case began to count: those of the
// case's objects, not those of its Application. Patches, which take a finalizer
// off or move ownership, are told apart: how that is done is nobody's business.
func (p *play) writes() (writes []write, patches, dryRuns []string) {
	events, err := p.audit.since(p.Context(), p.since, p.house.user)
	p.must(err)
	for _, e := range events {
		if e.Resource == "namespaces" {
			e.Namespace = ""
		}
		namespace := e.Namespace
		ours := namespace == p.ns || strings.HasPrefix(namespace, p.ns+"-") ||
			namespace == "" && (strings.HasPrefix(e.Name, p.ns) || strings.Contains(e.Name, "."+p.ns+"."))
		if e.Group == "argoproj.io" {
			// A status is written by another manager than a manifest.
			ours = strings.HasPrefix(e.Name, p.ns+"-") && e.FieldManager == v1alpha1.FieldManagerApply
		}
		if !ours || e.Code >= 400 && e.Verb == "delete" {
			continue
		}
		name := p.tidy(p.kind(e) + "/" + p.called(e.Namespace, e.Name))
		if e.DryRun {
			dryRuns = append(dryRuns, name)
			continue
		}
		if verb(e) == "patch" {
			patches = append(patches, name)
			continue
		}
		text := verb(e) + " " + name
		if e.Code >= 400 {
			text += " refused"
		}
		if again(writes, text) {
			continue
		}
		writes = append(writes, write{text: text, from: e.Time, to: e.Finished})
	}
	slices.Sort(dryRuns)
	slices.Sort(patches)
	return writes, slices.Compact(patches), slices.Compact(dryRuns)
}

// again says that a delete was asked for before, of the same object: it may
// take its time to go, and asking twice changes nothing.
func again(writes []write, text string) bool {
	if !strings.HasPrefix(text, "delete ") {
		return false
	}
	object := strings.TrimPrefix(text, "delete ")
	for _, w := range slices.Backward(writes) {
		if _, of, _ := strings.Cut(w.text, " "); of == object {
			return w.text == text
		}
	}
	return false
}

// verb is what a request does. However an implementation writes a manifest, it
// is an apply; a patch is a touch of its own.
func verb(e controlplane.Event) string {
	switch {
	case e.Verb == "delete" || e.Verb == "deletecollection":
		return "delete"
	case e.Verb == "patch" && !strings.Contains(e.URI, "force="):
		return "patch"
	default:
		return "apply"
	}
}

func (p *play) kind(e controlplane.Event) string {
	if e.Resource == "widgets" {
		// Its CRD may be gone by now.
		return "Widget"
	}
	gvk, err := p.mapper.KindFor(schema.GroupVersionResource{Group: e.Group, Version: e.Version, Resource: e.Resource})
	if err != nil {
		return e.Resource
	}
	return gvk.Kind
}

// grouped puts writes into lines: what stands on one line may come in any
// order, the lines follow each other. Where the wanted lines fit they are
// taken; else what was on its way at the same time is one line.
func (p *play) grouped(writes []write, wanted []string) []string {
	var lines []string
	if i := slices.Index(wanted, "writes:"); i >= 0 {
		for _, line := range wanted[i+1:] {
			if !strings.HasPrefix(line, "  ") {
				break
			}
			lines = append(lines, line)
		}
	}
	if fit(lines, writes) {
		return lines
	}
	var out [][]string
	var end time.Time
	for _, w := range writes {
		if len(out) == 0 || !w.from.Before(end) {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], w.text)
		end = w.to
	}
	lines = nil
	for _, group := range out {
		slices.Sort(group)
		lines = append(lines, "  "+joined(group))
	}
	return lines
}

// joined writes a verb once for the objects that follow it.
func joined(group []string) string {
	var out []string
	last := ""
	for _, text := range group {
		verb, object, _ := strings.Cut(text, " ")
		if verb == last {
			out = append(out, object)
			continue
		}
		out, last = append(out, text), verb
	}
	return strings.Join(out, " ")
}

// fit says that writes came as the lines want them.
func fit(lines []string, writes []write) bool {
	rest := make([]string, len(writes))
	for i, w := range writes {
		rest[i] = w.text
	}
	for _, line := range lines {
		set := parted(line)
		if len(set) > len(rest) {
			return false
		}
		now := slices.Clone(rest[:len(set)])
		slices.Sort(now)
		if !slices.Equal(set, now) {
			return false
		}
		rest = rest[len(set):]
	}
	return len(rest) == 0
}

// parted undoes joined.
func parted(line string) []string {
	var out []string
	verb := ""
	for word := range strings.FieldsSeq(line) {
		switch {
		case word == "refused":
			out[len(out)-1] += " refused"
		case !strings.Contains(word, "/"):
			verb = word
		default:
			out = append(out, verb+" "+word)
		}
	}
	slices.Sort(out)
	return out
}
