package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/policy"
)

// Sets is where ApplicationSets live, by object.AppName: NAME, or NAMESPACE/NAME
// outside the control namespace. Faults are as those of Hub, and what is returned
// is shared.
type Sets interface {
	ApplicationSet(ctx context.Context, name string) (*v1alpha1.ApplicationSet, error)
	// PatchApplicationSet merges a patch into a set, or into its status where
	// the subresource says so.
	PatchApplicationSet(ctx context.Context, name string, patch []byte, subresource string) (*v1alpha1.ApplicationSet, error)
	// Generated are the applications that a set made, own writes among them.
	Generated(set types.UID) []*v1alpha1.Application
}

// Author writes the applications that sets make.
type Author interface {
	CreateApplication(ctx context.Context, app *v1alpha1.Application) (*v1alpha1.Application, error)
	RewriteApplication(ctx context.Context, name string, patch []byte) (*v1alpha1.Application, error)
	DeleteApplication(ctx context.Context, name string, uid types.UID) error
}

// Oracle answers what generators ask of forges, services and objects. An answer
// is complete, or it is an error.
type Oracle interface {
	Ask(ctx context.Context, set *v1alpha1.ApplicationSet, need appset.Need) (appset.Answer, error)
}

// Ancestry knows whether one commit comes from another.
type Ancestry interface {
	Descends(ctx context.Context, of manifest.Origin, from, commit string) (bool, error)
}

// SetOptions are the parts that ApplicationSets need; those that are nil are
// not there, and what would need them says so.
type SetOptions struct {
	Sets     Sets
	Author   Author
	Oracle   Oracle
	Ancestry Ancestry
	// Known are the clusters that generators know of, in the order of their
	// names; nil is the one that we run in.
	Known func() []appset.Cluster
}

// SetSettings are the knobs of ApplicationSets.
type SetSettings struct {
	// Policy is the installation's word on what may be done to applications;
	// Override lets a set have its own.
	Policy   string
	Override bool
	// StrictGlobs makes "*" in the paths of files stay within one folder.
	StrictGlobs bool
	// Progressive switches rolling syncs on.
	Progressive bool
	// Requeue is how soon a set is looked at again by itself; zero is when its
	// generators ask for it.
	Requeue time.Duration
	// AppNamespaces are the namespaces, besides the control namespace, that
	// applications are looked for in: a set makes its own where it lives.
	AppNamespaces []string
	// DryRun says that applications are not written: what would be is told.
	DryRun bool
	// Annotations and Labels of applications stay, whatever a template says.
	Annotations, Labels []string
	// MaxListed is how many applications a status lists; zero is the default.
	MaxListed int
}

// SetLook says what of a set may have changed.
type SetLook struct {
	// Progress says that only the state of its applications did.
	Progress bool
}

// SetResult says when a set wants to be looked at again by itself, and which
// repositories it follows; nil is those of the last time. Topics are what it
// wants to be told of by webhooks, as appset.Topic has it, if Follows is not nil.
type SetResult struct {
	After   time.Duration
	Follows []manifest.Origin
	Topics  []string
}

// SetHolder is the name under which a set is known where applications are known
// by theirs: no application can have it.
func SetHolder(name string) string { return "applicationset " + name }

// setStates are what is remembered of the sets. Losing it makes a removal that
// has to wait wait anew.
type setStates struct {
	mu   sync.Mutex
	sets map[string]*setState
}

// setState is touched by the one worker that has the set.
type setState struct {
	pending *appset.Pending
	// missing is since when the cluster of an application has not been known.
	missing map[string]time.Time
	// held says that some application waits, perhaps for another one.
	held bool
}

func newSetStates() *setStates { return &setStates{sets: map[string]*setState{}} }

func (s *setStates) of(name string) *setState {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, ok := s.sets[name]
	if !ok {
		st = &setState{}
		s.sets[name] = st
	}
	return st
}

func (s *setStates) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sets, name)
}

// setRetry is how soon a set that cannot be generated is tried again, if
// nothing happens meanwhile.
const setRetry = 3 * time.Minute

