package conformance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/jsonpath"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// says begins a line that is in the implementation's own words: another one
// is not held to it.
const says = "says: "

// describe is what the Application tells.
func (p *play) describe(u *unstructured.Unstructured, err error) []string {
	if apierrors.IsNotFound(err) {
		return []string{"application: gone"}
	}
	p.must(err)
	app := &v1alpha1.Application{}
	p.must(runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, app))
	out := []string{}
	add := func(format string, args ...any) { out = append(out, p.tidy(fmt.Sprintf(format, args...))) }
	if app.DeletionTimestamp != nil {
		add("application: going")
	}
	add("sync: %s", app.Status.Sync.Status)
	add("health: %s", app.Status.Health.Status)
	op := app.Status.OperationState
	switch {
	case op == nil:
		add("operation: none")
	default:
		add("operation: %s", op.Phase)
		if op.RetryCount > 0 {
			add("  retries: %d", op.RetryCount)
		}
		if op.Message != "successfully synced (all tasks run)" {
			add("  %s%s", says, op.Message)
		}
		if op.SyncResult != nil {
			out = append(out, p.results(op.SyncResult.Resources)...)
		}
	}
	out = append(out, p.conditions(app.Status.Conditions)...)
	add("history: %d", len(app.Status.History))
	return out
}

// common are the types of conditions that Argo CD has; others are a word of
// the implementation's own.
var common = []v1alpha1.ApplicationConditionType{
	"DeletionError", "InvalidSpecError", "ComparisonError", "SyncError", "UnknownError",
	"SharedResourceWarning", "RepeatedResourceWarning", "ExcludedResourceWarning", "OrphanedResourceWarning",
}

func (p *play) conditions(list []v1alpha1.ApplicationCondition) []string {
	var theirs, ours []string
	for _, c := range list {
		if slices.Contains(common, c.Type) {
			theirs = append(theirs, "  "+string(c.Type), p.tidy("    "+says+c.Message))
			continue
		}
		ours = append(ours, p.tidy(fmt.Sprintf("%s%s: %s", says, c.Type, c.Message)))
	}
	if len(theirs) > 0 {
		theirs = append([]string{"conditions:"}, theirs...)
	}
	return append(theirs, ours...)
}

var phaseOrder = []string{"PreSync", "Sync", "PostSync", "SyncFail", "PreDelete", "PostDelete"}

func (p *play) results(list v1alpha1.ResourceResults) []string {
	if len(list) == 0 {
		return nil
	}
	type line struct {
		rank int
		text string
		says string
	}
	var lines []line
	for _, r := range list {
		l := line{
			rank: slices.Index(phaseOrder, string(r.SyncPhase)),
			text: fmt.Sprintf("  %s %s/%s %s", r.SyncPhase, r.Kind, p.called(r.Namespace, r.Name), r.Status),
		}
		failed := r.Status == v1alpha1.ResultCodeSyncFailed
		switch {
		case r.HookType != "":
			l.text = fmt.Sprintf("  %s hook %s/%s %s", r.SyncPhase, r.Kind, p.called(r.Namespace, r.Name), r.HookPhase)
			failed = r.HookPhase != v1alpha1.OperationSucceeded
		case r.Status == v1alpha1.ResultCodePruneSkipped:
			l.text += ": " + r.Message
		}
		if failed && r.Message != "" {
			l.says = "    " + says + r.Message
		}
		l.text, l.says = p.tidy(l.text), p.tidy(l.says)
		lines = append(lines, l)
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		if a.rank != b.rank {
			return a.rank - b.rank
		}
		return strings.Compare(a.text, b.text)
	})
	out := []string{"results:"}
	for _, l := range lines {
		out = append(out, l.text)
		if l.says != "" {
			out = append(out, l.says)
		}
	}
	return out
}

// called is an object's name, with its namespace where that is not the case's.
func (p *play) called(namespace, name string) string {
	if namespace == "" || namespace == p.ns || namespace == p.control {
		return name
	}
	return namespace + "/" + name
}

// moving are the parts of names and messages that differ from run to run.
var moving = []struct {
	re *regexp.Regexp
	by string
}{
	{regexp.MustCompile(`[0-9a-f]{7}-(presync|sync|postsync|syncfail|predelete|postdelete)-[0-9]{10}`), "*-$1-*"},
	{regexp.MustCompile(`\b(at|by) [0-9a-f]{7}\b`), "$1 *"},
	{regexp.MustCompile(`at [0-9]{1,2}:[0-9]{2}(AM|PM)`), "at *"},
	{regexp.MustCompile(`\b[0-9a-f]{40}\b`), "*"},
	{regexp.MustCompile(`127\.0\.0\.1:[0-9]+`), "*"},
	{regexp.MustCompile(`\bc-[0-9a-f]{10}\b`), "$$control"},
}

// tidy makes text comparable: names of the case become words, what moves
// becomes a star, and lines become one.
func (p *play) tidy(text string) string {
	for _, m := range moving {
		text = m.re.ReplaceAllString(text, m.by)
	}
	text = strings.TrimRight(strings.ReplaceAll(text, "\n", " | "), " |")
	return p.fold(text)
}

