package policy

import (
	"fmt"
	"strings"
	"time"
	// The zones come with the program: an answer must not depend on what the machine has installed.
	_ "time/tzdata"

	"github.com/robfig/cron/v3"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Window is one entry of a project's syncWindows, read once so that it can be asked often.
type Window struct {
	// Spec is the window as it is written.
	Spec v1alpha1.SyncWindow

	project string
	index   int
	opens   cron.Schedule
	length  time.Duration
	zone    *time.Location
	// problem says why the window cannot be understood, which blocks; note says what was read otherwise than written.
	problem, note string
	// by are the entries that selected a subject; only set on what matching returns.
	by []string
}

// WindowSubject is what windows select: an application and where it goes. Give both the server and the name of the
// cluster: a window may select by either.
type WindowSubject struct {
	App         string
	Namespace   string
	Server      string
	ClusterName string
}

// WindowsOf reads the sync windows of a project. One that cannot be understood is among them: it blocks what it selects.
func WindowsOf(p *v1alpha1.AppProject) []Window {
	out := make([]Window, 0, len(p.Spec.SyncWindows))
	for i, spec := range p.Spec.SyncWindows {
		out = append(out, newWindow(p.Name, i, spec))
	}
	return out
}

func newWindow(project string, index int, spec v1alpha1.SyncWindow) Window {
	w := Window{Spec: spec, project: project, index: index}
	if spec.Kind != v1alpha1.SyncWindowKindAllow && spec.Kind != v1alpha1.SyncWindowKindDeny {
		w.problem = fmt.Sprintf("whose kind is %q, and not allow or deny", spec.Kind)
	}
	var err error
	w.zone, w.note = zoneOf(spec.TimeZone)
	if w.length, err = time.ParseDuration(spec.Duration); err != nil {
		w.problem = fmt.Sprintf("whose duration %q cannot be read (write it as in 8h or 90m)", spec.Duration)
	}
	if w.opens, err = parseSchedule(spec.Schedule); err != nil {
		w.problem = fmt.Sprintf("whose schedule cannot be read: %v", err)
	}
	if len([]rune(spec.Description)) > maxDescription {
		w.note = joinNotes(w.note, fmt.Sprintf("its description has more than %d characters and is cut", maxDescription))
	}
	if len(spec.Applications)+len(spec.Namespaces)+len(spec.Clusters) == 0 {
		w.note = joinNotes(w.note, "it has no applications, namespaces or clusters and so selects nothing")
	}
	return w
}

// maxDescription is how many characters of a description count.
const maxDescription = 255

func joinNotes(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// zoneOf finds the zone by its name. What is no zone is UTC, as in Argo CD; "Local" would be that of the machine.
func zoneOf(name string) (zone *time.Location, note string) {
	if name == "" {
		return time.UTC, ""
	}
	zone, err := time.LoadLocation(name)
	if err != nil || zone == time.Local {
		return time.UTC, fmt.Sprintf("its time zone %q is not known and UTC is used", name)
	}
	return zone, ""
}

// parseSchedule reads a cron expression of five fields. The parser would take a zone in front of it too, and panics on
// some that are wrong; zones have a field of their own.
func parseSchedule(written string) (cron.Schedule, error) {
	if strings.Contains(written, "TZ=") {
		return nil, fmt.Errorf("%q has a time zone; put it into timeZone", written)
	}
	if n := len(strings.Fields(written)); n != fieldsOfCron {
		return nil, fmt.Errorf("%q has %d fields, not %d", written, n, fieldsOfCron)
	}
	s, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(written)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", written, err)
	}
	return s, nil
}

const fieldsOfCron = 5

// selects says by which of its entries the window selects the subject, if it does. Lists that are not there are not
// asked; the others are alternatives, or conditions if the window says so. Where only a pattern that cannot be read
// might have selected it, the window counts as one that does, with a problem: that blocks.
func (w Window) selects(s WindowSubject) (by []string, problem string) {
	lists := []struct {
		name             string
		patterns, values []string
	}{
		{"applications", w.Spec.Applications, []string{s.App}},
		{"namespaces", w.Spec.Namespaces, []string{s.Namespace}},
		{"clusters", w.Spec.Clusters, []string{s.ClusterName, s.Server}},
	}
	var broken []string
	for _, list := range lists {
		if len(list.patterns) == 0 {
			continue
		}
		entry, result := firstHit(list.patterns, list.values)
		entry = fmt.Sprintf("%s %q", list.name, entry)
		switch {
		case result == hits:
			by = append(by, entry)
		case result == invalid:
			broken = append(broken, entry)
		case w.Spec.UseAndOperator:
			return nil, ""
		}
	}
	if len(broken) > 0 && (w.Spec.UseAndOperator || len(by) == 0) {
		return append(by, broken...), fmt.Sprintf("whose %s is not a valid pattern", strings.Join(broken, " and "))
	}
	return by, ""
}

// firstHit is the first pattern that one of the values fits, or else one that cannot be read. A value that is not known
// fits none.
func firstHit(patterns, values []string) (entry string, result outcome) {
	for _, written := range patterns {
		for _, v := range values {
			if v == "" {
				continue
			}
			switch (pattern{written: written, glob: written}).match(v) {
			case hits:
				return written, hits
			case invalid:
				entry, result = written, invalid
			case misses:
			}
		}
	}
	return entry, result
}

// matching are the windows that select the subject.
func matching(windows []Window, s WindowSubject) []Window {
	var out []Window
	for _, w := range windows {
		by, problem := w.selects(s)
		if len(by) == 0 {
			continue
		}
		w.by = by
		if w.problem == "" {
			w.problem = problem
		}
		out = append(out, w)
	}
	return out
}
