package v1alpha1_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	crdDir = "../../config/crd"
	// maxCRDBytes keeps room below the 256 KiB that client-side kubectl apply can put into its annotation.
	maxCRDBytes = 200_000
)

// crdNames are the singular names, which also name the files with the paths.
func crdNames() []string { return []string{"application", "applicationset", "appproject"} }

func TestSchemasHaveEveryPathOfArgoCD(t *testing.T) {
	var beyond []string
	for _, name := range crdNames() {
		crd, _ := readCRD(t, name)
		ours := flatten(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, "")
		theirs := readLines(t, filepath.Join("testdata", name+".paths"))

		missing := without(theirs, ours)
		extra := without(ours, theirs)
		t.Logf("%s: %d paths listed, %d missing, %d beyond", name, len(theirs), len(missing), len(extra))
		if len(missing) > 0 {
			t.Errorf("%s lacks, or has with another type:\n%s", name, strings.Join(missing, "\n"))
		}
		for _, path := range extra {
			beyond = append(beyond, name+" "+path)
		}
	}
	compareGolden(t, "beyond.txt", beyond)
}

func TestSchemasRequireNothingOfTheUser(t *testing.T) {
	// These come from apimachinery's own types, and Argo CD requires them too.
	permitted := regexp.MustCompile(`\.(matchExpressions|namespaceResourceWhitelist|namespaceResourceBlacklist)\[\]$`)
	for _, name := range crdNames() {
		crd, _ := readCRD(t, name)
		walk(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, "", func(path string, schema *apiextv1.JSONSchemaProps) {
			if len(schema.Required) > 0 && !permitted.MatchString(path) {
				t.Errorf("%s requires %q at %q: a manifest without it would not reach the controller", name, schema.Required, path)
			}
			if len(schema.Enum) > 0 || schema.Pattern != "" {
				t.Errorf("%s restricts the values at %q", name, path)
			}
		})
	}
}

func TestGeneratorTemplatesAreFreeForm(t *testing.T) {
	crd, _ := readCRD(t, "applicationset")
	template := regexp.MustCompile(`^\.spec\.generators\[\].*\.template$`)
	seen := 0
	walk(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, "", func(path string, schema *apiextv1.JSONSchemaProps) {
		if !template.MatchString(path) {
			return
		}
		seen++
		if schema.Type != "object" || schema.XPreserveUnknownFields == nil || !*schema.XPreserveUnknownFields {
			t.Errorf("%s would lose what the user wrote", path)
		}
	})
	// Nine generators, and seven inside of each of matrix and merge.
	if want := 9 + 2*7; seen != want {
		t.Errorf("found %d templates, want %d", seen, want)
	}
}

func TestCRDsStaySmallEnoughForClientSideApply(t *testing.T) {
	for _, name := range crdNames() {
		_, raw := readCRD(t, name)
		compact, err := yaml.YAMLToJSON(raw)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes of YAML, %d bytes of JSON", name, len(raw), len(compact))
		if max(len(raw), len(compact)) >= maxCRDBytes {
			t.Errorf("%s has %d bytes of YAML and %d of JSON, want less than %d", name, len(raw), len(compact), maxCRDBytes)
		}
	}
}

func TestCRDsAreWhatKubectlUsersKnow(t *testing.T) {
	type identity struct {
		Name       string
		ShortNames []string
		Status     bool
		Columns    []apiextv1.CustomResourceColumnDefinition
	}
	want := []identity{
		{Name: "applications.argoproj.io", ShortNames: []string{"app", "apps"}, Columns: []apiextv1.CustomResourceColumnDefinition{
			{Name: "Sync Status", Type: "string", JSONPath: ".status.sync.status"},
			{Name: "Health Status", Type: "string", JSONPath: ".status.health.status"},
			{Name: "Revision", Type: "string", JSONPath: ".status.sync.revision", Priority: 10},
			{Name: "Project", Type: "string", JSONPath: ".spec.project", Priority: 10},
		}},
		{Name: "applicationsets.argoproj.io", ShortNames: []string{"appset", "appsets"}, Status: true},
		{Name: "appprojects.argoproj.io", ShortNames: []string{"appproj", "appprojs"}},
	}
	var got []identity
	for _, name := range crdNames() {
		crd, _ := readCRD(t, name)
		version := crd.Spec.Versions[0]
		got = append(got, identity{
			Name:       crd.Name,
			ShortNames: crd.Spec.Names.ShortNames,
			Status:     version.Subresources != nil && version.Subresources.Status != nil,
			Columns:    version.AdditionalPrinterColumns,
		})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CRDs differ (-want +got):\n%s", diff)
	}
}

