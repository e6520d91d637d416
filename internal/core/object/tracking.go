package object

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Tracking is the mark on a live object that says which application put it
// there, and under which identity.
type Tracking struct {
	App string
	Key Key
}

// Instance is the name under which an application marks its objects: its own
// name, prefixed by its namespace when it lives outside the control namespace.
func Instance(controlNamespace, namespace, name string) string {
	if namespace == "" || namespace == controlNamespace {
		return name
	}
	return namespace + "_" + name
}

// SplitInstance is the inverse of Instance.
func SplitInstance(controlNamespace, instance string) (namespace, name string) {
	ns, n, ok := strings.Cut(instance, "_")
	if !ok {
		return controlNamespace, instance
	}
	return ns, n
}

// AppName is what an application is called in an installation: its own name,
// with its namespace before it when it lives outside the control namespace. It
// is the name in queues, logs, caches and commands.
func AppName(controlNamespace, namespace, name string) string {
	if namespace == "" || namespace == controlNamespace {
		return name
	}
	return namespace + "/" + name
}

// SplitAppName is the inverse of AppName.
func SplitAppName(controlNamespace, app string) (namespace, name string) {
	ns, n, ok := strings.Cut(app, "/")
	if !ok {
		return controlNamespace, app
	}
	return ns, n
}

// AppOfInstance is what the application is called that marks its objects so.
func AppOfInstance(controlNamespace, instance string) string {
	namespace, name := SplitInstance(controlNamespace, instance)
	return AppName(controlNamespace, namespace, name)
}

// String is the wire form: "<app>:<group>/<kind>:<namespace>/<name>".
func (t Tracking) String() string {
	return t.App + ":" + t.Key.Group + "/" + t.Key.Kind + ":" + t.Key.Namespace + "/" + t.Key.Name
}

// ParseTracking reads the wire form. A name may hold colons (RBAC roles do),
// so only the first two separate.
func ParseTracking(s string) (Tracking, bool) {
	app, rest, ok := strings.Cut(s, ":")
	if !ok || app == "" {
		return Tracking{}, false
	}
	gk, nn, ok := strings.Cut(rest, ":")
	if !ok {
		return Tracking{}, false
	}
	group, kind, ok := strings.Cut(gk, "/")
	if !ok {
		return Tracking{}, false
	}
	ns, name, ok := strings.Cut(nn, "/")
	if !ok {
		return Tracking{}, false
	}
	return Tracking{App: app, Key: Key{Group: group, Kind: kind, Namespace: ns, Name: name}}, true
}

// TrackingOf reads the mark of an object that is tracked by annotation, as most
// are. See Tracker.
func TrackingOf(u *unstructured.Unstructured) (t Tracking, self bool) { return Tracker{}.Of(u) }

// Stamp returns a copy of body that carries the application's mark as an
// annotation. See Tracker.
func Stamp(body *unstructured.Unstructured, app, destination string) *unstructured.Unstructured {
	return Tracker{}.Stamp(body, app, destination)
}
