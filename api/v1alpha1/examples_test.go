package v1alpha1_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// configMap is as much of a ConfigMap as settings have.
type configMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Data map[string]string `json:"data"`
}

// TestExamplesLoseNothing decodes manifests as people write them and expects all that they said to come back.
func TestExamplesLoseNothing(t *testing.T) {
	files, err := filepath.Glob("testdata/examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d examples: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := yaml.YAMLToJSONStrict(text)
			if err != nil {
				t.Fatal(err)
			}
			lost, added := roundTrip(t, raw, typeOf(t, raw))
			if len(lost) > 0 {
				t.Errorf("lost:\n%s", strings.Join(lost, "\n"))
			}
			if len(added) > 0 {
				t.Errorf("added, and not empty:\n%s", strings.Join(added, "\n"))
			}
		})
	}
}

func typeOf(t *testing.T, raw []byte) any {
	t.Helper()
	var meta metav1.TypeMeta
	if err := json.Unmarshal(raw, &meta); err != nil {
		t.Fatal(err)
	}
	switch meta.APIVersion + " " + meta.Kind {
	case "argoproj.io/v1alpha1 Application":
		return &v1alpha1.Application{}
	case "argoproj.io/v1alpha1 ApplicationSet":
		return &v1alpha1.ApplicationSet{}
	case "argoproj.io/v1alpha1 AppProject":
		return &v1alpha1.AppProject{}
	case "v1 ConfigMap":
		return &configMap{}
	}
	t.Fatalf("no type for %s %s", meta.APIVersion, meta.Kind)
	return nil
}

// roundTrip decodes raw strictly into a typed object and encodes it again. It returns the paths that were lost or
// changed, and those that came to it with a value that is not empty.
func roundTrip(t *testing.T, raw []byte, typed any) (lost, added []string) {
	t.Helper()
	if err := yaml.UnmarshalStrict(raw, typed); err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(typed)
	if err != nil {
		t.Fatal(err)
	}
	var before, after any
	if err := json.Unmarshal(raw, &before); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(encoded, &after); err != nil {
		t.Fatal(err)
	}
	return missingFrom(after, before, ""), addedTo(before, after, "")
}

// missingFrom lists the values of want that got lacks or has otherwise.
func missingFrom(got, want any, path string) []string {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s: is %v", path, got)}
		}
		var lost []string
		for _, key := range slices.Sorted(maps.Keys(want)) {
			lost = append(lost, missingFrom(object[key], want[key], path+"."+key)...)
		}
		return lost
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return []string{fmt.Sprintf("%s: is %v, was %v", path, got, want)}
		}
		var lost []string
		for i := range want {
			lost = append(lost, missingFrom(list[i], want[i], fmt.Sprintf("%s[%d]", path, i))...)
		}
		return lost
	}
	if !reflect.DeepEqual(got, want) {
		return []string{fmt.Sprintf("%s: is %v, was %v", path, got, want)}
	}
	return nil
}

// addedTo lists the values of after that before lacks, unless there is nothing in them.
func addedTo(before, after any, path string) []string {
	switch after := after.(type) {
	case map[string]any:
		object, _ := before.(map[string]any)
		var added []string
		for _, key := range slices.Sorted(maps.Keys(after)) {
			added = append(added, addedTo(object[key], after[key], path+"."+key)...)
		}
		return added
	case []any:
		list, _ := before.([]any)
		var added []string
		for i := range after {
			var item any
			if i < len(list) {
				item = list[i]
			}
			added = append(added, addedTo(item, after[i], fmt.Sprintf("%s[%d]", path, i))...)
		}
		return added
	case string:
		if before == nil && after == "" {
			return nil
		}
	}
	if before == nil {
		return []string{fmt.Sprintf("%s: %v", path, after)}
	}
	return nil
}
