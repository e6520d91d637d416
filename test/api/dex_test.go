package api_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/towline-cd/towline/test/workshop"
)

// freePort is a port that nobody has now.
func (s *stage) freePort() string {
	s.Helper()
	port, err := workshop.Port(s.Context())
	s.must(err)
	return port
}

// withDex has people sign in by a Dex that runs beside, which gets its configuration from us. It knows two ways: one that
// lets everybody in as somebody of the group "authors", and one with a password, whose people are in no group.
func (s *stage) withDex(lasts string) {
	s.Helper()
	program, err := workshop.Dex()
	if err != nil {
		s.Skipf("Dex cannot be built here: %v", err)
	}
	port := s.freePort()
	s.apply(fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, namespace: %[1]s}
data:
  installationID: %[1]s
  accounts.dev: login, apiKey
  url: %[2]s
  dex.config: |
    web: {http: "127.0.0.1:%[3]s"}
    expiry: {idTokens: %[4]s}
    connectors:
    - {type: mockCallback, id: mock, name: Mock}
    - {type: mockPassword, id: stranger, name: Stranger, config: {username: stranger, password: $dex-logins:stranger}}
---
apiVersion: v1
kind: Secret
metadata: {name: dex-logins, namespace: %[1]s, labels: {app.kubernetes.io/part-of: argocd}}
stringData: {stranger: open-sesame}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cmd-params-cm, namespace: %[1]s}
data: {server.dex.server: "http://127.0.0.1:%[3]s"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-rbac-cm, namespace: %[1]s}
data:
  policy.csv: |
    p, role:web, applications, get, web/*, allow
    p, role:web, projects, get, web, allow
    g, authors, role:web
`, s.control, s.base, port, lasts))
	cmd := exec.CommandContext(s.Context(), binary, "admin", "dex", "config", "--namespace", s.control, "--kubeconfig", s.plane.Kubeconfig())
	text, err := cmd.Output()
	s.must(err)
	if !strings.Contains(string(text), "open-sesame") {
		s.Fatalf("the configuration of Dex has references in it:\n%s", text)
	}
	file := filepath.Join(s.TempDir(), "dex.yaml")
	s.must(os.WriteFile(file, text, 0o600))
	log := &journal{lines: make(chan struct{})}
	dex := exec.CommandContext(context.Background(), program, file)
	dex.Stderr, dex.SysProcAttr = log, workshop.Bound()
	s.must(dex.Start())
	s.Cleanup(func() {
		_ = dex.Process.Signal(os.Interrupt)
		if err := dex.Wait(); err != nil || s.Failed() {
			s.Logf("Dex ended with %v:\n%s", err, log)
		}
	})
	log.await(s.T, regexp.MustCompile(`msg=listening address=(\S+)`))
	s.knowsProvider()
}

// knowsProvider waits until the server tells of its login provider.
func (s *stage) knowsProvider() {
	s.Helper()
	eventually(s.T, "the server knows of Dex", func() bool {
		_, body := s.ask("GET", "/api/v1/settings", "", "")
		return strings.Contains(string(body), `"dexConfig":{"connectors":[{"name":"Mock","type":"mockCallback"}`)
	})
}
