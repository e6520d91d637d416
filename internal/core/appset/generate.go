package appset

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Key names a need: needs that ask the same have the same key.
func (n Need) Key() string {
	// How often to ask, and what becomes of the answer, are no part of the question.
	switch {
	case n.PullRequest != nil:
		q := *n.PullRequest
		q.RequeueAfterSeconds, q.Values, q.Template = nil, nil, v1alpha1.ApplicationSetTemplate{}
		n.PullRequest = &q
	case n.SCMProvider != nil:
		q := *n.SCMProvider
		q.RequeueAfterSeconds, q.Values, q.Template = nil, nil, v1alpha1.ApplicationSetTemplate{}
		n.SCMProvider = &q
	case n.Plugin != nil:
		q := *n.Plugin
		q.RequeueAfterSeconds, q.Values, q.Template = nil, nil, v1alpha1.ApplicationSetTemplate{}
		n.Plugin = &q
	case n.Decision != nil:
		q := *n.Decision
		q.RequeueAfterSeconds, q.Values, q.Template = nil, nil, v1alpha1.ApplicationSetTemplate{}
		n.Decision = &q
	}
	data, err := json.Marshal(n)
	if err != nil {
		// A parameter of a plugin that is not JSON: the text of it is a name as good as any.
		return fmt.Sprintf("%#v", n)
	}
	return string(data)
}

// generation is one run over a set.
type generation struct {
	*templater

	set   *v1alpha1.ApplicationSet
	world World
	needs []Need
	keys  map[string]bool // of needs
	notes []string
	noted map[string]bool
}

func (g *generation) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !g.noted[text] {
		g.noted[text] = true
		g.notes = append(g.notes, text)
	}
}

// answer is what a need turned out to be; without it the need is noted.
func (g *generation) answer(n Need) (Answer, error) {
	key := n.Key()
	a, ok := g.world.Answers[key]
	if ok {
		return a, nil
	}
	if !g.keys[key] {
		g.keys[key] = true
		g.needs = append(g.needs, n)
	}
	return Answer{}, errNeeds
}

// Generate turns a set into Applications, or says what has to be known first. The set is not changed, and what comes out
// shares nothing with it.
func Generate(set *v1alpha1.ApplicationSet, w World) Result {
	g := &generation{set: set, world: w, keys: map[string]bool{}, noted: map[string]bool{}}
	batches, err := g.run()
	if err != nil {
		return Result{Failure: err.Error(), Notes: g.notes}
	}
	if len(g.needs) > 0 {
		return Result{Needs: g.needs}
	}
	b := builder{generation: g, names: map[string]int{}, documents: map[string]any{}}
	for _, batch := range batches {
		if err := b.add(batch); err != nil {
			return Result{Failure: err.Error(), Notes: g.notes}
		}
	}
	return b.result()
}

// batch is the sets that share a template.
type batch struct {
	at   string
	sets []map[string]any
	mold *mold
}

// run has every generator yield its sets. All that can be known to be wrong is found before anything is asked for.
func (g *generation) run() ([]batch, error) {
	var err error
	if g.templater, err = newTemplater(g.set.Spec.GoTemplate, g.set.Spec.GoTemplateOptions, g.world.Now); err != nil {
		return nil, err
	}
	common, err := g.mold(g.set.Spec.Template, "spec.template")
	if err != nil {
		return nil, err
	}
	if len(g.set.Spec.Generators) == 0 {
		return nil, errors.New("spec.generators is empty, and an ApplicationSet without generators stands for nothing; " +
			"add one, or delete the ApplicationSet")
	}
	var all []*node
	var batches []batch
	for i, in := range g.set.Spec.Generators {
		nodes, err := g.nodes(in, fmt.Sprintf("generators[%d]", i))
		if err != nil {
			return nil, err
		}
		for _, n := range nodes {
			m := common
			if !reflect.ValueOf(n.template).IsZero() {
				own := n.template.DeepCopy()
				underlay(reflect.ValueOf(own).Elem(), reflect.ValueOf(g.set.Spec.Template.DeepCopy()).Elem())
				if m, err = g.mold(*own, n.at+".template"); err != nil {
					return nil, err
				}
			}
			all = append(all, n)
			batches = append(batches, batch{at: n.at, mold: m})
		}
	}
	for i, n := range all {
		sets, err := g.sets(n, nil)
		if err != nil && !errors.Is(err, errNeeds) {
			return nil, err
		}
		batches[i].sets = sets
	}
	return batches, nil
}

