package engine

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/policy"
	"github.com/towline-cd/towline/internal/core/status"
)

// observation is one look at an application: what Git says, what is live, and
// the plan that follows. Where the look failed, plan is nil, findings say why
// to the user and err says it to the queue.
type observation struct {
	engine   *Engine
	app      *v1alpha1.Application
	instance string
	// content is what is compared, and rendered the answer to each source.
	content  status.Content
	rendered []*rendered
	// cluster is the door to the destination.
	cluster *door
	// kube is what renders are told of the cluster, instead of what it says.
	kube *manifest.Kube

	// reason is why a sync begins that nobody asked for.
	reason   string
	look     look
	windows  []policy.Window
	rules    diff.Rules
	options  plan.Options
	plan     *plan.Plan
	findings []finding.Finding
	err      error
	// took is how long the parts of the look took.
	took []any
	// digest is that of what is rendered, once somebody asked for it.
	digest string
}

// look says how to look: at which revision, and how hard.
type look struct {
	// revisions override the target revisions of the sources.
	revisions []string
	// asked says that a person asked: the repository is looked at now.
	asked bool
	// hard also renders anew.
	hard bool
	// op is the operation that the look is for, and run the attempt; content and
	// manifests are what it syncs instead of the application's own.
	op        *v1alpha1.Operation
	run       plan.Run
	content   *status.Content
	manifests []string
	// removing says that the application is being deleted: only its hooks
	// matter.
	removing bool
	// only says that somebody looks: nothing may be written after the look, and what is remembered of the application
	// stays as the controller left it.
	only bool
}

// lookOf is a look that has not begun.
func (e *Engine) lookOf(app *v1alpha1.Application) *observation {
	return &observation{
		engine: e, app: app, instance: object.Instance(e.Namespace, app.Namespace, app.Name), content: status.ContentOf(app),
	}
}

// observe looks at an application. It never writes.
func (e *Engine) observe(ctx context.Context, app *v1alpha1.Application, l look) *observation {
	o := e.lookOf(app)
	o.look = l
	o.findings = append(o.findings, plan.Validate(app)...)
	if l.content != nil {
		o.content = *l.content
	}
	o.options = plan.OptionsOf(app)
	if l.op != nil && l.op.Sync != nil && len(l.op.Sync.SyncOptions) > 0 {
		o.options = plan.Options(l.op.Sync.SyncOptions)
	}
	if finding.Blocking(o.findings) {
		return o
	}
	var project policy.Project
	o.take(append(e.before(ctx, o, &project),
		func() error { return e.compare(ctx, o, project, l) },
		func() error { return e.orphans(ctx, o, project) },
	))
	return o
}

// before are the steps to the content that is compared.
func (e *Engine) before(ctx context.Context, o *observation, project *policy.Project) []func() error {
	return []func() error{
		func() error { return e.destination(ctx, o) },
		func() error { return e.project(ctx, o, project) },
		func() error { return e.sources(o, *project) },
		func() error {
			ctx, end := o.part(ctx, "resolve")
			err := e.resolve(ctx, o, o.look)
			end(err)
			return err
		},
		func() error { return e.verify(ctx, o, *project) },
	}
}

// take takes the steps, until one of them finds something that ends the look.
func (o *observation) take(steps []func() error) {
	for _, step := range steps {
		if err := step(); err != nil {
			o.fail(err)
			return
		}
		if finding.Blocking(o.findings) {
			return
		}
	}
}

// fail records an error for the user and for the queue.
func (o *observation) fail(err error) {
	o.err = errors.Join(o.err, err)
	o.findings = append(o.findings, finding.Finding{
		Reason: finding.Comparison, Severity: finding.Error, Message: err.Error(),
	})
}

// refuse records a mistake in the spec.
func (o *observation) refuse(message string) {
	o.findings = append(o.findings, finding.Finding{Reason: finding.InvalidSpec, Severity: finding.Error, Message: message})
}

// project reads the rules, and opens the door to those whom they let in.
func (e *Engine) project(ctx context.Context, o *observation, into *policy.Project) error {
	name := o.app.ProjectName()
	r, err := e.ruling(ctx, o.app)
	if fault.ReasonOf(err) == "NotFound" {
		o.refuse(fmt.Sprintf(
			"application %q belongs to project %q, which does not exist; create it or set spec.project", e.key(o.app), name))
		return nil
	}
	if err != nil {
		return err
	}
	o.findings = append(o.findings, r.findings...)
	*into, o.windows = r.project, r.windows()
	at := o.cluster.place
	for _, v := range []policy.Verdict{
		e.welcome(r, o.app), policy.Cluster(r.project, at),
		policy.DestinationOf(r.project, at.Server, at.Name, o.app.Spec.Destination.Namespace),
	} {
		if !v.Allowed {
			o.refuse(v.Reason)
		}
	}
	if finding.Blocking(o.findings) {
		return nil
	}
	to := acting
	if o.look.only {
		to = looking
	}
	err = e.admit(o.cluster, o.app, r, to)
	if err != nil && fault.ClassOf(err) == fault.Terminal {
		o.refuse(err.Error())
		return nil
	}
	return err
}

