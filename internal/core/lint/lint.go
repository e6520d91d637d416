// Package lint finds, in the files of a repository or in live objects, what
// people write and later wonder about: fields that nobody reads, settings in the
// wrong place, rules that hide too much, waves that cannot be reached. It is given
// the text and must not read a file, ask a cluster or change anything.
package lint

import (
	"cmp"
	"slices"
	"strings"
)

// Severity says whether something does not work, or works and surprises.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Finding is one thing that a person should change.
type Finding struct {
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	// File and Line are where it is written; a live object has neither.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Object is what it is about, and Field the place in it.
	Object string `json:"object,omitempty"`
	Field  string `json:"field,omitempty"`
	// Build is the kustomization that it comes of, where no file has the field.
	Build string `json:"build,omitempty"`
	// Message is the cause, and Fix what to write instead.
	Message string `json:"message"`
	Fix     string `json:"fix"`
}

// File is the text of one.
type File struct {
	// Name is as the person would type it, with slashes.
	Name string
	Text []byte
}

// Repository is what is known of a place that Applications point to.
type Repository struct {
	// URLs are the names that it is known by.
	URLs []string
	// Refs are its branches and tags, without the folders that git keeps them in.
	Refs []string
	// Head is the branch that is looked at, and Folders those that it has; nil is that they are not known.
	Head    string
	Folders map[string]bool
}

// Input is all that is looked at.
type Input struct {
	Files []File
	// Builds are the kustomizations among them; Roots says which are wanted. What was not built is judged as it is written.
	Builds []Build
	// Against are the files as they are now deployed, for changes that a cluster would refuse; nil is that nobody knows.
	Against []File
	// Repositories are those whose branches are known.
	Repositories []Repository
	// Settings says what of argocd-cm cannot be read and what is not honoured, a key each; nil is that nothing is said.
	Settings func(data map[string]string) (problems, notHonoured []string)
	// Live says that the files are objects of a cluster: they stand in no line, and all of them belong together.
	Live bool
	// Skip are the checks that nobody wants.
	Skip []string
}

// Report is what was found.
type Report struct {
	Findings []Finding `json:"findings"`
	// Files is how many were read, and Unread those that could not be, with the reason.
	Files  int      `json:"files"`
	Unread []string `json:"unread,omitempty"`
}

// Failed reports whether there is an error, or anything at all where the
// person is strict.
func (r Report) Failed(strict bool) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return strict || f.Severity == Error })
}

// Check is one thing that is looked for.
type Check struct{ Name, What string }

// Checks are all of them, in the order of their names.
func Checks() []Check {
	out := slices.Clone(checks)
	slices.SortFunc(out, func(a, b Check) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

var checks = []Check{
	{"unreadable", "a file that is no YAML"},
	{"unknown-field", "a field that the kind does not have"},
	{"wrong-type", "a value that does not fit its field"},
	{"window-in-application", "sync windows written into an Application; they belong to its project"},
	{"invalid-spec", "an Application without a source or a destination, or with two of them"},
	{"not-honoured", "what this version knows and does nothing with"},
	{"no-project", "an Application without a project, which is the open default project"},
	{"unknown-project", "a project that is not among the files"},
	{"project-refuses", "a repository or destination that the project does not allow"},
	{"duplicate", "the same object twice"},
	{"same-source", "two Applications that deploy the same"},
	{"unknown-sync-option", "a sync option that nobody knows"},
	{"apply-out-of-sync-only", "ApplyOutOfSyncOnly, which leaves out what a wrong diff calls in sync"},
	{"ignored-spec", "ignoreDifferences of a whole spec or data"},
	{"ignored-selector", "ignoreDifferences of a field that cannot be changed"},
	{"respects-nothing", "RespectIgnoreDifferences without rules"},
	{"target-revision", "a branch or tag that the repository does not have"},
	{"missing-path", "a folder that the repository does not have"},
	{"plugin", "a config management plugin, which has to run beside Towline"},
	{"window", "a sync window that is never open, or never shut"},
	{"missing-key-passes", "a Go template that writes <no value> for what is not there"},
	{"template-style", "placeholders of the other template language"},
	{"wrong-config-map", "a setting in a config map where nobody reads it"},
	{"secret-in-config-map", "a secret in a config map"},
	{"unknown-config-map", "a config map that nobody reads"},
	{"unknown-key", "a setting that nobody knows"},
	{"setting", "a setting that cannot be read"},
	{"rbac", "a line of argocd-rbac-cm that says nothing"},
	{"unknown-annotation", "an annotation that nobody knows"},
	{"annotation-value", "an annotation whose value says nothing"},
	{"unknown-finalizer", "a finalizer that nobody removes"},
	{"unreachable-wave", "a wave that waits for a later one"},
	{"manual-child", "a child Application in a wave that nobody syncs"},
	{"child-health", "waves of child Applications that do not wait for them"},
	{"replicas", "replicas in a manifest that an autoscaler changes"},
	{"selector-mismatch", "a selector that does not fit the pods' labels"},
	{"selector-changed", "a selector that differs from the deployed one"},
	{"selector-labels", "labels that become part of selectors"},
	{"kustomization", "a kustomization that cannot be built"},
}

// Look finds what there is to find.
func Look(in Input) Report {
	l := &look{in: in, repo: newTree()}
	for _, f := range in.Files {
		l.read(f)
	}
	l.repo.settle(l.documents)
	l.raw = slices.Clone(l.documents)
	l.builds()
	for _, d := range l.documents {
		l.document(d)
	}
	l.duplicates()
	l.waves()
	l.autoscalers()
	l.changed()
	slices.SortFunc(l.report.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Object, b.Object),
			cmp.Compare(a.Check, b.Check), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Build, b.Build))
	})
	l.report.Findings = slices.Compact(l.report.Findings)
	l.report.Files = len(in.Files)
	return l.report
}

// look is one under way.
type look struct {
	in Input
	// raw are the objects as they are written, and documents those that are judged.
	raw       []*document
	documents []*document
	repo      *tree
	report    Report
}

// say notes a finding, unless somebody said that it is meant so.
func (l *look) say(d *document, f Finding, path ...any) {
	if slices.Contains(l.in.Skip, f.Check) {
		return
	}
	f.Object, f.Field = d.called(), fieldOf(path)
	if !l.in.Live {
		file, line, known := d.where(path...)
		f.File, f.Line = file.Name, line
		if !known {
			f.Build = d.set
		}
		if excused(file.Text, f.Line, f.Check) {
			return
		}
	}
	l.report.Findings = append(l.report.Findings, f)
}

// Excuse is the comment, on a line or on the one before it, that says that
// something is meant as it is written; the name of the check follows.
const Excuse = "towline:ignore"

func excused(text []byte, line int, check string) bool {
	lines := strings.Split(string(text), "\n")
	for _, i := range []int{line - 1, line - 2} {
		if i < 0 || i >= len(lines) {
			continue
		}
		_, comment, ok := strings.Cut(lines[i], "#")
		if !ok {
			continue
		}
		_, names, ok := strings.Cut(comment, Excuse)
		if ok && slices.Contains(strings.FieldsFunc(names, func(r rune) bool { return r == ' ' || r == ',' || r == ':' }), check) {
			return true
		}
	}
	return false
}

// document looks at one object by itself.
func (l *look) document(d *document) {
	if d.partial {
		return
	}
	l.kustomization(d)
	l.values(d)
	if d.kind == "" {
		return
	}
	l.annotations(d, "metadata")
	l.finalizers(d)
	l.ours(d)
	l.configMap(d)
	l.selectors(d)
}