// mold makes Applications of sets.
type mold struct {
	template v1alpha1.ApplicationSetTemplate
	fill     program
	patch    *text
}

func (g *generation) mold(t v1alpha1.ApplicationSetTemplate, at string) (*mold, error) {
	m := &mold{template: t}
	var err error
	if m.fill, err = g.compile(reflect.ValueOf(&m.template).Elem(), at); err != nil {
		return nil, err
	}
	if p := g.set.Spec.TemplatePatch; p != nil && strings.TrimSpace(*p) != "" {
		m.patch, err = g.parse("spec.templatePatch", *p)
	}
	return m, err
}

// builder collects the Applications of a set.
type builder struct {
	*generation

	apps     []*v1alpha1.Application
	names    map[string]int // how many have a name
	problems []Problem
	sets     int
	// documents are the patches that were read, by their text.
	documents map[string]any
}

func (b *builder) add(in batch) error {
	for i, set := range in.sets {
		b.sets++
		app, err := b.application(in.mold, set)
		if err != nil {
			return fmt.Errorf("%s, set %d %s: %w", in.at, i, describe(set), err)
		}
		if problem := nameProblem(app.Name); problem != "" {
			b.problems = append(b.problems, Problem{Message: fmt.Sprintf("%s, set %d %s: %s", in.at, i, describe(set), problem)})
			continue
		}
		b.names[app.Name]++
		b.apps = append(b.apps, app)
	}
	return nil
}

func nameProblem(name string) string {
	if name == "" {
		return "the Application has no name; give metadata.name in the template, with parameters that tell the Applications apart"
	}
	if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
		return fmt.Sprintf("the Application cannot be called %q (small letters, digits, - and . are allowed, and at most %d of them); "+
			"write the name with normalize or with a ...Normalized parameter", name, maxName)
	}
	return ""
}

// result keeps the Applications whose name is theirs alone.
func (b *builder) result() Result {
	out := Result{Problems: b.problems, Notes: b.notes, Sets: b.sets}
	told := map[string]bool{}
	for _, app := range b.apps {
		n := b.names[app.Name]
		if n == 1 {
			out.Apps = append(out.Apps, app)
			continue
		}
		if !told[app.Name] {
			told[app.Name] = true
			out.Problems = append(out.Problems, Problem{
				Name: app.Name,
				Message: fmt.Sprintf("%d sets of parameters yield an Application of the name %s; "+
					"put a parameter into the name that tells them apart, or select one of the sets", n, app.Name),
			})
		}
	}
	return out
}

// application makes one Application of a set of parameters.
func (b *builder) application(m *mold, params map[string]any) (*v1alpha1.Application, error) {
	t := m.template.DeepCopy()
	if m.fill != nil {
		if err := m.fill(reflect.ValueOf(t).Elem(), params); err != nil {
			return nil, err
		}
	}
	app := &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{
			Name: t.Name, Labels: t.Labels, Annotations: t.Annotations, Finalizers: t.Finalizers,
		},
		Spec: t.Spec,
	}
	policy := b.set.Spec.SyncPolicy
	if len(app.Finalizers) == 0 && (policy == nil || !policy.PreserveResourcesOnDeletion) {
		app.Finalizers = []string{v1alpha1.FinalizerResources}
	}
	if m.patch != nil {
		if err := b.patched(app, m.patch, params); err != nil {
			return nil, err
		}
	}
	app.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.Group + "/" + v1alpha1.Version, Kind: v1alpha1.ApplicationKind}
	app.Namespace = b.set.Namespace
	app.OwnerReferences = []metav1.OwnerReference{OwnerOf(b.set)}
	return app, nil
}

// OwnerOf is the reference by which an Application belongs to a set.
func OwnerOf(set *v1alpha1.ApplicationSet) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: v1alpha1.Group + "/" + v1alpha1.Version, Kind: v1alpha1.ApplicationSetKind,
		Name: set.Name, UID: set.UID, Controller: new(true), BlockOwnerDeletion: new(true),
	}
}