// sources checks where the content comes from.
func (e *Engine) sources(o *observation, project policy.Project) error {
	for _, s := range o.content.Sources {
		if v := policy.Source(project, s.RepoURL); !v.Allowed {
			o.refuse(v.Reason)
		}
	}
	return nil
}

func (e *Engine) destination(ctx context.Context, o *observation) error {
	d, err := e.knock(ctx, o.app)
	if reason := fault.ReasonOf(err); reason == destination.Unknown || reason == destination.Ambiguous || reason == denied {
		o.refuse(err.Error())
		return nil
	}
	if o.cluster = d; d != nil {
		e.traffic.to(d.place.Server).arrive(ctx)
	}
	return err
}

// resolve finds the revision of each source. While a repository is out of reach
// the revision that was compared last stands in: its drift can still be seen
// and healed.
func (e *Engine) resolve(ctx context.Context, o *observation, l look) error {
	maxAge := e.Settings().MaxAge
	if l.asked || l.hard {
		maxAge = 0
	}
	if n := len(l.revisions); n > 0 && n != len(o.content.Sources) {
		return fault.Terminalf("RevisionsDoNotFit", "the operation names %d revisions for %d sources; name one for each",
			n, len(o.content.Sources))
	}
	last := compared(o)
	revisions := make([]string, len(o.content.Sources))
	for i, s := range o.content.Sources {
		origin := manifest.OriginOf(o.app, s)
		if i < len(l.revisions) && l.revisions[i] != "" {
			origin.Revision = l.revisions[i]
		}
		revision, _, err := e.Sources.Resolve(ctx, origin, maxAge)
		if err == nil {
			revisions[i] = revision
			continue
		}
		if fault.ClassOf(err) != fault.Transient || !last.Known() || !last.SameSources(o.content) {
			return err
		}
		revisions[i] = last.Revisions[i]
		o.err = errors.Join(o.err, err)
		o.findings = append(o.findings, finding.Finding{
			Reason: finding.Comparison, Severity: finding.Warning,
			Message: fmt.Sprintf("the repository is out of reach, compared with the last known revision %s: %v", revisions[i], err),
		})
	}
	o.content.Revisions = revisions
	return nil
}

// compared is what the status of the application speaks of.
func compared(o *observation) status.Content { return status.Compared(o.app.Status.Sync) }

// compare renders, asks the server what only it knows, and computes the plan.
func (e *Engine) compare(ctx context.Context, o *observation, project policy.Project, l look) error {
	rendered, err := timed(ctx, o, "render", func(ctx context.Context) (manifest.Result, error) { return e.manifests(ctx, o, l) })
	if err != nil {
		if !l.only {
			e.footprints.set(e.key(o.app), nil)
		}
		return err
	}
	if len(l.manifests) == 0 && !l.only {
		e.stand(o, o.content.Revisions)
		e.hold(o, l)
	}
	var found []finding.Finding
	o.rules, found = e.rules(o.app)
	o.findings = append(o.findings, found...)
	comparing, end := o.part(ctx, "compare")
	in, answers, found, err := e.question(comparing, o, project, rendered)
	end(err)
	if err != nil {
		return err
	}
	o.findings = append(o.findings, found...)
	p := plan.Compute(in, answers)
	e.explain(o, &p)
	if !l.only {
		e.Meter.Gate(max(0, judgedItems(p)-len(answers)), len(answers))
		e.keepVerdicts(ctx, o, p)
		e.wants.set(e.key(o.app), o.cluster.place.Server, unmarked(p, o.instance))
		e.doubts.set(e.key(o.app), o.cluster.place.Server, unconfirmed(p))
	}
	o.plan = &p
	o.findings = append(o.findings, p.Findings...)
	return nil
}

// question asks the server what a plan needs to know. Its answers may say that
// a manifest has to be mended, which makes it another question.
func (e *Engine) question(
	ctx context.Context, o *observation, project policy.Project, rendered manifest.Result,
) (plan.Input, map[object.Key]plan.Answer, []finding.Finding, error) {
	for {
		in, found := e.input(o, project, rendered)
		if !o.look.only {
			e.await(o, plan.Incomplete(in))
		}
		answers, err := e.ask(ctx, o, plan.Ask(in))
		if err != nil || !e.learn(o, in, answers) {
			return in, answers, found, err
		}
	}
}