// TestEveryPathSurvivesTheTypes fills in every path of Argo CD's schemas and expects the Go types to give all of it back.
func TestEveryPathSurvivesTheTypes(t *testing.T) {
	types := map[string]any{
		"application":    &v1alpha1.Application{},
		"applicationset": &v1alpha1.ApplicationSet{},
		"appproject":     &v1alpha1.AppProject{},
	}
	for _, name := range crdNames() {
		full := sample(readLines(t, filepath.Join("testdata", name+".paths")))
		raw, err := json.Marshal(full)
		if err != nil {
			t.Fatal(err)
		}
		lost, added := roundTrip(t, raw, types[name])
		if len(lost) > 0 {
			t.Errorf("%s: the Go types lose:\n%s", name, strings.Join(lost, "\n"))
		}
		if len(added) > 0 {
			t.Errorf("%s: the Go types add:\n%s", name, strings.Join(added, "\n"))
		}
	}
}

// flatten lists path:type for every property; ? stands for a property of no single type.
func flatten(schema *apiextv1.JSONSchemaProps, prefix string) []string {
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		property := schema.Properties[name]
		path := strings.TrimPrefix(prefix+"."+name, ".")
		kind := property.Type
		if kind == "" {
			kind = "?"
		}
		paths = append(paths, path+":"+kind)
		paths = append(paths, flatten(&property, path)...)
		if property.Items != nil && property.Items.Schema != nil {
			paths = append(paths, flatten(property.Items.Schema, path+"[]")...)
		}
		if property.AdditionalProperties != nil && property.AdditionalProperties.Schema != nil {
			paths = append(paths, flatten(property.AdditionalProperties.Schema, path+"{}")...)
		}
	}
	return paths
}

// walk visits a schema and every schema in it.
func walk(schema *apiextv1.JSONSchemaProps, path string, visit func(string, *apiextv1.JSONSchemaProps)) {
	visit(path, schema)
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		property := schema.Properties[name]
		walk(&property, path+"."+name, visit)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		walk(schema.Items.Schema, path+"[]", visit)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		walk(schema.AdditionalProperties.Schema, path+"{}", visit)
	}
}

// sample builds an object that has every listed path, lists of objects and maps having one entry.
func sample(paths []string) map[string]any {
	object := map[string]any{}
	parents := map[string]bool{}
	for _, line := range paths {
		path, _, _ := strings.Cut(line, ":")
		if at := strings.LastIndex(path, "."); at >= 0 {
			parents[path[:at]] = true
		}
	}
	for _, line := range paths {
		path, kind, _ := strings.Cut(line, ":")
		steps := strings.Split(path, ".")
		at := object
		for _, step := range steps[:len(steps)-1] {
			at = descend(at, step)
		}
		leaf := steps[len(steps)-1]
		if parents[path] || parents[path+"[]"] || parents[path+"{}"] {
			continue // made when its children are
		}
		at[leaf] = sampleValue(leaf, kind)
	}
	return object
}

func descend(at map[string]any, step string) map[string]any {
	name, isList := strings.CutSuffix(step, "[]")
	name, isMap := strings.CutSuffix(name, "{}")
	if at[name] == nil {
		entry := map[string]any{}
		at[name] = entry
		if isList {
			at[name] = []any{entry}
		}
		if isMap {
			at[name] = map[string]any{"key": entry}
		}
	}
	if isList {
		return at[name].([]any)[0].(map[string]any)
	}
	if isMap {
		return at[name].(map[string]any)["key"].(map[string]any)
	}
	return at[name].(map[string]any)
}

func sampleValue(name, kind string) any {
	switch {
	case name == "metadata":
		return map[string]any{"name": "some-name"}
	case name == "options":
		return map[string]any{"allowNameChange": true}
	case name == "template" && kind == "object":
		return sample([]string{
			"metadata.name:string", "spec.project:string",
			"spec.destination.server:string", "spec.source.repoURL:string",
		})
	case strings.HasSuffix(name, "At") || strings.HasSuffix(name, "Time"):
		return "2026-01-02T03:04:05Z"
	case kind == "array":
		return []any{"some-item"}
	case kind == "object":
		return map[string]any{"key": "value"}
	case kind == "integer":
		return float64(7)
	case kind == "boolean":
		return true
	}
	return "some-" + name
}

func readCRD(t *testing.T, singular string) (*apiextv1.CustomResourceDefinition, []byte) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(crdDir, "argoproj.io_"+singular+"s.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(raw, crd); err != nil {
		t.Fatal(err)
	}
	return crd, raw
}

func readLines(t *testing.T, file string) []string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(raw)), "\n")
}

// without returns the lines of a that b lacks.
func without(a, b []string) []string {
	in := map[string]bool{}
	for _, line := range b {
		in[line] = true
	}
	return slices.DeleteFunc(slices.Clone(a), func(line string) bool { return in[line] })
}

// compareGolden compares lines with a file of testdata, or writes the file if the tests run with -update.
func compareGolden(t *testing.T, name string, got []string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	text := strings.Join(got, "\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s differs (-want +got), run with -update if that is meant:\n%s", file, diff)
	}
}
