package main

import (
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// shape is what the applications of a bootstrap are made of. Their objects are
// healthy as soon as they are there: nobody runs workloads.
type shape struct {
	// files are those of an application in the repository, below its folder.
	files func(app, perApp int) (map[string]string, error)
	// objects are what comes of them, made as the bare program makes them.
	objects func(app, perApp int) ([]*unstructured.Unstructured, error)
	// own says that each application has a namespace of its own, which its sync
	// makes.
	own bool
	// most is the goal: how many times as long as the bare program.
	most float64
}

// shapes are those of the scenarios by name.
func shapes() map[string]shape {
	plain := shape{files: plainFiles, objects: plainObjects, most: 1.25}
	wide := plain
	wide.own = true
	return map[string]shape{
		"bootstrap": plain, "bootstrap-big": plain, "bootstrap-wide": wide, "prune": plain,
		"bootstrap-render": {files: renderedFiles, objects: renderedObjects, most: 1.4},
	}
}

func bootstrapObject(app, i int) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": fmt.Sprintf("%s-c%d", appName(app), i), "labels": map[string]any{"app": appName(app)}},
		"data":     map[string]any{"level": "info", "text": strings.Repeat("towline ", 60)},
	}
}

func plainFiles(app, perApp int) (map[string]string, error) {
	docs := make([]string, perApp)
	for j := range docs {
		text, err := yaml.Marshal(bootstrapObject(app, j))
		if err != nil {
			return nil, fmt.Errorf("encoding a manifest: %w", err)
		}
		docs[j] = string(text)
	}
	return map[string]string{"all.yaml": strings.Join(docs, "---\n")}, nil
}

func plainObjects(app, perApp int) ([]*unstructured.Unstructured, error) {
	out := make([]*unstructured.Unstructured, perApp)
	for j := range out {
		out[j] = &unstructured.Unstructured{Object: bootstrapObject(app, j)}
	}
	return out, nil
}

// renderedFiles are a chart for every other application, and an overlay of half
// as many objects for the rest.
func renderedFiles(app, perApp int) (map[string]string, error) {
	if isChart(app) {
		return bootChart(perApp), nil
	}
	return bootOverlay(app, perApp/2), nil
}

func renderedObjects(app, perApp int) ([]*unstructured.Unstructured, error) {
	files, err := renderedFiles(app, perApp)
	if err != nil {
		return nil, err
	}
	if isChart(app) {
		return bareHelm(appName(app), bareOf(app))(files)
	}
	return bareKustomize(files)
}

func isChart(app int) bool { return app%2 == 0 }

// perTemplate is how many objects one file of a chart or a base has.
const perTemplate = 4

const bootTemplate = `apiVersion: v1
kind: ConfigMap
metadata: {name: NAME-%[1]d, labels: LABELS}
data:
  level: LEVEL
  text: "towline towline towline towline towline towline towline towline towline towline towline"
---
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME-%[1]d-files, labels: LABELS}
data:
  web.toml: |
    [server]
    listen = ":8080"
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: NAME-%[1]d, labels: LABELS}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: NAME-%[1]d, labels: LABELS}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch]}
`

func bootChart(objects int) map[string]string {
	files := map[string]string{
		"Chart.yaml":  "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"values.yaml": "level: info\nlabels: {team: retail}\n",
		"templates/_helpers.tpl": `{{- define "labels" }}{app.kubernetes.io/name: {{ .Release.Name | quote }}` +
			`{{ range $k, $v := .Values.labels }}, {{ $k }}: {{ $v | quote }}{{ end }}}{{ end }}` + "\n",
	}
	fill := strings.NewReplacer("NAME", "{{ .Release.Name }}", "LABELS", `{{ include "labels" . }}`,
		"LEVEL", "{{ .Values.level | quote }}")
	for i := range objects / perTemplate {
		files[fmt.Sprintf("templates/web-%02d.yaml", i)] = fill.Replace(fmt.Sprintf(bootTemplate, i))
	}
	return files
}

func bootOverlay(app, objects int) map[string]string {
	var resources strings.Builder
	files := map[string]string{}
	fill := strings.NewReplacer("NAME", "web", "LABELS", "{team: retail}", "LEVEL", "info")
	for i := range objects / perTemplate {
		name := fmt.Sprintf("web-%02d.yaml", i)
		files["base/"+name] = fill.Replace(fmt.Sprintf(bootTemplate, i))
		fmt.Fprintf(&resources, "- %s\n", name)
	}
	files["base/kustomization.yaml"] = "resources:\n" + resources.String()
	files["kustomization.yaml"] = fmt.Sprintf("resources: [base]\nnamePrefix: %s-\n"+
		"labels:\n- pairs: {app.kubernetes.io/name: %[1]s}\n", appName(app))
	return files
}

// repositoryOf is the repository of all the applications.
func (s shape) repositoryOf(apps, perApp int) (map[string]string, error) {
	out := map[string]string{}
	for i := range apps {
		files, err := s.files(i, perApp)
		if err != nil {
			return nil, err
		}
		for name, text := range files {
			out[appName(i)+"/"+name] = text
		}
	}
	return out, nil
}

// bootKinds are the kinds of the objects, by kind.
var bootKinds = map[string]schema.GroupVersionResource{
	"ConfigMap":      configMapKind,
	"ServiceAccount": {Version: "v1", Resource: "serviceaccounts"},
	"Role":           {Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
}

// bootClients are where the objects of a namespace are, kind by kind.
func bootClients(client dynamic.Interface, namespace string) []dynamic.ResourceInterface {
	var out []dynamic.ResourceInterface
	for kind := range maps.Values(bootKinds) {
		out = append(out, client.Resource(kind).Namespace(namespace))
	}
	return out
}
