package engine

import (
	"context"
	"errors"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/policy"
	"github.com/towline-cd/towline/internal/core/status"
	"github.com/towline-cd/towline/internal/core/tree"
)

// Sight is what somebody sees who looks at an application.
type Sight struct {
	Plan    plan.Plan
	Content status.Content
	Types   []v1alpha1.SourceType
}

// Inspect says what a sync of the application to the revisions (none: its own) would do, for somebody who looks while the
// controller works. Nothing is written, and nothing that the controller remembers is touched.
func (e *Engine) Inspect(ctx context.Context, app *v1alpha1.Application, revisions []string) (Sight, error) {
	o := e.observe(ctx, app, look{revisions: revisions, only: true})
	s := Sight{Content: o.content, Types: o.types()}
	if o.plan == nil {
		return s, o.why()
	}
	s.Plan = *o.plan
	return s, nil
}

// Judge is the status that a look at the application would lead to. Nothing is written.
func (e *Engine) Judge(ctx context.Context, app *v1alpha1.Application) (v1alpha1.ApplicationStatus, error) {
	o := e.observe(ctx, app, look{only: true})
	if o.plan == nil {
		return v1alpha1.ApplicationStatus{}, o.why()
	}
	return e.status(o, app.Status.OperationState), nil
}

// why is the reason that nothing was seen. The class is that of what failed, if something did.
func (o *observation) why() error {
	if o.err != nil {
		return o.err
	}
	var messages []error
	for _, f := range o.findings {
		if f.Severity == finding.Error {
			messages = append(messages, errors.New(f.Message))
		}
	}
	return fault.Terminalf("NotCompared", "%w", errors.Join(messages...))
}

// Manifests are what the application's sources give at the revisions, as they would be compared.
func (e *Engine) Manifests(ctx context.Context, app *v1alpha1.Application, revisions []string) (Sight, []*unstructured.Unstructured,
	error,
) {
	l := look{revisions: revisions, only: true}
	o := &observation{
		engine: e, app: app, look: l, instance: object.Instance(e.Namespace, app.Namespace, app.Name), content: status.ContentOf(app),
		options: plan.OptionsOf(app),
	}
	o.findings = append(o.findings, plan.Validate(app)...)
	var project policy.Project
	if !finding.Blocking(o.findings) {
		o.take(e.before(ctx, o, &project))
	}
	s := Sight{Content: o.content}
	if o.err != nil && !o.content.Known() || finding.Blocking(o.findings) {
		return s, nil, o.why()
	}
	rendered, err := e.manifests(ctx, o, l)
	if err != nil {
		return s, nil, err
	}
	s.Types = o.types()
	wish, _ := e.desire(o, rendered.Objects)
	var out []*unstructured.Unstructured
	for obj := range wish.Objects.All() {
		out = append(out, obj.Body)
	}
	return s, append(out, wish.Hooks...), nil
}

// Family is the resource tree of an application, and the objects of its namespace that nobody has, where its project
// asks for them.
type Family struct {
	tree.Tree
	Orphans []*object.Fact
}

// Tree is the resource tree of an application, from what is known: no request is made.
func (e *Engine) Tree(ctx context.Context, app *v1alpha1.Application) (Family, error) {
	c, err := e.knock(ctx, app)
	if err != nil {
		return Family{}, err
	}
	out := Family{Tree: tree.Build(object.Instance(e.Namespace, app.Namespace, app.Name), c)}
	r, err := e.ruling(ctx, app)
	if err != nil || r.project.Orphans == nil || app.Spec.Destination.Namespace == "" {
		return out, err
	}
	known := make(map[object.Key]bool, len(out.Nodes))
	for _, n := range out.Nodes {
		known[n.Fact.Key] = true
	}
	for _, f := range c.Namespace(app.Spec.Destination.Namespace) {
		k := f.Key
		kind := policy.Kind{Group: k.Group, Kind: k.Kind, Name: k.Name}
		if plan.Loose(f) && f.App == "" && !known[k] && !r.project.Orphans.Ignores(k.Namespace, kind) &&
			policy.Object(r.project, k.Group, k.Kind, k.Name, true).Allowed {
			out.Orphans = append(out.Orphans, f)
		}
	}
	return out, nil
}

// Comparison is an object as Git has it, as it is, and as a sync would leave it; what there is not is nil.
type Comparison struct {
	Item                     plan.Item
	Target, Live, Prediction *unstructured.Unstructured
}

