package object

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Unreadable are the parts of a stored object that do not fit its type, each with the cause. Such a part is empty in
// memory, and must not be taken for what somebody wants: an empty list of generators is not "no applications".
type Unreadable map[string]string

// The parts of an object, as Unreadable knows them.
const (
	SpecPart      = "spec"
	StatusPart    = "status"
	OperationPart = "operation"
)

// UnreadableOf is what of an object could not be read; nil is nothing.
func UnreadableOf(o metav1.Object) Unreadable {
	text, marked := o.GetAnnotations()[v1alpha1.AnnotationUnreadable]
	if !marked {
		return nil
	}
	var u Unreadable
	if json.Unmarshal([]byte(text), &u) != nil || len(u) == 0 {
		// Somebody wrote it by hand. Whoever asks for nothing to be done gets that.
		return Unreadable{SpecPart: "annotation " + v1alpha1.AnnotationUnreadable + " says so; take it away"}
	}
	return u
}

// Mark puts it on an object in memory.
func (u Unreadable) Mark(o metav1.Object) {
	text, err := json.Marshal(u)
	if err != nil {
		return // it is a map of texts
	}
	annotations := maps.Clone(o.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.AnnotationUnreadable] = string(text)
	o.SetAnnotations(annotations)
}

// String says what cannot be read, and the way out.
func (u Unreadable) String() string {
	var parts []string
	for _, part := range slices.Sorted(maps.Keys(u)) {
		parts = append(parts, part+" cannot be read: "+u[part])
	}
	return strings.Join(parts, "; ") + "; nothing is done until it is corrected (kubectl edit)"
}
