package truth_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// play is a situation on the stage.
type play struct {
	*testing.T
	*stage
	*situation

	// counting is the place in the audit log from which requests count; -1
	// where they do not.
	counting int
	// manifests is the section that Git holds now.
	manifests string
	// wrong is what Towline was wrong about, where that is known.
	wrong []string
}

// Errorf tells that Towline was wrong. Where that is known it is kept, and the
// test goes on.
func (p *play) Errorf(format string, args ...any) {
	p.Helper()
	if p.known == "" {
		p.T.Errorf(format, args...)
		return
	}
	p.wrong = append(p.wrong, fmt.Sprintf(format, args...))
}

func (p *play) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// set makes the namespace, the given objects, the repository and the
// Application.
func (p *play) set() {
	p.Helper()
	_, err := p.client.CoreV1().Namespaces().Create(p.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.situation.name}}, metav1.CreateOptions{})
	p.must(err)
	for _, g := range p.given {
		p.make(g)
	}
	p.commit("git 1")
	spec := map[string]any{
		"project":     "default",
		"destination": map[string]any{"server": v1alpha1.InClusterServer, "namespace": p.situation.name},
		"source":      map[string]any{"repoURL": p.git.URL(p.situation.name), "path": ".", "targetRevision": "main"},
	}
	maps.Copy(spec, p.spec)
	app := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.Group + "/" + v1alpha1.Version, "kind": "Application",
		"metadata": map[string]any{"name": p.situation.name, "namespace": control},
		"spec":     spec,
	}}
	_, err = p.dynamic.Resource(applications).Namespace(control).Create(p.Context(), app, metav1.CreateOptions{})
	p.must(err)
	p.await("looked at", func(app *v1alpha1.Application) bool { return app.Status.Sync.Status != "" })
}

var applications = schema.GroupVersionResource{Group: v1alpha1.Group, Version: v1alpha1.Version, Resource: "applications"}

// make lets a maker make its objects.
func (p *play) make(g given) {
	p.Helper()
	verb, manager, _ := strings.Cut(g.maker, " ")
	switch {
	case g.maker == "kubectl apply":
		p.kube(g.text, "apply", "-f", "-")
	case g.maker == "kubectl create":
		p.kube(g.text, "create", "-f", "-")
	case g.maker == "argocd client-side":
		for _, u := range g.objects {
			p.kube(p.marked(u), "apply", "--field-manager="+v1alpha1.FieldManagerApply, "-f", "-")
		}
	case verb == "ssa":
		for _, u := range g.objects {
			p.ssa(u, manager, false)
		}
	case verb == "create":
		for _, u := range g.objects {
			_, err := p.resource(u.GroupVersionKind()).Create(p.Context(), u, metav1.CreateOptions{FieldManager: manager})
			p.must(err)
		}
	default:
		p.Fatalf("who is %q?", g.maker)
	}
}

// marked is an object as Argo CD applies it.
func (p *play) marked(u *unstructured.Unstructured) string {
	u = u.DeepCopy()
	u.SetNamespace(p.situation.name)
	a := u.GetAnnotations()
	if a == nil {
		a = map[string]string{}
	}
	gvk := u.GroupVersionKind()
	a[v1alpha1.AnnotationTrackingID] = fmt.Sprintf("%s:%s/%s:%s/%s", p.situation.name, gvk.Group, gvk.Kind, p.situation.name, u.GetName())
	u.SetAnnotations(a)
	raw, err := u.MarshalJSON()
	p.must(err)
	return string(raw)
}