// Comparisons are the objects of an application that want takes, each with its bodies.
func (e *Engine) Comparisons(ctx context.Context, app *v1alpha1.Application, want func(object.Key) bool) ([]Comparison, error) {
	o := e.observe(ctx, app, look{only: true})
	if o.plan == nil {
		return nil, o.why()
	}
	var out []Comparison
	for _, it := range o.plan.Items {
		if !it.Aside && want(it.Key) {
			out = append(out, Comparison{Item: it, Target: it.Desired.Body})
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(comparers)
	for i := range out {
		g.Go(func() error { return bodies(gctx, o.cluster, &out[i]) })
	}
	return out, g.Wait()
}

// comparers is how many objects are shown at once to somebody who looks.
const comparers = 8

// bodies reads what is live of an object, and asks what would become of it. One that cannot be predicted is shown as it is.
func bodies(ctx context.Context, c *door, p *Comparison) error {
	it := p.Item
	if it.Live == nil {
		p.Prediction = p.Target
		return ctx.Err()
	}
	live, err := c.Show(ctx, *it.Live)
	if fault.ReasonOf(err) == "NotFound" {
		return nil
	}
	if err != nil {
		return err
	}
	p.Live, p.Prediction = live, live
	if it.Action == plan.Update && it.Sync == plan.OutOfSync && p.Target != nil {
		if predicted, err := c.DryRun(ctx, p.Target); err == nil {
			p.Prediction = predicted
		}
	}
	return ctx.Err()
}

// Object is an object of an application, or below one, as it is.
func (e *Engine) Object(ctx context.Context, app *v1alpha1.Application, k object.Key) (*unstructured.Unstructured, error) {
	c, f, err := e.sight(ctx, app, k)
	if err != nil {
		return nil, err
	}
	u, err := c.Show(ctx, f)
	if err != nil {
		return nil, err
	}
	if string(u.GetUID()) != f.UID {
		return nil, fault.Transientf("Conflict", "%s was replaced by another object just now", k)
	}
	return u, nil
}

// sight is the door to the cluster of an application, and what is known of one of its objects.
func (e *Engine) sight(ctx context.Context, app *v1alpha1.Application, k object.Key) (*door, object.Fact, error) {
	c, err := e.enter(ctx, app)
	if err != nil {
		return nil, object.Fact{}, err
	}
	f, ok := c.Fact(k)
	if !ok {
		return nil, f, fault.Terminalf("NotFound", "%s is not there, or its kind is not watched", k)
	}
	s := &stage{cluster: c}
	if !s.belongs(f, object.Instance(e.Namespace, app.Namespace, app.Name), 0) && !e.hangs(c, app, k) {
		return nil, f, fault.Terminalf("NotOurs", "%s is not an object of application %q, nor below one", k, e.key(app))
	}
	return c, f, nil
}

// hangs says that an object is in the application's tree by what objects say of each other, without an owner.
func (e *Engine) hangs(c *door, app *v1alpha1.Application, k object.Key) bool {
	return slices.ContainsFunc(tree.Build(object.Instance(e.Namespace, app.Namespace, app.Name), c).Nodes, func(n tree.Node) bool {
		return n.Fact.Key == k && !n.Foreign
	})
}

// enter opens the door to an application for somebody who looks.
func (e *Engine) enter(ctx context.Context, app *v1alpha1.Application) (*door, error) {
	c, err := e.knock(ctx, app)
	if err != nil {
		return nil, err
	}
	r, err := e.ruling(ctx, app)
	if err != nil {
		return nil, err
	}
	if v := e.welcome(r, app); !v.Allowed {
		return nil, fault.Terminalf(denied, "%s", v.Reason)
	}
	if finding.Blocking(r.findings) {
		return nil, fault.Terminalf(denied, "%s", r.findings[0].Message)
	}
	return c, e.admit(c, app, r, looking)
}

// EventsOf are the events about an object of an application, as its cluster keeps them.
func (e *Engine) EventsOf(ctx context.Context, app *v1alpha1.Application, k object.Key) ([]corev1.Event, error) {
	c, f, err := e.sight(ctx, app, k)
	if err != nil {
		return nil, err
	}
	t, err := c.teller(k)
	if err != nil {
		return nil, err
	}
	return t.Events(ctx, k, f.UID)
}

// PodsOf are the pods of an application: one by its name, or those below an object, or all.
func (e *Engine) PodsOf(ctx context.Context, app *v1alpha1.Application, below object.Key, name string) ([]object.Key, error) {
	c, err := e.enter(ctx, app)
	if err != nil {
		return nil, err
	}
	family := tree.Build(object.Instance(e.Namespace, app.Namespace, app.Name), c).Nodes
	kin := map[object.Key]bool{}
	for _, n := range family {
		if !n.Foreign && fits(below, n.Fact.Key) {
			kin[n.Fact.Key] = true
		}
	}
	// Parents may come after their children in the order of keys.
	for grown := true; grown; {
		grown = false
		for _, n := range family {
			if !kin[n.Fact.Key] && !n.Foreign && slices.ContainsFunc(n.Parents, func(p tree.Parent) bool { return kin[p.Key] }) {
				kin[n.Fact.Key], grown = true, true
			}
		}
	}
	var out []object.Key
	for _, n := range family {
		k := n.Fact.Key
		if kin[k] && k.Group == "" && k.Kind == "Pod" && (name == "" || k.Name == name) {
			out = append(out, k)
		}
	}
	return out, nil
}

// fits says that a key is one that was asked for; what the question leaves open fits all.
func fits(asked, k object.Key) bool {
	return (asked.Kind == "" || asked.Kind == k.Kind) && (asked.Group == "" || asked.Group == k.Group) &&
		(asked.Name == "" || asked.Name == k.Name) && (asked.Namespace == "" || asked.Namespace == k.Namespace)
}

// Logs is what a pod of an application writes. The pod is one of those that PodsOf named.
func (e *Engine) Logs(ctx context.Context, app *v1alpha1.Application, pod object.Key, o *corev1.PodLogOptions) (io.ReadCloser, error) {
	c, _, err := e.sight(ctx, app, pod)
	if err != nil {
		return nil, err
	}
	t, err := c.teller(pod)
	if err != nil {
		return nil, err
	}
	return t.Logs(ctx, pod, o)
}
