package appset_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/towline-cd/towline/internal/core/appset"
)

// many is a set of ten thousand Applications: a hundred clusters, and a hundred apps for each.
func many(t testing.TB, text string) ([]appset.Cluster, string) {
	t.Helper()
	var clusters []appset.Cluster
	for i := range 100 {
		clusters = append(clusters, appset.Cluster{
			Name: fmt.Sprintf("cluster-%03d", i), Server: fmt.Sprintf("https://%03d.example.com", i),
			Labels: map[string]string{"env": "prod", "region": "north"},
		})
	}
	var elements strings.Builder
	for i := range 100 {
		fmt.Fprintf(&elements, "          - {app: app-%03d, port: %d}\n", i, 8000+i)
	}
	return clusters, strings.ReplaceAll(text, "ELEMENTS\n", elements.String())
}

const manyGo = `
spec:
  goTemplate: true
  goTemplateOptions: [missingkey=error]
  generators:
  - matrix:
      generators:
      - clusters: {values: {tier: "{{ .metadata.labels.env }}"}}
      - list:
          elements:
ELEMENTS
  template:
    metadata:
      name: '{{ .app }}-{{ .nameNormalized }}'
      labels: {env: '{{ .values.tier }}', region: '{{ index .metadata.labels "region" }}'}
    spec:
      project: default
      source:
        repoURL: https://git.example.com/apps.git
        targetRevision: main
        path: 'apps/{{ .app }}/{{ .metadata.labels.env }}'
        helm:
          parameters: [{name: port, value: '{{ .port }}'}]
          valuesObject: {host: '{{ .app }}.{{ .name }}.example.com', replicas: 2}
      destination: {server: '{{ .server }}', namespace: '{{ .app }}'}
      syncPolicy: {automated: {prune: true}, syncOptions: [CreateNamespace=true]}
`

const manyOld = `
spec:
  generators:
  - matrix:
      generators:
      - clusters: {values: {tier: "{{metadata.labels.env}}"}}
      - list:
          elements:
ELEMENTS
  template:
    metadata:
      name: '{{app}}-{{nameNormalized}}'
      labels: {env: '{{values.tier}}', region: '{{metadata.labels.region}}'}
    spec:
      project: default
      source:
        repoURL: https://git.example.com/apps.git
        targetRevision: main
        path: 'apps/{{app}}/{{metadata.labels.env}}'
        helm:
          parameters: [{name: port, value: '{{port}}'}]
      destination: {server: '{{server}}', namespace: '{{app}}'}
      syncPolicy: {automated: {prune: true}, syncOptions: [CreateNamespace=true]}
`

const patch = `  templatePatch: |
    spec:
      source: {helm: {releaseName: {{ .app | toJson }}}}
      syncPolicy: {automated: {selfHeal: true}}
`

func BenchmarkGenerate10k(b *testing.B) {
	for name, text := range map[string]string{"go": manyGo, "old": manyOld, "patch": manyGo + patch} {
		b.Run(name, func(b *testing.B) {
			clusters, text := many(b, text)
			set, err := parseSet(text)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				r := appset.Generate(set, appset.World{Clusters: clusters, Now: start})
				if r.Failure != "" || len(r.Apps) != 10000 {
					b.Fatal(len(r.Apps), r.Failure, r.Problems)
				}
			}
		})
	}
}

func BenchmarkCompare10k(b *testing.B) {
	clusters, text := many(b, manyGo)
	set, err := parseSet(text)
	if err != nil {
		b.Fatal(err)
	}
	r := appset.Generate(set, appset.World{Clusters: clusters, Now: start})
	in := appset.Input{
		Set: set, Now: start, Result: r, Owned: r.Apps, Policy: "sync",
		Projects: map[string]bool{"default": true}, Clusters: clusters,
	}
	b.ReportAllocs()
	for b.Loop() {
		if c := appset.Compare(in); !c.Empty() || len(c.Problems) > 0 {
			b.Fatal(len(c.Update), len(c.Create), len(c.Delete), c.Problems)
		}
	}
}
