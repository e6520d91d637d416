package repair_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/internal/core/repair"
)

func read(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := u.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return u
}

func pod(spec string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {" + spec + "}"
}

func container(part string) string { return pod("containers: [{name: c, " + part + "}]") }

func TestDuplicates(t *testing.T) {
	cases := map[string]struct{ from, to, notes string }{
		"none": {container("env: [{name: A, value: x}, {name: B, value: y}]"), "", ""},
		"the last variable counts": {
			container("env: [{name: A, value: x}, {name: B, value: b}, {name: A, value: z}]"),
			container("env: [{name: B, value: b}, {name: A, value: z}]"),
			"spec.containers[c].env has A twice; the last one counts, remove the other",
		},
		"what referred to the first has its value": {
			container("env: [{name: A, value: x}, {name: B, value: '$(A)-$$(A)'}, {name: A, value: '$(A):z'}, {name: C, value: $(A)}]"),
			container("env: [{name: B, value: 'x-$$(A)'}, {name: A, value: 'x:z'}, {name: C, value: $(A)}]"),
			"spec.containers[c].env has A twice; the last one counts, remove the other",
		},
		"three": {
			container("env: [{name: A, value: a}, {name: A, value: $(A)b}, {name: A, value: $(A)c}]"),
			container("env: [{name: A, value: abc}]"),
			"spec.containers[c].env has A twice; the last one counts, remove the other\n" +
				"spec.containers[c].env has A twice; the last one counts, remove the other",
		},
		"one from elsewhere that nobody refers to": {
			container("env: [{name: A, valueFrom: {fieldRef: {fieldPath: x}}}, {name: A, value: z}]"),
			container("env: [{name: A, value: z}]"),
			"spec.containers[c].env has A twice; the last one counts, remove the other",
		},
		"one from elsewhere that somebody refers to cannot go": {
			container("env: [{name: A, valueFrom: {fieldRef: {fieldPath: x}}}, {name: A, value: $(A)z}]"), "", "",
		},
		"ports that agree": {
			container("ports: [{containerPort: 80}, {containerPort: 80, protocol: TCP, name: http}, {containerPort: 80, protocol: UDP}]"),
			container("ports: [{containerPort: 80, protocol: TCP, name: http}, {containerPort: 80, protocol: UDP}]"),
			"spec.containers[c].ports has 80/TCP twice; the two were joined, remove one of them",
		},
		"ports of two names stay": {container("ports: [{containerPort: 80, name: a}, {containerPort: 80, name: b}]"), "", ""},
		"secrets": {
			pod("imagePullSecrets: [{name: a}, {name: b}, {name: a}]"), pod("imagePullSecrets: [{name: a}, {name: b}]"),
			"spec.imagePullSecrets has a twice; one of the two was left out, remove it",
		},
		"addresses": {
			pod("hostAliases: [{ip: 1.1.1.1, hostnames: [a, b]}, {ip: 1.1.1.1, hostnames: [b, c]}]"),
			pod("hostAliases: [{ip: 1.1.1.1, hostnames: [a, b, c]}]"),
			"spec.hostAliases has 1.1.1.1 twice; the two were joined, do so in the manifest",
		},
		"finalizers": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, finalizers: [a, a]}",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, finalizers: [a]}",
			"metadata.finalizers has a twice; one of the two was left out, remove it",
		},
		"in a template": {
			"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\nspec: {jobTemplate: {spec: {template: {spec: {initContainers: [{name: i, env: [{name: A}, {name: A, value: x}]}]}}}}}",
			"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\nspec: {jobTemplate: {spec: {template: {spec: {initContainers: [{name: i, env: [{name: A, value: x}]}]}}}}}",
			"spec.jobTemplate.spec.template.spec.initContainers[i].env has A twice; the last one counts, remove the other",
		},
		"a custom kind of the same name": {
			"apiVersion: example.com/v1\nkind: Pod\nmetadata: {name: c}\nspec: {containers: [{name: c, env: [{name: A}, {name: A}]}]}", "", "",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			u := read(t, c.from)
			got, notes := repair.Duplicates(u)
			want := c.to
			if want == "" {
				want = c.from
			}
			if d := cmp.Diff(read(t, want).Object, got.Object); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.notes, strings.Join(notes, "\n")); d != "" {
				t.Errorf("notes (-want +got):\n%s", d)
			}
			if d := cmp.Diff(read(t, c.from).Object, u.Object); d != "" {
				t.Errorf("the manifest was changed:\n%s", d)
			}
		})
	}
}

func TestUndeclared(t *testing.T) {
	const refusal = `failed to create typed patch object (n/web; apps/v1, Kind=Deployment): errors:
  .spec.imagine: field not declared in schema
  .spec.template.spec.containers[name="a.b: c"].imagine: field not declared in schema
  .spec.ports: duplicate entries for key [port=80,protocol="TCP"]`
	paths := repair.Undeclared(refusal)
	if d := cmp.Diff([]repair.Path{"spec.imagine", "spec.template.spec.containers.*.imagine"}, paths); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	const text = "apiVersion: apps/v1\nkind: Deployment\nspec: {imagine: 1, kept: 2, template: {spec: {containers: [{name: a, imagine: 1}, {name: b}]}}}"
	u := read(t, text)
	got, removed := repair.Prune(u, append(paths, "spec.other.*.x"))
	want := read(t, "apiVersion: apps/v1\nkind: Deployment\nspec: {kept: 2, template: {spec: {containers: [{name: a}, {name: b}]}}}")
	if d := cmp.Diff(want.Object, got.Object); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"spec.imagine", "spec.template.spec.containers[].imagine"}, removed); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff(read(t, text).Object, u.Object); d != "" {
		t.Errorf("the manifest was changed:\n%s", d)
	}
}
