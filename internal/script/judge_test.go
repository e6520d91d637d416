package script_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/internal/core/health"
	"github.com/towline-cd/towline/internal/script"
)

// childHealth is what people put into argocd-cm to make the waves of an
// app-of-apps wait for the applications in them.
const childHealth = `
hs = {}
hs.status = "Progressing"
hs.message = ""
if obj.status ~= nil then
  if obj.status.health ~= nil then
    hs.status = obj.status.health.status
    if obj.status.health.message ~= nil then
      hs.message = obj.status.health.message
    end
  end
end
return hs
`

// phaseHealth is the shape of a check for a custom resource with a phase. An
// object without a status gets an empty table.
const phaseHealth = `
health_status = {}
if obj.status ~= nil then
  if obj.status.phase == "Running" then
    health_status.status = "Healthy"
    health_status.message = "It runs"
  elseif obj.status.phase == "Failed" then
    health_status.status = "Degraded"
    health_status.message = obj.status.message
  else
    health_status.status = "Progressing"
    health_status.message = "It starts"
  end
end
return health_status
`

func newHost(t *testing.T) *script.Host {
	t.Helper()
	h := script.NewHost(script.HostOptions{Command: []string{os.Args[0], "script-worker"}})
	t.Cleanup(h.Close)
	return h
}

func thing(status map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "x"},
	}}
	if status != nil {
		u.Object["status"] = status
	}
	return u
}

func TestHealth(t *testing.T) {
	h := newHost(t)
	none := health.Health{Message: "its health script says nothing yet"}
	for name, c := range map[string]struct {
		source string
		status map[string]any
		want   health.Health
	}{
		"a child without a status":  {childHealth, nil, health.Health{Status: health.Progressing}},
		"a child without health":    {childHealth, map[string]any{"sync": "x"}, health.Health{Status: health.Progressing}},
		"a healthy child":           {childHealth, map[string]any{"health": map[string]any{"status": "Healthy"}}, health.Health{Status: health.Healthy}},
		"a degraded child":          {childHealth, map[string]any{"health": map[string]any{"status": "Degraded", "message": "no"}}, health.Health{Status: health.Degraded, Message: "no"}},
		"a child with odd health":   {childHealth, map[string]any{"health": map[string]any{"message": "?"}}, health.Health{Status: health.Unknown, Message: `argocd-cm key: it returns the status "<nil>", which is none of Healthy, Suspended, Progressing, Missing, Degraded, Unknown`}},
		"no phase":                  {phaseHealth, nil, none},
		"a phase":                   {phaseHealth, map[string]any{"phase": "Running"}, health.Health{Status: health.Healthy, Message: "It runs"}},
		"a failed phase":            {phaseHealth, map[string]any{"phase": "Failed", "message": "m"}, health.Health{Status: health.Degraded, Message: "m"}},
		"a failed phase in silence": {phaseHealth, map[string]any{"phase": "Failed"}, health.Health{Status: health.Degraded}},
		"another phase":             {phaseHealth, map[string]any{"phase": "New"}, health.Health{Status: health.Progressing, Message: "It starts"}},
		"nothing":                   {``, nil, none},
		"an unknown status":         {`return {status = "Fine"}`, nil, health.Health{Status: health.Unknown, Message: `argocd-cm key: it returns the status "Fine", which is none of Healthy, Suspended, Progressing, Missing, Degraded, Unknown`}},
		"a text":                    {`return "Healthy"`, nil, health.Health{Status: health.Unknown, Message: `argocd-cm key: it returns "Healthy"; return a table with status and message`}},
		"a list":                    {`return {"Healthy"}`, nil, health.Health{Status: health.Unknown, Message: "argocd-cm key: it returns a list; return a table with status and message"}},
		"no message that is a text": {`return {status = "Healthy", message = {}}`, nil, health.Health{Status: health.Healthy}},
		"missing":                   {`return {status = "Missing"}`, nil, health.Health{Status: health.Missing}},
		"an error":                  {"\nerror('no')", nil, health.Health{Status: health.Unknown, Message: "argocd-cm key: line 2: no"}},
		"no Lua":                    {"\n\nreturn = 1", nil, health.Health{Status: health.Unknown, Message: `argocd-cm key: it does not compile: line 3, near "=": syntax error`}},
		"the whole time":            {`while true do end`, nil, health.Health{Status: health.Unknown, Message: "argocd-cm key: it was stopped at its time limit of 100ms"}},
		"no string library":         {`return {status = string.upper("healthy")}`, nil, health.Health{Status: health.Unknown, Message: "argocd-cm key: line 1: attempt to index a non-table object(nil) with key 'upper'"}},
	} {
		t.Run(name, func(t *testing.T) {
			j := script.NewJudge(h)
			j.Set([]script.Rule{{Kind: "example.com/Thing", Script: script.Script{Origin: "argocd-cm key", Source: c.source}}})
			c.want.Source = health.FromScript
			got := j.Health([]*unstructured.Unstructured{thing(c.status)})
			if d := cmp.Diff([]health.Health{c.want}, got); d != "" {
				t.Errorf("the health differs (-want +got):\n%s", d)
			}
		})
	}
}

