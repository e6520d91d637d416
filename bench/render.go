package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"
	"time"

	"github.com/google/go-jsonnet"
	"helm.sh/helm/v4/pkg/chart/common"
	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/render"
)

// renderWord makes this program the worker of its own render host.
const renderWord = "render-worker"

func runRenderWorker(ctx context.Context) int {
	if err := render.Work(ctx, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return exitRefused
	}
	return exitYes
}

// renderCase is something to render, and the fewest calls of the library that give the same objects: without detection,
// bounds, confinement, or a word on what was read.
type renderCase struct {
	name  string
	files map[string]string
	req   manifest.Request
	bare  library
	// stock is how the stock program is asked for the same, in the folder of the files; nil where there is none.
	stock []string
	// small says that the way to another process and back is most of it, so that no ratio to the library is asked of it.
	small bool
}

// library calls the library of a tool.
type library func(files map[string]string) ([]*unstructured.Unstructured, error)

// renderCases are what is measured; a tool that is added brings its own.
func renderCases() []renderCase {
	return []renderCase{
		{name: "directory, 40 files", files: manifestFiles(40), bare: bareDirectory},
		{name: "directory, 1 file", files: manifestFiles(1), bare: bareDirectory, small: true},
		{name: "jsonnet, 20 files", files: jsonnetFiles(20), bare: bareJsonnet},
		{name: "helm, 20 templates", files: chartFiles(20), req: forShop(), bare: bareHelm("shop", "shop"), stock: helmTemplate},
		{name: "helm, 1 template", files: chartFiles(1), req: forShop(), bare: bareHelm("shop", "shop"), stock: helmTemplate, small: true},
		{name: "kustomize, 20 resources", files: overlayFiles(20), req: forShop(), bare: bareKustomize, stock: kustomizeBuild},
		{name: "kustomize, 1 resource", files: overlayFiles(1), req: forShop(), bare: bareKustomize, stock: kustomizeBuild, small: true},
	}
}

const renderedManifest = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-%[1]d
  labels: {app.kubernetes.io/name: web-%[1]d, app.kubernetes.io/part-of: shop}
spec:
  replicas: 3
  selector:
    matchLabels: {app.kubernetes.io/name: web-%[1]d}
  template:
    metadata:
      labels: {app.kubernetes.io/name: web-%[1]d, app.kubernetes.io/part-of: shop}
    spec:
      serviceAccountName: web
      containers:
      - name: web
        image: registry.example.com/shop/web:1.2.%[1]d
        args: ["--listen=:8080", "--log-level=info"]
        ports:
        - {name: http, containerPort: 8080}
        - {name: metrics, containerPort: 9090}
        env:
        - {name: DATABASE, value: postgres}
        - name: PASSWORD
          valueFrom: {secretKeyRef: {name: database, key: password}}
        resources:
          requests: {cpu: 100m, memory: 128Mi}
          limits: {memory: 256Mi}
        readinessProbe:
          httpGet: {path: /ready, port: http}
          periodSeconds: 5
        livenessProbe:
          httpGet: {path: /alive, port: http}
          initialDelaySeconds: 15
        volumeMounts:
        - {name: config, mountPath: /etc/web}
      volumes:
      - name: config
        configMap: {name: web-%[1]d}
---
apiVersion: v1
kind: Service
metadata:
  name: web-%[1]d
spec:
  selector: {app.kubernetes.io/name: web-%[1]d}
  ports:
  - {name: http, port: 80, targetPort: http}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: web-%[1]d
data:
  web.toml: |
    [server]
    listen = ":8080"
    [log]
    level = "info"
