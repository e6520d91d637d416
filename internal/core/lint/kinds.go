package lint

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/json"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/policy"
	"github.com/towline-cd/towline/internal/core/rbac"
)

// ours looks at Applications, ApplicationSets and AppProjects.
func (l *look) ours(d *document) {
	if d.group() != v1alpha1.Group {
		return
	}
	switch d.kind {
	case v1alpha1.ApplicationKind:
		if app := decode[v1alpha1.Application](l, d); app != nil {
			l.application(subject{document: d, patched: d.part, app: app})
		}
	case v1alpha1.ApplicationSetKind:
		if set := decode[v1alpha1.ApplicationSet](l, d); set != nil {
			l.set(d, set)
		}
	case v1alpha1.AppProjectKind:
		if p := decode[v1alpha1.AppProject](l, d); p != nil {
			l.project(d, p)
		}
	}
}

var unknownField = regexp.MustCompile(`unknown field "([^"]+)"`)

// decode reads an object as its kind, and tells what is not of it.
func decode[T any](l *look, d *document) *T {
	text, err := d.json()
	out := new(T)
	if err == nil {
		var strict []error
		if strict, err = json.UnmarshalStrict(text, out); err == nil {
			for _, e := range strict {
				if m := unknownField.FindStringSubmatch(e.Error()); m != nil {
					l.unknownField(d, reflect.TypeFor[T](), pathOf(m[1]))
				}
			}
			return out
		}
	}
	var path []any
	if m := regexp.MustCompile(`struct field \S+?\.(\S+) of type`).FindStringSubmatch(err.Error()); m != nil {
		path = pathOf(m[1])
	}
	l.say(d, Finding{
		Check: "wrong-type", Severity: Error,
		Message: "a value does not fit its field: " + strings.TrimPrefix(err.Error(), "json: "),
		Fix:     "write it as the field wants it; the API server refuses the object as it is",
	}, path...)
	return nil
}

// unknownField tells of a field that the kind does not have. Sync windows in an
// Application are so common that they get an answer of their own.
func (l *look) unknownField(d *document, of reflect.Type, path []any) {
	last, _ := path[len(path)-1].(string)
	if last == "syncWindows" && d.kind != v1alpha1.AppProjectKind {
		l.say(d, Finding{
			Check: "window-in-application", Severity: Error,
			Message: "an Application has no sync windows: nobody reads these, and it is synced at any time",
			Fix: "move them to spec.syncWindows of its AppProject, with applications: [" + d.name + "] in each, " +
				"and take them out here",
		}, path...)
		return
	}
	fix := "take it out: the API server drops it without a word"
	if meant := nearest(last, siblings(of, path)); meant != "" {
		fix = fmt.Sprintf("write %s, if that is meant; as it is, the API server drops it without a word", meant)
	}
	l.say(d, Finding{
		Check: "unknown-field", Severity: Error,
		Message: fmt.Sprintf("%s has no field %s", d.kind, fieldOf(path)), Fix: fix,
	}, path...)
}

// project looks at an AppProject.
func (l *look) project(d *document, p *v1alpha1.AppProject) {
	for _, fault := range policy.WindowFaults(policy.WindowsOf(p)) {
		where, cause, _ := strings.Cut(fault, ": ")
		l.say(d, Finding{
			Check: "window", Severity: Error, Message: cause,
			Fix: "a window has a kind (allow or deny), a schedule of five fields, a duration such as 1h, and whom it is for",
		}, append([]any{"spec"}, pathOf(where)...)...)
	}
	_, problems := rbac.NewRights(nil).With(p)
	for _, problem := range problems {
		l.say(d, Finding{
			Check: "rbac", Severity: Warning, Message: problem.Line.String() + ": " + problem.Cause, Fix: problem.WayOut,
		}, "spec", "roles")
	}
}

// set looks at an ApplicationSet, and at the Application that it is a template of.
func (l *look) set(d *document, s *v1alpha1.ApplicationSet) {
	text, err := d.json()
	if err != nil {
		return
	}
	if s.Spec.GoTemplate && !slices.Contains(s.Spec.GoTemplateOptions, "missingkey=error") {
		l.say(d, Finding{
			Check: "missing-key-passes", Severity: Warning,
			Message: "a parameter that a generator does not give becomes <no value> in the Application",
			Fix:     `add goTemplateOptions: ["missingkey=error"]`,
		}, "spec", "goTemplate")
	}
	dotted := regexp.MustCompile(`\{\{-?\s*\.`).Match(text)
	plain := regexp.MustCompile(`\{\{\s*(name|server|path|path\.basename|cluster|branch|url)\s*\}\}`).Find(text)
	switch {
	case !s.Spec.GoTemplate && dotted:
		l.say(d, Finding{
			Check: "template-style", Severity: Error,
			Message: "placeholders such as {{.name}} are Go templates, and goTemplate is off: they stay as they are",
			Fix:     "set goTemplate: true, or write {{name}}",
		}, "spec", "template")
	case s.Spec.GoTemplate && plain != nil:
		l.say(d, Finding{
			Check: "template-style", Severity: Error,
			Message: fmt.Sprintf("%s is no Go template, and goTemplate is on: the set generates nothing", plain),
			Fix:     "put a dot before the name, as in {{.name}}",
		}, "spec", "template")
	}
	meta := s.Spec.Template.ApplicationSetTemplateMeta
	patched := d.part || s.Spec.TemplatePatch != nil
	l.application(subject{document: d, prefix: []any{"spec", "template"}, patched: patched, app: &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{Name: meta.Name, Namespace: s.Namespace, Annotations: meta.Annotations, Finalizers: meta.Finalizers},
		Spec:       s.Spec.Template.Spec,
	}})
	l.annotations(d, "spec", "template", "metadata")
}
