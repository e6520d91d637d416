package e2e_test

import (
	"strings"
	"testing"
)

const permissions = `
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-rbac-cm}
data:
  policy.default: role:readonly
  policy.csv: |
    p, role:dev, applications, sync, shop/*, allow
    p, role:dev, applications, sync, shop/live, deny
  policy.teams.csv: |
    g, devs, role:dev
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: shop}
spec:
  roles:
  - name: ci
    policies: ["p, proj:shop:ci, applications, delete, shop/*, allow"]
    groups: [robots]
`

// TestRBACCommands: who may do what is asked of the config map and the projects
// of the real server, and the exit code is the answer.
func TestRBACCommands(t *testing.T) {
	f := setup(t)
	towline := func(code int, words string) (string, string) {
		t.Helper()
		return f.typed(code, nil, append(strings.Fields(words), "--kubeconfig", f.plane.Kubeconfig(), "-n", f.control)...)
	}
	// Before anything is said the account admin may do everything, and others nothing.
	towline(0, "admin rbac can admin sync app shop/web")
	out, _ := towline(1, "admin rbac can bob get app shop/web --explain")
	f.wants(out, "No", "no line lets bob get applications shop/web")
	_, errOut := towline(20, "admin rbac validate")
	f.wants(errOut, "nothing to check")

	if out, err := f.kubectlTry(permissions, "-n", f.control, "apply", "-f", "-"); err != nil {
		t.Fatalf("writing the permissions: %v\n%s", err, out)
	}
	out, _ = towline(0, "admin rbac validate")
	f.wants(out, "Policy is valid.")
	out, _ = towline(0, "admin settings rbac can bob sync applications shop/web --group devs --explain")
	f.wants(out, "Yes\npolicy.csv line 1: p, role:dev, applications, sync, shop/*, allow\n", "bob has that role: devs > role:dev")
	out, _ = towline(1, "admin rbac can bob sync app shop/live --group devs --explain")
	f.wants(out, "No\npolicy.csv line 2:")
	out, _ = towline(0, "admin rbac can bob get app shop/live --explain")
	f.wants(out, "built-in line", "everybody has that role by policy.default")
	out, _ = towline(0, "admin rbac can proj:shop:ci delete app shop/web --explain")
	f.wants(out, "project shop, role ci line 1:")
	towline(0, "admin rbac can jane delete app shop/web --group robots")
	towline(1, "admin rbac can proj:shop:ci delete app other/web")
	_, errOut = towline(2, "admin rbac can bob fly app shop/web")
	f.wants(errOut, `applications cannot be asked for "fly"`)
}
