package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/internal/cli"
	corehealth "github.com/towline-cd/towline/internal/core/health"
)

// echo judges an object by its own status.health, and remembers its rules.
type echo struct{ rules cli.HealthRules }

func (e *echo) Judge(objects []*unstructured.Unstructured) []cli.Judged {
	out := make([]cli.Judged, len(objects))
	for i, u := range objects {
		status, _, _ := unstructured.NestedString(u.Object, "status", "health")
		out[i] = cli.Judged{Health: corehealth.Health{Status: corehealth.Status(status), Message: "of " + u.GetName()}, Rule: "echo"}
	}
	return out
}

func (e *echo) Problems() []string {
	if e.rules.Settings["broken"] != "" {
		return []string{"argocd-cm broken: it is"}
	}
	return nil
}

func (*echo) Close() {}

// files are what the command can read.
type files map[string]string

func (f files) run(t *testing.T, args ...string) (answer, cli.HealthRules) {
	t.Helper()
	var out, errs bytes.Buffer
	judge := &echo{}
	env := &cli.Env{
		In: strings.NewReader(f["-"]), Out: &out, Err: &errs, Getenv: func(string) string { return "" },
		ReadFile: func(name string) ([]byte, error) {
			text, ok := f[name]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		},
		Judge: func(rules cli.HealthRules) (cli.Judge, error) {
			judge.rules = rules
			if rules.Script == "bad" {
				return nil, errors.New("bad.lua: it does not compile")
			}
			return judge, nil
		},
	}
	cmd := cli.NewHealth(env)
	cmd.SetArgs(args)
	code := cli.Report(env, cmd.ExecuteContext(t.Context()))
	return answer{out: out.String(), err: errs.String(), code: code}, judge.rules
}

func thing(name, status string) string {
	return fmt.Sprintf("apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: %s}\nstatus: {health: %q}\n", name, status)
}

func TestHealth(t *testing.T) {
	f := files{
		"things.yaml": thing("a", "Healthy") + "---\n" + thing("b", ""),
		"-":           thing("c", "Degraded"),
		"empty.yaml":  "# nothing",
		"bad.lua":     "bad",
		"good.lua":    "return {}",
		"cm.yaml":     "kind: ConfigMap\ndata: {broken: x}",
		"values.yaml": "configs: {cm: {key: text, flag: true}}",
		"other.yaml":  "a: b",
		"cases/cases.yaml": "tests:\n- {inputPath: one.yaml, healthStatus: {status: Healthy}}\n" +
			"- {name: by word, inputPath: one.yaml, healthStatus: {status: Healthy, message: of one}}\n" +
			"- {name: inline, object: {kind: Thing, metadata: {name: x}}, healthStatus: {status: ''}}\n",
		"cases/one.yaml":  thing("one", "Healthy"),
		"failing.yaml":    "tests:\n- {name: other, object: {kind: Thing, metadata: {name: x}}, healthStatus: {status: Healthy, message: m}}\n",
		"misspelled.yaml": "tests:\n- {name: no, object: {}, health: {}}\n",
	}
	for name, c := range map[string]struct {
		args     string
		out, err string
		code     int
	}{
		"objects of files and the input": {
			args: "-f things.yaml -f -",
			out: "OBJECT                HEALTH     RULE   MESSAGE\nThing.example.com a   Healthy    echo   of a\n" +
				"Thing.example.com b   none       echo   of b\nThing.example.com c   Degraded   echo   of c\n",
		},
		"for programs": {
			args: "-f - -o yaml",
			out:  "- group: example.com\n  kind: Thing\n  message: of c\n  name: c\n  rule: echo\n  status: Degraded\n",
		},
		"a setting that cannot be used": {args: "-f - --settings cm.yaml -o yaml", err: "warning: argocd-cm broken: it is\n", out: "- group"},
		"cases that pass": {
			args: "--test cases/cases.yaml",
			out: "RESULT   CASE       WANT              GOT\npass     one.yaml   Healthy           Healthy: of one\n" +
				"pass     by word    Healthy: of one   Healthy: of one\npass     inline     none              none: of x\n",
		},
		"a case that fails": {
			args: "--test failing.yaml", code: 1, err: "1 of 1 cases failed\n",
			out: "RESULT   CASE    WANT         GOT\nFAIL     other   Healthy: m   none: of x\n",
		},
		"a case with a slip":         {args: "--test misspelled.yaml", code: 20, err: "unknown field"},
		"no file":                    {args: "-f nowhere.yaml", code: 20, err: `reading "nowhere.yaml"`},
		"no object":                  {args: "-f empty.yaml", code: 20, err: "holds no object"},
		"a script that is wrong":     {args: "-f - --script bad.lua", code: 20, err: "does not compile"},
		"no settings in it":          {args: "-f - --settings other.yaml", code: 20, err: "neither data"},
		"nothing to judge":           {args: "--script good.lua", code: 2, err: "-f FILE"},
		"two sources of rules":       {args: "-f - --script good.lua --settings cm.yaml", code: 2, err: "not both"},
		"two sources of objects":     {args: "-f - --test failing.yaml", code: 2, err: "not both"},
		"libraries without a script": {args: "-f - --open-libs", code: 2, err: "--script"},
		"an unknown form":            {args: "-f - -o wide", code: 2, err: `"wide"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := f.run(t, strings.Fields(c.args)...)
			if got.code != c.code || !strings.Contains(got.err, c.err) || !strings.HasPrefix(got.out, c.out) {
				t.Errorf("got %d\n%s%s", got.code, got.out, got.err)
			}
		})
	}
	if _, rules := f.run(t, "-f", "-", "--settings", "values.yaml"); rules.Settings["key"] != "text" || rules.Settings["flag"] != "true" {
		t.Errorf("the Helm values became %v", rules.Settings)
	}
	if _, rules := f.run(t, "-f", "-", "--script", "good.lua", "--open-libs"); rules.Script != "return {}" || rules.Name != "good.lua" || !rules.OpenLibs {
		t.Errorf("the script became %+v", rules)
	}
}
