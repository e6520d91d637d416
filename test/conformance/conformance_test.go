package conformance_test

import (
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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/hack/cluster/gitserver"
)

// TestConformance plays every case, in every profile that it speaks of.
func TestConformance(t *testing.T) {
	all := stories(t)
	s := newStage(t)
	var plays []*play
	for _, story := range all {
		for profile := range strings.SplitSeq(*profiles, ",") {
			if story.played(profile) {
				e := story.in(profile)
				plays = append(plays, &play{stage: s, enactment: e, house: s.houses.reserve(e)})
			}
		}
	}
	t.Run("cases", func(t *testing.T) {
		for _, p := range plays {
			t.Run(p.name+"/"+p.profile, func(t *testing.T) {
				t.Parallel()
				defer p.house.leave(t)
				p.T = t
				p.perform()
				p.acknowledge()
				if t.Failed() {
					t.Logf("the implementation's log:\n%s", p.house.told("app="+p.ns))
				}
			})
		}
	})
}

// play is a case on its way.
type play struct {
	*testing.T
	*stage
	*enactment
	house *house
	repos *gitserver.Server
	// committed says that the repository is there, first is its first commit.
	committed bool
	first     string
	// since is the place in the audit log from which on writes are told.
	since int
	// wrong is what a case that is known to fail got wrong.
	wrong []string
	pulse chan struct{}
	// minute is when $soon begins.
	minute time.Time
}

func (p *play) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *play) perform() {
	p.must(p.house.open(p.Context(), p.stage, p.enactment))
	p.repos = p.git
	if p.alone {
		// An outage is its own.
		p.repos = gitserver.New(p.T)
	}
	p.control, p.repo = p.house.control, p.repos.URL(p.ns)
	p.set()
	for _, line := range p.steps {
		if strings.Contains(line, "$soon") {
			line = strings.ReplaceAll(line, "$soon", p.soon())
		}
		p.step(strings.NewReplacer("$first", p.first, "$repo", p.repo).Replace(p.expand(line)))
		if p.Failed() || len(p.wrong) > 0 {
			return
		}
	}
	p.compare()
}

// acknowledge lists what is known to be wrong, and notices when it is right.
func (p *play) acknowledge() {
	p.Helper()
	switch {
	case p.known == "" || p.T.Failed():
	case len(p.wrong) == 0:
		p.T.Errorf("this is right now; remove its line \"known: %s\"", p.known)
	default:
		p.Logf("known: %s\n%s", p.known, strings.Join(p.wrong, "\n"))
	}
}

// Errorf keeps what a case that is known to be wrong gets wrong.
func (p *play) Errorf(format string, args ...any) {
	p.Helper()
	if p.known != "" {
		p.wrong = append(p.wrong, fmt.Sprintf(format, args...))
		return
	}
	p.T.Errorf(format, args...)
}

var (
	applications = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}
	projects     = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "appprojects"}
)

func (p *play) app() (*unstructured.Unstructured, error) {
	return p.dynamic.Resource(applications).Namespace(p.control).Get(p.Context(), p.ns, metav1.GetOptions{})
}

// set makes what is given: a namespace, live objects, a repository, a project,
// an Application.
func (p *play) set() {
	p.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.ns}}
	_, err := p.client.CoreV1().Namespaces().Create(p.Context(), namespace, metav1.CreateOptions{})
	p.must(err)
	for _, f := range p.archive.Files {
		if f.Name == "given" || strings.HasPrefix(f.Name, "given ") {
			p.create(f.Name)
		}
	}
	p.commit("1")
	p.project()
	p.fromHere()
	p.application()
	p.follow()
}

// create makes the objects of a section, as somebody who is not the
// implementation.
func (p *play) create(section string) {
	p.Helper()
	text, ok := p.text(section)
	if !ok {
		p.Fatalf("there is no section %q", section)
	}
	objects, err := p.objects(text)
	p.must(err)
	for _, u := range objects {
		words := strings.Fields(section)
		if slices.Contains(words, "marked") {
			p.mark(u)
		}
		manager := "somebody"
		if i := slices.Index(words, "by"); i >= 0 {
			manager = words[i+1]
		}
		_, err := p.resource(u.GroupVersionKind(), u.GetNamespace()).Create(p.Context(), u, metav1.CreateOptions{FieldManager: manager})
		p.must(err)
	}
}