// input gathers what a plan is made of.
func (e *Engine) input(o *observation, project policy.Project, rendered manifest.Result) (plan.Input, []finding.Finding) {
	wish, found := e.desire(o, rendered.Objects)
	return plan.Input{
		Rules: o.rules,
		App: plan.App{
			Instance:        o.instance,
			Self:            object.Key{Group: v1alpha1.Group, Kind: "Application", Namespace: o.app.Namespace, Name: o.app.Name},
			CreateNamespace: o.options.Namespace(o.app),
			Options:         o.options,
			Force:           forced(o.look.op),
			Webhooks:        plan.CountsWebhooks(o.app),
		},
		Project:  project,
		Desired:  wish.Objects,
		Repeated: wish.Repeated,
		Hooks:    wish.Hooks,
		Mark:     e.mark(o),
		Run:      o.look.run,
		Removing: o.look.removing,
		LeftOut:  leftOut(rendered),
		Live:     liveFacts(o, wish.Objects),
		Verdicts: e.knownVerdicts(e.key(o.app), o.scope()),
		Cluster:  o.cluster.View(),
		Server:   o.cluster.place.Server, ClusterName: o.cluster.place.Name, ClusterProject: o.cluster.place.Project,
	}, found
}

// mark is how the application's objects are marked.
func (e *Engine) mark(o *observation) plan.Mark {
	m := plan.Mark{App: o.instance, Destination: o.app.Spec.Destination.Namespace, Tracker: e.Tracker}
	// An operation may ask for the namespace where the application has no policy.
	if p := o.app.Spec.SyncPolicy; p != nil && o.options.Namespace(o.app) != "" {
		m.Namespace = p.ManagedNamespaceMetadata
	}
	return m
}

// forced says that an operation makes anew whatever cannot be changed.
func forced(op *v1alpha1.Operation) bool {
	if op == nil || op.Sync == nil || op.Sync.SyncStrategy == nil {
		return false
	}
	s := op.Sync.SyncStrategy
	return s.Apply != nil && s.Apply.Force || s.Hook != nil && s.Hook.Force
}

// leftOut is what the render could not take in.
func leftOut(r manifest.Result) []string {
	if !r.Incomplete {
		return nil
	}
	return r.Skipped
}

// liveFacts are the facts that a plan is made from: the application's own
// objects, those that stand under a desired key, and its namespace.
func liveFacts(o *observation, desired object.Set) []object.Fact {
	facts := o.cluster.Managed(o.instance)
	have := make(map[object.Key]struct{}, len(facts))
	for _, f := range facts {
		have[f.Key] = struct{}{}
	}
	keys := append(desired.Keys(), object.Key{Kind: "Namespace", Name: o.app.Spec.Destination.Namespace})
	for _, k := range keys {
		if _, ok := have[k]; ok {
			continue
		}
		if f, ok := o.cluster.Fact(k); ok {
			facts = append(facts, f)
			have[k] = struct{}{}
		}
	}
	return facts
}

// manifests are what the application asks for: what its source renders to, or
// what a person brought along.
func (e *Engine) manifests(ctx context.Context, o *observation, l look) (manifest.Result, error) {
	if len(l.manifests) == 0 {
		return e.render(ctx, o, l)
	}
	var out manifest.Result
	for i, text := range l.manifests {
		objects, err := manifest.Parse(fmt.Sprintf("manifest %d of the operation", i+1), []byte(text))
		if err != nil {
			return manifest.Result{}, err
		}
		out.Objects = append(out.Objects, objects...)
	}
	return out, nil
}

// askers is how many questions of one application are asked at once. Most of
// them are two requests at the same time.
const askers = 4

// ask puts the questions to the server. A question that fails makes one
// object unknown, not the application.
func (e *Engine) ask(ctx context.Context, o *observation, questions []plan.Question) (map[object.Key]plan.Answer, error) {
	w := &witness{engine: e, o: o}
	answers := make([]plan.Answer, len(questions))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(askers)
	for i, q := range questions {
		g.Go(func() error {
			answers[i] = answer(gctx, o.cluster, q, w)
			return gctx.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if len(questions) > 0 {
		// A cluster that stopped answering meanwhile is one problem, not many.
		if _, err := e.knock(ctx, o.app); destination.Lost(err) {
			return nil, err
		}
	}
	out := make(map[object.Key]plan.Answer, len(questions))
	for i, q := range questions {
		out[q.Object.Key] = answers[i]
	}
	return out, nil
}

func short(revision string) string {
	if len(revision) > 7 {
		return revision[:7]
	}
	return revision
}
