package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/internal/core/health"
	"github.com/towline-cd/towline/internal/script"
)

// scriptWord makes this program the worker of its own script host.
const scriptWord = "script-worker"

func runScriptWorker() int {
	if err := script.Work(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return exitRefused
	}
	return exitYes
}

// childScript is the script that nearly every app-of-apps has.
const childScript = `
hs = {}
hs.status = "Progressing"
hs.message = ""
if obj.status ~= nil then
  if obj.status.health ~= nil then
    hs.status = obj.status.health.status
    if obj.status.health.message ~= nil then
      hs.message = obj.status.health.message
    end
  end
end
return hs
`

// judged are objects as a server sends them; each is judged as often as any other.
const judged = `
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web, namespace: shop, generation: 4, labels: {app: web}, annotations: {a: b}}
  spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {spec: {containers: [{name: web, image: "web:1"}]}}}
  status:
    observedGeneration: 4
    replicas: 3
    updatedReplicas: 3
    readyReplicas: 3
    availableReplicas: 3
    conditions:
    - {type: Available, status: "True", reason: MinimumReplicasAvailable, message: It has them}
    - {type: Progressing, status: "True", reason: NewReplicaSetAvailable, message: It is there}
- apiVersion: v1
  kind: Pod
  metadata: {name: web-1, namespace: shop, labels: {app: web}}
  spec: {restartPolicy: Always, nodeName: n1, containers: [{name: web, image: "web:1"}]}
  status:
    phase: Running
    conditions:
    - {type: PodScheduled, status: "True"}
    - {type: Initialized, status: "True"}
    - {type: ContainersReady, status: "True"}
    - {type: Ready, status: "True"}
    containerStatuses: [{name: web, ready: true, restartCount: 1, state: {running: {startedAt: "2026-01-01T00:00:00Z"}}}]
- apiVersion: v1
  kind: Service
  metadata: {name: web, namespace: shop}
  spec: {type: LoadBalancer, ports: [{port: 80}]}
  status: {loadBalancer: {ingress: [{ip: 10.0.0.1}]}}
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {name: data, namespace: shop}
  status: {phase: Bound}
- apiVersion: batch/v1
  kind: Job
  metadata: {name: report, namespace: shop}
  status: {succeeded: 1, conditions: [{type: Complete, status: "True"}]}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: settings, namespace: shop}
  data: {a: b}
`

// runHealth measures what it costs to judge an object: by the rules of its
// kind, and by a script, whose run is apart from the way to it and back.
func runHealth(ctx context.Context, b *bench) error {
	objects, err := judgedObjects()
	if err != nil {
		return err
	}
	apps := make([]map[string]any, 64)
	for i := range apps {
		apps[i] = map[string]any{"obj": childApplication(i)}
	}
	host := script.NewHost(script.HostOptions{Command: []string{"/proc/self/exe", scriptWord}})
	defer host.Close()
	s := script.Script{Origin: "bench", Source: childScript}
	m := healthMeasures{host: host, script: s, objects: objects, apps: apps}
	for i := range b.scale.repeats {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := m.repeat(b); err != nil {
			return err
		}
		b.logf("repeat %d: built in %s ns, Lua %s µs", i+1, digits(m.builtin[i]), digits(m.evaluate[i]))
	}
	m.report(b)
	return nil
}

// healthMeasures are in nanoseconds (built in) and microseconds (Lua) per object.
type healthMeasures struct {
	host    *script.Host
	script  script.Script
	objects []*unstructured.Unstructured
	apps    []map[string]any

	builtin                      sample
	encode, evaluate             sample
	batchWall, batchCPU, oneWall sample
}

func (m *healthMeasures) repeat(b *bench) error {
	n := float64(b.scale.objects)
	start, err := ownCPU()
	if err != nil {
		return err
	}
	unhealthy := 0
	for i := range b.scale.objects {
		if h := health.Of(m.objects[i%len(m.objects)]); h.Status != "" && h.Status != health.Healthy {
			unhealthy++
		}
	}
	end, err := ownCPU()
	if err != nil {
		return err
	}
	b.report.assert(unhealthy == 0, "%d objects were not healthy", unhealthy)
	m.builtin = append(m.builtin, (end-start)/n*1e9)
	times := max(b.scale.objects/len(m.apps), 1)
	cost, err := script.Meter(m.script, m.apps, times, cpuClock)
	if err != nil {
		return err
	}
	runs := float64(times * len(m.apps))
	m.encode = append(m.encode, micros(cost.Encode)/runs)
	m.evaluate = append(m.evaluate, micros(cost.Evaluate)/runs)
	m.transport(b)
	return nil
}