// ReconcileSet looks at one ApplicationSet and makes its applications what it
// says. It may be called at any time; when nothing changed it writes nothing.
func (e *Engine) ReconcileSet(ctx context.Context, name string, l SetLook) (SetResult, error) {
	set, err := e.Sets.ApplicationSet(ctx, name)
	if fault.ReasonOf(err) == "NotFound" {
		e.setStates.forget(name)
		e.footprints.set(SetHolder(name), nil)
		return SetResult{Follows: []manifest.Origin{}}, nil
	}
	if err != nil {
		return SetResult{}, err
	}
	if u := object.UnreadableOf(set); u != nil {
		slog.WarnContext(ctx, "an ApplicationSet cannot be read", "applicationset", name, "cause", u.String())
		if u[object.StatusPart] != "" {
			return SetResult{}, nil
		}
		return e.refuseSet(ctx, set, u.String(), nil)
	}
	if set.DeletionTimestamp != nil {
		return e.removeSet(ctx, set)
	}
	if why, err := e.homeless(ctx, set); why != "" || err != nil {
		return e.refuseSet(ctx, set, why, err)
	}
	if l.Progress && !appset.Rolling(set) && !e.setStates.of(name).held {
		return e.followSet(ctx, set)
	}
	return e.generateSet(ctx, set)
}

// Generate is what a set stands for, for somebody who looks. It writes nothing.
func (e *Engine) Generate(ctx context.Context, set *v1alpha1.ApplicationSet) (appset.Result, error) {
	if u := object.UnreadableOf(set); u != nil {
		return appset.Result{}, fmt.Errorf("ApplicationSet %q: %s", set.Name, u)
	}
	g := &generation{engine: e, set: set}
	defer g.close()
	if err := g.generate(ctx); err != nil {
		return appset.Result{}, err
	}
	if g.result.Failure != "" {
		return appset.Result{}, errors.New(g.result.Failure)
	}
	return g.result, nil
}

// generateSet generates a set and writes what differs.
func (e *Engine) generateSet(ctx context.Context, set *v1alpha1.ApplicationSet) (SetResult, error) {
	g := &generation{engine: e, set: set, state: e.setStates.of(e.setName(set))}
	defer g.close()
	err := g.generate(ctx)
	if interrupted(ctx) {
		return SetResult{}, nil
	}
	result := SetResult{After: g.after(), Follows: g.follows(), Topics: g.topics()}
	if err != nil {
		// The queue tries again soon where that may help; people are told in
		// any case, and nothing is touched.
		g.result = appset.Result{Failure: err.Error()}
		soon := retriable(err)
		g.again = soon != nil
		told := g.report(ctx, appset.Changes{}, nil)
		result.After = setRetry
		return result, errors.Join(soon, told)
	}
	if g.rolling() {
		g.whole = g.result.Apps
		g.result.Apps = make([]*v1alpha1.Application, len(g.whole))
		for i, app := range g.whole {
			g.result.Apps[i] = appset.WithoutAutomation(app)
		}
	}
	g.footprint()
	if err := g.anchor(ctx); err != nil {
		return result, err
	}
	changes, err := g.compare(ctx)
	if err != nil {
		return result, err
	}
	written := g.write(ctx, &changes)
	if interrupted(ctx) {
		return SetResult{}, nil
	}
	told := g.report(ctx, changes, written)
	if !changes.Again.IsZero() {
		result.After = sooner(result.After, max(changes.Again.Sub(e.Now()), time.Second))
	}
	if g.result.Failure != "" {
		result.After = sooner(result.After, setRetry)
	}
	return result, errors.Join(written, told)
}

// sooner is the smaller of two times to wait, of which zero is for ever.
func sooner(a, b time.Duration) time.Duration {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}

// followSet tells how the applications of a set are.
func (e *Engine) followSet(ctx context.Context, set *v1alpha1.ApplicationSet) (SetResult, error) {
	g := &generation{engine: e, set: set}
	next := appset.Status(appset.StatusInput{
		Set: set, Now: e.Now(), Owned: e.Sets.Generated(set.UID), MaxListed: e.Settings().Sets.MaxListed,
	})
	next.Conditions, next.ApplicationStatus, next.Health = set.Status.Conditions, set.Status.ApplicationStatus, set.Status.Health
	return SetResult{}, g.tell(ctx, next)
}

// rolling says whether the applications of the set are synced step by step.
func (g *generation) rolling() bool {
	return appset.Rolling(g.set) && g.engine.Settings().Sets.Progressive
}

// compare decides what to write. A look at the history is made only where
// something would go.
func (g *generation) compare(ctx context.Context) (appset.Changes, error) {
	in, err := g.facts(ctx)
	if err != nil {
		return appset.Changes{}, err
	}
	changes := appset.Compare(in)
	if len(changes.Delete) > 0 && !in.Approved {
		in.Doubts = append(g.emptiness(), g.rewinds(ctx)...)
		if len(in.Doubts) > 0 {
			changes = appset.Compare(in)
		}
	}
	g.state.pending, g.state.missing, g.state.held = changes.Pending, changes.Missing, len(changes.Held) > 0
	return changes, nil
}

