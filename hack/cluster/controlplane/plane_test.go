package controlplane_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

// helperMode makes this test program a parent that starts a cluster and waits to be killed.
const helperMode = "TOWLINE_TEST_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helperMode) == "1" {
		os.Exit(helper())
	}
	os.Exit(controlplane.Main(m, controlplane.Options{Audit: controlplane.AuditRequestResponse}))
}

func helper() int {
	plane, err := controlplane.Start(context.Background(), controlplane.Options{Name: "helper"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(plane.PIDs()); err != nil {
		return 1
	}
	select {}
}

func client(t *testing.T, plane *controlplane.Plane) kubernetes.Interface {
	t.Helper()
	client, err := plane.Client()
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func namespace(t *testing.T, plane *controlplane.Plane) string {
	t.Helper()
	made, err := client(t, plane).CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made.Name
}

func TestDeploymentBecomesReady(t *testing.T) {
	plane := controlplane.Shared(t)
	kube := client(t, plane)
	nodes, err := kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) != 1 || len(nodes.Items[0].Spec.Taints) != 0 {
		t.Errorf("nodes: %d, want one without taints", len(nodes.Items))
	}
	ns := namespace(t, plane)
	watch, err := kube.CoreV1().Pods(ns).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	labels := map[string]string{"app": "web"}
	_, err = kube.AppsV1().Deployments(ns).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(3)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "example.invalid/web:1"}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ready := map[string]bool{}
	deadline := time.After(20 * time.Second)
	for len(ready) < 3 {
		select {
		case event := <-watch.ResultChan():
			if pod, ok := event.Object.(*corev1.Pod); ok && podReady(pod) {
				ready[pod.Name] = true
			}
		case <-deadline:
			t.Fatalf("%d pods are ready after 20 seconds, want 3", len(ready))
		}
	}
}

func podReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func TestStrangerIsRefusedAndAudited(t *testing.T) {
	plane := controlplane.Shared(t)
	config, err := plane.RESTConfigFor("jane", "developers")
	if err != nil {
		t.Fatal(err)
	}
	jane, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = jane.CoreV1().ConfigMaps("default").Patch(t.Context(), "settings", types.ApplyPatchType,
		[]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"}}`),
		metav1.PatchOptions{FieldManager: "tester", DryRun: []string{metav1.DryRunAll}})
	if !apierrors.IsForbidden(err) {
		t.Fatalf("a user without a role got %v, want Forbidden", err)
	}
	events, err := controlplane.ReadAudit(plane.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, e := range events {
		if e.User != "jane" {
			continue
		}
		found++
		got := fmt.Sprintf("%s %s %s/%s dry-run=%t writes=%t manager=%s code=%d", e.Verb, e.Resource, e.Namespace, e.Name, e.DryRun, e.Writes(), e.FieldManager, e.Code)
		want := "patch configmaps default/settings dry-run=true writes=false manager=tester code=403"
		if got != want {
			t.Errorf("audited %q, want %q", got, want)
		}
	}
	if found != 1 {
		t.Errorf("found %d requests of jane in the audit log, want 1", found)
	}
}

func TestKubeconfigForAnotherUser(t *testing.T) {
	plane := controlplane.Shared(t)
	path, err := plane.KubeconfigFor("john", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(plane.Kubectl(), "--kubeconfig", path, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}").CombinedOutput()
	if err != nil || string(out) != "john" {
		t.Errorf("kubectl auth whoami said %q (%v), want john", out, err)
	}
}

func TestExtraClusterIsSeparate(t *testing.T) {
	plane := controlplane.Shared(t)
	ns := namespace(t, plane)
	start := time.Now()
	extra, err := plane.Extra(t.Context(), "other", controlplane.ExtraOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("an extra cluster took %s", time.Since(start).Round(time.Millisecond))
	defer func() {
		if err := extra.Stop(); err != nil {
			t.Error(err)
		}
	}()
	_, err = client(t, extra).CoreV1().Namespaces().Get(t.Context(), ns, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the extra cluster answered %v for a namespace of the first, want NotFound", err)
	}
	// The credentials of one must not open the other.
	foreign, err := plane.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	foreign.Host, foreign.CAData, foreign.Insecure = extra.Server(), nil, true
	stranger, err := kubernetes.NewForConfig(foreign)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("the first cluster's administrator got %v at the extra cluster, want Unauthorized", err)
	}
}

func TestSaveAndRestore(t *testing.T) {
	plane := controlplane.Shared(t)
	ns := namespace(t, plane)
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Data: map[string]string{"key": "value"}}
	if _, err := client(t, plane).CoreV1().ConfigMaps(ns).Create(t.Context(), kept, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := client(t, plane).CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "snapshot")
	start := time.Now()
	if err := plane.Save(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	t.Logf("saving took %s", time.Since(start).Round(time.Millisecond))
	if _, err := client(t, plane).CoreV1().ConfigMaps(ns).Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Errorf("after saving, the saved cluster answered %v", err)
	}
	start = time.Now()
	restored, err := controlplane.Start(t.Context(), controlplane.Options{Name: "restored", Restore: file})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("restoring took %s", time.Since(start).Round(time.Millisecond))
	defer func() {
		if err := restored.Stop(); err != nil {
			t.Error(err)
		}
	}()
	got, err := client(t, restored).CoreV1().ConfigMaps(ns).Get(t.Context(), "kept", metav1.GetOptions{})
	if err != nil || got.Data["key"] != "value" {
		t.Errorf("the restored cluster has %v (%v), want the saved value", got.Data, err)
	}
	review, err := client(t, restored).AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token.Status.Token},
	}, metav1.CreateOptions{})
	if err != nil || !review.Status.Authenticated {
		t.Errorf("the restored cluster does not know a service account's token: %v %v", review.Status.Error, err)
	}
}

