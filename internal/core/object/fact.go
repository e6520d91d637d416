package object

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/health"
)

// Fact is all that is kept of a live object: enough to decide, never a body.
type Fact struct {
	Key             Key
	Version         string
	UID             string
	ResourceVersion string
	Digest          Digest
	// App is the application that the object's own mark names; empty when there
	// is none, or when the mark was copied from another object.
	App string
	// Owned says that another live object controls this one.
	Owned bool
	// Deleting says that the object is on its way out.
	Deleting bool
	// Keep says that the object asks to survive its application
	// (helm.sh/resource-policy: keep).
	Keep bool
	// Extra says that the object asks not to count when Git does not have it
	// (compare-options: IgnoreExtraneous).
	Extra bool
	// Quiet says that the object's health does not count
	// (ignore-healthcheck: "true").
	Quiet bool
	// Options are the object's own sync options, as written.
	Options string
	Health  health.Health
	Images  []string
}

// FactOf reads what is kept of a live object. manager is the field manager
// whose ownership the digest covers.
func FactOf(u *unstructured.Unstructured, manager string) Fact {
	annotations := u.GetAnnotations()
	compare := annotations[v1alpha1.AnnotationCompareOptions]
	f := Fact{
		Key:             KeyOf(u),
		Version:         u.GroupVersionKind().Version,
		UID:             string(u.GetUID()),
		ResourceVersion: u.GetResourceVersion(),
		Digest:          LiveDigest(u, manager),
		Owned:           len(u.GetOwnerReferences()) > 0,
		Deleting:        u.GetDeletionTimestamp() != nil,
		Keep:            annotations[v1alpha1.AnnotationHelmResourcePolicy] == "keep",
		Extra:           Option(compare, v1alpha1.CompareOptionIgnoreExtraneous) == v1alpha1.SyncOptionValueTrue,
		Quiet:           annotations[v1alpha1.AnnotationIgnoreHealthCheck] == "true",
		Options:         annotations[v1alpha1.AnnotationSyncOptions],
		Health:          health.Of(u),
		Images:          Images(u),
	}
	if t, self := TrackingOf(u); self {
		f.App = t.App
	}
	return f
}

// Option is the value of an option in a comma-separated list of name=value
// pairs; the last one counts. An option without a value is "true".
func Option(options, name string) string {
	value := ""
	for o := range strings.SplitSeq(options, ",") {
		n, v, assigned := strings.Cut(strings.TrimSpace(o), "=")
		if n != name {
			continue
		}
		value = v
		if !assigned {
			value = v1alpha1.SyncOptionValueTrue
		}
	}
	return value
}

// Images lists the container images that a workload's manifest names.
func Images(u *unstructured.Unstructured) []string {
	paths := [][]string{{"spec"}, {"spec", "template", "spec"}, {"spec", "jobTemplate", "spec", "template", "spec"}}
	var out []string
	for _, path := range paths {
		for _, list := range []string{"initContainers", "containers"} {
			v, found, err := unstructured.NestedFieldNoCopy(u.Object, append(append([]string{}, path...), list)...)
			if !found || err != nil {
				continue
			}
			containers, _ := v.([]any)
			for _, c := range containers {
				m, _ := c.(map[string]any)
				if image, _ := m["image"].(string); image != "" {
					out = append(out, image)
				}
			}
		}
	}
	return out
}
