package takeover_test

import (
	"fmt"
	"strings"
)

const (
	deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "example.com/web:1", resources: {requests: {cpu: 10m}}, ports: [{containerPort: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
`
	settings = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: blue}
`
	hooked = settings + `---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {argocd.argoproj.io/hook: PreSync}}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: c, image: "example.com/migrate:1"}]}
---
apiVersion: batch/v1
kind: Job
metadata: {generateName: smoke-, annotations: {argocd.argoproj.io/hook: PostSync, argocd.argoproj.io/hook-delete-policy: HookSucceeded}}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: c, image: "example.com/smoke:1"}]}
`
	waved = `apiVersion: v1
kind: ConfigMap
metadata: {name: first, annotations: {argocd.argoproj.io/sync-wave: "-1"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: second}
spec:
  selector: {matchLabels: {app: second}}
  template:
    metadata: {labels: {app: second}}
    spec: {containers: [{name: c, image: "example.com/web:1"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: third, annotations: {argocd.argoproj.io/sync-wave: "2"}}
`
	stateful = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: "example.com/db:1"}]}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: not-a-real-one}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}]
`
	chartTemplate = `apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec: {containers: [{name: c, image: "example.com/web:{{ .Values.tag }}"}]}
`
)

// files are the content of the repository that all applications come from.
func files() map[string]string {
	return map[string]string{
		"directory/all.yaml": deployment + "---\n" + settings, "stateful/all.yaml": stateful, "hooks/all.yaml": hooked, "waves/all.yaml": waved,
		"base/kustomization.yaml": "resources: [all.yaml]\n", "base/all.yaml": deployment,
		"overlay/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\nlabels: [{pairs: {env: prod}}]\nconfigMapGenerator: [{name: made, literals: [a=b]}]\n",
		"chart/Chart.yaml":           "apiVersion: v2\nname: chart\nversion: 0.1.0\n", "chart/values.yaml": "replicas: 1\ntag: \"1\"\n",
		"chart/templates/web.yaml": chartTemplate, "values/prod.yaml": "replicas: 2\n",
	}
}

// source is where an application comes from; one of each kind, in turn.
var kinds = []struct{ name, source, options string }{
	{"directory", `source: {repoURL: %[1]q, path: directory, targetRevision: main}`, ""},
	{"directory-ssa", `source: {repoURL: %[1]q, path: directory, targetRevision: main}`, "ServerSideApply=true"},
	{"kustomize", `source: {repoURL: %[1]q, path: overlay, targetRevision: main}`, ""},
	{"kustomize-ssa", `source: {repoURL: %[1]q, path: overlay, targetRevision: main}`, "ServerSideApply=true"},
	{"helm", `source: {repoURL: %[1]q, path: chart, targetRevision: main, helm: {parameters: [{name: tag, value: "2"}]}}`, ""},
	{
		"multi", `sources: [{repoURL: %[1]q, path: chart, targetRevision: main, helm: {valueFiles: [$values/values/prod.yaml]}}, ` +
			`{repoURL: %[1]q, targetRevision: main, ref: values}]`, "",
	},
	{"waves", `source: {repoURL: %[1]q, path: waves, targetRevision: main}`, ""},
	{"hooks", `source: {repoURL: %[1]q, path: hooks, targetRevision: main}`, ""},
	{"stateful", `source: {repoURL: %[1]q, path: stateful, targetRevision: main}`, ""},
}

// application is one of a kind, in a namespace of its own.
func (s *stage) application(name, source, options, wave string) string {
	annotations := ""
	if wave != "" {
		annotations = fmt.Sprintf("annotations: {argocd.argoproj.io/sync-wave: %q}, ", wave)
	}
	if options != "" {
		options = ", " + options
	}
	return fmt.Sprintf(`---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %[1]s, namespace: %[2]s, %[5]sfinalizers: [resources-finalizer.argocd.argoproj.io]}
spec:
  project: default
  destination: {server: "https://kubernetes.default.svc", namespace: %[6]s}
  %[3]s
  syncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: [CreateNamespace=true%[4]s]}
`, name, s.control, fmt.Sprintf(source, s.git.URL("fleet")), options, annotations, s.prefix+name)
}

// applications are the manifests of count of them; the last are children of one
// that deploys them, in waves.
func (s *stage) applications(count int) (manifests string, repository map[string]string) {
	repository = files()
	var out, children strings.Builder
	const family = 5
	for i := range count - family {
		k := kinds[i%len(kinds)]
		out.WriteString(s.application(fmt.Sprintf("%s-%d", k.name, i), k.source, k.options, ""))
	}
	for i := range family - 1 {
		k := kinds[i]
		children.WriteString(s.application(fmt.Sprintf("child-%d", i), k.source, k.options, fmt.Sprint(i/2)))
	}
	repository["children/all.yaml"] = children.String()
	root := s.application("root", `source: {repoURL: %[1]q, path: children, targetRevision: main}`, "", "")
	out.WriteString(strings.Replace(root, "namespace: "+s.prefix+"root}", "namespace: "+s.control+"}", 1))
	return out.String(), repository
}