// facts are what the comparison goes by.
func (g *generation) facts(ctx context.Context) (appset.Input, error) {
	e := g.engine
	settings := e.Settings().Sets
	in := appset.Input{
		Set: g.set, Now: e.Now(), Result: g.result, Owned: e.Sets.Generated(g.set.UID),
		Others: map[string]string{}, Projects: map[string]bool{}, Clusters: g.clusters,
		Policy:   appset.PolicyOf(g.set, settings.Policy, settings.Override),
		Pending:  g.state.pending,
		Missing:  g.state.missing,
		Settle:   e.Settings().Settle,
		Approved: approved(g.set, e.Now()),
		Exprs:    map[string]diff.NamedExpr{},
		Stay:     appset.Stay{Annotations: settings.Annotations, Labels: settings.Labels},
	}
	for _, r := range g.set.Spec.IgnoreApplicationDifferences {
		for _, text := range r.JQPathExpressions {
			in.Exprs[text] = Compile(e.Compiler, text)
		}
	}
	owned := make(map[string]struct{}, len(in.Owned))
	for _, app := range in.Owned {
		owned[app.Name] = struct{}{}
	}
	for _, app := range g.result.Apps {
		project := app.ProjectName()
		if _, known := in.Projects[project]; !known {
			_, err := e.Hub.Project(ctx, project)
			if err != nil && fault.ReasonOf(err) != "NotFound" {
				return in, err
			}
			in.Projects[project] = err == nil
		}
		if _, ours := owned[app.Name]; ours {
			continue
		}
		other, err := e.Hub.Application(ctx, e.key(app))
		if err == nil {
			in.Others[app.Name] = whoHas(other)
		} else if fault.ReasonOf(err) != "NotFound" {
			return in, err
		}
	}
	return in, nil
}

// whoHas says whose application it is.
func whoHas(app *v1alpha1.Application) string {
	for _, o := range app.OwnerReferences {
		if o.Controller != nil && *o.Controller {
			return fmt.Sprintf("%s %q", o.Kind, o.Name)
		}
	}
	return "somebody who made it by hand or with another tool"
}

// approval is how long the word of a person that applications may go holds.
const approval = time.Hour

// approved says that a person let the applications go.
func approved(set *v1alpha1.ApplicationSet, now time.Time) bool {
	at, err := time.Parse(time.RFC3339, set.Annotations[v1alpha1.AnnotationDeletionApproved])
	return err == nil && now.Sub(at) < approval && at.Sub(now) < approval
}

// emptiness are the answers without anything in them: whether that is the truth
// or a fault is for a person to say.
func (g *generation) emptiness() []string {
	var out []string
	for _, key := range g.order {
		need, answer := g.needs[key], g.answers[key]
		if need.Git == nil && need.Decision == nil && len(answer.Sets) == 0 {
			out = append(out, fmt.Sprintf("%s answered with an empty list", asked(need)))
		}
	}
	return out
}

// rewinds are the branches that stand where their last commit is no part of the
// history any more.
func (g *generation) rewinds(ctx context.Context) []string {
	last := recorded(g.set)
	var out []string
	for _, key := range g.order {
		need := g.needs[key]
		if need.Git == nil {
			continue
		}
		from, commit := last.Commits[place{repo: need.Git.RepoURL, revision: need.Git.Revision}.String()], g.answers[key].Commit
		if from == "" || from == commit {
			continue
		}
		if g.engine.Ancestry == nil {
			continue
		}
		descends, err := g.engine.Ancestry.Descends(ctx, gitOrigin(need.Git), from, commit)
		switch {
		case err != nil:
			out = append(out, fmt.Sprintf("whether %s of %s follows on %s could not be found out: %v",
				short(commit), policy.Address(need.Git.RepoURL), short(from), err))
		case !descends:
			out = append(out, fmt.Sprintf("%s of %s went from %s to %s, which does not follow on it: the branch was rewound or rewritten",
				need.Git.Revision, policy.Address(need.Git.RepoURL), short(from), short(commit)))
		}
	}
	if len(out) > 0 {
		slog.WarnContext(ctx, "applications of a set are kept", "applicationset", g.name(), "why", out)
	}
	return out
}
