package rbac_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/rbac"
	"github.com/towline-cd/towline/test/story"
)

// Each file is a story: given the keys of argocd-rbac-cm (each a part by its name) and projects (the part "projects", a
// document each), when somebody asks, then this is the answer, the line that decided and why. A question is
//
//	SUBJECT[+GROUP...] ACTION RESOURCE OBJECT
//
// with "-" for somebody who is not signed in. The part "inherit" stands for the setting of that name.
func TestDecide(t *testing.T) {
	story.Play(t, "testdata/decide/*.txtar", func(t *testing.T, part map[string][]byte) string {
		rights, problems := given(t, part)
		var out strings.Builder
		for _, p := range problems {
			kind := "problem"
			if p.Hint {
				kind = "hint"
			}
			fmt.Fprintf(&out, "%s: %s\n", kind, p)
		}
		for line := range strings.Lines(string(part["when"])) {
			words := strings.Fields(line)
			if len(words) == 0 {
				continue
			}
			who, q := asked(t, words)
			v := rights.Decide(who, q)
			fmt.Fprintf(&out, "%s\n", strings.Join(words, " "))
			fmt.Fprintf(&out, "    %s: %s\n", map[bool]string{true: "yes", false: "no"}[v.Allowed], v.Why)
			if v.Line.Text != "" {
				fmt.Fprintf(&out, "    | %s\n", v.Line.Text)
			}
			if many := rights.Allowing(who, q.Resource, q.Action)(q.Object); many != v.Allowed {
				t.Errorf("%s: asked one by one it is %t, asked for many %t", line, v.Allowed, many)
			}
		}
		return out.String()
	})
}

func given(t *testing.T, part map[string][]byte) (*rbac.Rights, []rbac.Problem) {
	t.Helper()
	data := map[string]string{}
	var projects []*v1alpha1.AppProject
	for name, text := range part {
		switch name {
		case "when", "then", "inherit":
		case "projects":
			for document := range bytes.SplitSeq(text, []byte("---\n")) {
				p := &v1alpha1.AppProject{}
				if err := yaml.UnmarshalStrict(document, p); err != nil {
					t.Fatal(err)
				}
				projects = append(projects, p)
			}
		case v1alpha1.KeyPolicyDefault, v1alpha1.KeyPolicyMatchMode, v1alpha1.KeyPolicyScopes:
			data[name] = strings.TrimSpace(string(text))
		default:
			data[name] = string(text)
		}
	}
	config, problems := rbac.Read(data)
	_, config.Inherit = part["inherit"]
	table, bad := rbac.Compile(config)
	rights, worse := rbac.NewRights(table).With(projects...)
	return rights, append(append(problems, bad...), worse...)
}

func asked(t *testing.T, words []string) (rbac.Subject, rbac.Question) {
	t.Helper()
	if len(words) != 4 {
		t.Fatalf("%q is not SUBJECT ACTION RESOURCE OBJECT", words)
	}
	names := strings.Split(words[0], "+")
	if names[0] == "-" {
		names[0] = ""
	}
	return rbac.Subject{Name: names[0], Groups: names[1:]}, rbac.Question{Action: words[1], Resource: words[2], Object: words[3]}
}
