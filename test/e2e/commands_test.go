package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

// merged is a kubeconfig with the contexts of several clusters; that of the
// first is the current one.
func (f *fixture) merged(planes ...*controlplane.Plane) string {
	f.Helper()
	all := clientcmdapi.NewConfig()
	all.CurrentContext = planes[0].Name()
	for _, p := range planes {
		one, err := clientcmd.LoadFromFile(p.Kubeconfig())
		f.must(err)
		context := one.Contexts[one.CurrentContext]
		all.Clusters[p.Name()] = one.Clusters[context.Cluster]
		// The people of each cluster have the same names.
		all.AuthInfos[p.Name()] = one.AuthInfos[context.AuthInfo]
		all.Contexts[p.Name()] = &clientcmdapi.Context{Cluster: p.Name(), AuthInfo: p.Name()}
	}
	file := filepath.Join(f.TempDir(), "kubeconfig")
	f.must(clientcmd.WriteToFile(*all, file))
	return file
}

// typed runs a command line with a kubeconfig, and wants an exit code.
func (f *fixture) typed(code int, env []string, args ...string) (stdout, stderr string) {
	f.Helper()
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(f.Context(), plain, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		f.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		f.Fatalf("towline %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, out.String(), errOut.String())
	}
	return out.String(), errOut.String()
}

func (f *fixture) wants(text string, parts ...string) {
	f.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			f.Errorf("%q is not in\n%s", p, text)
		}
	}
}