func (p *play) kube(stdin string, args ...string) {
	p.Helper()
	out, err := p.stage.kubectl(p.Context(), stdin, append([]string{"--namespace", p.situation.name}, args...)...)
	if err != nil {
		p.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (p *play) ssa(u *unstructured.Unstructured, manager string, force bool) {
	p.Helper()
	_, err := p.resource(u.GroupVersionKind()).Apply(p.Context(), u.GetName(), u, metav1.ApplyOptions{FieldManager: manager, Force: force})
	p.must(err)
}

func (p *play) resource(gvk schema.GroupVersionKind) dynamic.ResourceInterface {
	p.Helper()
	m, err := p.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	p.must(err)
	if m.Scope.Name() == "namespace" {
		return p.dynamic.Resource(m.Resource).Namespace(p.situation.name)
	}
	return p.dynamic.Resource(m.Resource)
}

// named finds the resource of an object that is written as kind/name.
func (p *play) named(target string) (dynamic.ResourceInterface, string) {
	p.Helper()
	kind, name, ok := strings.Cut(target, "/")
	if !ok {
		p.Fatalf("%q is not a kind/name", target)
	}
	gk := schema.ParseGroupKind(kind)
	if gk.Group == "" {
		gk = p.kindOf(kind)
	}
	m, err := p.mapper.RESTMapping(gk)
	p.must(err)
	return p.resource(m.GroupVersionKind), name
}

// kindOf finds the group of a kind that the situation's manifests have.
func (p *play) kindOf(kind string) schema.GroupKind {
	p.Helper()
	for _, f := range p.archive.Files {
		if !strings.HasPrefix(f.Name, "git ") && !strings.HasPrefix(f.Name, "given ") {
			continue
		}
		objects, err := parse(p.expand(string(f.Data)))
		if err != nil {
			// What Git holds may be wrong on purpose.
			continue
		}
		for _, u := range objects {
			if u.GetKind() == kind {
				return u.GroupVersionKind().GroupKind()
			}
		}
	}
	return schema.GroupKind{Kind: kind}
}

// step does one line of `when`.
func (p *play) step(line string) {
	p.Helper()
	words := split(line)
	rest := func(n int) string { return strings.Join(words[n:], " ") }
	switch words[0] {
	case "sync":
		app := p.sync(words[1:]...)
		if op := app.Status.OperationState; op.Phase != v1alpha1.OperationSucceeded {
			p.Fatalf("%s: %s: %s", line, op.Phase, op.Message)
		}
	case "commit":
		p.commit("git " + words[1])
	case "refresh":
		p.refresh()
	case "await":
		// Nobody asks for a look here: the news must come by itself.
		_, err := p.watch(promptness, awaited(words[1:]))
		if err != nil {
			p.Errorf("%s did not come by itself: %v", rest(1), err)
		}
	case "count":
		n, err := p.audit.until(p.Context())
		p.must(err)
		p.counting = n
	case "kubectl":
		p.kube("", words[1:]...)
	case "wipe":
		r, name := p.named(words[2])
		_, err := r.Patch(p.Context(), name, types.JSONPatchType,
			[]byte(`[{"op":"replace","path":"/metadata/managedFields","value":[{}]}]`), metav1.PatchOptions{FieldManager: "wiper"})
		p.must(err)
	case "update":
		p.patch(words[1], words[2], rest(3))
	case "status":
		p.patch(words[1], words[2], rest(3), "status")
	case "scale":
		p.patch(words[1], words[2], rest(3), "scale")
	case "ssa":
		p.apply(words[1], rest(2))
	default:
		p.Fatalf("there is no step %q", words[0])
	}
}

// awaited is a status, a condition, or the end of a condition.
func awaited(words []string) func(*v1alpha1.Application) bool {
	has := func(app *v1alpha1.Application, condition string) bool {
		return slices.ContainsFunc(app.Status.Conditions, func(c v1alpha1.ApplicationCondition) bool { return string(c.Type) == condition })
	}
	switch {
	case len(words) == 1:
		return func(app *v1alpha1.Application) bool { return string(app.Status.Sync.Status) == words[0] }
	case words[0] == "no":
		return func(app *v1alpha1.Application) bool { return !has(app, words[1]) }
	default:
		return func(app *v1alpha1.Application) bool { return has(app, words[1]) }
	}
}

// sync asks for a sync as the command line does, of these ConfigMaps or of
// everything, and waits for its end.
func (p *play) sync(only ...string) *v1alpha1.Application {
	p.Helper()
	sync := map[string]any{"prune": true}
	if len(only) > 0 {
		resources := make([]any, len(only))
		for i, name := range only {
			resources[i] = map[string]any{"kind": "ConfigMap", "name": name, "namespace": p.situation.name}
		}
		sync["resources"] = resources
	}
	raw, err := json.Marshal(map[string]any{"operation": map[string]any{"sync": sync}})
	p.must(err)
	_, err = p.dynamic.Resource(applications).Namespace(control).
		Patch(p.Context(), p.situation.name, types.MergePatchType, raw, metav1.PatchOptions{})
	p.must(err)
	return p.await("synced", func(app *v1alpha1.Application) bool {
		return app.Operation == nil && app.Status.OperationState != nil && app.Status.OperationState.Phase.Completed()
	})
}

func (p *play) patch(manager, target, patch string, subresource ...string) {
	p.Helper()
	if !json.Valid([]byte(patch)) {
		p.Fatalf("%q is not JSON", patch)
	}
	r, name := p.named(target)
	_, err := r.Patch(p.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager}, subresource...)
	p.must(err)
}

// apply lets a rival apply a section, "by force" if it says so.
func (p *play) apply(manager, what string) {
	p.Helper()
	section, force := strings.CutSuffix(what, " by force")
	text, ok := p.text(section)
	if !ok {
		p.Fatalf("there is no section %q", section)
	}
	objects, err := parse(text)
	p.must(err)
	for _, u := range objects {
		p.ssa(u, manager, force)
	}
}

// commit makes a section what Git holds.
func (p *play) commit(section string) {
	p.Helper()
	text, ok := p.text(section)
	if !ok {
		p.Fatalf("there is no section %q", section)
	}
	if p.manifests == "" {
		p.must(p.git.Create(p.situation.name, map[string]string{"manifests.yaml": text}))
	} else {
		_, err := p.git.Commit(p.situation.name, "main", section, map[string]*string{"manifests.yaml": &text})
		p.must(err)
	}
	p.manifests = section
}

// refresh asks for a look and waits until it was taken.
func (p *play) refresh() *v1alpha1.Application {
	p.Helper()
	_, err := p.dynamic.Resource(applications).Namespace(control).Patch(p.Context(), p.situation.name, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"normal"}}}`, v1alpha1.AnnotationRefresh), metav1.PatchOptions{})
	p.must(err)
	return p.await("refreshed", func(app *v1alpha1.Application) bool { return app.Annotations[v1alpha1.AnnotationRefresh] == "" })
}

// await watches the Application until the condition holds.
func (p *play) await(what string, holds func(*v1alpha1.Application) bool) *v1alpha1.Application {
	p.Helper()
	app, err := p.watch(patience, holds)
	if err != nil {
		p.Fatalf("the application did not become %s: %v", what, err)
	}
	return app
}

func (p *play) watch(limit time.Duration, holds func(*v1alpha1.Application) bool) (*v1alpha1.Application, error) {
	ctx, cancel := context.WithTimeout(p.Context(), limit)
	defer cancel()
	var last v1alpha1.ApplicationStatus
	for ctx.Err() == nil {
		w, err := p.hub.WatchApplications(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector("metadata.name", p.situation.name).String(),
		})
		if err != nil {
			return nil, err
		}
		for ev := range w.ResultChan() {
			app, ok := ev.Object.(*v1alpha1.Application)
			if !ok {
				break
			}
			if last = app.Status; holds(app) {
				w.Stop()
				return app, nil
			}
		}
		w.Stop()
	}
	return nil, fmt.Errorf("it is %q after %s, with %d conditions", last.Sync.Status, limit, len(last.Conditions))
}

// split cuts a line into words. Single quotes keep spaces; what begins a JSON
// value goes to the end of the line.
func split(line string) []string {
	var out []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		var word string
		switch {
		case line[0] == '{':
			return append(out, line)
		case line[0] == '\'':
			word, line, _ = strings.Cut(line[1:], "'")
		default:
			word, line, _ = strings.Cut(line, " ")
		}
		out = append(out, word)
	}
	return out
}
