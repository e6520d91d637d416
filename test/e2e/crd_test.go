package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/test/workshop"
)

// TestCRDsTakeClientSideApply: people install with plain `kubectl apply -k`,
// whose record of what it applied must fit into an annotation.
func TestCRDsTakeClientSideApply(t *testing.T) {
	f := setup(t)
	list, err := f.dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).
		List(t.Context(), metav1.ListOptions{})
	f.must(err)
	found := 0
	for _, item := range list.Items {
		var crd apiextv1.CustomResourceDefinition
		f.must(runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &crd))
		if crd.Spec.Group != v1alpha1.Group {
			continue
		}
		found++
		size := len(crd.Annotations["kubectl.kubernetes.io/last-applied-configuration"])
		if size == 0 || size > 200_000 {
			t.Errorf("%s: last-applied-configuration has %d bytes", crd.Name, size)
		}
		t.Logf("%s: %d bytes", crd.Name, size)
		sub := crd.Spec.Versions[0].Subresources
		if status := sub != nil && sub.Status != nil; status != (crd.Spec.Names.Kind == "ApplicationSet") {
			t.Errorf("%s: status subresource is %t", crd.Name, status)
		}
	}
	if found != 3 {
		t.Errorf("found %d CRDs, want 3", found)
	}
}

// TestExamples: every example is taken by the server and reads back without
// loss.
func TestExamples(t *testing.T) {
	f := setup(t)
	files, err := filepath.Glob(filepath.Join(workshop.Root(), "api", "v1alpha1", "testdata", "examples", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal("no examples", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			f.must(err)
			raw, err := yaml.YAMLToJSON(data)
			f.must(err)
			u := &unstructured.Unstructured{}
			f.must(u.UnmarshalJSON(raw))
			gvr := map[string]schema.GroupVersionResource{
				"Application":    {Group: v1alpha1.Group, Version: v1alpha1.Version, Resource: "applications"},
				"ApplicationSet": {Group: v1alpha1.Group, Version: v1alpha1.Version, Resource: "applicationsets"},
				"AppProject":     {Group: v1alpha1.Group, Version: v1alpha1.Version, Resource: "appprojects"},
				"ConfigMap":      configMaps,
			}[u.GetKind()]
			if gvr.Resource == "" {
				t.Fatalf("what is a %s?", u.GetKind())
			}
			u.SetNamespace(f.dest)
			got, err := f.dynamic.Resource(gvr).Namespace(f.dest).Create(t.Context(), u.DeepCopy(), metav1.CreateOptions{
				FieldValidation: metav1.FieldValidationStrict,
			})
			if err != nil {
				t.Fatal(err)
			}
			f.must(f.dynamic.Resource(gvr).Namespace(f.dest).Delete(t.Context(), u.GetName(), metav1.DeleteOptions{}))
			for _, field := range []string{"spec", "data", "operation"} {
				if d := cmp.Diff(u.Object[field], got.Object[field]); d != "" {
					t.Errorf("%s lost something (-sent +kept):\n%s", field, d)
				}
			}
		})
	}
}
