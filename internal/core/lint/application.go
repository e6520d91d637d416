package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/policy"
)

// subject is an Application, or the one that a set is a template of.
type subject struct {
	*document
	// prefix is where it stands in its document.
	prefix []any
	// patched is that a template patch or a kustomization may have more to say.
	patched bool
	app     *v1alpha1.Application
}

// place is one within the Application.
func (s subject) place(path ...any) []any { return slices.Concat(s.prefix, path) }

// templated says that what was written is filled in later.
func templated(text string) bool { return strings.Contains(text, "{{") }

func (l *look) application(s subject) {
	l.validity(s)
	l.options(s)
	l.ignored(s)
	l.membership(s)
	l.sources(s)
}

// validity is what the controller would say of the spec by itself.
func (l *look) validity(s subject) {
	for _, f := range plan.Validate(s.app) {
		path := s.place("spec")
		switch {
		case strings.Contains(f.Message, "syncOptions"):
			continue // told with what was meant
		case strings.Contains(f.Message, v1alpha1.AnnotationCompareOptions):
			path = s.place("metadata", "annotations", v1alpha1.AnnotationCompareOptions)
		case strings.Contains(f.Message, "destination"):
			path = s.place("spec", "destination")
		case strings.Contains(f.Message, "sourceHydrator"):
			path = s.place("spec", "sourceHydrator")
		case strings.Contains(f.Message, "source"):
			path = s.place("spec", "source")
		}
		if s.patched && strings.Contains(f.Message, "has no ") {
			continue
		}
		cause, fix, found := strings.Cut(f.Message, "; ")
		out := Finding{Check: "invalid-spec", Severity: Error, Message: cause, Fix: fix}
		if strings.Contains(f.Message, "not honoured") {
			out.Check, out.Severity = "not-honoured", Warning
		}
		if !found {
			out.Fix = "take it out, or keep this application with a version that honours it"
		}
		l.say(s.document, out, path...)
	}
}

// The options that do not exist in any version and still go from one guide to
// the next, and what they are thought to do.
var folklore = map[string]string{
	"IgnoreMissingTemplate": "it is no sync option; what an ApplicationSet does about missing parameters is said by " +
		"goTemplateOptions, and hiding an error there deletes Applications",
}

var optionNames = []string{
	v1alpha1.SyncOptionValidate, v1alpha1.SyncOptionCreateNamespace, v1alpha1.SyncOptionPruneLast,
	v1alpha1.SyncOptionPrunePropagationPolicy, v1alpha1.SyncOptionPrune, v1alpha1.SyncOptionDelete, v1alpha1.SyncOptionReplace,
	v1alpha1.SyncOptionForce, v1alpha1.SyncOptionServerSideApply, v1alpha1.SyncOptionClientSideApplyMigration,
	v1alpha1.SyncOptionApplyOutOfSyncOnly, v1alpha1.SyncOptionSkipDryRunOnMissingResource,
	v1alpha1.SyncOptionRespectIgnoreDifferences, v1alpha1.SyncOptionFailOnSharedResource,
}

// options looks at the sync options.
func (l *look) options(s subject) {
	for i, option := range plan.OptionsOf(s.app) {
		path := s.place("spec", "syncPolicy", "syncOptions", i)
		if f, ok := optionFinding(option); ok {
			l.say(s.document, f, path...)
			continue
		}
		name, value, _ := strings.Cut(strings.ReplaceAll(option, " ", ""), "=")
		switch {
		case name == v1alpha1.SyncOptionApplyOutOfSyncOnly && value != v1alpha1.SyncOptionValueFalse:
			l.say(s.document, Finding{
				Check: "apply-out-of-sync-only", Severity: Warning,
				Message: "with Argo CD, an object that its own diff wrongly calls in sync is never applied, " +
					"which happens to removed keys and under server-side apply",
				Fix: "take the line out: Towline asks the server about every change and writes only what differs anyway",
			}, path...)
		case name == v1alpha1.SyncOptionRespectIgnoreDifferences && value != v1alpha1.SyncOptionValueFalse &&
			len(s.app.Spec.IgnoreDifferences) == 0:
			l.say(s.document, Finding{
				Check: "respects-nothing", Severity: Warning,
				Message: "there is no ignoreDifferences here that it could respect",
				Fix:     "name the fields in spec.ignoreDifferences, unless argocd-cm has such rules",
			}, path...)
		}
	}
}

