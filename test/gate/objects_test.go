package gate_test

import (
	"maps"
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is one kind of object with a generator of manifests.
type kind struct {
	gvr  schema.GroupVersionResource
	make func(r *rand.Rand) map[string]any
}

func gvr(group, version, resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
}

// pick is one of the values.
func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// some keeps a random part of the entries.
func some(r *rand.Rand, entries map[string]any) map[string]any {
	out := map[string]any{}
	for _, k := range sorted(entries) {
		if r.IntN(3) > 0 {
			out[k] = entries[k]
		}
	}
	return out
}

// items keeps a random part of a list, in random order.
func items(r *rand.Rand, list ...any) []any {
	var out []any
	for _, it := range list {
		if r.IntN(3) > 0 {
			out = append(out, it)
		}
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func words(r *rand.Rand) map[string]any {
	return some(r, map[string]any{
		"a": pick[any](r, "1", "2"), "b.c/d": pick[any](r, "x", "y"), "e": pick[any](r, "", "long\ntext"), "f": "same",
	})
}

func object(apiVersion, name string, r *rand.Rand, rest map[string]any) map[string]any {
	meta := map[string]any{"name": "it"}
	if r.IntN(2) == 0 {
		meta["labels"] = some(r, map[string]any{"team": pick[any](r, "red", "blue"), "tier": "1"})
	}
	if r.IntN(2) == 0 {
		meta["annotations"] = some(r, map[string]any{"note": pick[any](r, "x", "y"), "example.com/k": "v"})
	}
	out := map[string]any{"apiVersion": apiVersion, "kind": name, "metadata": meta}
	maps.Copy(out, rest)
	return out
}

func podSpec(r *rand.Rand) map[string]any {
	container := func(name string) any {
		return some2(r, map[string]any{"name": name, "image": "example.com/" + name + pick(r, ":1", ":2")}, map[string]any{
			"command": items(r, "a", "b", "c"),
			"env": items(r, map[string]any{"name": "A", "value": pick[any](r, "1", "2")},
				map[string]any{"name": "B", "value": "b"}, map[string]any{"name": "C", "value": "c"}),
			"ports":     items(r, map[string]any{"containerPort": int64(80)}, map[string]any{"containerPort": int64(81), "name": "x"}),
			"resources": map[string]any{"requests": some(r, map[string]any{"cpu": pick[any](r, "1", "1000m", "2"), "memory": pick[any](r, "1Gi", "1024Mi")})},
		})
	}
	spec := some2(r, map[string]any{"containers": []any{container("web")}}, map[string]any{
		"initContainers":                items(r, container("i1"), container("i2"), container("i3")),
		"volumes":                       items(r, map[string]any{"name": "v1", "emptyDir": map[string]any{}}, map[string]any{"name": "v2", "configMap": map[string]any{"name": "c"}}),
		"nodeSelector":                  words2(r),
		"tolerations":                   items(r, map[string]any{"key": "k", "operator": "Exists"}, map[string]any{"key": "l", "operator": "Exists"}),
		"terminationGracePeriodSeconds": pick[any](r, int64(5), int64(30)),
		"securityContext":               map[string]any{},
	})
	if r.IntN(2) == 0 {
		spec["containers"] = append(spec["containers"].([]any), container("side"))
	}
	return spec
}

func words2(r *rand.Rand) map[string]any {
	return some(r, map[string]any{"disk": pick[any](r, "ssd", "hdd"), "zone": "a"})
}

// some2 is what must be there and a random part of what may be.
func some2(r *rand.Rand, must, may map[string]any) map[string]any {
	out := some(r, may)
	maps.Copy(out, must)
	return out
}

func template(r *rand.Rand) map[string]any {
	return map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "it"}}, "spec": podSpec(r)}
}

var selector = map[string]any{"matchLabels": map[string]any{"app": "it"}}