// TestClusterCommands: a cluster is added with an account of its own, listed,
// given a new token, and removed again, and at no time is a login told.
func TestClusterCommands(t *testing.T) {
	f := setup(t)
	second, err := f.plane.Extra(t.Context(), "second", controlplane.ExtraOptions{Controllers: true})
	f.must(err)
	t.Cleanup(func() { _ = second.Stop() })
	kubeconfig := f.merged(f.plane, second)
	there, err := second.Client()
	f.must(err)
	here, err := f.plane.Client()
	f.must(err)
	towline := func(code int, args ...string) (string, string) {
		t.Helper()
		out, errOut := f.typed(code, nil, append([]string{"cluster"}, append(args, "--kubeconfig", kubeconfig, "-n", f.control)...)...)
		for _, s := range f.logins(there, here) {
			if strings.Contains(out+errOut, s) {
				t.Fatalf("towline cluster %s tells a login", strings.Join(args, " "))
			}
		}
		return out, errOut
	}

	_, errOut := towline(2, "add", "second")
	f.wants(errOut, "may do everything", "add --yes if you mean it")
	out, errOut := towline(0, "add", "second", "--yes", "--label", "tier=prod", "--name", "prod")
	f.wants(out, "Cluster '"+second.Server()+"' added")
	f.wants(errOut, "made ServiceAccount kube-system/argocd-manager", "made ClusterRole argocd-manager-role", "made ClusterRoleBinding",
		"took the token", "the cluster takes it", "is an address of the machine that one is on")
	secret := f.clusterSecret(here)
	if !strings.HasPrefix(secret.Name, "cluster-127.0.0.1-") || string(secret.Data["name"]) != "prod" || secret.Labels["tier"] != "prod" {
		t.Errorf("the secret is %s: %v %v", secret.Name, secret.Labels, secret.Data["name"])
	}
	_, errOut = towline(0, "add", "second", "--label", "tier=prod", "--name", "prod")
	f.wants(errOut, "is on the list already, as you say")
	_, errOut = towline(20, "add", "second", "--name", "prod", "--project", "retail")
	f.wants(errOut, "differs in project; --upsert changes it")
	towline(0, "add", "second", "--name", "prod", "--yes", "--project", "retail", "--upsert")

	out, _ = towline(0, "list")
	f.wants(out, second.Server(), "prod", "Successful", "retail", "https://kubernetes.default.svc", "in-cluster")
	out, _ = towline(0, "get", "prod", "-o", "json")
	var document struct {
		Server          string
		ConnectionState struct{ Status string }
		Config          struct{ BearerToken string }
	}
	f.must(json.Unmarshal([]byte(out), &document))
	if document.Server != second.Server() || document.ConnectionState.Status != "Successful" || document.Config.BearerToken != "******" {
		t.Errorf("get says %+v", document)
	}
	towline(0, "set", "prod", "--label", "tier=top", "--annotation", "owner=jane")

	before := bearer(t, f.clusterSecret(here))
	_, errOut = towline(0, "rotate-auth", "prod")
	f.wants(errOut, "made a new token", "put it into secret", "deleted the old token")
	now := f.clusterSecret(here)
	if bearer(t, now) == before || now.Labels["tier"] != "top" || string(now.Data["project"]) != "retail" {
		t.Error("the rotation changed the wrong thing")
	}
	_, err = there.CoreV1().Secrets("kube-system").Get(t.Context(), "argocd-manager-long-lived-token", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the old token is still there: %v", err)
	}
	out, _ = towline(0, "list")
	f.wants(out, "Successful")

	_, errOut = towline(20, "rm", "prod", "--yes", "--rbac")
	f.wants(errOut, `no context "prod"`)
	_, errOut = towline(0, "rm", "prod", "--yes", "--target-context", "second")
	f.wants(errOut, "no application deploys to it", "deleted secret", "deleted ClusterRoleBinding", "deleted ClusterRole", "deleted ServiceAccount")
	if _, err = there.RbacV1().ClusterRoles().Get(t.Context(), "argocd-manager-role", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the role is still there: %v", err)
	}
	_, errOut = towline(20, "get", "prod")
	f.wants(errOut, `cluster "prod" is not known`)

	t.Run("some namespaces", func(t *testing.T) {
		_, errOut := towline(0, "add", "second", "--yes", "--namespace", "default", "--minimal")
		if strings.Contains(errOut, "in all namespaces") {
			t.Errorf("it tells of rights that nobody gave:\n%s", errOut)
		}
		f.wants(errOut, "made Role default/argocd-manager-role (may read everything)", "made RoleBinding default/argocd-manager-role-binding", "impersonate")
		// It may read there, and cannot make itself another token.
		_, errOut = towline(4, "rotate-auth", "second")
		f.wants(errOut, "use a context of an administrator")
		towline(0, "rotate-auth", "second", "--target-context", "second")
		_, errOut = towline(0, "rm", "second", "--yes", "--rbac")
		f.wants(errOut, "deleted RoleBinding default/argocd-manager-role-binding", "deleted Role default/argocd-manager-role")
	})

	t.Run("fewer namespaces than before", func(t *testing.T) {
		towline(0, "add", "second", "--yes")
		_, errOut := towline(0, "add", "second", "--yes", "--namespace", "default", "--upsert")
		f.wants(errOut, "gives the account rights in all namespaces, from before")
		_, errOut = towline(0, "rm", "second", "--yes", "--rbac")
		f.wants(errOut, "deleted ClusterRoleBinding", "deleted ClusterRole ", "deleted RoleBinding default/", "deleted ServiceAccount")
	})

	t.Run("what others share", func(t *testing.T) {
		towline(0, "add", "second", "--yes")
		binding, err := there.RbacV1().ClusterRoleBindings().Get(t.Context(), "argocd-manager-role-binding", metav1.GetOptions{})
		f.must(err)
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{Kind: "ServiceAccount", Name: "other", Namespace: "default"})
		_, err = there.RbacV1().ClusterRoleBindings().Update(t.Context(), binding, metav1.UpdateOptions{})
		f.must(err)
		_, errOut := towline(0, "rm", "second", "--yes", "--rbac")
		f.wants(errOut, "which others share", "deleted ServiceAccount")
		binding, err = there.RbacV1().ClusterRoleBindings().Get(t.Context(), "argocd-manager-role-binding", metav1.GetOptions{})
		f.must(err)
		if len(binding.Subjects) != 1 || binding.Subjects[0].Name != "other" {
			t.Errorf("the binding is about %v", binding.Subjects)
		}
	})

	t.Run("a secret that somebody made", func(t *testing.T) {
		f.kubectl("-n", f.control, "create", "secret", "generic", "by-hand", "--from-literal=name=hand", "--from-literal=server=https://hand.example.com")
		f.kubectl("-n", f.control, "label", "secret", "by-hand", "argocd.argoproj.io/secret-type=cluster")
		out, _ := towline(0, "list")
		f.wants(out, "https://hand.example.com", "Failed")
		_, errOut := towline(0, "rm", "hand", "--yes")
		f.wants(errOut, "it stays, without the label")
		s, err := here.CoreV1().Secrets(f.control).Get(t.Context(), "by-hand", metav1.GetOptions{})
		f.must(err)
		if len(s.Labels) > 0 || string(s.Data["name"]) != "hand" {
			t.Errorf("the secret is %v, %v", s.Labels, s.Data)
		}
	})
}

