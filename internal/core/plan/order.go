package plan

import (
	"cmp"
	"slices"

	"github.com/towline-cd/towline/internal/core/object"
)

var phases = []Phase{PreSync, InSync, PostSync, SyncFail, PreDelete, PostDelete}

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

// mirror puts prunes into waves: what came first goes last. The waves that
// have prunes are mirrored among themselves, and what asks to go last goes
// after every wave.
func mirror(items []Item) {
	last := 0
	var waves []int
	for _, it := range items {
		if it.Phase == InSync {
			last = max(last, it.Wave)
		}
		if it.Prunable && !it.Late {
			waves = append(waves, it.Wave)
		}
	}
	slices.Sort(waves)
	waves = slices.Compact(waves)
	for i := range items {
		it := &items[i]
		if !it.Prunable {
			continue
		}
		if it.Late {
			it.Wave = last + 1
			continue
		}
		at, _ := slices.BinarySearch(waves, it.Wave)
		it.Wave = waves[len(waves)-1-at]
	}
}

// bubble moves namespaces and CRDs up to the first object that needs them,
// where that comes before their own wave.
func bubble(items []Item) {
	need := map[object.Key][]int{}
	for i, it := range items {
		if it.Prunable {
			continue
		}
		if it.Key.Namespace != "" {
			k := object.Key{Kind: "Namespace", Name: it.Key.Namespace}
			need[k] = append(need[k], i)
		}
		if it.Expected {
			// Any CRD of that kind; its name is not known from here.
			k := object.Key{Group: it.Key.Group, Kind: it.Key.Kind}
			need[k] = append(need[k], i)
		}
	}
	for i := range items {
		it := &items[i]
		k := it.Key
		switch {
		case it.Prunable || it.Hook:
			continue
		case it.Key.GroupKind() == crdKind:
			defined := definedBy(it.Desired.Body)
			k = object.Key{Group: defined.Group, Kind: defined.Kind}
		case it.Key.Group != "" || it.Key.Kind != "Namespace":
			continue
		}
		for _, n := range need[k] {
			if before(items[n], *it) {
				it.Phase, it.Wave = items[n].Phase, items[n].Wave
			}
		}
	}
}

// before compares phase and wave.
func before(a, b Item) bool {
	return cmp.Or(
		cmp.Compare(slices.Index(phases, a.Phase), slices.Index(phases, b.Phase)),
		cmp.Compare(a.Wave, b.Wave),
	) < 0
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
