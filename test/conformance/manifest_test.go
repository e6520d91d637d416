package conformance_test

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// objects reads a section: YAML, or a line for each object in our short hand,
// such as `Job/migrate hook=PreSync wave=1`.
func (e *enactment) objects(text string) ([]*unstructured.Unstructured, error) {
	if strings.Contains(text, "apiVersion:") {
		return documents(text)
	}
	var out []*unstructured.Unstructured
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		u, err := e.object(line)
		if err != nil {
			return nil, fmt.Errorf("reading %q: %w", line, err)
		}
		out = append(out, u)
	}
	return out, nil
}

func documents(text string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for doc := range strings.SplitSeq(text, "\n---\n") {
		if strings.TrimSpace(doc) == "" {
			continue
		}
		raw, err := yaml.YAMLToJSON([]byte(doc))
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(raw); err != nil {
			return nil, err
		}
		out = append(out, u)
	}
	return out, nil
}

// annotations are the short names of annotations.
var annotations = map[string]string{
	"wave":        "argocd.argoproj.io/sync-wave",
	"hook":        "argocd.argoproj.io/hook",
	"policy":      "argocd.argoproj.io/hook-delete-policy",
	"options":     "argocd.argoproj.io/sync-options",
	"compare":     "argocd.argoproj.io/compare-options",
	"quiet":       "argocd.argoproj.io/ignore-healthcheck",
	"helm-hook":   "helm.sh/hook",
	"helm-weight": "helm.sh/hook-weight",
	"helm-policy": "helm.sh/hook-delete-policy",
	"helm-keep":   "helm.sh/resource-policy",
}

// kinds say what an object of a kind is made of, beside its metadata. Nothing
// but the case's own steps moves the status of a Job, a Pod, an Ingress or a
// Service of type LoadBalancer; what kwok's nodes run is a Deployment.
var kinds = map[string]string{
	"ApplicationSet": `{apiVersion: argoproj.io/v1alpha1}`,
	"ConfigMap":      `{apiVersion: v1, data: {v: "1"}}`,
	"Secret":         `{apiVersion: v1, stringData: {v: "1"}}`,
	"Namespace":      `{apiVersion: v1}`,
	"ServiceAccount": `{apiVersion: v1}`,
	"Service":        `{apiVersion: v1, spec: {selector: {app: none}, ports: [{port: 80}]}}`,
	"Pod": `{apiVersion: v1, spec: {schedulerName: nobody, restartPolicy: Never, terminationGracePeriodSeconds: 0,
		containers: [{name: main, image: example.com/main}]}}`,
	"Job": `{apiVersion: batch/v1, spec: {managedBy: conformance.example.com/case, backoffLimit: 0,
		template: {spec: {restartPolicy: Never, containers: [{name: main, image: example.com/main}]}}}}`,
	"CronJob": `{apiVersion: batch/v1, spec: {schedule: "0 0 1 1 *", suspend: true,
		jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: example.com/main}]}}}}}}`,
	"Deployment": `{apiVersion: apps/v1, spec: {replicas: 1, selector: {matchLabels: {app: main}},
		template: {metadata: {labels: {app: main}}, spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: example.com/main}]}}}}`,
	"Ingress":               `{apiVersion: networking.k8s.io/v1, spec: {defaultBackend: {service: {name: main, port: {number: 80}}}}}`,
	"NetworkPolicy":         `{apiVersion: networking.k8s.io/v1, spec: {podSelector: {}}}`,
	"PodDisruptionBudget":   `{apiVersion: policy/v1, spec: {minAvailable: 0, selector: {matchLabels: {app: none}}}}`,
	"ResourceQuota":         `{apiVersion: v1, spec: {hard: {pods: "100"}}}`,
	"LimitRange":            `{apiVersion: v1, spec: {limits: [{type: Pod, max: {cpu: "64"}}]}}`,
	"Role":                  `{apiVersion: rbac.authorization.k8s.io/v1, rules: []}`,
	"ClusterRole":           `{apiVersion: rbac.authorization.k8s.io/v1, rules: []}`,
	"RoleBinding":           `{apiVersion: rbac.authorization.k8s.io/v1, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: main}}`,
	"PersistentVolumeClaim": `{apiVersion: v1, spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Gi}}}}`,
	// A CRD's name is Widget's in the case's own group.
	"CustomResourceDefinition": `{apiVersion: apiextensions.k8s.io/v1, metadata: {name: widgets.$ns.example.com}, spec: {group: $ns.example.com, scope: Namespaced,
		names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList},
		versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`,
	"PodTemplate":   `{apiVersion: v1, template: {spec: {containers: [{name: main, image: example.com/main}]}}}`,
	"PriorityClass": `{apiVersion: scheduling.k8s.io/v1, value: 1}`,
	"Widget":        `{apiVersion: $ns.example.com/v1, spec: {v: "1"}}`,
	"Application": `{apiVersion: argoproj.io/v1alpha1, spec: {project: default, destination: {server: "https://kubernetes.default.svc", namespace: $ns},
		source: {repoURL: "$repo", path: child, targetRevision: main}}}`,
}

