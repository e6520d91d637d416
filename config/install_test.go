package config_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/render/helm"
	"github.com/towline-cd/towline/internal/render/kustomize"
)

// objects are manifests by kind, namespace and name.
type objects map[string]map[string]any

// rendering is what both renderers have in common.
type rendering func(context.Context, manifest.Trees, manifest.Request) (manifest.Result, error)

func render(t *testing.T, with rendering, source v1alpha1.ApplicationSource) (objects, error) {
	t.Helper()
	result, err := with(t.Context(), manifest.Trees{"": os.DirFS(".")}, manifest.Request{
		Source: source,
		App:    manifest.App{Name: "towline", Namespace: v1alpha1.DefaultNamespace, Project: v1alpha1.DefaultProjectName},
		Kube:   manifest.Kube{Version: "1.36.3"},
	})
	if err != nil {
		return nil, err
	}
	out := objects{}
	for _, u := range result.Objects {
		key := name(u)
		if _, twice := out[key]; twice {
			t.Errorf("%s comes twice", key)
		}
		out[key] = u.Object
	}
	return out, nil
}

func name(u *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s/%s", u.GetKind(), u.GetNamespace(), u.GetName())
}

func installation(t *testing.T, mode string) objects {
	t.Helper()
	out, err := render(t, kustomize.Render, v1alpha1.ApplicationSource{Path: "install/" + mode})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func chart(t *testing.T, values string) (objects, error) {
	t.Helper()
	return render(t, helm.Render, v1alpha1.ApplicationSource{
		Path: "chart/towline", Helm: &v1alpha1.ApplicationSourceHelm{Values: values},
	})
}

// TestChartIsTheInstallation: whichever way somebody installs, there are the same objects.
func TestChartIsTheInstallation(t *testing.T) {
	for mode, values := range map[string]string{
		"cluster":     `{}`,
		"ha":          `{replicas: 2}`,
		"write-named": `{mode: write-named, writeNamespaces: [private-ai-demo]}`,
		"namespace":   `{mode: namespace}`,
	} {
		t.Run(mode, func(t *testing.T) {
			want := installation(t, mode)
			// Helm makes the namespace itself, if it is asked to.
			delete(want, "Namespace /argocd")
			got, err := chart(t, values)
			if err != nil {
				t.Fatal(err)
			}
			for key, o := range got {
				if !strings.HasPrefix(key, "CustomResourceDefinition ") {
					continue
				}
				u := unstructured.Unstructured{Object: o}
				annotations := u.GetAnnotations()
				if annotations[v1alpha1.AnnotationHelmResourcePolicy] != v1alpha1.HelmResourcePolicyKeep {
					t.Errorf("%s would go with the release, and every Application with it", key)
				}
				delete(annotations, v1alpha1.AnnotationHelmResourcePolicy)
				u.SetAnnotations(annotations)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("the chart (+) is not the installation (-):\n%s", d)
			}
		})
	}
}

// TestChartTakesArgoHelmValues: what people have written for argo-helm's chart means the same.
func TestChartTakesArgoHelmValues(t *testing.T) {
	got, err := chart(t, `
global:
  domain: cd.example.com
configs:
  cm:
    create: true
    resource.server-side-diff: "true"
    timeout.reconciliation: 180s
    admin.enabled: false
    webhook.maxPayloadSizeMB: 50000000
    resource.customizations.health.argoproj.io_Application: |
      hs = {}
      hs.status = "Progressing"
      return hs
  params:
    server.insecure: true
    controller.status.processors: 20
  rbac:
    policy.default: role:readonly
    policy.csv: |
      g, admins, role:admin
  secret:
    githubSecret: hush
    argocdServerAdminPassword: $2a$10$abc
    extra: {oidc.key: other}
  repositories:
    shop: {url: "https://git.example.com/shop.git", type: git}
  clusterCredentials:
    prod: {server: "https://prod", labels: {tier: prod}, config: {bearerToken: hush}}
server: {ingress: {enabled: true}}
redis-ha: {enabled: true}
`)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]map[string]any{
		"ConfigMap argocd/argocd-cm": {
			"resource.server-side-diff": "true", "timeout.reconciliation": "180s", "admin.enabled": "false", "url": "https://cd.example.com",
			"webhook.maxPayloadSizeMB":                               "50000000",
			"resource.customizations.health.argoproj.io_Application": "hs = {}\nhs.status = \"Progressing\"\nreturn hs\n",
		},
		"ConfigMap argocd/argocd-cmd-params-cm": {"server.insecure": "true", "controller.status.processors": "20"},
		"ConfigMap argocd/argocd-rbac-cm":       {"policy.default": "role:readonly", "policy.csv": "g, admins, role:admin\n"},
		"Secret argocd/argocd-secret":           {"webhook.github.secret": "hush", "admin.password": "$2a$10$abc", "oidc.key": "other"},
		"Secret argocd/argocd-repo-shop":        {"url": "https://git.example.com/shop.git", "type": "git"},
		"Secret argocd/argocd-cluster-prod":     {"name": "prod", "server": "https://prod", "config": `{"bearerToken":"hush"}`},
	} {
		data := got[key]["data"]
		if strings.HasPrefix(key, "Secret") {
			data = got[key]["stringData"]
		}
		if d := cmp.Diff(any(want), data); d != "" {
			t.Errorf("%s (-want +got):\n%s", key, d)
		}
	}
	deployment := unstructured.Unstructured{Object: got["Deployment argocd/towline"]}
	if said := deployment.GetAnnotations()["towline.io/values-without-effect"]; said != "redis-ha, server" {
		t.Errorf("values without effect: %q", said)
	}
}

