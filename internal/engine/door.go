package engine

import (
	"context"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/journal"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/policy"
)

// door is the one way from here to a cluster. What is known of the cluster may
// be read by everybody who knocks; every request to its server is held against
// the rules of the project at this last step before the wire, whatever it is
// for: a sync, a hook of any phase, a namespace to be made, a prune, a
// deletion, an action, a comparison. Until somebody is let in all of them are
// refused.
//
// Nobody outside of this file touches what is behind it; a test sees to that.
type door struct {
	Live
	// raw is the cluster, and hands what requests are made with.
	raw   Cluster
	hands Hands
	place policy.Place
	// project is nil while nobody was let in.
	project *policy.Project
	purpose purpose
	// user is as whom requests are made; empty is as ourselves. done are the writes that passed, for the journal.
	user string
	done deeds
}

// purpose is what somebody is let in for.
type purpose int

const (
	// looking is for questions, dry-runs among them.
	looking purpose = iota
	// acting is for writes too.
	acting
)

// knock goes to the door of an application's destination. A destination that is
// not known, or where its project has no business, is a Terminal fault.
func (e *Engine) knock(ctx context.Context, app *v1alpha1.Application) (*door, error) {
	if err := e.barred(ctx, app); err != nil {
		return nil, err
	}
	return e.approach(app)
}

// approach goes to the door whatever the rules say, for an application that has
// something behind it.
func (e *Engine) approach(app *v1alpha1.Application) (*door, error) {
	c, server, name, err := e.Clusters.For(app.Spec.Destination)
	if err != nil {
		return nil, err
	}
	return &door{Live: c, raw: c, place: policy.Place{Server: server, Name: name, Project: e.Scoped.ClusterOwner(server)}}, nil
}

// barred keeps an application from having a cluster opened where its project has
// no business: nothing is asked of such a cluster, not even what it serves.
func (e *Engine) barred(ctx context.Context, app *v1alpha1.Application) error {
	finder, ok := e.Clusters.(Finder)
	if !ok {
		return nil
	}
	to := app.Spec.Destination
	server, name, open, err := finder.Find(to)
	if err != nil || open {
		return nil // whoever opens it says what is wrong; and what is open asks at every request
	}
	r, err := e.ruling(ctx, app)
	if fault.ReasonOf(err) == "NotFound" {
		return fault.Terminalf(denied, "application %q belongs to project %q, which does not exist; create it or set spec.project",
			e.key(app), app.ProjectName())
	}
	if err != nil {
		return err
	}
	at := policy.Place{Server: server, Name: name, Project: e.Scoped.ClusterOwner(server)}
	for _, v := range []policy.Verdict{e.welcome(r, app), policy.Cluster(r.project, at)} {
		if !v.Allowed {
			return fault.Terminalf(denied, "%s", v.Reason)
		}
	}
	if policy.Enters(r.project, at) {
		return nil
	}
	return fault.Terminalf(denied, "%s", policy.DestinationOf(r.project, server, name, to.Namespace).Reason)
}

// admit opens a door to an application, by the rules of its project and as the
// user whom they name. That there is none is a Terminal fault.
func (e *Engine) admit(d *door, app *v1alpha1.Application, r *ruling, to purpose) error {
	user, v := policy.Identity(r.project, r.tenancy, policy.Seat{
		Namespace: app.Namespace, Destination: app.Spec.Destination.Namespace, Server: d.place.Server,
	})
	if !v.Allowed {
		return fault.Terminalf(denied, "%s", v.Reason)
	}
	d.hands = d.raw
	if user != "" {
		hands, err := e.As(d.raw, user)
		if err != nil {
			return err
		}
		d.hands = hands
	}
	d.hands = counted{d.hands, e.Meter, app, d.place.Server, e.traffic.to(d.place.Server).turns()}
	d.project, d.purpose, d.user = &r.project, to, user
	return nil
}