// logins are all tokens that either cluster has.
func (f *fixture) logins(there, here kubernetes.Interface) []string {
	f.Helper()
	var out []string
	list, err := there.CoreV1().Secrets("kube-system").List(f.Context(), metav1.ListOptions{})
	f.must(err)
	for _, s := range list.Items {
		if token := s.Data[corev1.ServiceAccountTokenKey]; len(token) > 0 {
			out = append(out, string(token))
		}
	}
	list, err = here.CoreV1().Secrets(f.control).List(f.Context(), metav1.ListOptions{})
	f.must(err)
	for i := range list.Items {
		if token := bearer(f.T, &list.Items[i]); token != "" {
			out = append(out, token)
		}
	}
	return out
}

func bearer(t *testing.T, s *corev1.Secret) string {
	t.Helper()
	var config struct{ BearerToken string }
	if text := s.Data["config"]; len(text) > 0 {
		if err := json.Unmarshal(text, &config); err != nil {
			t.Fatalf("the config of secret %s: %v", s.Name, err)
		}
	}
	return config.BearerToken
}

// clusterSecret is the only one of the hub.
func (f *fixture) clusterSecret(here kubernetes.Interface) *corev1.Secret {
	f.Helper()
	list, err := here.CoreV1().Secrets(f.control).List(f.Context(), metav1.ListOptions{LabelSelector: "argocd.argoproj.io/secret-type=cluster"})
	f.must(err)
	if len(list.Items) != 1 {
		f.Fatalf("the hub has %d clusters", len(list.Items))
	}
	return &list.Items[0]
}

const shopSet = `
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: shops, labels: {team: shop}}
spec:
  generators: [{list: {elements: [{city: berlin}]}}]
  template:
    metadata: {name: "shop-{{city}}"}
    spec:
      project: retail
      source: {repoURL: https://git.example.com/shop.git, path: "{{city}}"}
      destination: {server: https://kubernetes.default.svc, namespace: shop}
`

// TestAppSetCommands: what people do with ApplicationSets, on the real server.
func TestAppSetCommands(t *testing.T) {
	f := setup(t)
	file := filepath.Join(f.folder(map[string]string{"shops.yaml": shopSet}), "shops.yaml")
	towline := func(code int, args ...string) (string, string) {
		t.Helper()
		return f.typed(code, nil, append([]string{"appset"}, append(args, "--kubeconfig", f.plane.Kubeconfig(), "-n", f.control)...)...)
	}
	out, _ := towline(0, "create", file)
	f.wants(out, "ApplicationSet 'shops' created")
	out, _ = towline(0, "create", file)
	f.wants(out, "ApplicationSet 'shops' unchanged")
	f.must(os.WriteFile(file, []byte(strings.Replace(shopSet, "berlin", "aachen", 1)), 0o600))
	_, errOut := towline(20, "create", file)
	f.wants(errOut, "--upsert changes it")
	out, _ = towline(0, "create", file, "--upsert")
	f.wants(out, "ApplicationSet 'shops' updated")
	out, _ = towline(0, "list", "-l", "team=shop", "-p", "retail", "-o", "wide")
	f.wants(out, "shops", "retail", "list", "https://git.example.com/shop.git")
	out, _ = towline(0, "get", "shops")
	f.wants(out, f.control+"/shops", "shop-{{city}}")
	out, _ = towline(0, "get", "shops", "-o", "yaml")
	f.wants(out, "kind: ApplicationSet", "city: aachen")
	_, errOut = towline(2, "delete", "shops")
	f.wants(errOut, "add --yes if you mean it")
	_, errOut = towline(0, "delete", "shops", "--yes", "--wait", "--timeout", "60")
	f.wants(errOut, `ApplicationSet "shops" is gone`)
	_, errOut = towline(20, "get", "shops")
	f.wants(errOut, `ApplicationSet "shops" not found`)
}