// TestChartRefuses: what cannot be meant is refused, with the name of the value.
func TestChartRefuses(t *testing.T) {
	for values, want := range map[string]string{
		`{configs: {cm: {url: [a]}}}`: "configs/cm/url",
		`{config: {}}`:                "'config'",
		`{mode: everything}`:          "mode",
		`{writeNamespaces: [shop]}`:   "writeNamespaces is for the modes",
		`{configs: {secret: {argocdServerAdminPassword: "in clear"}}}`: "argocdServerAdminPassword",
	} {
		if _, err := chart(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v does not name %s", values, err, want)
		}
	}
}

// TestInstallationsAreBounded: what an installation promises of its rights and of its pods.
func TestInstallationsAreBounded(t *testing.T) {
	for _, mode := range []string{"cluster", "ha", "write-named", "namespace"} {
		all := installation(t, mode)
		if mode == "namespace" {
			for key := range all {
				if kind, rest, _ := strings.Cut(key, " "); strings.HasPrefix(rest, "/") {
					t.Errorf("%s: a %s is for the whole cluster", mode, kind)
				}
			}
		}
		if mode == "write-named" {
			wide(t, all)
		}
		pod, _, err := unstructured.NestedMap(all["Deployment argocd/towline"], "spec", "template", "spec")
		if err != nil || pod == nil {
			t.Fatalf("%s: no pod: %v", mode, err)
		}
		text, err := yaml.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		for _, must := range []string{"readOnlyRootFilesystem: true", "runAsNonRoot: true", "allowPrivilegeEscalation: false", "- ALL"} {
			if !strings.Contains(string(text), must) {
				t.Errorf("%s: the pod lacks %s", mode, must)
			}
		}
	}
}

// wide checks that nothing but reading is given for the whole cluster.
func wide(t *testing.T, all objects) {
	t.Helper()
	for key, o := range all {
		if !strings.HasPrefix(key, "ClusterRoleBinding ") {
			continue
		}
		role, _, _ := unstructured.NestedString(o, "roleRef", "name")
		rules, _, _ := unstructured.NestedSlice(all["ClusterRole /"+role], "rules")
		if len(rules) == 0 {
			t.Errorf("%s gives nothing", key)
		}
		for _, r := range rules {
			rule, _ := r.(map[string]any)
			verbs, _, _ := unstructured.NestedStringSlice(rule, "verbs")
			for _, verb := range verbs {
				if !slices.Contains([]string{"get", "list", "watch"}, verb) {
					t.Errorf("%s gives %s everywhere", key, verb)
				}
			}
		}
	}
}

// TestVersions: the image of the installation, the chart and its application are of one version.
func TestVersions(t *testing.T) {
	data, err := os.ReadFile("chart/towline/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var of struct{ Version, AppVersion string }
	if err := yaml.Unmarshal(data, &of); err != nil {
		t.Fatal(err)
	}
	containers, _, _ := unstructured.NestedSlice(installation(t, "cluster")["Deployment argocd/towline"], "spec", "template", "spec", "containers")
	image, _, _ := unstructured.NestedString(containers[0].(map[string]any), "image") //nolint:forcetypeassert // a panic is a failure
	if _, tag, _ := strings.Cut(image, ":"); tag != of.AppVersion || tag != "v"+of.Version {
		t.Errorf("the image is %s, the chart %s, its application %s", image, of.Version, of.AppVersion)
	}
}
