package engine

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/journal"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/transition"
)

// behalfKey is where a context says on whose behalf something is done.
type behalfKey struct{}

// OnBehalf has what is done by hand written down as somebody's.
func OnBehalf(ctx context.Context, who journal.Who) context.Context {
	return context.WithValue(ctx, behalfKey{}, who)
}

// deeds gathers what was done to objects until it is written down. It is safe
// for use by many goroutines.
type deeds struct {
	mu   sync.Mutex
	list []journal.Deed
}

// add notes a write. What the server says of a failure may repeat what it was
// sent, so only the class of it is kept.
func (d *deeds) add(one journal.Deed, err error) {
	if err != nil {
		one.Failed = cmp.Or(fault.ReasonOf(err), "Error")
		if errors.Is(err, context.Canceled) {
			one.Failed = "Interrupted"
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, one)
}

// take is what was gathered since it was last taken.
func (d *deeds) take() []journal.Deed {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.list
	d.list = nil
	return out
}

func (d *door) note(one journal.Deed, err error) {
	one.As = d.user
	d.done.add(one, err)
}

// standing is what is known of an object before it is written.
func (d *door) standing(k object.Key) *object.Fact {
	if f, ok := d.Fact(k); ok {
		return &f
	}
	return nil
}

// wrote notes a write that answers with the object.
func (d *door) wrote(was *object.Fact, body, now *unstructured.Unstructured, err error) {
	one := on(was, object.KeyOf(body), journal.Update)
	if was == nil {
		one.Action = journal.Create
	}
	if now != nil {
		one.UID, one.After = string(now.GetUID()), now.GetResourceVersion()
	}
	if was != nil && one.After == one.Before {
		one.Action = journal.Unchanged
	}
	d.note(one, err)
}

func on(was *object.Fact, k object.Key, a journal.Action) journal.Deed {
	one := journal.On(k, a)
	if was != nil {
		one.UID, one.Before = was.UID, was.ResourceVersion
	}
	return one
}

func onRead(read *unstructured.Unstructured, a journal.Action) journal.Deed {
	one := journal.On(object.KeyOf(read), a)
	one.UID, one.Before = string(read.GetUID()), read.GetResourceVersion()
	return one
}

// doomed is the deletion of an object.
func doomed(f object.Fact, proof journal.Proof) journal.Deed {
	one := on(&f, f.Key, journal.Delete)
	proof.Mark = f.App
	one.Proof = &proof
	return one
}

// because is the proof for an object that goes by the rules of its own.
func because(reason string) journal.Proof {
	return journal.Proof{Reason: reason}
}

// undesired is the proof for an object that is pruned: the plan prunes nothing
// unless the render is complete and every API group answered.
func undesired(o *observation, it plan.Item, progress plan.Progress) journal.Proof {
	p := journal.Proof{Reason: journal.Undesired, Looked: progress.Looked}
	for _, other := range o.plan.Items {
		if other.Desired.Body != nil && !other.Hook {
			p.Desired++
		}
	}
	if it.Confirm {
		p.Approved = o.app.Annotations[v1alpha1.AnnotationDeletionApproved]
	}
	return p
}

// about is what all records of an application have in common.
func (e *Engine) about(app *v1alpha1.Application, kind journal.Kind) journal.Record {
	return journal.Record{Kind: kind, Time: e.Now(), App: e.key(app), Project: app.ProjectName()}
}

// looked is what all records of a look have in common.
func (e *Engine) looked(o *observation, kind journal.Kind) journal.Record {
	r := e.about(o.app, kind)
	if o.cluster != nil {
		r.Server = o.cluster.place.Server
	}
	r.Revisions, r.Tree = o.content.Revisions, o.tree()
	return r
}

// during adds the operation to a record, and whom it is for.
func during(r journal.Record, state *v1alpha1.OperationState) journal.Record {
	if state == nil {
		return r
	}
	r.Operation = state.StartedAt.UTC().Format(time.RFC3339)
	by := state.Operation.InitiatedBy
	r.By = journal.Who{Subject: by.Username, Automated: by.Automated}
	return r
}

// tree is the digest of all that the sources render to, source by source.
func (o *observation) tree() string {
	if o.digest != "" {
		return o.digest
	}
	var b strings.Builder
	for _, r := range o.rendered {
		if r == nil {
			continue
		}
		for _, u := range r.Result.Objects {
			b.WriteString(object.DigestOf(u).String())
		}
		b.WriteByte('\n')
	}
	if b.Len() == 0 {
		return ""
	}
	o.digest = object.DigestOfText(b.String()).String()
	return o.digest
}

func (e *Engine) beganOperation(o *observation, was, state *v1alpha1.OperationState) {
	if was != nil && !was.Phase.Completed() && !was.StartedAt.Equal(&state.StartedAt) {
		r := during(e.about(o.app, journal.Ended), was)
		r.Phase, r.Why = string(v1alpha1.OperationFailed), "another operation took its place"
		e.Journal(r)
	}
	r := during(e.looked(o, journal.Began), state)
	r.Why = o.reason
	if op := state.Operation.Sync; op != nil && op.DryRun {
		r.Why = strings.TrimPrefix(r.Why+"; a dry run, which writes nothing", "; ")
	}
	e.Journal(r)
}

// endedOperation writes down how an operation ended. Its message may hold what
// servers said, and is in the status of the application.
func (e *Engine) endedOperation(o *observation, state *v1alpha1.OperationState) {
	r := during(e.looked(o, journal.Ended), state)
	r.Phase = string(state.Phase)
	e.Journal(r)
}

func (e *Engine) heldBack(app *v1alpha1.Application, state *v1alpha1.OperationState, s plan.Step) {
	r := during(e.about(app, journal.Held), state)
	r.Why = s.Message
	if revision := transition.Revision(state); revision != "" {
		r.Revisions = []string{revision}
	}
	e.Journal(r)
}

func (e *Engine) letGoOf(app *v1alpha1.Application) { e.Journal(e.about(app, journal.Released)) }

// foretell writes down what is about to be deleted, and the proof for it, before
// the first request: whatever happens then, the proof is there.
func (e *Engine) foretell(o *observation, w work) {
	if w.step.Do != plan.DoPrune || w.dryRun {
		return
	}
	r := during(e.looked(o, journal.Deletes), o.app.Status.OperationState)
	for _, it := range w.step.Items {
		if _, settled := plan.Settle(it, w.progress); !settled && it.Live != nil {
			r.Objects = append(r.Objects, doomed(*it.Live, undesired(o, it, w.progress)))
		}
	}
	if len(r.Objects) > 0 {
		e.Journal(r)
	}
}

// wroteDown writes down what was done to objects.
func (e *Engine) wroteDown(ctx context.Context, o *observation) {
	list := o.cluster.done.take()
	if len(list) == 0 {
		return
	}
	r := e.looked(o, journal.Objects)
	if o.app.DeletionTimestamp == nil {
		r = during(r, o.app.Status.OperationState)
	}
	e.journal(ctx, r, list)
}

// byHand writes down what was done for somebody who asked.
func (e *Engine) byHand(ctx context.Context, app *v1alpha1.Application, d *door) {
	if list := d.done.take(); len(list) > 0 {
		r := e.about(app, journal.Objects)
		r.Server = d.place.Server
		e.journal(ctx, r, list)
	}
}

func (e *Engine) journal(ctx context.Context, r journal.Record, list []journal.Deed) {
	if who, ok := ctx.Value(behalfKey{}).(journal.Who); ok {
		r.By = who
	}
	r.Objects = list
	e.Journal(r)
}

// proof is why the objects of an application go that is being deleted.
func (r removal) proof() journal.Proof {
	p := journal.Proof{Reason: journal.Cascade}
	if at := r.app.Annotations[v1alpha1.AnnotationDeletionApproved]; at != "" && plan.Approved(r.app, r.app.DeletionTimestamp.Time) {
		p.Approved = at
	}
	return p
}

func (r removal) foretell(list []object.Fact) {
	if len(list) == 0 {
		return
	}
	record := r.engine.about(r.app, journal.Deletes)
	record.Server = r.cluster.place.Server
	for _, f := range list {
		record.Objects = append(record.Objects, doomed(f, r.proof()))
	}
	r.engine.Journal(record)
}

func (r removal) wroteDown(ctx context.Context) { r.engine.byHand(ctx, r.app, r.cluster) }

// applicationKey is an application as an object.
func applicationKey(app *v1alpha1.Application) object.Key {
	return object.Key{Group: v1alpha1.Group, Kind: v1alpha1.ApplicationKind, Namespace: app.Namespace, Name: app.Name}
}

// wrote notes that an application of a set was written.
func (g *generation) wrote(was, body, now *v1alpha1.Application, err error) {
	one := journal.On(applicationKey(body), journal.Create)
	if was != nil {
		one.Action, one.UID, one.Before = journal.Update, string(was.UID), was.ResourceVersion
	}
	if now != nil && err == nil {
		one.UID, one.After = string(now.UID), now.ResourceVersion
	}
	g.done.add(one, err)
}

func doomedApp(r appset.Removal) journal.Deed {
	one := journal.On(applicationKey(r.App), journal.Delete)
	one.UID, one.Before, one.Proof = string(r.App.UID), r.App.ResourceVersion, &journal.Proof{Reason: r.Why}
	return one
}

// foretell writes down which applications of a set are about to be deleted.
func (g *generation) foretell(list []appset.Removal) {
	if len(list) == 0 {
		return
	}
	r := g.record(journal.Deletes)
	for _, one := range list {
		r.Objects = append(r.Objects, doomedApp(one))
	}
	g.engine.Journal(r)
}

// wroteDown writes down which applications of a set were written.
func (g *generation) wroteDown() {
	list := g.done.take()
	if len(list) == 0 {
		return
	}
	r := g.record(journal.Objects)
	r.Objects = list
	g.engine.Journal(r)
}

func (g *generation) record(kind journal.Kind) journal.Record {
	return journal.Record{Kind: kind, Time: g.engine.Now(), Set: g.name(), By: journal.Who{Automated: true}}
}
