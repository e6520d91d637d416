package script_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/internal/core/action"
	"github.com/towline-cd/towline/internal/script"
)

func rules() []script.ActionRule {
	return []script.ActionRule{{
		Kind:      "example.com/Thing",
		Discovery: script.Script{Origin: "key", Source: `local a = {} a["grow"] = {disabled = obj.spec.size >= 10} a["copy"] = {} return a`},
		Actions: map[string]script.Script{
			"grow": {Origin: "key grow", Source: `obj.spec.size = obj.spec.size + tonumber(actionParams["by"]) return obj`},
			"copy": {Origin: "key copy", Source: `
local os = require("os")
local copy = {apiVersion = obj.apiVersion, kind = obj.kind, spec = obj.spec}
copy.metadata = {name = obj.metadata.name .. "-copy", namespace = obj.metadata.namespace}
obj.metadata.annotations = {copied = "yes"}
return {{operation = "create", resource = copy}, {operation = "patch", resource = obj}}`},
			"fail": {Origin: "key fail", Source: `error("not now")`},
		},
		Merge: true,
	}}
}

func sized(size int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "x", "namespace": "shop"},
		"spec": map[string]any{"size": size, "list": []any{}, "map": map[string]any{}, "big": int64(9007199254740993)},
	}}
}

func TestActions(t *testing.T) {
	a := script.NewActions(newHost(t), rules())
	found, builtin, err := a.Discover(sized(10))
	if err != nil || !builtin {
		t.Fatalf("got %v, %v", builtin, err)
	}
	list, err := action.Discovered(found)
	want := []action.Action{{Name: "copy"}, {Name: "grow", Disabled: true}}
	if d := cmp.Diff(want, list); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	run := func(name string, params map[string]string) ([]action.Step, error) {
		value, known, err := a.Run(sized(1), name, params)
		if err != nil || !known {
			return nil, err
		}
		return action.Returned(sized(1), value)
	}
	steps, err := run("grow", map[string]string{"by": "4"})
	if err != nil || len(steps) != 1 {
		t.Fatalf("got %v, %v", steps, err)
	}
	if d := cmp.Diff(map[string]any{"spec": map[string]any{"size": int64(5)}}, steps[0].Patch); d != "" {
		t.Errorf("the patch differs (-want +got):\n%s", d)
	}
	steps, err = run("copy", nil)
	if err != nil || len(steps) != 2 || steps[0].Operation != action.Create || steps[0].Object.GetName() != "x-copy" {
		t.Fatalf("got %+v, %v", steps, err)
	}
	if d := cmp.Diff(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"copied": "yes"}}}, steps[1].Patch); d != "" {
		t.Errorf("the patch differs (-want +got):\n%s", d)
	}
	if _, err := run("fail", nil); err == nil || !strings.Contains(err.Error(), "key fail: line 1: not now") {
		t.Errorf("got %v", err)
	}
	if _, known, _ := a.Run(sized(1), "other", nil); known {
		t.Error("an action that nobody made is known")
	}
}

func TestAKindWithoutActionsOfUsers(t *testing.T) {
	a := script.NewActions(&recorder{}, rules())
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod"}}
	if found, builtin, err := a.Discover(u); found != nil || !builtin || err != nil {
		t.Errorf("got %v, %v, %v", found, builtin, err)
	}
}