// TestProjCommands: what people do with projects, on the real server, whose
// schema has the last word.
func TestProjCommands(t *testing.T) {
	f := setup(t)
	towline := func(code int, args ...string) (string, string) {
		t.Helper()
		return f.typed(code, []string{"EDITOR=sed -i s/shops/stores/"},
			append([]string{"proj"}, append(args, "--kubeconfig", f.plane.Kubeconfig(), "-n", f.control)...)...)
	}
	towline(0, "create", "retail", "--description", "the shops", "-d", "https://kubernetes.default.svc,shop", "-s", "https://git.example.com/shop.git")
	for _, words := range []string{
		"add-source retail https://git.example.com/web.git",
		"remove-source retail https://git.example.com/shop.git",
		"add-destination retail prod shop --name",
		"remove-destination retail https://kubernetes.default.svc shop",
		"add-source-namespace retail team",
		"add-destination-service-account retail https://kubernetes.default.svc shop deployer --service-account-namespace ops",
		"add-orphaned-ignore retail batch Job --name tmp-*",
		"add-signature-key retail 4AEE18F83AFDEB23",
		"allow-cluster-resource retail rbac.authorization.k8s.io ClusterRole shop-*",
		"deny-namespace-resource retail v1 Secret",
		"allow-namespace-resource retail apps Deployment --list allow",
		"deny-namespace-resource retail apps Deployment --list allow",
		"role create retail ci --description pipeline",
		"role add-policy retail ci --action sync --object *",
		"role add-group retail ci devs",
		"windows add retail --kind deny --schedule @ --duration 8h --applications *",
		"windows update retail 0 --duration 4h",
		"windows enable-manual-sync retail 0",
		"windows enable-sync-overrun retail 0",
		"set retail --orphaned-resources-warn=false",
		"edit retail",
	} {
		args := strings.Fields(words)
		for i := range args {
			if args[i] == "@" {
				args[i] = "0 22 * * *"
			}
		}
		out, _ := towline(0, args...)
		f.wants(out, `project "retail"`)
	}
	out, _ := towline(0, "get", "retail", "-o", "json")
	var p struct{ Spec map[string]any }
	f.must(json.Unmarshal([]byte(out), &p))
	got, err := json.Marshal(p.Spec)
	f.must(err)
	want := `{"clusterResourceWhitelist":[{"group":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"shop-*"}],` +
		`"description":"the stores","destinationServiceAccounts":[{"defaultServiceAccount":"ops:deployer","namespace":"shop",` +
		`"server":"https://kubernetes.default.svc"}],"destinations":[{"name":"prod","namespace":"shop"}],` +
		`"namespaceResourceBlacklist":[{"group":"v1","kind":"Secret"}],"namespaceResourceWhitelist":[],` +
		`"orphanedResources":{"ignore":[{"group":"batch","kind":"Job","name":"tmp-*"}],"warn":false},` +
		`"roles":[{"description":"pipeline","groups":["devs"],"name":"ci","policies":["p, proj:retail:ci, applications, sync, retail/*, allow"]}],` +
		`"signatureKeys":[{"keyID":"4AEE18F83AFDEB23"}],"sourceNamespaces":["team"],"sourceRepos":["https://git.example.com/web.git"],` +
		`"syncWindows":[{"applications":["*"],"duration":"4h","kind":"deny","manualSync":true,"schedule":"0 22 * * *","syncOverrun":true,"timeZone":"UTC"}]}`
	if string(got) != want {
		t.Errorf("the project is\n%s\nwant\n%s", got, want)
	}
	out, _ = towline(0, "list", "-o", "name")
	if strings.TrimSpace(out) != "retail" {
		t.Errorf("list says %q", out)
	}
	f.kubectl("-n", f.control, "apply", "-f", f.applicationOf("retail"))
	_, errOut := towline(20, "delete", "retail")
	f.wants(errOut, "has 1 application: member")
	f.kubectl("-n", f.control, "delete", "application", "member")
	out, _ = towline(0, "delete", "retail")
	f.wants(out, `project "retail" deleted`)
}

// applicationOf is a file with an application of a project.
func (f *fixture) applicationOf(project string) string {
	f.Helper()
	text := fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: member}\nspec: {project: %s, destination: {}}\n", project)
	return filepath.Join(f.folder(map[string]string{"member.yaml": text}), "member.yaml")
}
