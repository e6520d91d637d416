package engine

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/repair"
)

// undeclared knows which fields kinds do not have, as far as the server has
// refused them. It is kept by the schema that the server had then.
type undeclared struct {
	mu    sync.Mutex
	known map[declared][]repair.Path
}

type declared struct {
	gvk    schema.GroupVersionKind
	server string
	schema string
}

func newUndeclared() *undeclared { return &undeclared{known: map[declared][]repair.Path{}} }

// learn takes in a refusal and reports whether it says anything new.
func (u *undeclared) learn(o *observation, gvk schema.GroupVersionKind, refusal string) bool {
	paths := repair.Undeclared(refusal)
	if len(paths) == 0 {
		return false
	}
	k := o.declared(gvk)
	u.mu.Lock()
	defer u.mu.Unlock()
	news := false
	for _, p := range paths {
		if !slices.Contains(u.known[k], p) {
			u.known[k] = append(slices.Clip(u.known[k]), p)
			news = true
		}
	}
	return news
}

// of are the fields that these manifests' kinds do not have.
func (u *undeclared) of(o *observation, set object.Set) map[schema.GroupVersionKind][]repair.Path {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.known) == 0 {
		return nil
	}
	out := map[schema.GroupVersionKind][]repair.Path{}
	for d := range set.All() {
		gvk := d.Body.GroupVersionKind()
		if paths := u.known[o.declared(gvk)]; len(paths) > 0 {
			out[gvk] = paths
		}
	}
	return out
}

func (o *observation) declared(gvk schema.GroupVersionKind) declared {
	return declared{gvk: gvk, server: o.cluster.place.Server, schema: o.cluster.View().Schemas[gvk.GroupKind()]}
}

// desire turns manifests into the desired set, mended where server-side apply
// would refuse them.
func (e *Engine) desire(o *observation, manifests []*unstructured.Unstructured) (plan.Wish, []finding.Finding) {
	wish := plan.Desire(e.mark(o), manifests, o.cluster.View().Scopes)
	var found []finding.Finding
	wish.Objects, found = plan.Repair(wish.Objects, o.options, e.undeclared.of(o, wish.Objects))
	return wish, found
}

// learn takes in what answers say of fields that are not there, where the
// application asked to go on without them. It reports whether that changes
// what is desired.
func (e *Engine) learn(o *observation, in plan.Input, answers map[object.Key]plan.Answer) bool {
	news := false
	for k, a := range answers {
		d, ok := in.Desired.Get(k)
		if ok && a.Rejected && plan.Lenient(o.options, d.Body) && !plan.ServerSide(o.options, d.Body) {
			news = e.undeclared.learn(o, d.Body.GroupVersionKind(), a.Problem) || news
		}
	}
	return news
}

// lenient is a manifest without the fields that a refusal says are not there,
// where the application asked to go on without them.
func (e *Engine) lenient(o *observation, body *unstructured.Unstructured, refusal error) (*unstructured.Unstructured, bool) {
	options := o.options
	if !rejected(refusal) || !plan.Lenient(options, body) || plan.ServerSide(options, body) {
		return nil, false
	}
	e.undeclared.learn(o, body.GroupVersionKind(), refusal.Error())
	pruned, removed := repair.Prune(body, repair.Undeclared(refusal.Error()))
	return pruned, len(removed) > 0
}