func (e *enactment) object(line string) (*unstructured.Unstructured, error) {
	words := split(line)
	kind, name, ok := strings.Cut(words[0], "/")
	base, known := kinds[kind]
	if !ok || !known {
		return nil, fmt.Errorf("%q is no Kind/name of a kind that has a short hand", words[0])
	}
	u := &unstructured.Unstructured{}
	base = strings.ReplaceAll(e.expand(base), "$repo", e.repo)
	if err := yaml.Unmarshal([]byte(base), &u.Object); err != nil {
		return nil, err
	}
	u.SetKind(kind)
	switch {
	case kind == "CustomResourceDefinition":
	case strings.HasSuffix(name, "-"):
		u.SetGenerateName(name)
	default:
		u.SetName(name)
	}
	if kind == "Application" {
		u.SetNamespace(e.control)
	}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		if err := set(u, key, value); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// set gives an object what one word says.
func set(u *unstructured.Unstructured, key, value string) error {
	if name, ok := annotations[key]; ok {
		return annotate(u, name, value)
	}
	if path, ok := strings.CutPrefix(key, "."); ok {
		var v any
		if err := yaml.Unmarshal([]byte(value), &v); err != nil {
			return err
		}
		return unstructured.SetNestedField(u.Object, deep(v), strings.Split(path, ".")...)
	}
	if label, ok := strings.CutPrefix(key, "label/"); ok {
		return unstructured.SetNestedField(u.Object, value, "metadata", "labels", label)
	}
	if name, ok := strings.CutPrefix(key, "@"); ok {
		return annotate(u, name, value)
	}
	switch key {
	case "ns":
		u.SetNamespace(value)
	case "lb":
		return unstructured.SetNestedField(u.Object, "LoadBalancer", "spec", "type")
	case "v":
		return unstructured.SetNestedField(u.Object, value, valueOf(u)...)
	case "finalizer":
		u.SetFinalizers(append(u.GetFinalizers(), value))
	default:
		return fmt.Errorf("there is no word %q", key)
	}
	return nil
}

// deep makes the numbers of YAML such as the API machinery takes.
func deep(v any) any {
	switch v := v.(type) {
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	case map[string]any:
		for k := range v {
			v[k] = deep(v[k])
		}
	case []any:
		for i := range v {
			v[i] = deep(v[i])
		}
	}
	return v
}

func annotate(u *unstructured.Unstructured, name, value string) error {
	a := u.GetAnnotations()
	if a == nil {
		a = map[string]string{}
	}
	a[name] = value
	u.SetAnnotations(a)
	return nil
}

// valueOf is where the value of an object is that cases change.
func valueOf(u *unstructured.Unstructured) []string {
	switch u.GetKind() {
	case "ConfigMap":
		return []string{"data", "v"}
	case "Secret":
		return []string{"stringData", "v"}
	case "Widget":
		return []string{"spec", "v"}
	case "Deployment":
		return []string{"spec", "template", "metadata", "labels", "v"}
	default:
		return []string{"metadata", "labels", "v"}
	}
}

// split cuts a line into words. Single quotes keep spaces; what begins a JSON
// value goes to the end of the line.
func split(line string) []string {
	var out []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if line[0] == '{' {
			return append(out, line)
		}
		var word strings.Builder
		quoted := false
		i := 0
		for ; i < len(line) && (quoted || line[i] != ' '); i++ {
			if line[i] == '\'' {
				quoted = !quoted
				continue
			}
			word.WriteByte(line[i])
		}
		out, line = append(out, word.String()), line[i:]
	}
	return out
}
