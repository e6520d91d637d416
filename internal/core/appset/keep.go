package appset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/diff"
)

// same compares by meaning: an empty list is none, and free-form JSON may be written in another way.
var same = conversion.EqualitiesOrDie(
	func(a, b runtime.RawExtension) bool { return sameJSON(a.Raw, b.Raw) },
	func(a, b apiextv1.JSON) bool { return sameJSON(a.Raw, b.Raw) },
	func(a, b metav1.Time) bool { return a.Equal(&b) },
)

func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}

// The annotations that others write on an Application, and that stay whatever the template says.
var preserved = []string{
	v1alpha1.AnnotationNotified, v1alpha1.AnnotationRefresh, v1alpha1.AnnotationRefreshTimestamp,
	v1alpha1.AnnotationHydrate, v1alpha1.AnnotationHydrateTimestamp, v1alpha1.AnnotationLastAppliedByKubectl,
}

// The finalizers that hooks put on an Application.
var hookFinalizers = []string{
	v1alpha1.FinalizerPreDelete, v1alpha1.FinalizerPreDeleteCleanup,
	v1alpha1.FinalizerPostDelete, v1alpha1.FinalizerPostDeleteCleanup,
}

// next is an Application as it should be, or nil if it is so already; why says what keeps it from being worked out.
func (c *comparison) next(was, want *v1alpha1.Application) (next *v1alpha1.Application, why string) {
	labels, annotations := c.metadata(was, want)
	finalizers := slices.Clone(want.Finalizers)
	for _, f := range was.Finalizers {
		if slices.Contains(hookFinalizers, f) && !slices.Contains(finalizers, f) {
			finalizers = append(finalizers, f)
		}
	}
	owners := was.OwnerReferences
	if ours := OwnerOf(c.Set); !slices.ContainsFunc(owners, func(r metav1.OwnerReference) bool { return r.UID == ours.UID }) {
		owners = append(slices.Clone(owners), ours)
	}
	if same.DeepEqual(was.Spec, want.Spec) && maps.Equal(was.Labels, labels) && maps.Equal(was.Annotations, annotations) &&
		slices.Equal(was.Finalizers, finalizers) && len(owners) == len(was.OwnerReferences) {
		return nil, ""
	}
	next = was.DeepCopy()
	next.Labels, next.Annotations, next.Finalizers, next.OwnerReferences = labels, annotations, finalizers, owners
	next.Spec = *want.Spec.DeepCopy()
	if why := c.ignore(was, next); why != "" {
		return nil, why
	}
	if same.DeepEqual(was.Spec, next.Spec) && maps.Equal(was.Labels, next.Labels) && maps.Equal(was.Annotations, next.Annotations) &&
		slices.Equal(was.Finalizers, next.Finalizers) && len(owners) == len(was.OwnerReferences) {
		return nil, ""
	}
	return next, ""
}

// metadata are the labels and annotations of the template, and those that stay.
func (c *comparison) metadata(was, want *v1alpha1.Application) (labels, annotations map[string]string) {
	labels, annotations = maps.Clone(want.Labels), maps.Clone(want.Annotations)
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	stays, staying := slices.Concat(preserved, c.Stay.Annotations), c.Stay.Labels
	if p := c.Set.Spec.PreservedFields; p != nil {
		stays, staying = append(stays, p.Annotations...), slices.Concat(staying, p.Labels)
	}
	for _, k := range staying {
		if v, ok := was.Labels[k]; ok {
			labels[k] = v
		}
	}
	for k, v := range was.Annotations {
		ours := strings.HasPrefix(k, v1alpha1.AnnotationPrefix) && k != v1alpha1.AnnotationSuccessor
		if ours || slices.Contains(stays, k) {
			annotations[k] = v
		}
	}
	return labels, annotations
}

