package object

import (
	"slices"
	"strconv"
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
	// Behind says of an ApplicationSet that what it asks for now has not been
	// generated yet.
	Behind bool
	// Options are the object's own sync options, as written.
	Options string
	// Wave is the one that the object's own annotations name.
	Wave int
	// Hook says that the object was made to run at a point of a sync, and is
	// no part of the desired state. Run names the run that made it, and Held
	// says that it cannot go before its result was noted.
	Hook bool
	Run  string
	Held bool
	// Child is what a parent wants to know of an Application; nil for all
	// other kinds.
	Child  *Child
	Health health.Health
	Images []string
	// Generation counts the changes of what the object asks for.
	Generation int64
	// Created is when the server made the object, in seconds since 1970.
	Created int64
	Owners  []Owner
	Refs    []Ref
	// Labels are those of a Pod, which Services select by them; other kinds
	// have none here.
	Labels  Labels
	Columns Columns
}

// FactOf reads what is kept of a live object that is marked by annotation.
// manager is the field manager whose ownership the digest covers.
func FactOf(u *unstructured.Unstructured, manager string) Fact { return Tracker{}.FactOf(u, manager) }

// FactOf reads what is kept of a live object. manager is the field manager
// whose ownership the digest covers.
func (t Tracker) FactOf(u *unstructured.Unstructured, manager string) Fact {
	return t.FactJudged(u, manager, health.Of(u))
}

// FactJudged is FactOf for an object whose health somebody else has judged.
func (t Tracker) FactJudged(u *unstructured.Unstructured, manager string, judged health.Health) Fact {
	annotations := u.GetAnnotations()
	compare := annotations[v1alpha1.AnnotationCompareOptions]
	k := KeyOf(u)
	f := Fact{
		Key:             k,
		Version:         u.GroupVersionKind().Version,
		UID:             string(u.GetUID()),
		ResourceVersion: u.GetResourceVersion(),
		Digest:          LiveDigest(u, manager),
		Owners:          ownersOf(u),
		Deleting:        u.GetDeletionTimestamp() != nil,
		Keep:            annotations[v1alpha1.AnnotationHelmResourcePolicy] == "keep",
		Extra:           Option(compare, v1alpha1.CompareOptionIgnoreExtraneous) == v1alpha1.SyncOptionValueTrue,
		Quiet:           annotations[v1alpha1.AnnotationIgnoreHealthCheck] == "true",
		Options:         annotations[v1alpha1.AnnotationSyncOptions],
		Health:          judged,
		Images:          Images(u),
		Generation:      u.GetGeneration(),
		Created:         createdAt(u),
		Refs:            refsOf(u, k),
		Columns:         columnsOf(u, k),
	}
	f.Owned = len(f.Owners) > 0
	f.Wave = Wave(annotations)
	f.Hook = len(annotations[v1alpha1.AnnotationHook]) > 0 || IsHelmHook(annotations)
	f.Run = annotations[v1alpha1.AnnotationRun]
	f.Held = slices.Contains(u.GetFinalizers(), v1alpha1.FinalizerHook)
	f.Child = childOf(u, k)
	f.Behind = behind(u, k)
	if k.Group == "" && k.Kind == "Pod" {
		f.Labels = NewLabels(u.GetLabels())
	}
	if mark, self := t.Of(u); self {
		f.App = mark.App
	}
	return f
}

// Controller is the owner that manages the object.
func (f *Fact) Controller() (Owner, bool) {
	for _, o := range f.Owners {
		if o.Controller {
			return o, true
		}
	}
	return Owner{}, false
}

func createdAt(u *unstructured.Unstructured) int64 {
	t := u.GetCreationTimestamp()
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// Interned returns the fact with the texts that it has in common with many
// others replaced by what intern returns for them, so that they are kept once.
func (f Fact) Interned(intern func(string) string) Fact {
	f.Key.Group, f.Key.Kind, f.Key.Namespace = intern(f.Key.Group), intern(f.Key.Kind), intern(f.Key.Namespace)
	f.Version, f.App, f.Options, f.Run = intern(f.Version), intern(f.App), intern(f.Options), intern(f.Run)
	f.Health.Message = intern(f.Health.Message)
	f.Labels, f.Columns = Labels(intern(string(f.Labels))), Columns(intern(string(f.Columns)))
	f.Images, f.Owners, f.Refs = slices.Clone(f.Images), slices.Clone(f.Owners), slices.Clone(f.Refs)
	for i, image := range f.Images {
		f.Images[i] = intern(image)
	}
	for i, o := range f.Owners {
		f.Owners[i].Group, f.Owners[i].Kind = intern(o.Group), intern(o.Kind)
	}
	for i, r := range f.Refs {
		f.Refs[i].Key.Group, f.Refs[i].Key.Kind, f.Refs[i].Key.Namespace = intern(r.Key.Group), intern(r.Key.Kind), intern(r.Key.Namespace)
	}
	return f
}

// Wave reads an object's wave out of its annotations: its own, else its Helm
// hook weight, else 0. What is no number is 0, as Argo CD has it.
func Wave(annotations map[string]string) int {
	for _, name := range []string{v1alpha1.AnnotationSyncWave, v1alpha1.AnnotationHelmHookWeight} {
		if n, err := strconv.Atoi(strings.TrimSpace(annotations[name])); err == nil {
			return n
		}
	}
	return 0
}

// IsHelmHook reports whether the annotations make an object a hook of Helm's.
// crd-install does not: it is how Helm 2 charts marked their CRDs.
func IsHelmHook(annotations map[string]string) bool {
	for h := range strings.SplitSeq(annotations[v1alpha1.AnnotationHelmHook], ",") {
		if h = strings.TrimSpace(h); h != "" && h != "crd-install" {
			return true
		}
	}
	return false
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
