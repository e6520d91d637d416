// Package repair turns manifests that client-side apply took and server-side
// apply refuses into such as it takes, and says what it did. It must not change
// what a manifest does in a cluster: what cannot be mended without a loss stays
// as it is, and the server says why it refuses it.
package repair

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Duplicates gives lists whose items have to differ only one item of a kind.
// The manifest itself is not changed. notes say what was done; without any the
// manifest is returned as it is.
func Duplicates(u *unstructured.Unstructured) (out *unstructured.Unstructured, notes []string) {
	looking := &mender{looking: true}
	looking.object(u)
	if !looking.found {
		// Most have none, and are not copied.
		return u, nil
	}
	m := &mender{}
	out = u.DeepCopy()
	m.object(out)
	if len(m.notes) == 0 {
		return u, nil
	}
	return out, m.notes
}

// podSpec is where a built-in kind has the spec of its Pods.
func podSpec(u *unstructured.Unstructured) string {
	gvk := u.GroupVersionKind()
	if !slices.Contains([]string{"", "apps", "batch"}, gvk.Group) {
		return ""
	}
	switch gvk.Kind {
	case "Pod":
		return "spec"
	case "PodTemplate":
		return "template.spec"
	case "CronJob":
		return "spec.jobTemplate.spec.template.spec"
	case "Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "ReplicationController", "Job":
		return "spec.template.spec"
	}
	return ""
}

// mender mends lists, or only looks whether there is any to mend.
type mender struct {
	looking, found bool
	notes          []string
}

// mending is what tells the items of a list apart, and what is done about two
// that are the same.
type mending struct {
	key  func(item any) string
	mend func(items []any, where string) []any
}

func (m *mender) note(format string, args ...any) {
	m.notes = append(m.notes, fmt.Sprintf(format, args...))
}

func (m *mender) object(u *unstructured.Unstructured) {
	if meta, ok := u.Object["metadata"].(map[string]any); ok {
		m.list(meta, "finalizers", "metadata.", mending{text, m.same})
	}
	if u.GetKind() == "ServiceAccount" {
		m.list(u.Object, "secrets", "", mending{text, m.same})
	}
	if path := podSpec(u); path != "" {
		m.pod(u.Object, path)
	}
}

func (m *mender) pod(body map[string]any, path string) {
	spec, ok := at(body, path)
	if !ok {
		return
	}
	m.list(spec, "imagePullSecrets", path+".", mending{text, m.same})
	m.list(spec, "hostAliases", path+".", mending{address, m.hosts})
	for _, kind := range []string{"initContainers", "containers", "ephemeralContainers"} {
		containers, _ := spec[kind].([]any)
		for _, c := range containers {
			container, ok := c.(map[string]any)
			if !ok {
				continue
			}
			where := fmt.Sprintf("%s.%s[%s].", path, kind, text(container))
			m.list(container, "env", where, mending{text, m.variables})
			m.list(container, "ports", where, mending{port, m.ports})
		}
	}
}

// list mends a list if two of its items are the same.
func (m *mender) list(parent map[string]any, name, where string, how mending) {
	items, ok := parent[name].([]any)
	if !ok || !repeated(items, how.key) {
		return
	}
	m.found = true
	if !m.looking {
		parent[name] = how.mend(items, where+name)
	}
}

func repeated(items []any, key func(any) string) bool {
	if len(items) < 2 {
		return false
	}
	seen := make(map[string]struct{}, len(items))
	for _, item := range items {
		seen[key(item)] = struct{}{}
	}
	return len(seen) < len(items)
}

// same drops an item that is there already.
func (m *mender) same(items []any, where string) []any {
	var out []any
	for _, item := range items {
		if slices.ContainsFunc(out, func(o any) bool { return reflect.DeepEqual(o, item) }) {
			m.note("%s has %s twice; one of the two was left out, remove it", where, text(item))
			continue
		}
		out = append(out, item)
	}
	return out
}

// hosts joins the names that are given to one address.
func (m *mender) hosts(items []any, where string) []any {
	var out []any
	for _, item := range items {
		alias, ok := item.(map[string]any)
		i := slices.IndexFunc(out, func(o any) bool { return address(o) == address(item) })
		if i < 0 || !ok {
			out = append(out, item)
			continue
		}
		have, _ := out[i].(map[string]any)
		names, _ := have["hostnames"].([]any)
		more, _ := alias["hostnames"].([]any)
		for _, n := range more {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
		have["hostnames"] = names
		m.note("%s has %s twice; the two were joined, do so in the manifest", where, address(item))
	}
	return out
}

// ports joins two entries for one port where they do not contradict each
// other. Two names for a port cannot be kept, and somebody may go by either:
// they stay, and the server refuses them.
func (m *mender) ports(items []any, where string) []any {
	var out []any
	for _, item := range items {
		more, ok := item.(map[string]any)
		i := slices.IndexFunc(out, func(o any) bool { return port(o) == port(item) })
		if i < 0 || !ok {
			out = append(out, item)
			continue
		}
		have, _ := out[i].(map[string]any)
		if contradicts(have, more) {
			return items
		}
		maps.Copy(have, more)
		m.note("%s has %s twice; the two were joined, remove one of them", where, port(item))
	}
	return out
}

func contradicts(a, b map[string]any) bool {
	for k, v := range b {
		if have, ok := a[k]; ok && !reflect.DeepEqual(have, v) {
			return true
		}
	}
	return false
}

func at(body map[string]any, path string) (map[string]any, bool) {
	for name := range strings.SplitSeq(path, ".") {
		next, ok := body[name].(map[string]any)
		if !ok {
			return nil, false
		}
		body = next
	}
	return body, true
}

// The keys of items: their name or themselves, their address, their port.

func text(item any) string {
	if m, ok := item.(map[string]any); ok {
		item = m["name"]
	}
	if name, ok := item.(string); ok {
		return name
	}
	return fmt.Sprint(item)
}

func address(item any) string {
	m, _ := item.(map[string]any)
	return fmt.Sprint(m["ip"])
}

func port(item any) string {
	m, _ := item.(map[string]any)
	protocol, _ := m["protocol"].(string)
	if protocol == "" {
		protocol = "TCP"
	}
	return fmt.Sprintf("%v/%s", m["containerPort"], protocol)
}