func TestHaltAndResume(t *testing.T) {
	plane := controlplane.Shared(t)
	ns := namespace(t, plane)
	if err := plane.Halt(t.Context(), controlplane.APIServer, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if pid, ok := plane.PIDs()[controlplane.APIServer]; ok {
		t.Errorf("the halted API server runs as pid %d", pid)
	}
	if err := plane.Resume(t.Context(), controlplane.APIServer); err != nil {
		t.Fatal(err)
	}
	if _, err := client(t, plane).CoreV1().Namespaces().Get(t.Context(), ns, metav1.GetOptions{}); err != nil {
		t.Errorf("after the restart: %v", err)
	}
}

func TestFailedStartNamesTheCause(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real control plane: run without -short")
	}
	_, err := controlplane.Start(t.Context(), controlplane.Options{APIServerArgs: []string{"no-such-flag=1"}})
	if err == nil || !strings.Contains(err.Error(), "kube-apiserver") || !strings.Contains(err.Error(), "no-such-flag") {
		t.Errorf("starting with a wrong argument said %v, want the component and its own words", err)
	}
}

func TestChildrenDieWithAKilledParent(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real control plane: run without -short")
	}
	cmd := exec.Command(os.Args[0])
	// The killed helper cannot remove its temporary folder.
	cmd.Env = append(os.Environ(), helperMode+"=1", "TMPDIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill() //nolint:errcheck // Dead already unless the test failed before.
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("reading the helper's answer: %v", err)
	}
	var pids map[string]int
	if err := json.Unmarshal(line, &pids); err != nil || len(pids) != 5 {
		t.Fatalf("the helper started %v (%v), want five components", pids, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	defer endStrays(pids)
	deadline := time.Now().Add(10 * time.Second)
	for name, pid := range pids {
		for runs(pid) {
			if time.Now().After(deadline) {
				t.Fatalf("%s (pid %d) outlived its killed parent", name, pid)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// endStrays keeps a failing test from leaving a cluster behind.
func endStrays(pids map[string]int) {
	for _, pid := range pids {
		if runs(pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// runs says whether a process exists and has not ended; one that nobody has waited for yet does not count.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}
