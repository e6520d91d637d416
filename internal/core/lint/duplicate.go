package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/policy"
)

// duplicates tells of objects that are there twice, and of Applications that
// deploy the same.
func (l *look) duplicates() {
	first, sources := map[string]*document{}, map[string]*document{}
	for _, d := range l.documents {
		if d.partial || d.group() != v1alpha1.Group || d.name == "" ||
			!slices.Contains([]string{v1alpha1.ApplicationKind, v1alpha1.ApplicationSetKind, v1alpha1.AppProjectKind}, d.kind) {
			continue
		}
		// What two kustomizations build is for two places.
		name := d.set + "\n" + d.called()
		if was := first[name]; was != nil {
			l.duplicate(d, was)
			continue
		}
		first[name] = d
		key := deploys(d)
		if key == "" {
			continue
		}
		key = d.set + "\n" + key
		if was := sources[key]; was != nil {
			l.say(d, Finding{
				Check: "same-source", Severity: Warning,
				Message: fmt.Sprintf("%s deploys the same folder to the same place: each takes the objects from the other", was.called()),
				Fix:     "delete one of the two, or give one another namespace",
			}, "spec")
		}
		sources[key] = d
	}
}

func (l *look) duplicate(d, was *document) {
	f := Finding{
		Check: "duplicate", Severity: Warning,
		Message: fmt.Sprintf("%s is in %s line %d, too", d.called(), was.file.Name, was.node.Line),
		Fix:     "rename or delete one of the two, unless they are for different clusters",
	}
	if d.dir() == was.dir() {
		f.Severity, f.Fix = Error, "rename or delete one of the two: the last one that is applied wins"
	}
	l.say(d, f, "metadata", "name")
}

// deploys is what an Application deploys, and where; empty where that is not known.
func deploys(d *document) string {
	if d.kind != v1alpha1.ApplicationKind {
		return ""
	}
	app := decode[v1alpha1.Application](&look{}, d)
	if app == nil || len(app.Sources()) != 1 {
		return ""
	}
	s, to := app.Sources()[0], app.Spec.Destination
	// The same chart twice is common: it has other values.
	if s.Chart != "" || s.Path == "" || s.Helm != nil || s.Kustomize != nil || s.Plugin != nil || s.Directory != nil {
		return ""
	}
	return strings.Join([]string{policy.Spelling(s.RepoURL), s.Path, s.TargetRevision, to.Server, to.Name, to.Namespace}, "\n")
}