// denied is the reason of what the project does not allow.
const denied = "Denied"

// unknownKind is the reason of what the cluster is not known to serve.
const unknownKind = "UnknownKind"

// ask is passed by every request that changes nothing.
func (d *door) ask(k object.Key) error {
	if d.project == nil {
		return fault.Terminalf(denied, "%s may not be touched: the rules of the project are not known", k)
	}
	scope, ok := d.View().Scopes[k.GroupKind()]
	if !ok || scope == plan.ScopeUnknown {
		return fault.Waitingf(unknownKind, "the cluster does not serve %s; install its CRD or API server first", k.GroupKind())
	}
	if v := policy.Write(*d.project, d.place, k, scope == plan.ScopeNamespaced); !v.Allowed {
		return fault.Terminalf(denied, "%s", v.Reason)
	}
	return nil
}

// write is passed by every request that changes something.
func (d *door) write(k object.Key) error {
	if d.purpose != acting {
		return fault.Terminalf("ReadOnly", "%s may not be changed: this was only to be a look", k)
	}
	return d.ask(k)
}

// Get reads an object.
func (d *door) Get(ctx context.Context, k object.Key, version string) (*unstructured.Unstructured, error) {
	if err := d.ask(k); err != nil {
		return nil, err
	}
	return d.hands.Get(ctx, k, version)
}

// DryRun asks what an apply would make of an object.
func (d *door) DryRun(ctx context.Context, body *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := d.ask(object.KeyOf(body)); err != nil {
		return nil, err
	}
	return d.hands.DryRun(ctx, body)
}

// DryRunMerge asks what a merge would make of an object.
func (d *door) DryRunMerge(ctx context.Context, patch *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := d.ask(object.KeyOf(patch)); err != nil {
		return nil, err
	}
	return d.hands.DryRunMerge(ctx, patch)
}

// Creatable asks whether the server would take a manifest for a new object.
func (d *door) Creatable(ctx context.Context, body *unstructured.Unstructured) error {
	if err := d.ask(object.KeyOf(body)); err != nil {
		return err
	}
	return d.hands.Creatable(ctx, body)
}

// Fits asks whether a manifest has the shape of its kind. It is about the kind
// alone, and no object is asked for.
func (d *door) Fits(ctx context.Context, body *unstructured.Unstructured) error {
	return d.raw.Fits(ctx, body)
}

// Tail is the end of what the pods of an object wrote.
func (d *door) Tail(ctx context.Context, f object.Fact) string {
	if d.ask(f.Key) != nil {
		return ""
	}
	return d.hands.Tail(ctx, f)
}

// see is passed by every reading for a person who looks at an object of the application. What may be shown is not what may
// be written: the pods of a Deployment are shown in a project that lets nobody write pods.
func (d *door) see(k object.Key) error {
	if d.project == nil {
		return fault.Terminalf(denied, "%s may not be shown: the rules of the project are not known", k)
	}
	if k.Namespace == "" {
		return nil
	}
	if v := policy.DestinationOf(*d.project, d.place.Server, d.place.Name, k.Namespace); !v.Allowed {
		return fault.Terminalf(denied, "%s", v.Reason)
	}
	return nil
}

// Show reads an object for a person who looks. It is read as ourselves, as the index is: those whom a project acts as need
// no right to read what came of what they wrote.
func (d *door) Show(ctx context.Context, f object.Fact) (*unstructured.Unstructured, error) {
	if err := d.see(f.Key); err != nil {
		return nil, err
	}
	return d.raw.Get(ctx, f.Key, f.Version)
}

// Teller is a cluster that says what happened to an object, and what a pod wrote.
type Teller interface {
	Events(ctx context.Context, k object.Key, uid string) ([]corev1.Event, error)
	Logs(ctx context.Context, pod object.Key, o *corev1.PodLogOptions) (io.ReadCloser, error)
}

