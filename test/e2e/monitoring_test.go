package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/test/workshop"
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

// TestMonitoring: the rules and every query of the dashboard are taken by the real Prometheus, which scrapes a real towline, and
// the alert for a degraded application fires. `make monitoring` builds the programs and says where they are.
func TestMonitoring(t *testing.T) {
	programs := os.Getenv("TOWLINE_MONITORING")
	if programs == "" {
		t.Skip("the rules and the dashboard are not loaded in a real Prometheus here: it takes minutes to build. make monitoring builds and runs it")
	}
	f := setup(t)
	rules := filepath.Join(workshop.Root(), "config", "monitoring", "rules.yaml")
	out, err := exec.CommandContext(t.Context(), filepath.Join(programs, "promtool"), "check", "rules", "--lint=all", "--lint-fatal", rules).CombinedOutput()
	t.Logf("%s", out)
	f.must(err)

	f.must(f.git.Create("shop", map[string]string{"shop/broken.yaml": broken, "set/settings.yaml": settingsV1}))
	f.start("--listen", "127.0.0.1:0", "--insecure")
	p := f.prometheus(programs, rules)
	f.application("broken", "shop", "shop", automated)
	f.application("lost", "nowhere", "shop", automated)
	f.makeTraffic()
	f.await("broken", "degraded", func(app *v1alpha1.Application) bool { return app.Status.Health.Status == "Degraded" })
	f.refresh("broken")

	p.fires("ApplicationDegraded", "broken")
	p.fires("ApplicationUnknown", "lost")
	p.rulesWork()
	p.dashboardWorks()
}

// makeTraffic has an ApplicationSet made and the API asked, so that there is something to tell of them.
func (f *fixture) makeTraffic() {
	f.Helper()
	set := fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: fleet, namespace: %s}
spec:
  generators: [{list: {elements: [{name: one}]}}]
  template:
    metadata: {name: "fleet-{{name}}"}
    spec:
      project: default
      destination: {server: "https://kubernetes.default.svc", namespace: %s}
      source: {repoURL: %q, path: set, targetRevision: main}