// optionFinding is what is wrong with one option, wherever it is written.
func optionFinding(option string) (Finding, bool) {
	name, value, assigned := strings.Cut(strings.ReplaceAll(option, " ", ""), "=")
	if !assigned {
		value = v1alpha1.SyncOptionValueTrue
	}
	f := Finding{Check: "unknown-sync-option", Severity: Error, Message: fmt.Sprintf("%q is no sync option, and does nothing", option)}
	if why, ok := folklore[name]; ok {
		f.Fix = "take it out: " + why
		return f, true
	}
	if slices.Contains(plan.OptionValues(name), value) {
		return Finding{}, false
	}
	if values := plan.OptionValues(name); values != nil {
		f.Message = fmt.Sprintf("%q is none of the values of %s that mean something here", value, name)
		f.Fix = "write one of " + strings.Join(values, ", ")
		return f, true
	}
	f.Fix = "take it out"
	if meant := nearest(name, optionNames); meant != "" {
		f.Fix = fmt.Sprintf("write %s=%s, if that is meant", meant, value)
	}
	return f, true
}

var (
	wholePointers = []string{"", "/", "/spec", "/data", "/spec/template", "/spec/template/spec"}
	wholePaths    = []string{".", ".spec", ".data", ".spec.template", ".spec.template.spec"}
	fixedPointers = []string{"/spec/selector", "/spec/selector/matchLabels", "/spec/volumeClaimTemplates", "/spec/clusterIP"}
	fixedPaths    = []string{".spec.selector", ".spec.selector.matchLabels", ".spec.volumeClaimTemplates"}
)

// ignored looks at what is not compared.
func (l *look) ignored(s subject) {
	for i, rule := range s.app.Spec.IgnoreDifferences {
		for j, pointer := range rule.JSONPointers {
			l.ignoredPath(s, rule.Kind, pointer, s.place("spec", "ignoreDifferences", i, "jsonPointers", j))
		}
		for j, expression := range rule.JQPathExpressions {
			l.ignoredPath(s, rule.Kind, expression, s.place("spec", "ignoreDifferences", i, "jqPathExpressions", j))
		}
	}
}

func (l *look) ignoredPath(s subject, kind, written string, path []any) {
	bare := strings.TrimSuffix(strings.TrimSpace(written), "/")
	switch {
	case slices.Contains(wholePointers, bare), slices.Contains(wholePaths, bare):
		message := fmt.Sprintf("no change of %s is seen for any %s: what Git says there does not count any more", written, kind)
		if plan.Respects(s.app) {
			message += ", and RespectIgnoreDifferences keeps it from being applied, too"
		}
		l.say(s.document, Finding{
			Check: "ignored-spec", Severity: Warning, Message: message,
			Fix: "name the fields that somebody else sets, or that somebody in managedFieldsManagers; with Towline, " +
				"fields that others own do not count, so the rule may not be needed at all",
		}, path...)
	case slices.Contains(fixedPointers, bare), slices.Contains(fixedPaths, bare):
		l.say(s.document, Finding{
			Check: "ignored-selector", Severity: Warning,
			Message: fmt.Sprintf("%s of a %s cannot be changed; ignoring it hides that the object in the cluster is another one "+
				"than in Git, and the next apply is refused all the same", written, kind),
			Fix: "let the object be made anew once, with the annotation " + v1alpha1.AnnotationSyncOptions +
				": Force=true,Replace=true in its manifest, and take the rule out",
		}, path...)
	}
}

// membership looks at the project.
func (l *look) membership(s subject) {
	name := s.app.Spec.Project
	switch {
	case name == "" && !s.patched:
		l.say(s.document, Finding{
			Check: "no-project", Severity: Warning,
			Message: "without a project this belongs to the default one, which usually allows everything",
			Fix:     "name one in spec.project; \"default\" says that it is meant",
		}, s.place("spec", "project")...)
		return
	case templated(name), l.in.Live, name == "":
		return
	}
	project, some := l.declared(name)
	if project == nil {
		if some && name != v1alpha1.DefaultProjectName {
			l.say(s.document, Finding{
				Check: "unknown-project", Severity: Warning,
				Message: fmt.Sprintf("no AppProject %q is among these files", name), Fix: "correct the name, or add the project",
			}, s.place("spec", "project")...)
		}
		return
	}
	rules := policy.Of(project)
	refuse := func(v policy.Verdict, path ...any) {
		if v.Allowed {
			return
		}
		cause, fix, _ := strings.Cut(v.Reason, "; ")
		l.say(s.document, Finding{Check: "project-refuses", Severity: Error, Message: cause, Fix: fix}, s.place(path...)...)
	}
	for i, source := range s.app.Sources() {
		if !templated(source.RepoURL) && source.RepoURL != "" {
			refuse(policy.Source(rules, source.RepoURL), sourcePath(s.app, i, "repoURL")...)
		}
	}
	d := s.app.Spec.Destination
	if !templated(d.Server+d.Name+d.Namespace) && d.Server+d.Name != "" && (d.Server == "" || d.Name == "") {
		refuse(policy.DestinationOf(rules, d.Server, d.Name, d.Namespace), "spec", "destination")
	}
}

