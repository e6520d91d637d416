package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/internal/core/fault"
)

// authors is how many applications of a set are written at once.
const authors = 24

// write carries changes out: what changes, what comes, then what goes. One that
// hands its objects over has stopped before its successor begins. An application
// that cannot be written does not keep the others from it.
func (g *generation) write(ctx context.Context, c *appset.Changes) error {
	var made, changed, gone []func() error
	for _, app := range c.Create {
		made = append(made, func() error { return g.create(ctx, app) })
	}
	for _, u := range c.Update {
		changed = append(changed, func() error { return g.rewrite(ctx, u) })
	}
	for _, r := range c.Delete {
		gone = append(gone, func() error { return g.remove(ctx, r) })
	}
	if g.engine.Settings().Sets.DryRun {
		return g.tellOnly(ctx, c)
	}
	g.foretell(c.Delete)
	defer g.wroteDown()
	err := errors.Join(together(ctx, changed), together(ctx, made), together(ctx, gone))
	if n := len(made) + len(changed) + len(gone); n > 0 {
		slog.InfoContext(ctx, "applications of a set written", "applicationset", g.name(),
			"created", len(made), "updated", len(changed), "deleted", len(gone), "error", err)
	}
	return err
}

// tellOnly tells what would be written, where the settings want no more.
func (g *generation) tellOnly(ctx context.Context, c *appset.Changes) error {
	if c.Empty() {
		return nil
	}
	slog.InfoContext(ctx, "applications of a set would be written, and are not", "applicationset", g.name(),
		"created", len(c.Create), "updated", len(c.Update), "deleted", len(c.Delete))
	return fault.Terminalf("DryRun", "%d Applications would be created, %d changed and %d deleted; nothing was written, because %s "+
		"is true in %s", len(c.Create), len(c.Update), len(c.Delete), v1alpha1.KeyParamAppSetDryRun, v1alpha1.ConfigMapCmdParams)
}

// together runs all, some at once, and gathers what went wrong.
func together(ctx context.Context, work []func() error) error {
	var mu sync.Mutex
	var failures []error
	var group errgroup.Group
	group.SetLimit(authors)
	for _, do := range work {
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			if err := do(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failures = append(failures, err)
			}
			return nil
		})
	}
	_ = group.Wait()
	return errors.Join(failures...)
}

func (g *generation) create(ctx context.Context, app *v1alpha1.Application) error {
	app.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.Group + "/" + v1alpha1.Version, Kind: v1alpha1.ApplicationKind}
	made, err := g.engine.Author.CreateApplication(ctx, app)
	g.wrote(nil, app, made, err)
	return err
}

// rewrite sends the difference. What the engine writes into the application
// meanwhile is not touched, except for the list of finalizers, which goes as one.
func (g *generation) rewrite(ctx context.Context, u appset.Update) error {
	from, err := setPart(u.Was)
	if err != nil {
		return err
	}
	to, err := setPart(u.Next)
	if err != nil {
		return err
	}
	patch, err := jsonpatch.CreateMergePatch(from, to)
	if err != nil {
		return fmt.Errorf("comparing application %q: %w", u.Was.Name, err)
	}
	if !slices.Equal(u.Was.Finalizers, u.Next.Finalizers) {
		if patch, err = guarded(patch, u.Was.ResourceVersion); err != nil {
			return err
		}
	}
	if string(patch) == "{}" {
		return nil
	}
	now, err := g.engine.Author.RewriteApplication(ctx, g.engine.key(u.Was), patch)
	g.wrote(u.Was, u.Next, now, err)
	return err
}

