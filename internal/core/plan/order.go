package plan

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
)

var phases = []Phase{PreSync, InSync, PostSync, SyncFail}

// kinds is the order in which kinds are applied within a wave: what others
// need comes first. A kind that is not listed comes last.
var kinds = []string{
	"Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "PodSecurityPolicy", "PodDisruptionBudget",
	"ServiceAccount", "Secret", "SecretList", "ConfigMap", "StorageClass", "PersistentVolume",
	"PersistentVolumeClaim", "CustomResourceDefinition", "ClusterRole", "ClusterRoleList", "ClusterRoleBinding",
	"ClusterRoleBindingList", "Role", "RoleList", "RoleBinding", "RoleBindingList", "Service", "DaemonSet", "Pod",
	"ReplicationController", "ReplicaSet", "Deployment", "HorizontalPodAutoscaler", "StatefulSet", "Job", "CronJob",
	"IngressClass", "Ingress", "APIService",
}

func rank(kind string) int {
	if i := slices.Index(kinds, kind); i >= 0 {
		return i
	}
	return len(kinds)
}

// order is the order of a sync: phase, wave, kind, name. The rest of the key
// only makes it total, so that no plan depends on the order of its input.
func order(a, b Item) int {
	return cmp.Or(
		cmp.Compare(slices.Index(phases, a.Phase), slices.Index(phases, b.Phase)),
		cmp.Compare(a.Wave, b.Wave),
		cmp.Compare(rank(a.Key.Kind), rank(b.Key.Kind)),
		cmp.Compare(a.Key.Kind, b.Key.Kind),
		cmp.Compare(a.Key.Name, b.Key.Name),
		object.Compare(a.Key, b.Key),
	)
}

// waveOf reads an object's wave: its own, else its Helm hook weight, else 0.
// What is no number is 0, as Argo CD has it.
func waveOf(u *unstructured.Unstructured) int {
	a := u.GetAnnotations()
	for _, name := range []string{v1alpha1.AnnotationSyncWave, v1alpha1.AnnotationHelmHookWeight} {
		if n, err := strconv.Atoi(strings.TrimSpace(a[name])); err == nil {
			return n
		}
	}
	return 0
}

// lastWave is the wave in which pruning happens: when everything else stands.
func lastWave(s object.Set) int {
	last, first := 0, true
	for o := range s.All() {
		if hooked(o.Body) {
			continue
		}
		if w := waveOf(o.Body); first || w > last {
			last, first = w, false
		}
	}
	return last
}

// Groups cuts the items of a step into runs of one kind: the members of a
// group do not need each other and may be written at once, the groups follow
// one another.
func Groups(items []Item) [][]Item {
	var out [][]Item
	for i, it := range items {
		if i == 0 || items[i-1].Key.GroupKind() != it.Key.GroupKind() {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], it)
	}
	return out
}
