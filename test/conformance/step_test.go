package conformance_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// step does one line of `when`.
func (p *play) step(line string) {
	p.Helper()
	words := split(line)
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	steps := map[string]func(){
		"sync":      func() { p.start(arg(1)); p.wait("ended") },
		"start":     func() { p.start(arg(1)) },
		"operation": func() { p.patchApp(fmt.Sprintf(`{"operation":%s}`, arg(1))) },
		"terminate": func() { p.patchApp(`{"status":{"operationState":{"phase":"Terminating"}}}`) },
		"commit":    func() { p.commit(arg(1)); p.news(arg(2)) },
		"refresh":   func() { p.refresh(arg(1)) },
		"spec":      func() { p.patchApp(fmt.Sprintf(`{"spec":%s}`, arg(1))) },
		"project":   func() { p.patchProject(arg(1)) },
		"annotate":  func() { p.annotateApp(arg(1)) },
		"delete":    func() { p.remove(arg(1), arg(2)) },
		"wait":      func() { p.wait(words[1:]...) },
		"expect":    func() { p.expect(strings.TrimSpace(strings.TrimPrefix(line, "expect"))) },
		"edit":      func() { p.patch(arg(1), arg(2)) },
		"status":    func() { p.patch(arg(1), arg(2), "status") },
		"create":    func() { p.create(strings.Join(words[1:], " ")) },
		"hold":      func() { p.patch(arg(1), `{"metadata":{"finalizers":["conformance.example.com/hold"]}}`) },
		"let-go":    func() { p.patch(arg(1), `{"metadata":{"finalizers":null}}`) },
		"own":       func() { p.own(arg(1), arg(2)) },
		"git":       func() { p.repos.SetDown(arg(1) == "down") },
		"healthy":   func() { p.become("healthy", arg(1)) },
		"degraded":  func() { p.become("degraded", arg(1)) },
		"suspended": func() { p.become("suspended", arg(1)) },
		"from":      func() { p.fromHere() },
		"kill":      func() { p.must(p.house.kill()) },
		"restart":   func() { p.must(p.house.start(p.Context())) },
	}
	do, ok := steps[words[0]]
	if !ok {
		p.Fatalf("there is no step %q", words[0])
	}
	do()
}

// fromHere forgets the writes so far.
func (p *play) fromHere() {
	p.Helper()
	var err error
	p.since, err = p.audit.place(p.Context())
	p.must(err)
}

// start asks for a sync as the command line does.
func (p *play) start(sync string) {
	p.Helper()
	if sync == "" {
		sync = `{}`
	}
	// The first look has to be behind us: what is asked for before it has no
	// state to come after.
	p.wait("compared")
	p.patchApp(fmt.Sprintf(`{"operation":{"initiatedBy":{"username":"somebody"},"sync":%s}}`, sync))
}

func (p *play) patchApp(patch string) {
	p.Helper()
	if !json.Valid([]byte(patch)) {
		p.Fatalf("%s is not JSON", patch)
	}
	_, err := p.dynamic.Resource(applications).Namespace(p.control).
		Patch(p.Context(), p.ns, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "somebody"})
	p.must(err)
}

// patchProject changes the rules of the case's project.
func (p *play) patchProject(spec string) {
	p.Helper()
	_, err := p.dynamic.Resource(projects).Namespace(p.control).
		Patch(p.Context(), p.ns, types.MergePatchType, fmt.Appendf(nil, `{"spec":%s}`, spec), metav1.PatchOptions{FieldManager: "somebody"})
	p.must(err)
}

func (p *play) annotateApp(word string) {
	p.Helper()
	key, value, _ := strings.Cut(word, "=")
	if value == "now" {
		value = time.Now().UTC().Format(time.RFC3339)
	}
	raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
	p.must(err)
	p.patchApp(string(raw))
}

// news tells the implementation of a commit, as a webhook does.
func (p *play) news(how string) {
	p.Helper()
	if how != "quietly" {
		p.annotateApp("argocd.argoproj.io/refresh=normal")
	}
}

// refresh asks for a look and waits until it was taken.
func (p *play) refresh(how string) {
	p.Helper()
	if how == "" {
		how = "normal"
	}
	p.annotateApp("argocd.argoproj.io/refresh=" + how)
	p.until("refreshed", func() bool {
		app, err := p.app()
		return err == nil && app.GetAnnotations()["argocd.argoproj.io/refresh"] == ""
	})
}