// setPart is the part of an application that a set writes.
func setPart(app *v1alpha1.Application) ([]byte, error) {
	out, err := json.Marshal(struct {
		Metadata  setMeta                  `json:"metadata"`
		Spec      v1alpha1.ApplicationSpec `json:"spec"`
		Operation *v1alpha1.Operation      `json:"operation,omitempty"`
	}{
		Metadata: setMeta{Labels: app.Labels, Annotations: app.Annotations, Finalizers: app.Finalizers, Owners: app.OwnerReferences},
		Spec:     app.Spec, Operation: app.Operation,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding application %q: %w", app.Name, err)
	}
	return out, nil
}

type setMeta struct {
	Labels      map[string]string       `json:"labels,omitempty"`
	Annotations map[string]string       `json:"annotations,omitempty"`
	Finalizers  []string                `json:"finalizers,omitempty"`
	Owners      []metav1.OwnerReference `json:"ownerReferences,omitempty"`
}

// remove deletes an application; without cascade its objects stay, so what
// would delete them comes off first.
func (g *generation) remove(ctx context.Context, r appset.Removal) error {
	slog.InfoContext(ctx, "application of a set goes", "applicationset", g.name(), "app", r.App.Name, "cascade", r.Cascade, "why", r.Why)
	if !r.Cascade {
		next := r.App.DeepCopy()
		next.Finalizers = slices.DeleteFunc(next.Finalizers, func(f string) bool {
			_, cascades := propagations[f]
			return cascades || hookFinalizer(f)
		})
		if err := g.rewrite(ctx, appset.Update{Was: r.App, Next: next}); err != nil {
			return err
		}
	}
	err := g.engine.Author.DeleteApplication(ctx, g.engine.key(r.App), r.App.UID)
	g.done.add(doomedApp(r), err)
	if fault.ReasonOf(err) == "NotFound" {
		return nil
	}
	return err
}

// report writes what became of the set: the record in an annotation, and the
// status. Neither is written to say the same again.
func (g *generation) report(ctx context.Context, c appset.Changes, problem error) error {
	if err := g.note(ctx, c, problem); err != nil {
		return err
	}
	in := appset.StatusInput{
		Set: g.set, Now: g.engine.Now(), Result: g.result, Changes: c, Owned: g.engine.Sets.Generated(g.set.UID), Failed: failures(problem),
		MaxListed: g.engine.Settings().Sets.MaxListed,
	}
	if g.rolling() && g.result.Failure == "" {
		r := appset.Rollout(appset.RolloutInput{Set: g.set, Now: in.Now, Apps: g.whole, Owned: in.Owned})
		in.Rollout = &r
		if err := g.roll(ctx, r.Start); err != nil {
			return err
		}
	}
	return g.tell(ctx, appset.Status(in))
}

// failures are the single errors that were joined.
func failures(err error) []string {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var out []string
		for _, one := range many.Unwrap() {
			out = append(out, failures(one)...)
		}
		return out
	}
	return []string{err.Error()}
}

// tell writes the status.
func (g *generation) tell(ctx context.Context, next v1alpha1.ApplicationSetStatus) error {
	if equality.Semantic.DeepEqual(next, g.set.Status) {
		return nil
	}
	encode := func(s v1alpha1.ApplicationSetStatus) ([]byte, error) {
		return json.Marshal(map[string]any{"status": s})
	}
	from, err := encode(g.set.Status)
	if err != nil {
		return fmt.Errorf("encoding ApplicationSet %q: %w", g.set.Name, err)
	}
	to, err := encode(next)
	if err != nil {
		return fmt.Errorf("encoding ApplicationSet %q: %w", g.set.Name, err)
	}
	patch, err := jsonpatch.CreateMergePatch(from, to)
	if err != nil {
		return fmt.Errorf("comparing ApplicationSet %q: %w", g.set.Name, err)
	}
	if string(patch) == "{}" {
		return nil
	}
	_, err = g.engine.Sets.PatchApplicationSet(ctx, g.name(), patch, "status")
	return err
}

// note keeps what was generated from what, and takes the wish for a refresh off,
// unless it is still to be granted: whoever tries again must look again too, and
// not find good what was known before. A commit that changed no application is
// not worth a write.
func (g *generation) note(ctx context.Context, c appset.Changes, problem error) error {
	annotations := map[string]any{}
	if g.set.Annotations[v1alpha1.AnnotationApplicationSetRefresh] != "" && !g.again {
		annotations[v1alpha1.AnnotationApplicationSetRefresh] = nil
	}
	last, now := recorded(g.set), g.recording()
	if len(c.Held) > 0 {
		// What is held is held against the commits from before.
		now.Commits = last.Commits
	}
	wrote := len(c.Create)+len(c.Update)+len(c.Delete) > 0
	complete := problem == nil && g.result.Failure == ""
	if complete && (last.Generation != now.Generation || wrote || len(last.Commits) != len(now.Commits)) &&
		!equality.Semantic.DeepEqual(last, now) {
		text, err := json.Marshal(now)
		if err != nil {
			return fmt.Errorf("encoding the record of ApplicationSet %q: %w", g.set.Name, err)
		}
		annotations[v1alpha1.AnnotationGenerated] = string(text)
	}
	if len(annotations) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return fmt.Errorf("encoding ApplicationSet %q: %w", g.set.Name, err)
	}
	set, err := g.engine.Sets.PatchApplicationSet(ctx, g.name(), patch, "")
	if err != nil {
		return err
	}
	g.set = set
	return nil
}

