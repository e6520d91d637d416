package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// broken never becomes ready: there is no such node.
const broken = `apiVersion: apps/v1
kind: Deployment
metadata: {name: broken}
spec:
  replicas: 1
  progressDeadlineSeconds: 1
  selector: {matchLabels: {app: broken}}
  template:
    metadata: {labels: {app: broken}}
    spec:
      nodeSelector: {"example.com/nowhere": "true"}
      containers:
      - {name: broken, image: "example.com/broken:1"}
`

// TestMonitoring: the rules are taken by the real Prometheus, which scrapes a real towline, and the alert for a degraded
// application fires. `make monitoring` builds the programs and says where they are.
func TestMonitoring(t *testing.T) {
	programs := os.Getenv("TOWLINE_MONITORING")
	if programs == "" {
		t.Skip("make monitoring runs it: the programs take long to build")
	}
	f := setup(t)
	rules := filepath.Join(repoRoot(), "config", "monitoring", "rules.yaml")
	out, err := exec.CommandContext(t.Context(), filepath.Join(programs, "promtool"), "check", "rules", "--lint=all", "--lint-fatal", rules).CombinedOutput()
	t.Logf("%s", out)
	f.must(err)

	f.must(f.git.Create("shop", map[string]string{"shop/broken.yaml": broken}))
	f.start()
	f.application("broken", "shop", "shop", automated)
	f.await("broken", "degraded", func(app *v1alpha1.Application) bool { return app.Status.Health.Status == "Degraded" })

	address := f.prometheus(programs, rules)
	eventually(t, "the alert", func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/api/v1/alerts", nil)
		f.must(err)
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		defer r.Body.Close()
		var answer struct {
			Data struct {
				Alerts []struct {
					Labels map[string]string
					State  string
				}
			}
		}
		f.must(json.NewDecoder(r.Body).Decode(&answer))
		for _, a := range answer.Data.Alerts {
			if a.Labels["alertname"] == "ApplicationDegraded" && a.Labels["name"] == "broken" && a.State == "firing" {
				t.Logf("it fires: %v", a.Labels)
				return true
			}
		}
		return false
	})
}

// prometheus runs one that scrapes towline with the rules, and says where it is. Nobody waits for minutes here, so the
// rules do not either.
func (f *fixture) prometheus(programs, rules string) string {
	f.Helper()
	where := regexp.MustCompile(`msg="serving metrics" address=(\S+)`).FindStringSubmatch(f.log.String())
	if where == nil {
		f.Fatal("towline did not say where it serves metrics")
	}
	text, err := os.ReadFile(rules)
	f.must(err)
	dir := f.TempDir()
	quick := regexp.MustCompile(`(?m)^    for: .*$`).ReplaceAll(text, []byte("    for: 1s"))
	if bytes.Equal(quick, text) {
		f.Fatal("no rule waits: this test looks for the wrong words")
	}
	f.must(os.WriteFile(filepath.Join(dir, "rules.yaml"), quick, 0o600))
	f.must(os.WriteFile(filepath.Join(dir, "prometheus.yaml"), []byte(fmt.Sprintf(`global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
scrape_configs:
- job_name: towline
  static_configs: [{targets: [%q]}]
`, where[1])), 0o600))
	var lc net.ListenConfig
	l, err := lc.Listen(f.Context(), "tcp", "127.0.0.1:0")
	f.must(err)
	address := l.Addr().String()
	f.must(l.Close())
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "prometheus"), "--config.file="+filepath.Join(dir, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	var said lockedBuffer
	cmd.Stderr = &said
	cmd.SysProcAttr = dieWithParent()
	f.must(cmd.Start())
	f.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
		if f.Failed() {
			f.Logf("prometheus says:\n%s", strings.TrimSpace(said.String()))
		}
	})
	return address
}