// transport measures the whole way: to the worker process and back.
func (m *healthMeasures) transport(b *bench) {
	apps := m.apps
	judge := func(runs []map[string]any) {
		for _, r := range m.host.Run(m.script, runs) {
			v, _ := r.Value.(map[string]any)
			b.report.assert(r.Problem == "" && v["status"] == "Healthy", "a script gave %v %s", r.Value, r.Problem)
		}
	}
	judge(apps)
	const batches, singles = 20, 200
	begin, cpu := time.Now(), cpuClock()
	for range batches {
		judge(apps)
	}
	runs := float64(batches * len(apps))
	m.batchWall = append(m.batchWall, micros(time.Since(begin))/runs)
	m.batchCPU = append(m.batchCPU, micros(cpuClock()-cpu)/runs)
	begin = time.Now()
	for i := range singles {
		judge(apps[i%len(apps) : i%len(apps)+1])
	}
	m.oneWall = append(m.oneWall, micros(time.Since(begin))/singles)
}

func (m *healthMeasures) report(b *bench) {
	r := b.report
	r.columns("what", "per object", "unit")
	r.row("built-in rules, cpu", m.builtin.spread(), "ns")
	r.row("script: run, cpu", m.evaluate.spread(), "µs")
	r.row("script: encoding the object, cpu", m.encode.spread(), "µs")
	r.row("script: the whole way in batches of 64, wall", m.batchWall.spread(), "µs")
	r.row("script: of it the parent, cpu", m.batchCPU.spread(), "µs")
	r.row("script: the whole way for one object, wall", m.oneWall.spread(), "µs")
	r.atMost("builtin_us", m.builtin.median()/1000, 5)
	r.atMost("lua_us", m.evaluate.median(), 100)
	r.note("encode_us", m.encode.median())
	r.note("batch_us", m.batchWall.median())
	r.note("single_us", m.oneWall.median())
	r.note("objects", float64(b.scale.objects))
}

// cpuClock is the CPU time of this process so far.
func cpuClock() time.Duration {
	s, err := ownCPU()
	if err != nil {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func judgedObjects() ([]*unstructured.Unstructured, error) {
	var bodies []map[string]any
	if err := yaml.Unmarshal([]byte(judged), &bodies); err != nil {
		return nil, fmt.Errorf("reading the objects: %w", err)
	}
	out := make([]*unstructured.Unstructured, len(bodies))
	for i, body := range bodies {
		u := &unstructured.Unstructured{Object: body}
		u.SetManagedFields(nil)
		out[i] = u
	}
	return out, nil
}

// childApplication is an Application with the status of one that has a dozen
// objects and ten entries of history, and with its managed fields.
func childApplication(i int) map[string]any {
	var resources, history []any
	for n := range 12 {
		resources = append(resources, map[string]any{
			"group": "apps", "version": "v1", "kind": "Deployment", "namespace": "shop", "name": fmt.Sprintf("web-%d", n),
			"status": "Synced", "health": map[string]any{"status": "Healthy"},
		})
	}
	for n := range 10 {
		history = append(history, map[string]any{
			"id": int64(n), "revision": "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d", "deployedAt": "2026-01-01T00:00:00Z",
			"source": map[string]any{"repoURL": "https://git.example.com/shop", "path": "apps/shop", "targetRevision": "main"},
		})
	}
	fields := map[string]any{}
	for n := range 60 {
		fields[fmt.Sprintf("f:field-%d", n)] = map[string]any{".": map[string]any{}, "f:inner": map[string]any{}}
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"project":     "default",
			"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "shop"},
			"source":      map[string]any{"repoURL": "https://git.example.com/shop", "path": "apps/shop", "targetRevision": "main"},
		},
		"status": map[string]any{
			"health": map[string]any{"status": "Healthy"}, "sync": map[string]any{"status": "Synced"},
			"resources": resources, "history": history,
		},
		"metadata": map[string]any{
			"name": fmt.Sprintf("app-%d", i), "namespace": "argocd", "annotations": map[string]any{"argocd.argoproj.io/sync-wave": "1"},
			"managedFields": []any{
				map[string]any{"manager": "argocd-controller", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": fields},
			},
		},
	}}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"})
	return u.Object
}