// roll begins the syncs that it is time for.
func (g *generation) roll(ctx context.Context, start []appset.Start) error {
	if g.engine.Settings().Sets.DryRun {
		return nil
	}
	work := make([]func() error, len(start))
	for i, one := range start {
		next := one.App.DeepCopy()
		next.Operation = one.Operation
		work[i] = func() error { return g.rewrite(ctx, appset.Update{Was: one.App, Next: next}) }
	}
	defer g.wroteDown()
	return together(ctx, work)
}

// anchor keeps a set until its applications are gone, where they have to go in
// an order: without it the server deletes all of them at once.
func (g *generation) anchor(ctx context.Context) error {
	if !g.rolling() || g.set.Spec.Strategy.DeletionOrder != v1alpha1.ApplicationSetDeletionOrderReverse ||
		slices.Contains(g.set.Finalizers, v1alpha1.FinalizerResources) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": g.set.ResourceVersion, "finalizers": append(slices.Clone(g.set.Finalizers), v1alpha1.FinalizerResources),
	}})
	if err != nil {
		return fmt.Errorf("encoding ApplicationSet %q: %w", g.set.Name, err)
	}
	set, err := g.engine.Sets.PatchApplicationSet(ctx, g.name(), patch, "")
	if err != nil {
		return err
	}
	g.set = set
	return nil
}

// removeSet lets a set go that is being deleted. Without a finalizer of ours the
// server deletes its applications as it deletes everything that has an owner.
func (e *Engine) removeSet(ctx context.Context, set *v1alpha1.ApplicationSet) (SetResult, error) {
	if !slices.Contains(set.Finalizers, v1alpha1.FinalizerResources) || e.Settings().Sets.DryRun {
		return SetResult{}, nil
	}
	g := &generation{engine: e, set: set, state: e.setStates.of(e.setName(set))}
	defer g.wroteDown()
	settings := e.Settings().Sets
	owned := e.Sets.Generated(set.UID)
	policy := appset.PolicyOf(set, settings.Policy, settings.Override)
	if !policy.AllowDelete() {
		if err := g.orphan(ctx, owned); err != nil {
			return SetResult{}, err
		}
		owned = nil
	}
	if len(owned) > 0 {
		var work []func() error
		for _, app := range appset.DeletionOrder(set, owned) {
			if app.DeletionTimestamp == nil {
				work = append(work, func() error {
					return g.remove(ctx, appset.Removal{App: app, Cascade: true, Why: "its ApplicationSet is being deleted"})
				})
			}
		}
		// Their last events bring us back.
		return SetResult{}, together(ctx, work)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": set.ResourceVersion,
		"finalizers":      slices.DeleteFunc(slices.Clone(set.Finalizers), func(f string) bool { return f == v1alpha1.FinalizerResources }),
	}})
	if err != nil {
		return SetResult{}, fmt.Errorf("encoding ApplicationSet %q: %w", set.Name, err)
	}
	_, err = e.Sets.PatchApplicationSet(ctx, g.name(), patch, "")
	if fault.ReasonOf(err) == "NotFound" {
		err = nil
	}
	return SetResult{}, err
}

// orphan makes applications nobody's, so that they outlive their set.
func (g *generation) orphan(ctx context.Context, owned []*v1alpha1.Application) error {
	var work []func() error
	for _, app := range owned {
		next := app.DeepCopy()
		next.OwnerReferences = slices.DeleteFunc(next.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == g.set.UID })
		work = append(work, func() error { return g.rewrite(ctx, appset.Update{Was: app, Next: next}) })
	}
	return together(ctx, work)
}

// guarded adds the resource version that a patch is meant for.
func guarded(patch []byte, resourceVersion string) ([]byte, error) {
	var top, meta map[string]json.RawMessage
	if err := json.Unmarshal(patch, &top); err != nil {
		return nil, fmt.Errorf("reading back a patch: %w", err)
	}
	if of, ok := top["metadata"]; ok {
		if err := json.Unmarshal(of, &meta); err != nil {
			return nil, fmt.Errorf("reading back a patch: %w", err)
		}
	}
	if meta == nil {
		meta = map[string]json.RawMessage{}
	}
	var err error
	if meta["resourceVersion"], err = json.Marshal(resourceVersion); err != nil {
		return nil, fmt.Errorf("guarding a patch: %w", err)
	}
	if top["metadata"], err = json.Marshal(meta); err != nil {
		return nil, fmt.Errorf("guarding a patch: %w", err)
	}
	return json.Marshal(top)
}
