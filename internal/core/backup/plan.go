package backup

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Action is what is done with an object.
type Action string

// The actions, in Argo CD's words.
const (
	Created   Action = "created"
	Updated   Action = "updated"
	Unchanged Action = "unchanged"
	Pruned    Action = "pruned"
	Skipped   Action = "skipped"
)

// Step is one object and what is done with it.
type Step struct {
	Action Action
	// Object is what is to be written, or to be deleted: as it was read, then.
	Object *unstructured.Unstructured
	// Why says why an object is left alone.
	Why string
}

// Options say how a text is imported.
type Options struct {
	// Namespace is that of the installation, which objects without one are for.
	Namespace string
	// Prune deletes what the text does not have.
	Prune bool
	// IgnoreTracking leaves the mark of whoever manages an object as it is.
	IgnoreTracking bool
	// StopOperation ends what applications are doing.
	StopOperation bool
	// SkipLabel and SkipValue are a label whose objects are left alone.
	SkipLabel, SkipValue string
}

type key struct{ kind, namespace, name string }

func keyOf(u *unstructured.Unstructured) key {
	return key{u.GetKind(), u.GetNamespace(), u.GetName()}
}

func (k key) String() string { return fmt.Sprintf("%s %s/%s", k.kind, k.namespace, k.name) }

// Import is what to do so that an installation is as a text says. live are its objects, all that could be pruned among them.
func Import(text, live []*unstructured.Unstructured, o Options) ([]Step, error) {
	wanted, err := read(text, o)
	if err != nil {
		return nil, err
	}
	stand := map[key]*unstructured.Unstructured{}
	for _, u := range live {
		if Belongs(u) {
			stand[keyOf(u)] = u
		}
	}
	var out []Step
	named, held := map[key]bool{}, map[string]bool{}
	for _, u := range wanted {
		k := keyOf(u)
		named[k], held[classOf(u)] = true, true
		out = append(out, write(u, stand[k], o))
	}
	if !o.Prune {
		return out, nil
	}
	more, err := prune(live, named, held, o)
	return append(out, more...), err
}

// read checks a text, and puts its objects into the order in which they are written.
func read(text []*unstructured.Unstructured, o Options) ([]*unstructured.Unstructured, error) {
	seen := map[key]bool{}
	out := make([]*unstructured.Unstructured, 0, len(text))
	for _, u := range text {
		u = u.DeepCopy()
		if u.GetNamespace() == "" {
			u.SetNamespace(o.Namespace)
		}
		k := keyOf(u)
		switch {
		case u.GetName() == "":
			return nil, fmt.Errorf("a %s has no metadata.name", u.GetKind())
		case !Belongs(u):
			return nil, fmt.Errorf("%s is nothing that an installation keeps; take it out", k)
		case seen[k]:
			return nil, fmt.Errorf("%s is there twice", k)
		}
		seen[k] = true
		out = append(out, u)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("there is no object in it: it is no export")
	}
	slices.SortStableFunc(out, order)
	return out, nil
}

func (o Options) skips(u *unstructured.Unstructured) bool {
	value, has := u.GetLabels()[o.SkipLabel]
	return o.SkipLabel != "" && has && (o.SkipValue == "" || value == o.SkipValue)
}

// write is the step that makes an object what a text says.
func write(want, live *unstructured.Unstructured, o Options) Step {
	label := strings.TrimSuffix(o.SkipLabel+"="+o.SkipValue, "=")
	switch {
	case o.skips(want) || live != nil && o.skips(live):
		return Step{Action: Skipped, Object: want, Why: "it has the label " + label}
	case live == nil:
		fresh := kept(want, "")
		fresh.SetNamespace(want.GetNamespace())
		return Step{Action: Created, Object: fresh}
	case live.GetDeletionTimestamp() != nil:
		return Step{Action: Skipped, Object: want, Why: "it is being deleted; import again when it is gone"}
	}
	next := live.DeepCopy()
	next.SetLabels(want.GetLabels())
	next.SetAnnotations(want.GetAnnotations())
	next.SetFinalizers(want.GetFinalizers())
	if o.IgnoreTracking {
		keepTracking(next, live)
	}
	for _, field := range []string{"spec", "data", "binaryData", "type"} {
		delete(next.Object, field)
		if value, ok := want.Object[field]; ok {
			next.Object[field] = value
		}
	}
	// How an application does, and which tokens a project has taken back, is newer here than in the text.
	if o.StopOperation {
		delete(next.Object, "operation")
	}
	if equality.Semantic.DeepEqual(tidy(live), tidy(next)) {
		return Step{Action: Unchanged, Object: next}
	}
	return Step{Action: Updated, Object: next}
}

// tidy is an object without empty maps and lists, which some leave out and others write.
func tidy(u *unstructured.Unstructured) map[string]any {
	out := u.DeepCopy().Object
	meta, _ := out["metadata"].(map[string]any)
	for _, from := range []map[string]any{out, meta} {
		maps.DeleteFunc(from, func(_ string, v any) bool {
			switch v := v.(type) {
			case nil:
				return true
			case map[string]any:
				return len(v) == 0
			case []any:
				return len(v) == 0
			}
			return false
		})
	}
	return out
}

// keepTracking leaves the marks of whoever manages an object.
func keepTracking(next, live *unstructured.Unstructured) {
	carry := func(now, was map[string]string, key string) map[string]string {
		now = maps.Clone(now)
		if now == nil {
			now = map[string]string{}
		}
		delete(now, key)
		if value, ok := was[key]; ok {
			now[key] = value
		}
		return now
	}
	next.SetAnnotations(carry(next.GetAnnotations(), live.GetAnnotations(), v1alpha1.AnnotationTrackingID))
	next.SetLabels(carry(next.GetLabels(), live.GetLabels(), v1alpha1.DefaultInstanceLabel))
}

// prune are the steps that delete what a text does not have. A text that has nothing of a kind is no proof that there is to
// be none: that is refused as a whole.
func prune(live []*unstructured.Unstructured, named map[key]bool, held map[string]bool, o Options) ([]Step, error) {
	var out []Step
	all := map[string]int{}
	for _, u := range slices.SortedFunc(slices.Values(live), order) {
		if !Belongs(u) || named[keyOf(u)] {
			continue
		}
		switch {
		case byHand(u):
			out = append(out, Step{Action: Skipped, Object: u, Why: "every installation has it: it is not deleted for not being in a text"})
		case o.skips(u):
			out = append(out, Step{Action: Skipped, Object: u, Why: "it has the label " + o.SkipLabel})
		case u.GetDeletionTimestamp() != nil:
			out = append(out, Step{Action: Skipped, Object: u, Why: "it is being deleted already"})
		case !held[classOf(u)]:
			all[classOf(u)]++
		default:
			out = append(out, Step{Action: Pruned, Object: u})
		}
	}
	for _, class := range slices.Sorted(maps.Keys(all)) {
		return nil, fmt.Errorf("the text has no %s at all, and there are %d: that is no reason to delete them; "+
			"delete them yourself if you mean it, or leave --prune out", class, all[class])
	}
	// Who makes others goes before them, and what others refer to after them.
	slices.SortStableFunc(out, func(a, b Step) int { return order(b.Object, a.Object) })
	return out, nil
}
