package engine

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/action"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

// ActionsOf lists what can be done with an object of an application, by name.
func (e *Engine) ActionsOf(ctx context.Context, app *v1alpha1.Application, k object.Key) ([]action.Action, error) {
	s, err := e.stage(ctx, app, k, looking)
	if err != nil {
		return nil, err
	}
	return e.discover(s.object)
}

// Discover lists what can be done with an object, wherever it is from.
func (e *Engine) Discover(obj *unstructured.Unstructured) ([]action.Action, error) {
	return e.discover(obj)
}

// Steps are the changes that an action stands for. Nothing is done.
func (e *Engine) Steps(obj *unstructured.Unstructured, act Act) ([]action.Step, error) {
	return e.actionSteps(obj, act)
}

func (e *Engine) discover(obj *unstructured.Unstructured) ([]action.Action, error) {
	found, builtin, err := e.Actions.Discover(obj)
	if err != nil {
		return nil, err
	}
	out, err := action.Discovered(found)
	if err != nil {
		return nil, err
	}
	if builtin {
		for _, a := range action.Builtin(obj) {
			if !slices.ContainsFunc(out, func(b action.Action) bool { return a.Name == b.Name }) {
				out = append(out, a)
			}
		}
	}
	slices.SortFunc(out, func(a, b action.Action) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Act is an action that somebody asks for.
type Act struct {
	Object object.Key
	Name   string
	Params map[string]string
}

// RunAction does something with an object of an application, as the project
// allows it, and says in a few words each what it did.
func (e *Engine) RunAction(ctx context.Context, app *v1alpha1.Application, act Act) (did []string, err error) {
	for range attempts {
		if did, err = e.tryAction(ctx, app, act); fault.ReasonOf(err) != "Conflict" || len(did) > 0 {
			break
		}
	}
	slog.DebugContext(ctx, "action ran", "app", e.key(app), "object", act.Object.String(), "action", act.Name, "did", did, "error", err)
	if err != nil {
		return did, fmt.Errorf("action %q on %s: %w", act.Name, act.Object, err)
	}
	return did, nil
}

func (e *Engine) tryAction(ctx context.Context, app *v1alpha1.Application, act Act) (did []string, err error) {
	s, err := e.stage(ctx, app, act.Object, acting)
	if err != nil {
		return nil, err
	}
	steps, err := e.actionSteps(s.object, act)
	if err != nil {
		return nil, err
	}
	scopes := s.cluster.View().Scopes
	for _, step := range steps {
		if scopes[object.KeyOf(step.Object).GroupKind()] == plan.ScopeCluster {
			step.Object.SetNamespace("")
		}
		// All of it is checked before any of it is done.
		if err := s.cluster.write(object.KeyOf(step.Object)); err != nil {
			return nil, err
		}
	}
	defer e.byHand(ctx, app, s.cluster)
	for _, step := range steps {
		what := object.KeyOf(step.Object).String()
		switch step.Operation {
		case action.Create:
			err, what = s.cluster.Create(ctx, step.Object), "created "+what
		case action.Patch:
			err, what = s.cluster.Patch(ctx, step.Object, step.Patch), "patched "+what
		}
		if err != nil {
			return did, err
		}
		did = append(did, what)
	}
	return did, nil
}

// actionSteps asks the users' actions first, then the kind's own.
func (e *Engine) actionSteps(obj *unstructured.Unstructured, act Act) ([]action.Step, error) {
	list, err := e.discover(obj)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(a action.Action) bool { return a.Name == act.Name })
	switch {
	case i < 0:
		return nil, fault.Terminalf("NoSuchAction", "the object has no such action; it has %s", names(list))
	case list[i].Disabled:
		return nil, fault.Terminalf("Disabled", "it makes no sense for the object as it stands")
	}
	returned, known, err := e.Actions.Run(obj, act.Name, act.Params)
	if err != nil {
		return nil, err
	}
	if known {
		return action.Returned(obj, returned)
	}
	steps, known, err := action.Run(obj, act.Name, action.Input{Params: act.Params, Now: e.Now()})
	if err == nil && !known {
		err = fault.Terminalf("NoSuchAction", "it was discovered, and is not among the definitions")
	}
	return steps, err
}

func names(list []action.Action) string {
	if len(list) == 0 {
		return "none"
	}
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = a.Name
	}
	return strings.Join(out, ", ")
}

// stage is an object that an application may act on.
type stage struct {
	cluster *door
	object  *unstructured.Unstructured
}

// stage reads an object and checks that it is one of the application's: it
// carries its mark, or hangs below one that does; and that the project allows
// it.
func (e *Engine) stage(ctx context.Context, app *v1alpha1.Application, k object.Key, to purpose) (*stage, error) {
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
	if err := e.admit(c, app, r, to); err != nil {
		return nil, err
	}
	s := &stage{cluster: c}
	f, ok := c.Fact(k)
	if !ok {
		return nil, fault.Terminalf("NotFound", "%s is not there, or its kind is not watched", k)
	}
	if !s.belongs(f, object.Instance(e.Namespace, app.Namespace, app.Name), 0) {
		return nil, fault.Terminalf("NotOurs", "%s is not an object of application %q, nor below one", k, e.key(app))
	}
	s.object, err = c.Get(ctx, k, f.Version)
	if err != nil {
		return nil, err
	}
	if string(s.object.GetUID()) != f.UID {
		return nil, fault.Transientf("Conflict", "%s was replaced by another object just now", k)
	}
	return s, nil
}

// generations is how deep below its application's own objects one is looked for.
const generations = 8

// belongs climbs from an object to its owners, which must still be the very
// ones that it names.
func (s *stage) belongs(f object.Fact, instance string, depth int) bool {
	if f.App == instance {
		return true
	}
	if depth == generations {
		return false
	}
	scopes := s.cluster.View().Scopes
	return slices.ContainsFunc(f.Owners, func(o object.Owner) bool {
		k := object.Key{Group: o.Group, Kind: o.Kind, Namespace: f.Key.Namespace, Name: o.Name}
		if scopes[k.GroupKind()] == plan.ScopeCluster {
			k.Namespace = ""
		}
		owner, ok := s.cluster.Fact(k)
		return ok && owner.UID == o.UID && s.belongs(owner, instance, depth+1)
	})
}

// noActions is for installations whose users made none.
type noActions struct{}

func (noActions) Discover(*unstructured.Unstructured) (found any, builtin bool, err error) {
	return nil, true, nil
}

func (noActions) Run(*unstructured.Unstructured, string, map[string]string) (returned any, known bool, err error) {
	return nil, false, nil
}