// kinds are twelve kinds with maps, sets, keyed, atomic and free-form lists.
func kinds() []kind {
	return []kind{
		{gvr("", "v1", "configmaps"), func(r *rand.Rand) map[string]any {
			return object("v1", "ConfigMap", r, some(r, map[string]any{"data": words(r)}))
		}},
		{gvr("", "v1", "secrets"), func(r *rand.Rand) map[string]any {
			return object("v1", "Secret", r, some2(r, map[string]any{"type": "Opaque"}, map[string]any{
				"data": some(r, map[string]any{"k": pick[any](r, "YQ==", "Yg=="), "l": "Yw=="}),
			}))
		}},
		{gvr("", "v1", "services"), func(r *rand.Rand) map[string]any {
			return object("v1", "Service", r, map[string]any{"spec": some2(r, map[string]any{
				"ports": append(items(r, map[string]any{"name": "b", "port": int64(81)}, map[string]any{"name": "c", "port": int64(82), "protocol": "UDP"}),
					map[string]any{"name": "a", "port": int64(80), "targetPort": pick[any](r, int64(8080), "http")}),
			}, map[string]any{"selector": words2(r), "sessionAffinity": pick[any](r, "None", "ClientIP"), "externalIPs": items(r, "192.0.2.1", "192.0.2.2")})})
		}},
		{gvr("", "v1", "serviceaccounts"), func(r *rand.Rand) map[string]any {
			return object("v1", "ServiceAccount", r, some(r, map[string]any{
				"imagePullSecrets":             items(r, map[string]any{"name": "a"}, map[string]any{"name": "b"}),
				"automountServiceAccountToken": pick[any](r, true, false),
			}))
		}},
		{gvr("apps", "v1", "deployments"), func(r *rand.Rand) map[string]any {
			return object("apps/v1", "Deployment", r, map[string]any{"spec": some2(r, map[string]any{
				"selector": selector, "template": template(r), "replicas": int64(0),
			}, map[string]any{
				"minReadySeconds": pick[any](r, int64(0), int64(3)), "paused": pick[any](r, true, false),
				"strategy": map[string]any{"rollingUpdate": map[string]any{"maxSurge": pick[any](r, "25%", int64(1))}},
			})})
		}},
		{gvr("apps", "v1", "statefulsets"), func(r *rand.Rand) map[string]any {
			return object("apps/v1", "StatefulSet", r, map[string]any{"spec": map[string]any{
				"selector": selector, "template": template(r), "replicas": int64(0), "serviceName": "it",
			}})
		}},
		{gvr("batch", "v1", "cronjobs"), func(r *rand.Rand) map[string]any {
			pod := podSpec(r)
			pod["restartPolicy"] = "Never"
			return object("batch/v1", "CronJob", r, map[string]any{"spec": some2(r, map[string]any{
				"schedule": pick(r, "1 1 1 1 *", "2 2 2 2 *"), "suspend": true,
				"jobTemplate": map[string]any{"spec": map[string]any{"template": map[string]any{"spec": pod}}},
			}, map[string]any{"concurrencyPolicy": pick[any](r, "Allow", "Forbid")})})
		}},
		{gvr("networking.k8s.io", "v1", "ingresses"), func(r *rand.Rand) map[string]any {
			path := func(p string) any {
				return map[string]any{"path": p, "pathType": "Prefix", "backend": map[string]any{"service": map[string]any{"name": "s", "port": map[string]any{"number": pick[any](r, int64(80), int64(81))}}}}
			}
			return object("networking.k8s.io/v1", "Ingress", r, map[string]any{"spec": map[string]any{"rules": []any{
				map[string]any{"host": pick(r, "a.example.com", "b.example.com"), "http": map[string]any{"paths": append(items(r, path("/x"), path("/y")), path("/"))}},
			}}})
		}},
		{gvr("networking.k8s.io", "v1", "networkpolicies"), func(r *rand.Rand) map[string]any {
			return object("networking.k8s.io/v1", "NetworkPolicy", r, map[string]any{"spec": some2(r, map[string]any{
				"podSelector": map[string]any{"matchLabels": words2(r)},
			}, map[string]any{"policyTypes": pick[any](r, []any{"Ingress"}, []any{"Ingress", "Egress"}), "ingress": items(r, map[string]any{}, map[string]any{"ports": []any{map[string]any{"port": int64(80)}}})})})
		}},
		{gvr("rbac.authorization.k8s.io", "v1", "roles"), func(r *rand.Rand) map[string]any {
			return object("rbac.authorization.k8s.io/v1", "Role", r, map[string]any{"rules": items(r,
				map[string]any{"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": items(r, "get", "list")},
				map[string]any{"apiGroups": []any{"apps"}, "resources": []any{"deployments"}, "verbs": []any{"get"}})})
		}},
		{gvr("autoscaling", "v2", "horizontalpodautoscalers"), func(r *rand.Rand) map[string]any {
			return object("autoscaling/v2", "HorizontalPodAutoscaler", r, map[string]any{"spec": some2(r, map[string]any{
				"maxReplicas": pick[any](r, int64(5), int64(6)), "scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"},
			}, map[string]any{"minReplicas": pick[any](r, int64(1), int64(2)), "behavior": map[string]any{"scaleDown": map[string]any{"stabilizationWindowSeconds": pick[any](r, int64(10), int64(20))}}})})
		}},
		{gvr("policy", "v1", "poddisruptionbudgets"), func(r *rand.Rand) map[string]any {
			return object("policy/v1", "PodDisruptionBudget", r, map[string]any{"spec": map[string]any{
				"minAvailable": pick[any](r, int64(1), "50%"), "selector": selector,
			}})
		}},
	}
}

func sorted(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sortStrings(out)
	return out
}
