package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/towline-cd/towline/api/v1alpha1"
)

const (
	controlNamespace = v1alpha1.DefaultNamespace
	// namespaces is over how many the objects are spread.
	namespaces = 100
	// writers is how many requests are on the way at once while a world is made.
	writers = 24
)

var (
	namespaceKind  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	configMapKind  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	secretKind     = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	podKind        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	deploymentKind = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	replicaSetKind = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	appKind        = schema.GroupVersionResource{Group: v1alpha1.Group, Version: v1alpha1.Version, Resource: "applications"}
	setKind        = schema.GroupVersionResource{Group: v1alpha1.Group, Version: v1alpha1.Version, Resource: "applicationsets"}
)

func appName(i int) string       { return fmt.Sprintf("app-%05d", i) }
func namespaceOf(i int) string   { return fmt.Sprintf("team-%03d", i%namespaces) }
func configMapOf(app int) string { return fmt.Sprintf("%s-c%d", appName(app), firstConfigMap) }

// The places of the kinds among an application's objects.
const (
	deploymentAt = iota
	serviceAccountAt
	secretAt
	roleAt
	firstConfigMap
)

// manifests is the file of an application in git.
func (w world) manifests(app int) string {
	docs := make([]string, w.perApp)
	name := appName(app)
	for j := range docs {
		switch j {
		case deploymentAt:
			docs[j] = fmt.Sprintf(deploymentManifest, name)
		case serviceAccountAt:
			docs[j] = fmt.Sprintf("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: %s}\n", name)
		case secretAt:
			docs[j] = fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s}\ntype: Opaque\ndata: {password: c2VjcmV0}\n", name)
		case roleAt:
			docs[j] = fmt.Sprintf("apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: %s}\n"+
				"rules: [{apiGroups: [\"\"], resources: [configmaps], verbs: [get, list, watch]}]\n", name)
		default:
			docs[j] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s-c%d\n  labels: {app: %s}\ndata:\n"+
				"  level: info\n  text: %q\n", name, j, name, strings.Repeat("towline ", 60))
		}
	}
	return strings.Join(docs, "---\n")
}

const deploymentManifest = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s
  labels: {app: %[1]s, tier: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers:
      - name: web
        image: registry.example.com/web:1.2.3
        ports: [{name: http, containerPort: 8080}]
        env: [{name: LEVEL, value: info}, {name: REGION, value: eu}]
        resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 128Mi}}
      - name: proxy
        image: registry.example.com/proxy:4.5.6
        ports: [{name: proxy, containerPort: 9090}]
