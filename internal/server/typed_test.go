package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/towline-cd/towline/internal/server"
)

func TestYAMLIsReadAsKubectlReadsIt(t *testing.T) {
	s := newServer(t, options(newWorld()))
	for name, c := range map[string]struct {
		text    string
		objects int
		problem string
	}{
		"an object":       {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {on: 'yes'}\n", 1, ""},
		"two":             {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n", 2, ""},
		"a tab":           {"apiVersion: v1\n\tkind: ConfigMap\n", 0, "line 2"},
		"a key twice":     {"apiVersion: v1\nkind: ConfigMap\nkind: Secret\nmetadata: {name: a}\n", 0, "kind"},
		"no object":       {"name: a\n", 0, "neither apiVersion nor kind"},
		"nothing":         {"", 0, ""},
		"many aliases":    {"a: &a [x,x,x,x,x,x,x,x,x]\n" + strings.Repeat("b: &b [*a,*a]\n", 2), 0, ""},
		"not even a list": {"- 1\n", 0, "not a mapping"},
	} {
		body, err := json.Marshal(server.TypedQuery{Text: c.text})
		if err != nil {
			t.Fatal(err)
		}
		w := ask(t, s.Handler(), http.MethodPost, "/api/v1/yaml", string(body), bearer("admin")...)
		var got server.Typed
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", name, w.Code, w.Body)
		}
		if len(got.Objects) != c.objects || !strings.Contains(got.Problem, c.problem) {
			t.Errorf("%s: %s", name, w.Body)
		}
	}
}

// TestADryRunOfAnApplicationWritesNothing, and says the same as the write would.
func TestADryRunOfAnApplicationWritesNothing(t *testing.T) {
	d := &desk{world: newWorld()}
	h := writable(t, d, nil).Handler()
	do := func(method, path, body string) int {
		return ask(t, h, method, path, body, bearer("admin")...).Code
	}
	fresh := `{"metadata":{"name":"new"},"spec":` + spec("web") + `}`
	there := `{"metadata":{"name":"shop"},"spec":` + spec("bank") + `}`
	before := len(d.apps)
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/api/v1/applications?dryRun=true", fresh},
		{"POST", "/api/v1/applications?dryRun=true&upsert=true", there},
		{"PUT", "/api/v1/applications/shop?dryRun=true", there},
	} {
		d.problems = nil
		if code := do(c.method, c.path, c.body); code != http.StatusOK {
			t.Errorf("%s %s: %d", c.method, c.path, code)
		}
		d.problems = []string{"no such cluster"}
		if code := do(c.method, c.path, c.body); code != http.StatusBadRequest {
			t.Errorf("%s %s: %d for what would be refused", c.method, c.path, code)
		}
	}
	if len(d.apps) != before || d.apps[0].Spec.Project != "web" {
		t.Error("it was written")
	}
}
