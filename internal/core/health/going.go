package health

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Going says whether an object is on its way out, and then its health: that comes before any other rule, also a
// user's. A hook is judged all the same, for its outcome is still wanted.
func Going(obj *unstructured.Unstructured) (Health, bool) {
	f := &fields{object: obj.Object}
	group, kind := groupKind(f)
	return going(f, group, kind)
}

func going(f *fields, group, kind string) (Health, bool) {
	if f.text("metadata", "deletionTimestamp") == "" || f.contains(HookFinalizer, "metadata", "finalizers") {
		return Health{}, false
	}
	return Health{Status: Progressing, Message: "Pending deletion" + holding(f, group, kind)}, true
}
