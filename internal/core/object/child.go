package object

import (
	"encoding/json"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/health"
)

// Child is what a parent's sync wants to know of an Application that is one of
// its objects: whether the child has come to where its spec points.
type Child struct {
	// Compared says that the child's status is about the spec that stands. An
	// Application has no generation to tell that by: its status and its spec
	// are one object, and each write of either moves it.
	Compared bool
	Revision string
	Sync     v1alpha1.SyncStatusCode
	Health   health.Health
	// Automated says that the child is synced without being asked.
	Automated bool
	// Busy says that an operation runs or is asked for.
	Busy bool
	// Reached says that the last operation succeeded for what was compared.
	Reached bool
	// Trouble is what the last operation or the comparison says where it failed.
	Trouble string
}

// Equal reports whether two readings of a child say the same.
func (c *Child) Equal(other *Child) bool {
	if c == nil || other == nil {
		return c == other
	}
	return *c == *other
}

// Manual says that the child is not what Git says and that only a person will
// change that.
func (c *Child) Manual() bool {
	return c.Compared && !c.Busy && !c.Automated && c.Sync == v1alpha1.SyncStatusCodeOutOfSync
}

// childOf reads an Application's own word on itself.
func childOf(u *unstructured.Unstructured, k Key) *Child {
	if k.Group != v1alpha1.Group || k.Kind != v1alpha1.ApplicationKind {
		return nil
	}
	var app v1alpha1.Application
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(essence(u.Object), &app); err != nil {
		return &Child{Trouble: "its fields cannot be read: " + err.Error()}
	}
	return ChildOf(&app)
}

// essence is an Application without the long lists of its status, which say
// nothing that ChildOf reads.
func essence(app map[string]any) map[string]any {
	out := map[string]any{"spec": app["spec"], "operation": app["operation"]}
	st, ok := app["status"].(map[string]any)
	if !ok {
		out["status"] = app["status"]
		return out
	}
	kept := maps.Clone(st)
	delete(kept, "resources")
	delete(kept, "history")
	delete(kept, "summary")
	out["status"] = kept
	op, ok := st["operationState"].(map[string]any)
	if !ok {
		return out
	}
	if result, ok := op["syncResult"].(map[string]any); ok {
		op, result = maps.Clone(op), maps.Clone(result)
		delete(result, "resources")
		op["syncResult"] = result
		kept["operationState"] = op
	}
	return out
}

// ChildOf reads an Application's own word on itself.
func ChildOf(app *v1alpha1.Application) *Child {
	st := &app.Status
	c := &Child{
		Compared:  compared(app),
		Revision:  st.Sync.Revision,
		Sync:      st.Sync.Status,
		Health:    health.Health{Status: health.Status(st.Health.Status), Message: st.Health.Message},
		Automated: app.Spec.SyncPolicy.AutomatedEnabled(),
		Busy:      app.Operation != nil,
	}
	for _, condition := range st.Conditions {
		if strings.HasSuffix(string(condition.Type), "Error") {
			c.Trouble = condition.Message
		}
	}
	op := st.OperationState
	if op == nil {
		return c
	}
	c.Busy = c.Busy || !op.Phase.Completed()
	c.Reached = op.Phase == v1alpha1.OperationSucceeded && op.SyncResult != nil && op.SyncResult.Revision == st.Sync.Revision
	if op.Phase == v1alpha1.OperationFailed || op.Phase == v1alpha1.OperationError {
		c.Trouble = op.Message
	}
	return c
}

// compared says that the child was compared with what its spec says now.
func compared(app *v1alpha1.Application) bool {
	to := app.Status.Sync.ComparedTo
	if app.Status.Sync.Status == "" || !equality.Semantic.DeepEqual(to.Destination, app.Spec.Destination) ||
		!equality.Semantic.DeepEqual(to.IgnoreDifferences, app.Spec.IgnoreDifferences) {
		return false
	}
	if len(app.Spec.Sources) > 0 {
		return equality.Semantic.DeepEqual(to.Sources, app.Spec.Sources)
	}
	sources := app.Sources()
	return len(sources) > 0 && equality.Semantic.DeepEqual(to.Source, sources[0])
}

// behind says whether the generation of an ApplicationSet is another than the
// one that was generated last, by the record in its annotation.
func behind(u *unstructured.Unstructured, k Key) bool {
	if k.Group != v1alpha1.Group || k.Kind != v1alpha1.ApplicationSetKind {
		return false
	}
	var record struct {
		Generation int64 `json:"generation"`
	}
	// What cannot be read was not written by us.
	_ = json.Unmarshal([]byte(u.GetAnnotations()[v1alpha1.AnnotationGenerated]), &record)
	return record.Generation != u.GetGeneration()
}