`, f.control, f.dest, f.git.URL("shop"))
	if out, err := f.kubectlTry(set, "apply", "-f", "-"); err != nil {
		f.Fatalf("creating the set: %v\n%s", err, out)
	}
	at := ofPeople.FindStringSubmatch(f.log.String())
	if at == nil {
		f.Fatal("towline does not say where it serves the API")
	}
	login := strings.NewReader(`{"username": "admin", "password": "wrong"}`)
	req, err := http.NewRequestWithContext(f.Context(), http.MethodPost, "http://"+at[1]+"/api/v1/session", login)
	f.must(err)
	req.Header.Set("Content-Type", "application/json")
	r, err := http.DefaultClient.Do(req)
	f.must(err)
	f.must(r.Body.Close())
	if r.StatusCode != http.StatusUnauthorized {
		f.Errorf("a wrong password is answered with %s", r.Status)
	}
}

// prometheus is one that runs.
type prometheus struct {
	*fixture
	address string
}

// ask reads something by the API; an error is what Prometheus says is wrong with the question.
func (p *prometheus) ask(path string, query url.Values, into any) error {
	p.Helper()
	req, err := http.NewRequestWithContext(p.Context(), http.MethodGet, "http://"+p.address+"/api/v1/"+path+"?"+query.Encode(), nil)
	p.must(err)
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %w", r.Status, err)
	}
	if answer.Status != "success" {
		return errors.New(answer.Error)
	}
	return json.Unmarshal(answer.Data, into)
}

// fires waits for an alert about an application.
func (p *prometheus) fires(alert, app string) {
	p.Helper()
	eventually(p.T, "the alert "+alert, func() bool {
		var answer struct {
			Alerts []struct {
				Labels map[string]string
				State  string
			}
		}
		if p.ask("alerts", nil, &answer) != nil {
			return false
		}
		for _, a := range answer.Alerts {
			if a.Labels["alertname"] == alert && a.Labels["name"] == app && a.State == "firing" {
				p.Logf("it fires: %v", a.Labels)
				return true
			}
		}
		return false
	})
}

// rulesWork checks that each rule was evaluated, and well.
func (p *prometheus) rulesWork() {
	p.Helper()
	var answer struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	n := 0
	eventually(p.T, "the evaluation of every rule", func() bool {
		n = 0
		p.must(p.ask("rules", nil, &answer))
		for _, g := range answer.Groups {
			for _, r := range g.Rules {
				if r.Health == "unknown" {
					return false
				}
				if n++; r.Health != "ok" {
					p.Errorf("rule %s is %s: %s", r.Name, r.Health, r.LastError)
				}
			}
		}
		return true
	})
	if n < 10 {
		p.Errorf("Prometheus knows of %d rules", n)
	}
	p.Logf("%d rules are evaluated", n)
}

// metricName finds the metrics of a query.
var metricName = regexp.MustCompile(`\b(?:argocd|towline|workqueue|process)_[a-z0-9_]+\b`)

// dashboardWorks asks each query of the dashboard: all are understood, and those about something that towline tells of have
// an answer.
func (p *prometheus) dashboardWorks() {
	p.Helper()
	text, err := os.ReadFile(filepath.Join(workshop.Root(), "config", "monitoring", "dashboard.json"))
	p.must(err)
	queries, variables := dashboardQueries(p.T, text)
	told := map[string]bool{}
	for line := range strings.SplitSeq(p.scrape(), "\n") {
		told[metricName.FindString(line)] = !strings.HasPrefix(line, "#") || told[metricName.FindString(line)]
	}
	answered := 0
	var silent []string
	for _, query := range queries {
		// A query is about something that is told if all of its metrics are.
		is := !slices.ContainsFunc(metricName.FindAllString(query, -1), func(name string) bool { return !told[name] })
		series := 0
		ask := func() bool {
			var answer struct{ Result []json.RawMessage }
			if err := p.ask("query", url.Values{"query": {query}}, &answer); err != nil {
				p.Fatalf("Prometheus does not take %s: %v", query, err)
			}
			series = len(answer.Result)
			return series > 0
		}
		if is {
			eventually(p.T, query, ask)
		} else if !ask() {
			silent = append(silent, query)
			continue
		}
		answered++
	}
	for _, v := range variables {
		var values []string
		p.must(p.ask("label/"+v+"/values", url.Values{"match[]": {"argocd_app_info"}}, &values))
		if len(values) == 0 {
			p.Errorf("there is nothing to choose for $%s", v)
		}
	}
	p.Logf("%d of %d queries have an answer; of these nothing happened here:\n%s", answered, len(queries), strings.Join(silent, "\n"))
	if answered < 30 {
		p.Errorf("only %d queries of the dashboard have an answer", answered)
	}
}

// dashboardQueries are the queries of a dashboard as Grafana would send them, and the labels that its variables are made of.
func dashboardQueries(t *testing.T, text []byte) (queries, variables []string) {
	t.Helper()
	type panel struct {
		Targets []struct{ Expr string }
	}
	var board struct {
		Panels []struct {
			panel
			Panels []panel
		}
		Templating struct {
			List []struct {
				Name, Type string
				Query      any
			}
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	for _, v := range board.Templating.List {
		if v.Type == "query" {
			variables = append(variables, v.Name)
		}
	}
	fill := strings.NewReplacer("$__rate_interval", "1m", "$namespace", ".*", "$project", ".*")
	for _, p := range board.Panels {
		for _, one := range append([]panel{p.panel}, p.Panels...) {
			for _, target := range one.Targets {
				if target.Expr == "" {
					continue
				}
				query := fill.Replace(target.Expr)
				if strings.Contains(query, "$") {
					t.Errorf("%s has a variable that nothing is known of", query)
				}
				queries = append(queries, query)
			}
		}
	}
	return queries, variables
}

// prometheus runs one that scrapes towline with the rules. Nobody waits for minutes here, so the rules do not either.
func (f *fixture) prometheus(programs, rules string) *prometheus {
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
	port, err := workshop.Port(f.Context())
	f.must(err)
	address := "127.0.0.1:" + port
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "prometheus"), "--config.file="+filepath.Join(dir, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	var said lockedBuffer
	cmd.Stderr = &said
	cmd.SysProcAttr = workshop.Bound()
	f.must(cmd.Start())
	f.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
		if f.Failed() {
			f.Logf("prometheus says:\n%s", strings.TrimSpace(said.String()))
		}
	})
	return &prometheus{f, address}
}
