package diff_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/test/story"
)

// TestCompare runs the data files: given a live object and the server's answer
// to a dry-run (given/predicted), then these are the fields that differ. Values
// are JSON, so that text and numbers can be told apart; a field that is not
// there is "nothing".
func TestCompare(t *testing.T) {
	story.Play(t, "testdata/*.txtar", func(t *testing.T, part map[string][]byte) string {
		live, predicted := parse(t, part["given/live"]), parse(t, part["given/predicted"])
		liveBefore, predictedBefore := live.DeepCopy(), predicted.DeepCopy()
		got := show(t, diff.Compare(live, predicted))
		if d := cmp.Diff(liveBefore, live) + cmp.Diff(predictedBefore, predicted); d != "" {
			t.Errorf("comparing changed its input:\n%s", d)
		}
		return got
	})
}

func parse(t *testing.T, data []byte) *unstructured.Unstructured {
	t.Helper()
	objects, err := manifest.Parse("given.yaml", data)
	if err != nil || len(objects) != 1 {
		t.Fatalf("a section has %d objects, %v", len(objects), err)
	}
	return objects[0]
}

func show(t testing.TB, changes []diff.Change) string {
	t.Helper()
	text := func(v any) string {
		if v == nil {
			return "nothing"
		}
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%s: %s -> %s\n", c.Path, text(c.Live), text(c.Desired))
	}
	return b.String()
}

const (
	plain = "correct horse battery"
	other = "staple of the secret"
)

// TestNoSecretLeaves changes a Secret in every way there is and looks for the
// values, plain and in base64, in all that comes out.
func TestNoSecretLeaves(t *testing.T) {
	code := base64.StdEncoding.EncodeToString
	bare := func() map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "db"}}
	}
	with := func(fields map[string]any) map[string]any {
		out := bare()
		maps.Copy(out, fields)
		return out
	}
	annotated := func(annotations map[string]any) map[string]any {
		out := bare()
		out["metadata"] = map[string]any{"name": "db", "annotations": annotations}
		return out
	}
	const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
	config := func(v string) string { return `{"data":{"password":"` + code([]byte(v)) + `"}}` }
	one, two := code([]byte(plain)), code([]byte(other))
	data := func(kv ...string) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return map[string]any{"data": m}
	}
	cases := map[string][2]map[string]any{
		"changed":                       {with(data("password", one)), with(data("password", two))},
		"added":                         {with(data("x", "eA==")), with(data("x", "eA==", "password", two))},
		"removed":                       {with(data("x", "eA==", "password", one)), with(data("x", "eA=="))},
		"a key with dots":               {with(data("db.password", one)), with(data("db.password", two))},
		"a key with a bracket":          {with(data("[0].x", one)), with(data("[0].x", two))},
		"an empty key":                  {with(data("", one)), with(data("", two))},
		"the whole map came":            {bare(), with(data("password", two))},
		"the whole map went":            {with(data("password", one)), bare()},
		"the map became something else": {with(data("password", one)), with(map[string]any{"data": two})},
		"a list of values":              {with(map[string]any{"data": []any{one}}), with(map[string]any{"data": []any{two}})},
		"stringData":                    {with(map[string]any{"stringData": map[string]any{"p": plain}}), with(map[string]any{"stringData": map[string]any{"p": other}})},
		"all stringData":                {bare(), with(map[string]any{"stringData": map[string]any{"p": other}})},
		"the last-applied record":       {annotated(map[string]any{lastApplied: config(plain)}), annotated(map[string]any{lastApplied: config(other)})},
		"the last-applied record went":  {annotated(map[string]any{lastApplied: config(plain), "x": "y"}), annotated(map[string]any{"x": "y"})},
		"all annotations went":          {annotated(map[string]any{lastApplied: config(plain)}), bare()},
		"all annotations came":          {bare(), annotated(map[string]any{lastApplied: config(other)})},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			changes := diff.Compare(&unstructured.Unstructured{Object: c[0]}, &unstructured.Unstructured{Object: c[1]})
			if len(changes) == 0 {
				t.Fatal("the change was not seen")
			}
			text := show(t, changes) + fmt.Sprintf("%v %+v %#v", changes, changes, changes)
			for _, s := range []string{plain, other, one, two} {
				if strings.Contains(text, s) {
					t.Errorf("%q leaves in %s", s, text)
				}
			}
			for _, c := range changes {
				if fmt.Sprint(c.Live) == fmt.Sprint(c.Desired) {
					t.Errorf("the masks of %s are equal, as if nothing had changed", c.Path)
				}
			}
		})
	}
}