`

func manifestFiles(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("web-%03d.yaml", i)] = fmt.Sprintf(renderedManifest, i)
	}
	return files
}

func bareDirectory(files map[string]string) (objects []*unstructured.Unstructured, err error) {
	for _, text := range files {
		decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
		for {
			u := &unstructured.Unstructured{}
			err := decoder.Decode(u)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			objects = append(objects, u)
		}
	}
	return objects, nil
}

const renderedLibrary = `{
  labels(name):: {'app.kubernetes.io/name': name, 'app.kubernetes.io/part-of': 'shop'},
  service(name):: {
    apiVersion: 'v1', kind: 'Service', metadata: {name: name, labels: $.labels(name)},
    spec: {selector: $.labels(name), ports: [{name: 'http', port: 80, targetPort: 'http'}]},
  },
  deployment(name, replicas=3):: {
    apiVersion: 'apps/v1', kind: 'Deployment', metadata: {name: name, labels: $.labels(name)},
    spec: {
      replicas: replicas, selector: {matchLabels: $.labels(name)},
      template: {metadata: {labels: $.labels(name)}, spec: {containers: [
        {name: c, image: 'registry.example.com/shop/%s:1' % c, env: [{name: 'N%d' % n, value: std.toString(n)} for n in std.range(1, 10)]}
        for c in ['web', 'proxy']
      ]}},
    },
  },
}
`

func jsonnetFiles(n int) map[string]string {
	files := map[string]string{"shop.libsonnet": renderedLibrary}
	for i := range n {
		files[fmt.Sprintf("web-%03d.jsonnet", i)] = fmt.Sprintf("local shop = import 'shop.libsonnet';\n"+
			"[shop.service('web-%[1]d'), shop.deployment('web-%[1]d')]\n", i)
	}
	return files
}

func bareJsonnet(files map[string]string) (objects []*unstructured.Unstructured, err error) {
	library := map[string]jsonnet.Contents{}
	for name, text := range files {
		library[name] = jsonnet.MakeContents(text)
	}
	vm := jsonnet.MakeVM()
	vm.Importer(&jsonnet.MemoryImporter{Data: library})
	for name := range files {
		if !strings.HasSuffix(name, ".jsonnet") {
			continue
		}
		text, err := vm.EvaluateFile(name)
		if err != nil {
			return nil, err
		}
		var all []*unstructured.Unstructured
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			return nil, err
		}
		objects = append(objects, all...)
	}
	return objects, nil
}

func forShop() manifest.Request {
	return manifest.Request{App: manifest.App{Name: "shop", Namespace: "shop"}, Kube: manifest.Kube{Version: "1.36.3"}}
}

func chartFiles(n int) map[string]string {
	files := map[string]string{
		"Chart.yaml":             "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"values.yaml":            "replicas: 3\nimage: {repository: registry.example.com/shop/web, tag: 1.2.3}\n",
		"templates/_helpers.tpl": "{{- define \"labels\" }}{app.kubernetes.io/name: {{ .Release.Name | quote }}}{{ end }}\n",
	}
	for i := range n {
		text := strings.NewReplacer(
			"replicas: 3", "replicas: {{ .Values.replicas }}",
			"registry.example.com/shop/web:1.2", "{{ .Values.image.repository }}:{{ .Values.image.tag }}",
			"serviceAccountName: web", "serviceAccountName: {{ .Release.Name }}\n      nodeSelector: {{ include \"labels\" . }}",
		).Replace(fmt.Sprintf(renderedManifest, i))
		files[fmt.Sprintf("templates/web-%03d.yaml", i)] = text
	}
	return files
}

// bareHelm makes a release of that name.
func bareHelm(release, namespace string) library {
	return func(files map[string]string) ([]*unstructured.Unstructured, error) {
		var all []*archive.BufferedFile
		for name, text := range files {
			all = append(all, &archive.BufferedFile{Name: name, Data: []byte(text)})
		}
		loaded, err := loader.LoadFiles(all)
		if err != nil {
			return nil, err
		}
		options := common.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}
		values, err := commonutil.ToRenderValues(loaded, map[string]any{}, options, common.DefaultCapabilities)
		if err != nil {
			return nil, err
		}
		rendered, err := engine.Render(loaded, values)
		if err != nil {
			return nil, err
		}
		_, sorted, err := releaseutil.SortManifests(rendered, nil, releaseutil.InstallOrder)
		if err != nil {
			return nil, err
		}
		texts := map[string]string{}
		for i, m := range sorted {
			texts[strconv.Itoa(i)] = m.Content
		}
		return bareDirectory(texts)
	}
}

func overlayFiles(n int) map[string]string {
	files := map[string]string{}
	var resources strings.Builder
	for i := range n {
		name := fmt.Sprintf("web-%03d.yaml", i)
		files[name] = fmt.Sprintf(renderedManifest, i)
		fmt.Fprintf(&resources, "- %s\n", name)
	}
	files["kustomization.yaml"] = "namespace: shop\nnamePrefix: shop-\nimages:\n- {name: registry.example.com/shop/web, newTag: v2}\n" +
		"labels:\n- pairs: {team: retail}\nresources:\n" + resources.String()
	return files
}

func bareKustomize(files map[string]string) ([]*unstructured.Unstructured, error) {
	disk := filesys.MakeFsInMemory()
	for name, text := range files {
		if err := disk.WriteFile(name, []byte(text)); err != nil {
			return nil, err
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, ".")
	if err != nil {
		return nil, err
	}
	text, err := built.AsYaml()
	if err != nil {
		return nil, err
	}
	return bareDirectory(map[string]string{"all": string(text)})
}

// runRender measures a render in a worker, with nothing kept from before, against the library called here and against the
// stock programs; and what it costs to find out that nothing has to be rendered.
func runRender(ctx context.Context, b *bench) error {
	tools, err := b.stockTools(ctx)
	if err != nil {
		return err
	}
	host := render.NewHost(render.HostOptions{Command: []string{"/proc/self/exe", renderWord}, Workers: 1, Renders: 1 << 30})
	defer host.Close()
	begin := time.Now()
	sandbox := host.Sandbox()
	b.report.note("start_ms", micros(time.Since(begin))/1000)
	b.report.assert(!strings.HasPrefix(sandbox, "none"), "the workers are not confined: %s", sandbox)
	b.report.columns("what", "objects", "bare, ms", "worker, ms", "worker / bare", "stock, ms", "stock / worker")
	against := comparison{}
	for _, c := range renderCases() {
		m := renderMeasure{renderCase: c, bench: b, host: host}
		if err := m.prepare(tools); err != nil {
			return fmt.Errorf("preparing %s: %w", c.name, err)
		}
		err := m.measure(ctx)
		if err = errors.Join(err, m.clean()); err != nil {
			return fmt.Errorf("measuring %s: %w", c.name, err)
		}
		m.report()
		against.add(&m)
	}
	against.report(b)
	return b.hits(ctx, host)
}

// renderMeasure is one case and what it took, in milliseconds for each repeat.
type renderMeasure struct {
	renderCase
	bench *bench
	host  *render.Host
	tree  fstest.MapFS
	// program is the stock program with its arguments, and dir the files on disk for it.
	program []string
	dir     string
	objects int
	printed []byte

	barely, worker, other sample
}

func (m *renderMeasure) measure(ctx context.Context) error {
	m.tree = fstest.MapFS{}
	for name, text := range m.files {
		m.tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	for range m.bench.scale.repeats {
		var took [3][]time.Duration
		for i := range m.bench.scale.times + warmUps {
			if err := m.turn(ctx, i, &took); err != nil {
				return err
			}
		}
		m.barely, m.worker = append(m.barely, millis(middle(took[0]))), append(m.worker, millis(middle(took[1])))
		if m.program != nil {
			m.other = append(m.other, millis(middle(took[2])))
		}
	}
	return m.same()
}

// turn does the same in each way, one after the other, so that a busy moment is a moment for all.
func (m *renderMeasure) turn(ctx context.Context, i int, took *[3][]time.Duration) error {
	for which, do := range []func(context.Context) error{m.call, m.render, m.run} {
		if which == 2 && (m.program == nil || i%stockEvery != 0) {
			continue
		}
		began := time.Now()
		if err := do(ctx); err != nil {
			return err
		}
		if i >= warmUps {
			took[which] = append(took[which], time.Since(began))
		}
	}
	return nil
}

// call calls the library.
func (m *renderMeasure) call(context.Context) error {
	objects, err := m.bare(m.files)
	if err != nil {
		return fmt.Errorf("calling the library: %w", err)
	}
	m.objects = len(objects)
	return nil
}

// render has a worker render.
func (m *renderMeasure) render(ctx context.Context) error {
	result, err := m.host.Render(ctx, manifest.Trees{"": m.tree}, m.req)
	if err != nil {
		return fmt.Errorf("rendering in a worker: %w", err)
	}
	n := len(result.Objects)
	m.bench.report.assert(n == m.objects, "%s: the library gave %d objects and the worker %d", m.name, m.objects, n)
	return nil
}

func (m *renderMeasure) report() {
	r := m.bench.report
	ratio := ratios(m.worker, m.barely)
	m.bench.logf("%s: %s of the bare time", m.name, digits(ratio.median()))
	times := ratios(m.other, m.worker)
	r.row(m.name, m.objects, m.barely.spread(), m.worker.spread(), ratio.spread(), m.other.spread(), times.spread())
	if m.small {
		r.note(figure(m.name), ratio.median())
		return
	}
	// 0.8 of the library's speed.
	r.atMost(figure(m.name), ratio.median(), 1.25)
}

// ratios are those of the repeats, one by one.
func ratios(of, to sample) sample {
	out := make(sample, min(len(of), len(to)))
	for i := range out {
		out[i] = of[i] / to[i]
	}
	return out
}

// warmUps are renders that do not count: the worker's heap has yet to find its size.
const warmUps = 5

func middle(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func millis(d time.Duration) float64 { return micros(d) / 1000 }

// figure is the name of a case as one word.
func figure(name string) string {
	return strings.NewReplacer(" ", "_", ",", "").Replace(name)
}
