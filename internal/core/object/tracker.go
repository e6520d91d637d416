package object

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Method says where an application's mark stands on its objects.
type Method string

// The methods, as application.resourceTrackingMethod spells them. An empty one
// is ByAnnotation.
const (
	ByAnnotation Method = "annotation"
	// ByBoth marks with annotation and label; only the annotation decides.
	ByBoth  Method = "annotation+label"
	ByLabel Method = "label"
)

const (
	// defaultLabelKey is what application.instanceLabelKey means when it is not set.
	defaultLabelKey = "app.kubernetes.io/instance"
	// labelMax is the length of a label's value that the server takes.
	labelMax = 63
)

// Tracker marks the objects of applications and reads the marks, as the
// installation is told to. The zero value tracks by annotation.
type Tracker struct {
	Method Method
	// LabelKey is the label that holds the application, if not the usual one.
	LabelKey string
	// InstallationID tells the marks of several installations in one cluster
	// apart; with one, marks without it are another's.
	InstallationID string
}

// Stamp returns a copy of body that carries the application's mark.
// The mark of a cluster-scoped object names the destination namespace.
func (t Tracker) Stamp(body *unstructured.Unstructured, app, destination string) *unstructured.Unstructured {
	out := body.DeepCopy()
	t.Put(out, app, destination)
	return out
}

// Put is Stamp in place, for an object that the caller has made.
func (t Tracker) Put(out *unstructured.Unstructured, app, destination string) {
	if t.Method != ByLabel {
		k := KeyOf(out)
		if k.Namespace == "" {
			k.Namespace = destination
		}
		setText(out, "annotations", v1alpha1.AnnotationTrackingID, Tracking{App: app, Key: k}.String())
	}
	switch t.Method {
	case ByLabel:
		// A name that is too long is not cut here: it is all that says whose
		// the object is. The server refuses it and says why.
		setText(out, "labels", t.labelKey(), app)
	case ByBoth:
		setText(out, "labels", t.labelKey(), labelValue(app))
	case ByAnnotation:
	}
	if t.InstallationID != "" {
		setText(out, "annotations", v1alpha1.AnnotationInstallationID, t.InstallationID)
	}
}

// Of reads the mark of an object. Self is false when the mark describes
// another object: a controller copied the annotation (a Deployment's goes to
// its ReplicaSets), so the object is not the application's own. A label cannot
// tell: there every object that has it is the application's.
func (t Tracker) Of(u *unstructured.Unstructured) (mark Tracking, self bool) {
	annotations := mapAt(u.Object, "metadata", "annotations")
	if t.InstallationID != "" && text(annotations, v1alpha1.AnnotationInstallationID) != t.InstallationID {
		return Tracking{}, false
	}
	if t.Method == ByLabel {
		app := text(mapAt(u.Object, "metadata", "labels"), t.labelKey())
		if app == "" {
			return Tracking{}, false
		}
		return Tracking{App: app, Key: KeyOf(u)}, true
	}
	mark, ok := ParseTracking(text(annotations, v1alpha1.AnnotationTrackingID))
	if !ok {
		return Tracking{}, false
	}
	return mark, mark.describes(KeyOf(u))
}

func (t Tracker) labelKey() string { return cmp.Or(t.LabelKey, defaultLabelKey) }

// describes says whether the mark is about the object under this key. The
// namespace of a cluster-scoped object's mark is its application's
// destination, hence not compared.
func (t Tracking) describes(k Key) bool {
	return t.Key.Group == k.Group && t.Key.Kind == k.Kind && t.Key.Name == k.Name &&
		(k.Namespace == "" || t.Key.Namespace == k.Namespace)
}

// labelValue cuts a name to what a label can hold, which must also end in a
// letter or a digit.
func labelValue(app string) string {
	if len(app) <= labelMax {
		return app
	}
	return strings.TrimRight(app[:labelMax], "-_.")
}

// setText sets one entry of the object's labels or annotations. It does not go
// through the accessors, which drop all entries if one is no text: the server
// should see that one, and say so.
func setText(u *unstructured.Unstructured, where, key, value string) {
	meta, ok := u.Object["metadata"].(map[string]any)
	if !ok {
		return
	}
	entries, ok := meta[where].(map[string]any)
	if !ok && meta[where] != nil {
		return
	}
	if entries == nil {
		entries = map[string]any{}
		meta[where] = entries
	}
	entries[key] = value
}
