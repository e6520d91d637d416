package api_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
)

// canary begins every word that must never come out. Each place has its own, so that a leak says where it comes from.
const canary = "canary7731"

// hosted is what the stage has, by the names that the shapes use.
type hosted map[string]string

// fill puts the names into a path.
func (h hosted) fill(path string) string {
	for name, value := range h {
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}
	return path
}

// furnish makes an installation that has one of everything, with canaries wherever something secret may stand.
func (s *stage) furnish() hosted {
	s.Helper()
	s.must(s.git.Create("shop", map[string]string{
		"web/objects.yaml": objects, "kustomized/kustomization.yaml": "resources: [map.yaml]\n",
		"kustomized/map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kustomized}\n",
	}))
	revision, err := s.git.Revision("shop", "main")
	s.must(err)
	s.must(s.git.SetRef("shop", "refs/tags/v1.0.0", revision))
	helm := s.charts()
	repo := s.git.URL("shop")
	withLogin := strings.Replace(repo, "http://", "http://bot:"+canary+"url@", 1)
	s.apply(fmt.Sprintf(installation, s.control, s.dest, repo, helm, withLogin))
	return hosted{
		"app": "shop", "dest": s.dest, "set": "fleet", "project": "web", "repo": url.PathEscape(repo), "helm": url.PathEscape(helm),
		"revision": revision, "account": "admin", "key": "4AEE18F83AFDEB23", "chart": "charted",
	}
}

// charts serves a Helm repository with one chart.
func (s *stage) charts() string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range map[string]string{
		"demo/Chart.yaml": "apiVersion: v2\nname: demo\nversion: 1.0.0\ndescription: A demo\nhome: https://example.com\n" +
			"maintainers: [{name: Ann, email: ann@example.com}]\n",
		"demo/templates/map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: charted}\n",
	} {
		s.must(w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}))
		_, err := w.Write([]byte(text))
		s.must(err)
	}
	s.must(w.Close())
	s.must(z.Close())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/index.yaml":
			fmt.Fprint(w, "apiVersion: v1\nentries:\n  demo:\n  - name: demo\n    version: 1.0.0\n    urls: [demo-1.0.0.tgz]\n")
		case "/demo-1.0.0.tgz":
			_, _ = w.Write(b.Bytes())
		default:
			http.NotFound(w, r)
		}
	}))
	s.Cleanup(server.Close)
	return server.URL
}

// objects are those of the application.
var objects = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "registry.example.com/web:1"}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
data: {password: ` + base64.StdEncoding.EncodeToString([]byte(canary+"secret")) + `}
stringData: {token: ` + canary + `stringdata}
`

// installation has everything else: control namespace, destination, git, charts, and git with a login in its URL.
const installation = `
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: web, namespace: %[1]s}
spec:
  sourceRepos: ["*"]
  destinations: [{server: "*", namespace: "*"}]
  clusterResourceWhitelist: [{group: "*", kind: "*"}]
  syncWindows: [{kind: allow, schedule: "* * * * *", duration: 2h, applications: ["*"], manualSync: true}]
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: %[1]s}
spec:
  project: web
  destination: {server: "https://kubernetes.default.svc", namespace: %[2]s}
  source: {repoURL: %[3]q, path: web, targetRevision: main}
  syncPolicy: {automated: {prune: true}}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: charted, namespace: %[1]s}
spec:
  project: web
  destination: {server: "https://kubernetes.default.svc", namespace: %[2]s}
  source: {repoURL: %[4]q, chart: demo, targetRevision: 1.0.0}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: leaky, namespace: %[1]s}
spec:
  project: web
  destination: {server: "https://kubernetes.default.svc", namespace: %[2]s}
  source: {repoURL: %[5]q, path: nowhere, targetRevision: main}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: vault, namespace: %[1]s}
spec:
  project: default
  destination: {server: "https://kubernetes.default.svc", namespace: %[2]s}
  source: {repoURL: %[3]q, path: kustomized, targetRevision: main}
---
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: fleet, namespace: %[1]s}
spec:
  generators: [{list: {elements: [{name: one}]}}]
  template:
    metadata: {name: "fleet-{{name}}"}
    spec:
      project: web
      destination: {server: "https://kubernetes.default.svc", namespace: %[2]s}
      source: {repoURL: %[3]q, path: kustomized, targetRevision: main}
---
apiVersion: v1
kind: Secret
metadata:
  name: repo-shop
  namespace: %[1]s
  labels: {argocd.argoproj.io/secret-type: repository, leak: canary7731label}
  annotations: {leak: canary7731annotation}
stringData: {type: git, name: shop, url: %[3]q, username: canary7731username, password: canary7731password, proxy: ""}
---
apiVersion: v1
kind: Secret
metadata: {name: repo-login, namespace: %[1]s, labels: {argocd.argoproj.io/secret-type: repository}}
stringData: {type: git, name: leaky, url: %[5]q}
---
apiVersion: v1
kind: Secret
metadata: {name: repo-charts, namespace: %[1]s, labels: {argocd.argoproj.io/secret-type: repository}}
stringData: {type: helm, name: charts, url: %[4]q}
---
apiVersion: v1
kind: Secret
metadata: {name: creds, namespace: %[1]s, labels: {argocd.argoproj.io/secret-type: repo-creds}}
stringData: {type: git, url: "https://creds.example.com", password: canary7731creds, sshPrivateKey: canary7731ssh, bearerToken: canary7731bearer}
---
apiVersion: v1
kind: Secret
metadata:
  name: cluster-away
  namespace: %[1]s
  labels: {argocd.argoproj.io/secret-type: cluster, leak: canary7731clusterlabel}
  annotations: {leak: canary7731clusterannotation}
stringData:
  name: away
  server: https://127.0.0.1:1
  config: '{"username":"canary7731clusteruser","password":"canary7731clusterpassword","bearerToken":"canary7731clustertoken"}'
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-ssh-known-hosts-cm, namespace: %[1]s}
data: {ssh_known_hosts: "github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl\n"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-gpg-keys-cm, namespace: %[1]s}
data: {4AEE18F83AFDEB23: "-----BEGIN PGP PUBLIC KEY BLOCK-----"}
`
