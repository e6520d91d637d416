package settings

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
)

// Filter picks kinds, as resource.exclusions and resource.inclusions do. Each
// list is of globs; an empty one means all.
type Filter struct {
	APIGroups []string `json:"apiGroups"`
	Kinds     []string `json:"kinds"`
	Clusters  []string `json:"clusters"`
}

// resourceKeys are the keys that parseResources reads.
var resourceKeys = []string{
	v1alpha1.KeyResourceExclusions, v1alpha1.KeyResourceInclusions,
	v1alpha1.KeyResourceTrackingMethod, v1alpha1.KeyInstanceLabelKey, v1alpha1.KeyInstallationID,
}

// resources is what the keys about watched kinds and marks say.
type resources struct {
	// exclusions are nil when the key is not there: the default ones hold.
	exclusions, inclusions []Filter
	tracker                object.Tracker
	problems               []string
}

func parseResources(data map[string]string) resources {
	var out resources
	filters := func(key string) []Filter {
		text, ok := data[key]
		if !ok {
			return nil
		}
		list := []Filter{}
		if err := yaml.UnmarshalStrict([]byte(text), &list); err != nil {
			out.problems = append(out.problems, fmt.Sprintf("%s: %v; it is left as if it were not there", key, err))
			return nil
		}
		return list
	}
	out.exclusions = filters(v1alpha1.KeyResourceExclusions)
	out.inclusions = filters(v1alpha1.KeyResourceInclusions)
	out.tracker = object.Tracker{
		LabelKey:       data[v1alpha1.KeyInstanceLabelKey],
		InstallationID: data[v1alpha1.KeyInstallationID],
	}
	method := object.Method(data[v1alpha1.KeyResourceTrackingMethod])
	switch method {
	case "", object.ByAnnotation:
	case object.ByLabel, object.ByBoth:
		out.tracker.Method = method
	default:
		out.problems = append(out.problems, fmt.Sprintf("%s: %q is none of annotation, label and annotation+label; using annotation",
			v1alpha1.KeyResourceTrackingMethod, method))
	}
	return out
}