// view is all that a case may say. wanted tells which of the parts that are
// told on request are asked for.
func (p *play) view(wanted []string) []string {
	app, err := p.app()
	out := p.describe(app, err)
	if err == nil && slices.Contains(wanted, "resources:") {
		out = append(out, p.resources(app)...)
	}
	out = append(out, "stands:"+p.stands())
	writes, patches, dryRuns := p.writes()
	if len(writes) == 0 {
		out = append(out, "writes: none")
	} else {
		out = append(out, "writes:")
		out = append(out, p.grouped(writes, wanted)...)
	}
	for _, w := range wanted {
		switch {
		case strings.HasPrefix(w, "dry-runs:"):
			out = append(out, strings.TrimRight("dry-runs: "+strings.Join(dryRuns, " "), " "))
		case strings.HasPrefix(w, "patches:"):
			out = append(out, strings.TrimRight("patches: "+strings.Join(patches, " "), " "))
		}
		if head, _, ok := strings.Cut(w, " = "); ok && !strings.HasPrefix(w, " ") {
			target, path, _ := strings.Cut(head, " ")
			out = append(out, fmt.Sprintf("%s = %s", head, p.fold(p.field(p.expand(target), path))))
		}
	}
	return out
}

// resources are the verdicts per object.
func (p *play) resources(u *unstructured.Unstructured) []string {
	app := &v1alpha1.Application{}
	p.must(runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, app))
	out := []string{"resources:"}
	for _, r := range app.Status.Resources {
		line := fmt.Sprintf("  %s/%s", r.Kind, p.called(r.Namespace, r.Name))
		if r.Status != "" {
			line += " " + string(r.Status)
		}
		if r.Health != nil && r.Health.Status != "" {
			line += " " + string(r.Health.Status)
		}
		if r.Hook {
			line += " hook"
		}
		if r.RequiresPruning {
			line += " prune"
		}
		if r.SyncWave != 0 {
			line += fmt.Sprintf(" wave %d", r.SyncWave)
		}
		out = append(out, p.tidy(line))
	}
	return out
}

// stands lists the objects that are there, of the kinds that the case speaks
// of.
func (p *play) stands() string {
	var out []string
	for _, gvk := range p.kindsOf() {
		m, err := p.mapping(gvk)
		if err != nil {
			// Its CRD is not there, so none of it is.
			continue
		}
		for _, u := range p.standing(m) {
			if u.GetName() == p.ns || len(u.GetOwnerReferences()) > 0 || u.GetName() == "kube-root-ca.crt" || u.GetName() == "default" {
				continue
			}
			name := p.tidy(u.GetKind() + "/" + p.called(u.GetNamespace(), u.GetName()))
			if u.GetDeletionTimestamp() != nil {
				name += "(going)"
			}
			out = append(out, name)
		}
	}
	slices.Sort(out)
	if len(out) == 0 {
		return " none"
	}
	return " " + strings.Join(out, " ")
}

// own are the names that begin with the case's.
var own = regexp.MustCompile(`\$ns-[a-z0-9-]*[a-z0-9]`)

// standing are the objects of a kind in the case's namespaces; what is in none
// is looked for by name.
func (p *play) standing(m *meta.RESTMapping) []unstructured.Unstructured {
	names := []string{p.ns}
	if m.GroupVersionKind.Kind == "CustomResourceDefinition" {
		names = []string{"widgets." + p.ns + ".example.com"}
	}
	for _, f := range p.archive.Files {
		for _, name := range own.FindAllString(string(f.Data), -1) {
			names = append(names, p.expand(name))
		}
	}
	slices.Sort(names)
	r := p.dynamic.Resource(m.Resource)
	var out []unstructured.Unstructured
	for _, name := range slices.Compact(names) {
		if m.Scope.Name() == "namespace" && m.GroupVersionKind.Group != "argoproj.io" {
			if list, err := r.Namespace(name).List(p.Context(), metav1.ListOptions{}); err == nil {
				out = append(out, list.Items...)
			}
			continue
		}
		var where dynamic.ResourceInterface = r
		if m.Scope.Name() == "namespace" {
			where = r.Namespace(p.control)
		}
		if u, err := where.Get(p.Context(), name, metav1.GetOptions{}); err == nil {
			out = append(out, *u)
		}
	}
	return out
}

// kindsOf are the kinds of the case's manifests.
func (p *play) kindsOf() []schema.GroupVersionKind {
	found := map[schema.GroupVersionKind]bool{{Version: "v1", Kind: "Namespace"}: true}
	for _, f := range p.archive.Files {
		if !strings.HasPrefix(f.Name, "git ") && !strings.HasPrefix(f.Name, "given") && f.Name != "later" {
			continue
		}
		objects, err := p.objects(p.expand(string(f.Data)))
		if err != nil {
			continue
		}
		for _, u := range objects {
			found[u.GroupVersionKind()] = true
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
}

func (p *play) field(target, path string) string {
	u := p.live(target)
	if u == nil {
		return "nothing"
	}
	j := jsonpath.New("field").AllowMissingKeys(true)
	p.must(j.Parse("{" + path + "}"))
	found, err := j.FindResults(u.Object)
	p.must(err)
	var out []string
	for _, set := range found {
		for _, f := range set {
			raw, err := json.Marshal(f.Interface())
			p.must(err)
			out = append(out, string(raw))
		}
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, " ")
}
