package truth_test

import (
	"encoding/base64"
	"strings"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// swear holds a Synced against the server: a forced dry-run of what Git says,
// made here and not by towline, must change no value of the live object.
func (p *play) swear() {
	p.Helper()
	app, err := p.hub.Application(p.Context(), p.situation.name)
	p.must(err)
	if len(app.Spec.IgnoreDifferences) > 0 {
		return
	}
	text, ok := p.text(p.manifests + " as applied")
	if !ok {
		text, _ = p.text(p.manifests)
	}
	objects, err := parse(text)
	p.must(err)
	for _, u := range objects {
		r := p.resource(u.GroupVersionKind())
		live, err := r.Get(p.Context(), u.GetName(), metav1.GetOptions{})
		if err != nil {
			p.Errorf("it says Synced, and %s/%s cannot be read: %v", u.GetKind(), u.GetName(), err)
			continue
		}
		after, err := r.Apply(p.Context(), u.GetName(), asApplied(u, live), metav1.ApplyOptions{
			FieldManager: v1alpha1.FieldManagerApply, Force: true, DryRun: []string{metav1.DryRunAll},
		})
		if signed := u.GetLabels()[webhookLabel] == signing; signed && !countsWebhooks(app) {
			// Who wrote last does not count, unless it is asked for.
			continue
		}
		if u.GetLabels()[webhookLabel] == refusing {
			// Nobody can know; what the last apply answered has to do.
			continue
		}
		if err != nil {
			p.Errorf("it says Synced, and the server refuses %s/%s: %v", u.GetKind(), u.GetName(), err)
			continue
		}
		if d := cmp.Diff(values(live), values(after)); d != "" {
			p.Errorf("it says Synced, and an apply would change %s/%s (-live +after):\n%s", u.GetKind(), u.GetName(), d)
		}
	}
}

func countsWebhooks(app *v1alpha1.Application) bool {
	return strings.Contains(app.Annotations[v1alpha1.AnnotationCompareOptions], v1alpha1.CompareOptionIncludeMutationWebhook)
}

// asApplied is a manifest with what towline adds to it.
func asApplied(u, live *unstructured.Unstructured) *unstructured.Unstructured {
	u = u.DeepCopy()
	a := u.GetAnnotations()
	if a == nil {
		a = map[string]string{}
	}
	// Definitions of kinds carry no mark.
	if mark, ok := live.GetAnnotations()[v1alpha1.AnnotationTrackingID]; ok {
		a[v1alpha1.AnnotationTrackingID] = mark
		u.SetAnnotations(a)
	}
	plain, _, _ := unstructured.NestedStringMap(u.Object, "stringData")
	for k, v := range plain {
		_ = unstructured.SetNestedField(u.Object, base64.StdEncoding.EncodeToString([]byte(v)), "data", k)
	}
	delete(u.Object, "stringData")
	return u
}

// values is an object without what the server counts by itself, and without
// its status: a controller may have moved it between the two requests.
func values(u *unstructured.Unstructured) map[string]any {
	u = u.DeepCopy()
	delete(u.Object, "status")
	for _, f := range []string{"managedFields", "resourceVersion", "generation"} {
		unstructured.RemoveNestedField(u.Object, "metadata", f)
	}
	return u.Object
}