func TestDeletionComesFirst(t *testing.T) {
	j := script.NewJudge(newHost(t))
	j.Set([]script.Rule{{Kind: "example.com/Thing", Script: script.Script{Source: `return {status = "Healthy"}`}}})
	going, hook := thing(nil), thing(nil)
	for _, u := range []*unstructured.Unstructured{going, hook} {
		u.Object["metadata"].(map[string]any)["deletionTimestamp"] = "2020-01-01T00:00:00Z"
	}
	hook.SetFinalizers([]string{health.HookFinalizer})
	got := j.Health([]*unstructured.Unstructured{thing(nil), going, hook})
	judged := health.Health{Status: health.Healthy, Source: health.FromScript}
	want := []health.Health{judged, {Status: health.Progressing, Message: "Pending deletion"}, judged}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the health differs (-want +got):\n%s", d)
	}
}

// recorder answers with the name of the script.
type recorder struct{ runs int }

func (r *recorder) Run(s script.Script, runs []map[string]any) []script.Result {
	r.runs += len(runs)
	out := make([]script.Result, len(runs))
	for i := range out {
		out[i].Value = map[string]any{"status": "Healthy", "message": s.Origin}
	}
	return out
}

func TestWhichScript(t *testing.T) {
	rule := func(kind string) script.Rule { return script.Rule{Kind: kind, Script: script.Script{Origin: kind}} }
	j := script.NewJudge(&recorder{})
	j.Set([]script.Rule{
		rule("*"), rule("*.example.com/*"), rule("*/Thing"), rule("a.example.com/Thing"), rule("Service"), rule("[broken*"),
	})
	for kind, want := range map[schema.GroupKind]string{
		{Group: "a.example.com", Kind: "Thing"}: "a.example.com/Thing",
		{Group: "a.example.com", Kind: "Other"}: "*.example.com/*",
		{Group: "b.example.com", Kind: "Thing"}: "*.example.com/*",
		{Group: "other.org", Kind: "Thing"}:     "*/Thing",
		{Kind: "Service"}:                       "Service",
		{Kind: "Pod"}:                           "*",
	} {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetGroupVersionKind(kind.WithVersion("v1"))
		if got := j.Health([]*unstructured.Unstructured{u})[0].Message; got != want {
			t.Errorf("%s is judged by %q, want %q", kind, got, want)
		}
	}
}

// TestWhatMoves: only the kinds whose script changed are to be judged again.
func TestWhatMoves(t *testing.T) {
	rule := func(kind, source string) script.Rule {
		return script.Rule{Kind: kind, Script: script.Script{Source: source}}
	}
	j := script.NewJudge(&recorder{})
	j.Set([]script.Rule{rule("a/A", "1"), rule("b/B", "1"), rule("c/*", "1")})
	moved := j.Set([]script.Rule{rule("a/A", "1"), rule("b/B", "2"), rule("c/C", "1"), rule("d/D", "1")})
	var got []string
	for _, k := range []string{"A.a", "B.b", "C.c", "X.c", "D.d", "E.e"} {
		if moved(schema.ParseGroupKind(k)) {
			got = append(got, k)
		}
	}
	if want := "B.b X.c D.d"; strings.Join(got, " ") != want {
		t.Errorf("moved: %v, want %s", got, want)
	}
}

func TestAKindWithoutAScriptIsJudgedByItself(t *testing.T) {
	r := &recorder{}
	j := script.NewJudge(r)
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": map[string]any{"phase": "Bound"},
	}}
	if got := j.Health([]*unstructured.Unstructured{u})[0]; got.Status != health.Healthy || r.runs != 0 || j.Scripted(schema.GroupKind{Kind: "Pod"}) {
		t.Errorf("got %+v after %d runs", got, r.runs)
	}
}

// TestAnObjectThatCannotTravel: it is Unknown, and those beside it are not.
func TestAnObjectThatCannotTravel(t *testing.T) {
	deep := map[string]any{}
	for range 1200 {
		deep = map[string]any{"a": deep}
	}
	runs := []map[string]any{
		{"obj": map[string]any{"n": int64(1)}},
		{"obj": map[string]any{"odd": struct{}{}}},
		{"obj": deep},
		{"obj": map[string]any{"text": strings.Repeat("x", 7<<20)}},
		{"obj": map[string]any{"n": int64(2)}},
	}
	got := newHost(t).Run(script.Script{Origin: "key", Source: `return obj.n`}, runs)
	for i, want := range []string{"", "no JSON", "nested deeper", "more than", ""} {
		if want == "" && got[i].Problem != "" || want != "" && !strings.Contains(got[i].Problem, want) {
			t.Errorf("object %d got %+v", i, got[i])
		}
	}
	if got[0].Value != int64(1) || got[4].Value != int64(2) {
		t.Errorf("got %v and %v", got[0].Value, got[4].Value)
	}
}