`

// fill creates the namespaces, what nobody manages, and the applications.
func (w world) fill(ctx context.Context, client dynamic.Interface, logf func(string, ...any)) error {
	if err := each(ctx, namespaces, func(ctx context.Context, i int) error {
		return create(ctx, client.Resource(namespaceKind), map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespaceOf(i)},
		})
	}); err != nil {
		return err
	}
	start := time.Now()
	others := w.objects - w.apps*w.perApp
	var done atomic.Int64
	if err := each(ctx, others, func(ctx context.Context, i int) error {
		if n := done.Add(1); n%10_000 == 0 {
			logf("%d of %d unmanaged objects, %.0f a second", n, others, float64(n)/time.Since(start).Seconds())
		}
		kind, body := unmanaged(i)
		return create(ctx, client.Resource(kind).Namespace(namespaceOf(i)), body)
	}); err != nil {
		return err
	}
	return each(ctx, w.apps, func(ctx context.Context, i int) error {
		return create(ctx, client.Resource(appKind).Namespace(controlNamespace), w.application(i))
	})
}

func (w world) application(i int) map[string]any {
	return map[string]any{
		"apiVersion": v1alpha1.Group + "/" + v1alpha1.Version, "kind": "Application",
		"metadata": map[string]any{"name": appName(i), "namespace": controlNamespace},
		"spec": map[string]any{
			"project":     "default",
			"destination": map[string]any{"server": v1alpha1.InClusterServer, "namespace": namespaceOf(i)},
			"source":      map[string]any{"repoURL": w.source(), "path": appName(i), "targetRevision": "main"},
			"syncPolicy":  map[string]any{"automated": map[string]any{"prune": true, "selfHeal": true}},
		},
	}
}

// unmanaged is an object of the kinds that fill real clusters: half are pods.
func unmanaged(i int) (schema.GroupVersionResource, map[string]any) {
	name := fmt.Sprintf("other-%06d", i)
	labels := map[string]any{"app": fmt.Sprintf("other-%04d", i/10), "pod-template-hash": "6d5f8c7b9d"}
	meta := map[string]any{"name": name, "labels": labels}
	pod := map[string]any{
		"nodeName": fmt.Sprintf("node-%d", i%50),
		"containers": []any{map[string]any{
			"name": "web", "image": "registry.example.com/other:" + fmt.Sprint(i%20),
			"env":       []any{map[string]any{"name": "LEVEL", "value": "info"}},
			"ports":     []any{map[string]any{"containerPort": int64(8080)}},
			"resources": map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "64Mi"}},
		}},
	}
	switch i % 10 {
	case 5:
		return replicaSetKind, workload("ReplicaSet", meta, pod)
	case 6, 7:
		return configMapKind, map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta,
			"data": map[string]any{"a": strings.Repeat("x", 500), "b": name},
		}
	case 8:
		return secretKind, map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "Opaque",
			"stringData": map[string]any{"token": strings.Repeat("s", 200)},
		}
	case 9:
		return deploymentKind, workload("Deployment", meta, pod)
	}
	meta["ownerReferences"] = []any{map[string]any{
		"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": fmt.Sprintf("other-%06d", i/10*10+5),
		"uid": fmt.Sprintf("00000000-0000-4000-8000-%012d", i/10), "controller": true,
	}}
	return podKind, map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod}
}

func workload(kind string, meta, pod map[string]any) map[string]any {
	spec := map[string]any{}
	for k, v := range pod {
		if k != "nodeName" {
			spec[k] = v
		}
	}
	return map[string]any{
		"apiVersion": "apps/v1", "kind": kind, "metadata": meta,
		"spec": map[string]any{
			"replicas": int64(0),
			"selector": map[string]any{"matchLabels": meta["labels"]},
			"template": map[string]any{"metadata": map[string]any{"labels": meta["labels"]}, "spec": spec},
		},
	}
}

// observeDeployments does what their controller would.
func (w world) observeDeployments(ctx context.Context, client dynamic.Interface) error {
	return each(ctx, w.apps, func(ctx context.Context, i int) error {
		_, err := patchStatus(ctx, client, i, "made")
		return err
	})
}

// patchStatus writes the status of an application's Deployment, with a word
// that makes it differ from the last, and returns its resourceVersion.
func patchStatus(ctx context.Context, client dynamic.Interface, app int, word string) (string, error) {
	now := time.Now().UTC().Format(time.RFC3339)
	condition := func(kind, reason string) map[string]any {
		return map[string]any{
			"type": kind, "status": "True", "reason": reason, "message": word, "lastUpdateTime": now, "lastTransitionTime": now,
		}
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"observedGeneration": 1,
		"conditions":         []any{condition("Available", "MinimumReplicasAvailable"), condition("Progressing", "NewReplicaSetAvailable")},
	}})
	if err != nil {
		return "", fmt.Errorf("encoding a status: %w", err)
	}
	u, err := client.Resource(deploymentKind).Namespace(namespaceOf(app)).Patch(ctx, appName(app), types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: "kube-controller-manager"}, "status")
	if err != nil {
		return "", fmt.Errorf("writing the status of Deployment %q: %w", appName(app), err)
	}
	return u.GetResourceVersion(), nil
}

// each does a thing n times, several at once.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(writers, n) {
		g.Go(func() error {
			for i := next.Add(1) - 1; i < int64(n) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := do(ctx, int(i)); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	return g.Wait()
}

func create(ctx context.Context, r dynamic.ResourceInterface, body map[string]any) error {
	u := &unstructured.Unstructured{Object: body}
	_, err := r.Create(ctx, u, metav1.CreateOptions{FieldManager: "bench"})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating %s %q: %w", u.GetKind(), u.GetName(), err)
	}
	return nil
}
