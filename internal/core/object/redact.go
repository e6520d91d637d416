package object

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Masked stands for a value that must not be shown.
const Masked = "++++++++"

// lastApplied repeats a Secret's data in an annotation.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Secret reports whether the object's content must not be shown.
func (k Key) Secret() bool { return k.Group == "" && k.Kind == "Secret" }

// Redact returns the object as it may be shown to a person: the values of a
// Secret are masked, wherever the server keeps them. Other objects are
// returned as they are.
func Redact(u *unstructured.Unstructured) *unstructured.Unstructured {
	if u == nil || !KeyOf(u).Secret() {
		return u
	}
	out := u.DeepCopy()
	for _, field := range []string{"data", "stringData"} {
		if m, ok := out.Object[field].(map[string]any); ok {
			for k := range m {
				m[k] = Masked
			}
		}
	}
	if a := out.GetAnnotations(); a[lastApplied] != "" {
		a[lastApplied] = Masked
		out.SetAnnotations(a)
	}
	return out
}

// Mask hides the two values of a changed field: absent ones stay absent, and
// the masks differ, as the values do.
func Mask(before, after any) (any, any) {
	if before != nil {
		before = Masked
	}
	if after != nil {
		after = Masked + "++++"
	}
	return before, after
}