// declared is a project among the files, and whether there are any.
func (l *look) declared(name string) (project *v1alpha1.AppProject, some bool) {
	for _, d := range l.documents {
		if d.kind != v1alpha1.AppProjectKind || d.group() != v1alpha1.Group || d.partial {
			continue
		}
		some = true
		if d.name == name {
			return decode[v1alpha1.AppProject](&look{}, d), true
		}
	}
	return nil, some
}

// sourcePath is a field of a source.
func sourcePath(app *v1alpha1.Application, i int, field string) []any {
	if len(app.Spec.Sources) > 0 {
		return []any{"spec", "sources", i, field}
	}
	return []any{"spec", "source", field}
}

var commit = regexp.MustCompile(`^[0-9a-f]{7,40}$`)

// sources looks at where manifests come from.
func (l *look) sources(s subject) {
	for i, source := range s.app.Sources() {
		if source.Plugin != nil {
			l.say(s.document, Finding{
				Check: "plugin", Severity: Warning,
				Message: fmt.Sprintf("this needs the config management plugin %q", source.Plugin.Name),
				Fix: "run the plugin as a sidecar of Towline, and Towline with --plugins and the folder of its socket " +
					"(docs/plugins.md)",
			}, s.place(sourcePath(s.app, i, "plugin")...)...)
		}
		if k := source.Kustomize; k != nil && len(k.CommonLabels) > 0 && !k.LabelWithoutSelector {
			l.say(s.document, selectorLabels("set labelWithoutSelector: true beside it, before anything is deployed"),
				s.place(append(sourcePath(s.app, i, "kustomize"), "commonLabels")...)...)
		}
		if repo, ok := l.repository(source.RepoURL); ok && source.Chart == "" {
			l.revision(s, repo, i)
		}
	}
}

// repository is what is known of a URL.
func (l *look) repository(url string) (Repository, bool) {
	for _, r := range l.in.Repositories {
		for _, u := range r.URLs {
			if url != "" && policy.Spelling(u) == policy.Spelling(url) {
				return r, true
			}
		}
	}
	return Repository{}, false
}

func (l *look) revision(s subject, repo Repository, i int) {
	source := s.app.Sources()[i]
	target := source.TargetRevision
	bare := strings.TrimPrefix(strings.TrimPrefix(target, "refs/heads/"), "refs/tags/")
	_, notVersions := semver.NewConstraint(target)
	known := target == "" || target == "HEAD" || commit.MatchString(target) || templated(target) || slices.Contains(repo.Refs, bare)
	if !known && notVersions != nil {
		fix := "name a branch or tag that is there"
		if repo.Head != "" {
			fix = fmt.Sprintf("write targetRevision: %s, or push the branch again", repo.Head)
		}
		l.say(s.document, Finding{
			Check: "target-revision", Severity: Error,
			Message: fmt.Sprintf("%s has no branch or tag %q", source.RepoURL, target), Fix: fix,
		}, s.place(sourcePath(s.app, i, "targetRevision")...)...)
		return
	}
	here := target == "" || target == "HEAD" || bare == repo.Head
	folder := strings.Trim(strings.TrimPrefix(source.Path, "./"), "/")
	if here && repo.Folders != nil && folder != "" && folder != "." && !templated(folder) && !repo.Folders[folder] {
		l.say(s.document, Finding{
			Check: "missing-path", Severity: Error,
			Message: fmt.Sprintf("%s has no folder %q", source.RepoURL, source.Path), Fix: "correct the path",
		}, s.place(sourcePath(s.app, i, "path")...)...)
	}
}
