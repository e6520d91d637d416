package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/repair"
)

// Repair mends the manifests that client-side apply took and server-side apply
// refuses, unless server-side apply was asked for. options are those of the
// application; undeclared are the fields that the server is known to refuse.
func Repair(
	set object.Set, options []string, undeclared map[schema.GroupVersionKind][]repair.Path,
) (object.Set, []finding.Finding) {
	var found []finding.Finding
	objects := make([]object.Object, 0, set.Len())
	for o := range set.All() {
		body, notes := repaired(o.Body, options, undeclared)
		for _, n := range notes {
			found = append(found, finding.Finding{
				Reason: finding.Repaired, Severity: finding.Warning, Key: o.Key, Message: fmt.Sprintf("%s: %s", o.Key, n),
			})
		}
		if len(notes) > 0 {
			o = object.NewObject(body)
		}
		objects = append(objects, o)
	}
	if len(found) == 0 {
		return set, nil
	}
	set, _ = object.NewSet(objects)
	return set, found
}

func repaired(
	body *unstructured.Unstructured, options []string, undeclared map[schema.GroupVersionKind][]repair.Path,
) (*unstructured.Unstructured, []string) {
	if ServerSide(options, body) || Replaces(options, body) {
		return body, nil
	}
	body, notes := repair.Duplicates(body)
	paths := undeclared[body.GroupVersionKind()]
	if len(paths) == 0 || !Lenient(options, body) {
		return body, notes
	}
	body, removed := repair.Prune(body, paths)
	for _, r := range removed {
		notes = append(notes, fmt.Sprintf("the kind has no field %s; it was left out, as Validate=false asks for", r))
	}
	return body, notes
}

// ServerSide reports whether server-side apply was asked for. A resource's own
// word counts more than the application's.
func ServerSide(options []string, body *unstructured.Unstructured) bool {
	own := object.Option(optionsIn(body), v1alpha1.SyncOptionServerSideApply)
	if own != "" {
		return own == v1alpha1.SyncOptionValueTrue
	}
	return has(options, v1alpha1.SyncOptionServerSideApply, v1alpha1.SyncOptionValueTrue)
}

// Replaces reports whether an object is replaced by its manifest as a whole
// (Replace=true), which beats server-side apply. The application and the
// resource can each say so.
func Replaces(options []string, body *unstructured.Unstructured) bool {
	return asks(options, body, v1alpha1.SyncOptionReplace, v1alpha1.SyncOptionValueTrue)
}

// Forces reports whether an object that the server will not replace may be
// deleted and made anew.
func Forces(body *unstructured.Unstructured) bool {
	return asks(nil, body, v1alpha1.SyncOptionForce, v1alpha1.SyncOptionValueTrue)
}

// Lenient reports whether a manifest may have what its kind does not know
// (Validate=false). The application and the resource can each say so.
func Lenient(options []string, body *unstructured.Unstructured) bool {
	return asks(options, body, v1alpha1.SyncOptionValidate, v1alpha1.SyncOptionValueFalse)
}

// asks reports whether the application or the resource has an option.
func asks(options []string, body *unstructured.Unstructured, name, value string) bool {
	return has(options, name, value) ||
		object.Option(optionsIn(body), name) == value
}

// optionsIn are a resource's own options. It is asked several times for each
// object of each look, so the annotations are not copied for it.
func optionsIn(body *unstructured.Unstructured) string {
	meta, _ := body.Object["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	text, _ := annotations[v1alpha1.AnnotationSyncOptions].(string)
	return text
}

func has(options []string, name, value string) bool {
	return slices.ContainsFunc(options, func(o string) bool { return strings.ReplaceAll(o, " ", "") == name+"="+value })
}
