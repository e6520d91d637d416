package object_test

import (
	"strings"
	"testing"

	"github.com/towline-cd/towline/internal/core/object"
)

func TestScrub(t *testing.T) {
	const canary = "hunter2-canary"
	tests := map[string]struct{ file, text string }{
		"plain":                 {"kind: Secret\nstringData:\n  password: hunter2-canary\n", "cannot read hunter2-canary"},
		"in quotes":             {"kind: Secret\nstringData:\n  password: \"hunter2-canary\"\n", `line 3: "hunter2-canary" is wrong`},
		"with a comment":        {"kind: Secret\nstringData:\n  password: hunter2-canary # mine\n", "cannot read hunter2-canary"},
		"encoded":               {"kind: Secret\ndata:\n  password: aHVudGVyMi1jYW5hcnk=\n", "illegal base64: aHVudGVyMi1jYW5hcnk= is hunter2-canary"},
		"told encoded":          {"kind: Secret\nstringData:\n  password: hunter2-canary\n", "bad aHVudGVyMi1jYW5hcnk="},
		"the beginning":         {"kind: Secret\nstringData:\n  password: hunter2-canary\n", "cannot unmarshal !!str `hunter2...` into int"},
		"not indented":          {"kind: Secret\nstringData:\npassword: hunter2-canary\n", "bad hunter2-canary"},
		"by tabs":               {"kind: Secret\nstringData:\n\tpassword: hunter2-canary\n", "bad hunter2-canary"},
		"a block":               {"kind: Secret\nstringData:\n  password: |\n    hunter2-canary\n", "bad hunter2-canary"},
		"flow":                  {"{kind: Secret, stringData: {a: b, password: hunter2-canary}}", "bad hunter2-canary"},
		"flow over lines":       {"kind: Secret\nstringData: {\n  password: hunter2-canary\n", "bad hunter2-canary"},
		"JSON":                  {`{"kind":"Secret","stringData":{"password":"hunter2-canary"`, "bad hunter2-canary"},
		"data before the kind":  {"stringData:\n  password: hunter2-canary\nkind: Secret\n", "bad hunter2-canary"},
		"jsonnet":               {"{\n  kind: 'Secret',\n  stringData: {\n    password: 'hunter2-canary',\n  },\n}", "RUNTIME ERROR: hunter2-canary"},
		"a colon in the value":  {"kind: Secret\nstringData:\n  url: user:hunter2-canary\n", "bad user:hunter2-canary"},
		"an item of a list":     {"kind: List\nitems:\n- kind: Secret\n  stringData:\n    password: hunter2-canary\n", "bad hunter2-canary"},
		"another document next": {"kind: Secret\nstringData:\n  password: hunter2-canary\n---\nkind: ConfigMap\n", "bad hunter2-canary"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := object.Scrub(tc.text, []byte(tc.file))
			for _, secret := range []string{canary, "hunter2", "aHVudGVyMi1jYW5hcnk="} {
				if strings.Contains(got, secret) {
					t.Errorf("Scrub = %q", got)
				}
			}
			if !strings.Contains(got, object.Masked) {
				t.Errorf("Scrub = %q has no mask", got)
			}
		})
	}
}

func TestScrubLeavesOthers(t *testing.T) {
	tests := map[string]struct{ file, text string }{
		"no Secret":        {"kind: ConfigMap\ndata:\n  mode: production\n", "mode production is wrong"},
		"the type of it":   {"kind: Secret\nstringData:\n  a: hunter2-canary\ntype: kubernetes.io/tls\n", "kubernetes.io/tls is wrong"},
		"short values":     {"kind: Secret\nstringData:\n  port: \"80\"\n", "line 80: bad"},
		"the words around": {"kind: Secret\nmetadata:\n  name: login\nstringData:\n  a: hunter2-canary\n", `parsing "login.yaml": line 3`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := object.Scrub(tc.text, []byte(tc.file)); got != tc.text {
				t.Errorf("Scrub = %q", got)
			}
		})
	}
}
