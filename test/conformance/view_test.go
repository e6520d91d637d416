package conformance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/jsonpath"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/hack/cluster/controlplane"
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
	names := []string{p.ns, "widgets." + p.ns + ".example.com"}
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
	for _, word := range strings.Fields(line) {
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

// wanted are the lines of a section.
func (e *enactment) wanted(section string) []string {
	text, _ := e.text(section)
	text = e.fold(text)
	return slices.DeleteFunc(strings.Split(text, "\n"), func(s string) bool {
		return strings.TrimSpace(s) == "" || foreign && strings.HasPrefix(strings.TrimSpace(s), says)
	})
}

// expect holds one line against what is told now, or soon. `not` in front of
// it wants it not to be told.
func (p *play) expect(line string) {
	p.Helper()
	line = p.fold(line)
	line, not := strings.CutPrefix(line, "not ")
	has := func() bool {
		return slices.ContainsFunc(p.view([]string{"resources:", line}), func(got string) bool {
			return matches(line, strings.TrimSpace(got))
		})
	}
	if not {
		if has() {
			p.Errorf("not expected: %s\n%s", line, strings.Join(p.view(nil), "\n"))
		}
		return
	}
	if !p.until("expected: "+line, has) {
		p.Errorf("there is:\n%s", strings.Join(p.view([]string{"resources:"}), "\n"))
	}
}

// compare holds what is told against the section, or writes it there. It may
// take a moment to come true, and has to stay so after another look.
func (p *play) compare() {
	p.Helper()
	section := p.then(p.profile)
	want := p.wanted(section)
	var got []string
	look := func() bool {
		got = p.matched(want, p.view(want))
		return slices.Equal(want, got)
	}
	limit := time.Now().Add(patience / 3)
	if *update || p.known != "" {
		limit = time.Now().Add(patience / 30)
	}
	for !look() && time.Now().Before(limit) {
		select {
		case <-p.pulse:
		case <-time.After(400 * time.Millisecond):
		}
	}
	// Who is alone may be blind or gone by now.
	if slices.Equal(want, got) && !p.alone && !slices.Contains(want, "operation: Running") && !slices.Contains(want, "application: gone") {
		p.refresh("")
		look()
	}
	if *update && p.known == "" {
		p.must(p.record(section, strings.Join(got, "\n")+"\n"))
		return
	}
	if d := cmp.Diff(want, got); d != "" {
		p.Errorf("%s: wrong (-want +got):\n%s", section, d)
	}
}

// matched takes the wanted line where … in it stands for the rest.
func (p *play) matched(want, got []string) []string {
	for i := range got {
		if j := slices.IndexFunc(want, func(w string) bool { return matches(w, got[i]) }); j >= 0 {
			got[i] = want[j]
		}
	}
	if foreign {
		got = slices.DeleteFunc(got, func(s string) bool { return strings.HasPrefix(strings.TrimSpace(s), says) })
	}
	return got
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