func (d *door) teller(k object.Key) (Teller, error) {
	if err := d.see(k); err != nil {
		return nil, err
	}
	t, ok := d.raw.(Teller)
	if !ok {
		return nil, fault.Terminalf("NotTold", "events and logs cannot be read here")
	}
	return t, nil
}

// fresh says that a write was stopped only because its kind is not known, and
// may pass: the kind may have come a moment ago. Whether it has namespaces is
// not known, so both must be allowed.
func (d *door) fresh(k object.Key, err error) bool {
	return fault.ReasonOf(err) == unknownKind &&
		policy.Write(*d.project, d.place, k, true).Allowed && policy.Write(*d.project, d.place, k, false).Allowed
}

// Apply makes a manifest true.
func (d *door) Apply(ctx context.Context, body *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := d.write(object.KeyOf(body)); err != nil && !d.fresh(object.KeyOf(body), err) {
		return nil, err
	}
	was := d.standing(object.KeyOf(body))
	u, err := d.hands.Apply(ctx, body)
	d.wrote(was, body, u, err)
	return u, err
}

// Replace puts a body in the place of an object, or asks what would come of it.
func (d *door) Replace(ctx context.Context, body *unstructured.Unstructured, lenient, dryRun bool) (*unstructured.Unstructured, error) {
	check := d.write
	if dryRun {
		check = d.ask
	}
	if err := check(object.KeyOf(body)); err != nil {
		return nil, err
	}
	if dryRun {
		return d.hands.Replace(ctx, body, lenient, true)
	}
	was := d.standing(object.KeyOf(body))
	u, err := d.hands.Replace(ctx, body, lenient, false)
	d.wrote(was, body, u, err)
	return u, err
}

// Delete removes an object, for what proves that it may go.
func (d *door) Delete(ctx context.Context, f object.Fact, propagation metav1.DeletionPropagation, proof journal.Proof) error {
	if err := d.write(f.Key); err != nil {
		return err
	}
	err := d.hands.Delete(ctx, f, propagation)
	d.note(doomed(f, proof), err)
	return err
}

// TakeOver makes fields of an object ours alone.
func (d *door) TakeOver(ctx context.Context, body *unstructured.Unstructured, ways [][]string) error {
	if err := d.write(object.KeyOf(body)); err != nil {
		return err
	}
	was := d.standing(object.KeyOf(body))
	err := d.hands.TakeOver(ctx, body, ways)
	d.note(on(was, object.KeyOf(body), journal.TakeOver), err)
	return err
}

// Release takes the hook finalizer off an object.
func (d *door) Release(ctx context.Context, f object.Fact) error {
	if err := d.write(f.Key); err != nil {
		return err
	}
	err := d.hands.Release(ctx, f)
	d.note(on(&f, f.Key, journal.Release), err)
	return err
}

// Patch changes an object for an action.
func (d *door) Patch(ctx context.Context, read *unstructured.Unstructured, patch map[string]any) error {
	if err := d.write(object.KeyOf(read)); err != nil {
		return err
	}
	err := d.hands.Patch(ctx, read, patch)
	d.note(onRead(read, journal.Patch), err)
	return err
}

// Create makes an object for an action.
func (d *door) Create(ctx context.Context, body *unstructured.Unstructured) error {
	if err := d.write(object.KeyOf(body)); err != nil {
		return err
	}
	err := d.hands.Create(ctx, body)
	d.note(journal.On(object.KeyOf(body), journal.Create), err)
	return err
}

// Remove deletes an object that was read, for a person.
func (d *door) Remove(ctx context.Context, read *unstructured.Unstructured, how metav1.DeleteOptions) error {
	if err := d.write(object.KeyOf(read)); err != nil {
		return err
	}
	err := d.hands.Remove(ctx, read, how)
	gone := onRead(read, journal.Delete)
	gone.Proof = &journal.Proof{Reason: journal.ByHand}
	d.note(gone, err)
	return err
}