// patience is how long a step waits: not long for what is known to fail.
func (p *play) patience() time.Duration {
	if p.known != "" {
		return patience / 10
	}
	return patience / 2
}

// until waits for something to hold. Changes of the Application are told by a
// watch; for the rest there is a slow beat.
func (p *play) until(what string, holds func() bool) bool {
	p.Helper()
	limit := time.After(p.patience())
	for !holds() {
		select {
		case <-limit:
			app, err := p.app()
			p.Errorf("waited in vain for: %s\n%s", what, strings.Join(p.describe(app, err), "\n"))
			return false
		case <-p.pulse:
		case <-time.After(200 * time.Millisecond):
		}
	}
	return true
}

// soon is the schedule of the next minute.
func (p *play) soon() string {
	p.minute = time.Now().UTC().Truncate(time.Minute).Add(time.Minute)
	return p.minute.Format("4 15 * * *")
}

// wait waits for what one line says.
func (p *play) wait(words ...string) {
	p.Helper()
	what := strings.Join(words, " ")
	value := func(path ...string) string {
		app, err := p.app()
		if err != nil {
			return ""
		}
		v, _, _ := unstructured.NestedFieldNoCopy(app.Object, append([]string{"status"}, path...)...)
		if v == nil {
			return ""
		}
		return fmt.Sprint(v)
	}
	if what == "minute" {
		// Schedules know nothing shorter; there is nothing to watch but the clock.
		time.Sleep(time.Until(p.minute.Add(time.Second)))
		return
	}
	last := words[len(words)-1]
	waits := map[string]func() bool{
		"compared": func() bool { return value("sync", "status") != "" },
		"ended":    func() bool { return p.ended() },
		"sync":     func() bool { return value("sync", "status") == last },
		"health":   func() bool { return value("health", "status") == last },
		"operation": func() bool {
			return value("operationState", "phase") == last && (last == "Running" || last == "Terminating" || p.ended())
		},
		"retries":   func() bool { return value("operationState", "retryCount") == last },
		"message":   func() bool { return strings.Contains(value("operationState", "message"), strings.Join(words[1:], " ")) },
		"history":   func() bool { return len(p.history()) >= len(last) && fmt.Sprint(len(p.history())) == last },
		"condition": func() bool { return strings.Contains(value("conditions"), last) },
		"kind":      func() bool { return p.knows(last) },
		"gone":      func() bool { return p.live(last) == nil },
		"going":     func() bool { u := p.live(last); return u != nil && u.GetDeletionTimestamp() != nil },
		"app": func() bool {
			_, err := p.app()
			return apierrors.IsNotFound(err)
		},
	}
	holds, ok := waits[words[0]]
	if !ok && strings.Contains(words[0], "/") {
		holds, ok = func() bool { return p.live(words[0]) != nil }, true
	}
	if !ok {
		p.Fatalf("there is nothing to wait for that is called %q", words[0])
	}
	p.until(what, holds)
}

// knows says that the API server serves a kind.
func (p *play) knows(kind string) bool {
	u, err := p.object(kind + "/any")
	p.must(err)
	_, err = p.mapping(u.GroupVersionKind())
	return err == nil
}

func (p *play) history() []any {
	app, err := p.app()
	if err != nil {
		return nil
	}
	list, _, _ := unstructured.NestedSlice(app.Object, "status", "history")
	return list
}

// ended says that no operation is asked for or runs, and that one did.
func (p *play) ended() bool {
	app, err := p.app()
	if err != nil {
		return false
	}
	phase, _, _ := unstructured.NestedString(app.Object, "status", "operationState", "phase")
	return app.Object["operation"] == nil && slices.Contains([]string{"Succeeded", "Failed", "Error"}, phase)
}

// mapping asks again for a kind that a CRD may have brought meanwhile.
func (p *play) mapping(gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	m, err := p.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		p.mapper.Reset()
		m, err = p.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	return m, err
}