// mark makes an object one of the Application's.
func (p *play) mark(u *unstructured.Unstructured) {
	gvk := u.GroupVersionKind()
	p.must(annotate(u, "argocd.argoproj.io/tracking-id", fmt.Sprintf("%s:%s/%s:%s/%s", p.ns, gvk.Group, gvk.Kind, p.ns, u.GetName())))
}

func (p *play) project() {
	p.Helper()
	text, ok := p.text("project")
	if !ok {
		return
	}
	spec := map[string]any{}
	p.must(yaml.Unmarshal([]byte(text), &spec))
	base := map[string]any{
		"sourceRepos":              []any{"*"},
		"destinations":             []any{map[string]any{"server": "*", "namespace": "*"}},
		"clusterResourceWhitelist": []any{map[string]any{"group": "*", "kind": "*"}},
	}
	maps.Copy(base, spec)
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject",
		"metadata": map[string]any{"name": p.ns, "namespace": p.control}, "spec": base,
	}}
	_, err := p.dynamic.Resource(projects).Namespace(p.control).Create(p.Context(), u, metav1.CreateOptions{})
	p.must(err)
}

func (p *play) application() {
	p.Helper()
	spec := map[string]any{
		"project":     "default",
		"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": p.ns},
		"source":      map[string]any{"repoURL": p.repo, "path": ".", "targetRevision": "main"},
	}
	if _, ok := p.text("project"); ok {
		spec["project"] = p.ns
	}
	metadata := map[string]any{"name": p.ns, "namespace": p.control}
	text, _ := p.text("application")
	text = strings.ReplaceAll(text, "$repo", p.repo)
	own := map[string]any{}
	p.must(yaml.Unmarshal([]byte(text), &own))
	if m, ok := own["metadata"].(map[string]any); ok {
		maps.Copy(metadata, m)
		delete(own, "metadata")
	}
	maps.Copy(spec, own)
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": metadata, "spec": spec,
	})
	p.must(err)
	u := &unstructured.Unstructured{}
	p.must(u.UnmarshalJSON(raw))
	_, err = p.dynamic.Resource(applications).Namespace(p.control).Create(p.Context(), u, metav1.CreateOptions{FieldManager: "somebody"})
	p.must(err)
}

// commit makes the sections of a number what Git holds: `git 2` is the root,
// `git 2 child` the folder child.
func (p *play) commit(number string) {
	p.Helper()
	files := map[string]string{}
	for _, f := range p.archive.Files {
		words := strings.Fields(f.Name)
		if len(words) < 2 || words[0] != "git" || words[1] != number {
			continue
		}
		name := "manifests.yaml"
		if len(words) > 2 {
			name = words[2] + "/manifests.yaml"
		}
		files[name] = p.manifests(p.expand(string(f.Data)))
	}
	if len(files) == 0 {
		p.Fatalf("there is no section \"git %s\"", number)
	}
	if !p.committed {
		p.must(p.repos.Create(p.ns, files))
		var err error
		p.first, err = p.repos.Revision(p.ns, "main")
		p.must(err)
		p.committed = true
		return
	}
	changes := map[string]*string{}
	for name, text := range files {
		changes[name] = &text
	}
	_, err := p.repos.Commit(p.ns, "main", "commit "+number, changes)
	p.must(err)
}

// manifests are the objects of a section as YAML.
func (p *play) manifests(text string) string {
	objects, err := p.objects(text)
	p.must(err)
	var b strings.Builder
	for _, u := range objects {
		raw, err := yaml.Marshal(u.Object)
		p.must(err)
		b.WriteString("---\n")
		b.Write(raw)
	}
	return b.String()
}

// follow feeds the pulse with the changes of the Application until the case
// ends.
func (p *play) follow() {
	p.pulse = make(chan struct{}, 1)
	ctx := p.Context()
	go func() {
		for ctx.Err() == nil {
			w, err := p.dynamic.Resource(applications).Namespace(p.control).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + p.ns})
			if err != nil {
				// The slow beat of whoever waits is enough meanwhile.
				return
			}
			for range w.ResultChan() {
				select {
				case p.pulse <- struct{}{}:
				default:
				}
			}
			w.Stop()
		}
	}()
}
