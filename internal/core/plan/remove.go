package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
)

// Removal is what the deletion of an application does with its objects.
type Removal struct {
	// Delete are to be deleted now, in this order.
	Delete []object.Fact
	// Going are on their way out already.
	Going []object.Fact
	// Kept stay, because they ask for it or because they must.
	Kept []object.Fact
}

// Remove decides what goes with an application: everything that carries its
// mark, except what asks to stay, CRDs (their deletion would take every object
// of their kind along) and the application itself. What was applied last goes
// first.
func Remove(managed []object.Fact, self object.Key) Removal {
	var out Removal
	for _, f := range managed {
		switch {
		case f.Owned, f.Key == self, f.Key.GroupKind() == crdKind, f.Keep, keepOnDelete(f.Options):
			out.Kept = append(out.Kept, f)
		case f.Deleting:
			out.Going = append(out.Going, f)
		default:
			out.Delete = append(out.Delete, f)
		}
	}
	slices.SortFunc(out.Delete, func(a, b object.Fact) int {
		if d := rank(b.Key.Kind) - rank(a.Key.Kind); d != 0 {
			return d
		}
		return object.Compare(a.Key, b.Key)
	})
	return out
}

// Unseen says which of an application's objects cannot be looked for, each
// with the reason. While there are any, that none is found proves nothing.
func Unseen(had []v1alpha1.ResourceStatus, view View) []string {
	var out []string
	for _, r := range had {
		k := object.Key{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
		why := view.Blind[k.GroupKind()]
		if view.Excluded[k.GroupKind()] {
			why = ""
		}
		if slices.Contains(view.Gaps, r.Group) {
			why = fmt.Sprintf("the cluster does not answer for API group %q", r.Group)
		}
		if why != "" {
			out = append(out, fmt.Sprintf("%s: %s", k, why))
		}
	}
	slices.Sort(out)
	return out
}

// keepOnDelete reports whether an object's options hold it back. One that asks
// for a confirmation is kept: this version cannot be told one.
func keepOnDelete(options string) bool {
	v := object.Option(options, v1alpha1.SyncOptionDelete)
	return v == v1alpha1.SyncOptionValueFalse || v == v1alpha1.SyncOptionValueConfirm
}

// Applied is the outcome of an apply that the server took.
func Applied(it Item, answer *unstructured.Unstructured, dryRun bool) Outcome {
	verb := "configured"
	switch {
	case it.Live == nil:
		verb = "created"
	case answer.GetResourceVersion() == it.Live.ResourceVersion:
		verb = "unchanged"
	}
	o := Outcome{Code: CodeSynced, Message: lower(it.Key) + " " + verb}
	if it.Hook {
		o.Result = Running
	}
	if dryRun {
		o.Message += " (dry run)"
	}
	return o
}