// ignore leaves the fields as they are that ignoreApplicationDifferences names.
func (c *comparison) ignore(was, next *v1alpha1.Application) (why string) {
	rules, why := c.rules(was.Name)
	if why != "" || rules.Empty() {
		return why
	}
	live, err := document(was)
	if err != nil {
		return err.Error()
	}
	want, err := document(next)
	if err != nil {
		return err.Error()
	}
	liveLeft, wantLeft, problems := rules.Strip(live, want)
	if len(problems) > 0 {
		return problems[0].Message
	}
	kept, _ := keepValue(live.Object, liveLeft.Object, want.Object, wantLeft.Object).(map[string]any)
	data, err := json.Marshal(kept)
	if err != nil {
		return err.Error()
	}
	var out v1alpha1.Application
	if err := json.Unmarshal(data, &out); err != nil {
		return fmt.Sprintf("with the fields of spec.ignoreApplicationDifferences left out it is no Application: %v; correct the rules", err)
	}
	next.Spec, next.Labels, next.Annotations, next.Finalizers = out.Spec, out.Labels, out.Annotations, out.Finalizers
	return ""
}

// rules are the ignore rules that are about one Application.
func (c *comparison) rules(name string) (diff.Rules, string) {
	var in []diff.Rule
	for i, r := range c.Set.Spec.IgnoreApplicationDifferences {
		if r.Name != "" && r.Name != name {
			continue
		}
		rule := diff.Rule{
			Group: v1alpha1.Group, Kind: v1alpha1.ApplicationKind, Pointers: r.JSONPointers,
			Origin: fmt.Sprintf("spec.ignoreApplicationDifferences[%d]", i),
		}
		for _, source := range r.JQPathExpressions {
			e, ok := c.Exprs[source]
			if !ok {
				e = diff.NamedExpr{Source: source, Problem: "it was not compiled"}
			}
			rule.Exprs = append(rule.Exprs, e)
		}
		in = append(in, rule)
	}
	if len(in) == 0 {
		return diff.Rules{}, ""
	}
	rules, found := diff.NewRules(in, diff.Options{Status: diff.StatusOfNone})
	if len(found) > 0 {
		return diff.Rules{}, found[0].Message
	}
	return rules, ""
}

// document is the part of an Application that a set writes, as JSON.
func document(app *v1alpha1.Application) (*unstructured.Unstructured, error) {
	part := v1alpha1.Application{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.Group + "/" + v1alpha1.Version, Kind: v1alpha1.ApplicationKind},
		ObjectMeta: metav1.ObjectMeta{
			Name: app.Name, Namespace: app.Namespace, Labels: app.Labels, Annotations: app.Annotations, Finalizers: app.Finalizers,
		},
		Spec: app.Spec,
	}
	data, err := json.Marshal(part)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	return &unstructured.Unstructured{Object: out}, json.Unmarshal(data, &out)
}

// keepValue puts what is ignored back: of each value there is the live one and the wanted one, and what of them is left
// when the ignored fields are taken out.
func keepValue(live, liveLeft, want, wantLeft any) any {
	lm, ok1 := live.(map[string]any)
	wm, ok2 := want.(map[string]any)
	if ok1 && ok2 {
		ll, _ := liveLeft.(map[string]any)
		wl, _ := wantLeft.(map[string]any)
		return keepMaps(lm, ll, wm, wl)
	}
	la, ok1 := live.([]any)
	wa, ok2 := want.([]any)
	if ok1 && ok2 {
		ll, _ := liveLeft.([]any)
		wl, _ := wantLeft.([]any)
		if len(la) == len(wa) && len(ll) == len(la) && len(wl) == len(wa) {
			out := make([]any, len(la))
			for i := range la {
				out[i] = keepValue(la[i], ll[i], wa[i], wl[i])
			}
			return out
		}
		// Whole items are ignored: the list is as it was, if the rest of it is.
		if reflect.DeepEqual(ll, wl) {
			return la
		}
	}
	return want
}

func keepMaps(live, liveLeft, want, wantLeft map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range live {
		left, counts := liveLeft[name]
		if !counts {
			out[name] = v
			continue
		}
		if _, wanted := wantLeft[name]; wanted {
			out[name] = keepValue(v, left, want[name], wantLeft[name])
			continue
		}
		// It is no longer wanted; what of it is ignored stays.
		below, ok1 := v.(map[string]any)
		belowLeft, ok2 := left.(map[string]any)
		if ok1 && ok2 {
			if rest := keepMaps(below, belowLeft, nil, nil); len(rest) > 0 {
				out[name] = rest
			}
		}
	}
	for name, v := range wantLeft {
		if _, stands := live[name]; !stands {
			out[name] = v
		}
	}
	return out
}