// resource is where the objects of a kind are.
func (p *play) resource(gvk schema.GroupVersionKind, namespace string) dynamic.ResourceInterface {
	p.Helper()
	m, err := p.mapping(gvk)
	p.must(err)
	r := p.dynamic.Resource(m.Resource)
	if m.Scope.Name() != "namespace" {
		return r
	}
	if namespace == "" {
		namespace = p.ns
	}
	if gvk.Group == "argoproj.io" {
		namespace = p.control
	}
	return r.Namespace(namespace)
}

// named finds an object that is written as Kind/name, or as Kind/namespace/name.
func (p *play) named(target string) (dynamic.ResourceInterface, string) {
	p.Helper()
	words := strings.Split(target, "/")
	if len(words) < 2 {
		p.Fatalf("%q is no Kind/name", target)
	}
	namespace := ""
	if len(words) == 3 {
		namespace = words[1]
	}
	u, err := p.object(words[0] + "/" + words[len(words)-1])
	p.must(err)
	return p.resource(u.GroupVersionKind(), namespace), words[len(words)-1]
}

// live reads an object; nil if it is not there. A name that ends in a dash
// stands for the one object that begins with it.
func (p *play) live(target string) *unstructured.Unstructured {
	p.Helper()
	r, name := p.named(target)
	if strings.HasSuffix(name, "-") {
		list, err := r.List(p.Context(), metav1.ListOptions{})
		p.must(err)
		i := slices.IndexFunc(list.Items, func(u unstructured.Unstructured) bool { return strings.HasPrefix(u.GetName(), name) })
		if i < 0 {
			return nil
		}
		return &list.Items[i]
	}
	u, err := r.Get(p.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	p.must(err)
	return u
}

func (p *play) patch(target, patch string, subresource ...string) {
	p.Helper()
	if !json.Valid([]byte(patch)) {
		p.Fatalf("%q is not JSON", patch)
	}
	p.until(target+" to change it", func() bool { return p.live(target) != nil })
	u := p.live(target)
	if u == nil {
		return
	}
	r, _ := p.named(target)
	_, err := r.Patch(p.Context(), u.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "somebody"}, subresource...)
	p.must(err)
}

// own makes an object the owner of another, which it has to outlive.
func (p *play) own(owner, owned string) {
	p.Helper()
	u := p.live(owner)
	raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": []any{map[string]any{
		"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(), "name": u.GetName(), "uid": u.GetUID(), "blockOwnerDeletion": true,
	}}}})
	p.must(err)
	p.patch(owned, string(raw))
}

// remove deletes an object, or the Application.
func (p *play) remove(target, how string) {
	p.Helper()
	var options metav1.DeleteOptions
	if how != "" {
		policy := metav1.DeletionPropagation(how)
		options.PropagationPolicy = &policy
	}
	if target == "app" {
		p.must(p.dynamic.Resource(applications).Namespace(p.control).Delete(p.Context(), p.ns, options))
		return
	}
	r, name := p.named(target)
	p.must(r.Delete(p.Context(), name, options))
}

// become makes an object healthy or not, as the controller of its kind would.
func (p *play) become(what, target string) {
	p.Helper()
	kind, _, _ := strings.Cut(target, "/")
	now := time.Now().UTC().Format(time.RFC3339)
	condition := func(types ...string) string {
		var all []string
		for _, t := range types {
			all = append(all, fmt.Sprintf(
				`{"type":%q,"status":"True","reason":"Case","message":"so says the case","lastTransitionTime":%q,"lastProbeTime":%q}`, t, now, now))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	patches := map[string]string{
		"healthy Pod":     `{"status":{"phase":"Succeeded"}}`,
		"degraded Pod":    `{"status":{"phase":"Failed","message":"so says the case"}}`,
		"healthy Ingress": `{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`,
		"healthy Service": `{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`,
		"healthy Job": fmt.Sprintf(`{"status":{"startTime":%q,"completionTime":%q,"succeeded":1,"conditions":%s}}`,
			now, now, condition("SuccessCriteriaMet", "Complete")),
		"degraded Job":  fmt.Sprintf(`{"status":{"startTime":%q,"failed":1,"conditions":%s}}`, now, condition("FailureTarget", "Failed")),
		"suspended Job": fmt.Sprintf(`{"status":{"conditions":%s}}`, condition("Suspended")),
	}
	patch, ok := patches[what+" "+kind]
	if !ok {
		p.Fatalf("a %s cannot be made %s", kind, what)
	}
	p.patch(target, patch, "status")
}