func TestSecretsOfOthersAreShown(t *testing.T) {
	live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "1"}}}
	predicted := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "2"}}}
	want := []diff.Change{{Path: "data.a", Live: "1", Desired: "2"}}
	if d := cmp.Diff(want, diff.Compare(live, predicted)); d != "" {
		t.Errorf("the changes differ (-want +got):\n%s", d)
	}
}

// TestCompareFindsExactlyTheChange puts a random object beside itself with one
// value changed.
func TestCompareFindsExactlyTheChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SampledFrom([]string{"a", "b.c", "d/e", "f", "name"})
		spec := map[string]any{}
		for range rapid.IntRange(1, 6).Draw(t, "size") {
			spec[keys.Draw(t, "key")] = rapid.SampledFrom([]any{"x", int64(1), true, []any{"l"}, map[string]any{"m": "n"}}).Draw(t, "value")
		}
		live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Thing", "spec": spec}}
		if c := diff.Compare(live, live.DeepCopy()); len(c) != 0 {
			t.Fatalf("an object differs from its copy: %v", c)
		}
		changed := live.DeepCopy()
		key := keys.Draw(t, "changed")
		if err := unstructured.SetNestedField(changed.Object, "changed", "spec", key); err != nil {
			t.Fatal(err)
		}
		got := diff.Compare(live, changed)
		if len(got) != 1 || got[0].Desired != "changed" || cmp.Diff(got[0].Live, spec[key]) != "" {
			t.Errorf("changing %q gave %v", key, got)
		}
		back := diff.Compare(changed, live)
		if len(back) != 1 || back[0].Path != got[0].Path || back[0].Live != "changed" {
			t.Errorf("the way back is %v", back)
		}
	})
}

func TestVerdictInSync(t *testing.T) {
	cases := map[string]struct {
		verdict diff.Verdict
		want    bool
	}{
		"nothing differs": {verdict: diff.Verdict{}, want: true},
		"a change":        {verdict: diff.Verdict{Changes: []diff.Change{{Path: "spec"}}}},
		"no answer":       {verdict: diff.Verdict{Problem: "timeout"}},
		"refused":         {verdict: diff.Verdict{Problem: "immutable", Rejected: true}},
	}
	for name, c := range cases {
		if c.verdict.InSync() != c.want {
			t.Errorf("%s: InSync is %v", name, c.verdict.InSync())
		}
	}
}

// TestVerdictFor: a verdict holds for the reading that it was made for, and
// for others only where it was confirmed and what we own is the same.
func TestVerdictFor(t *testing.T) {
	a, b, zero := object.Digest{1}, object.Digest{2}, object.Digest{}
	fact := func(rv string, d object.Digest) object.Fact { return object.Fact{ResourceVersion: rv, Digest: d} }
	plainly := diff.Verdict{Desired: a, Live: b, Version: "5"}
	confirmed := plainly
	confirmed.Confirmed = true
	off := diff.Verdict{Desired: a, Version: "5", Confirmed: true}
	cases := map[string]struct {
		verdict diff.Verdict
		desired object.Digest
		fact    object.Fact
		want    bool
	}{
		"the same reading":                      {plainly, a, fact("5", b), true},
		"another manifest":                      {plainly, b, fact("5", b), false},
		"a later reading":                       {plainly, a, fact("6", b), false},
		"confirmed, a later reading":            {confirmed, a, fact("6", b), true},
		"confirmed, what we own moved":          {confirmed, a, fact("6", a), false},
		"confirmed, another manifest":           {confirmed, b, fact("6", b), false},
		"confirmed, the gate is off now":        {confirmed, a, fact("6", zero), false},
		"the gate is off, the same reading":     {off, a, fact("5", zero), true},
		"the gate is off, a later reading":      {off, a, fact("6", zero), false},
		"the gate was off and is on, the later": {off, a, fact("6", b), false},
	}
	for name, c := range cases {
		if got := c.verdict.For(c.desired, c.fact); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
