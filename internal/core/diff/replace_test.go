package diff_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/diff"
)

func TestReplacement(t *testing.T) {
	live := read(t, `
metadata:
  name: a
  resourceVersion: "7"
  labels: {theirs: x}
  finalizers: [ask]
  ownerReferences: [{uid: u}]
  managedFields:
  - {manager: argocd-controller, operation: Update, apiVersion: v1, fieldsV1: {f:data: {f:a: {}}}}
  - {manager: rival, operation: Update, apiVersion: v1, fieldsV1: {f:data: {f:theirs: {}}}}
  - {manager: argocd-controller, operation: Apply, apiVersion: v1, fieldsV1: {f:data: {f:b: {}}}}
data: {a: "1", b: "2", theirs: "3"}
status: {phase: x}
`)
	got := diff.Replacement(read(t, "metadata: {name: a, ownerReferences: [{uid: v}]}\ndata: {a: \"1\"}"), live, manager)
	want := read(t, `
metadata:
  name: a
  resourceVersion: "7"
  finalizers: [ask]
  ownerReferences: [{uid: v}]
  managedFields:
  - {manager: argocd-controller, operation: Update, apiVersion: v1, fieldsV1: {f:data: {f:a: {}, f:b: {}}}}
  - {manager: rival, operation: Update, apiVersion: v1, fieldsV1: {f:data: {f:theirs: {}}}}
data: {a: "1"}
status: {phase: x}
`)
	if d := cmp.Diff(want.Object, got.Object); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestJudgeReplaced(t *testing.T) {
	held := func(fields, data string) string {
		return "metadata: {managedFields: [{manager: argocd-controller, operation: Update, apiVersion: v1, fieldsV1: {f:data: {" +
			fields + "}}}]}\ndata: {" + data + "}"
	}
	cases := map[string]struct{ live, predicted, earlier, want string }{
		"equal":              {held("f:a: {}", "a: x"), held("f:a: {}", "a: x"), "", ""},
		"changed":            {held("f:a: {}", "a: z"), held("f:a: {}", "a: x"), "", "data.a: \"z\" -> \"x\"\n"},
		"dropped":            {held("f:a: {}, f:b: {}", "a: x, b: x"), held("f:a: {}", "a: x"), "", "data.b: \"x\" -> nothing\n"},
		"another's":          {held("f:a: {}", "a: x, b: x"), held("f:a: {}", "a: x"), "", ""},
		"an earlier one had": {held("f:a: {}", "a: x, b: x"), held("f:a: {}", "a: x"), "data: {a: x, b: x}", "data.b: \"x\" -> nothing\n"},
		"and it comes back":  {held("f:a: {}", "a: x, b: x"), held("f:a: {}", "a: x, b: x"), "data: {a: x, b: x}", ""},
		"nobody tracks":      {"data: {a: x, b: x}", "data: {a: x}", "", "data.b: \"x\" -> nothing\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := diff.JudgeReplaced(diff.Replacing{
				Desired: read(t, "data: {a: x}"), Live: read(t, c.live), Predicted: read(t, c.predicted), Earlier: read(t, c.earlier),
			}, manager)
			if d := cmp.Diff(c.want, show(t, got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
