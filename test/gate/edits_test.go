package gate_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

var managers = []string{"kubectl-edit", "kubectl-client-side-apply", "helm", "operator", "argocd-controller"}

// edit is what somebody does to the live object. The server may refuse it.
func (s *subject) edit(ctx context.Context) {
	live := s.live(ctx)
	if live == nil {
		return
	}
	manager := pick(s.r, managers...)
	switch s.r.IntN(8) {
	case 0, 1, 2:
		mutate(s.r, live)
		live.SetManagedFields(nil)
		_, err := s.client.Update(ctx, live, metav1.UpdateOptions{FieldManager: manager})
		s.note("update by %s: %v", manager, err)
	case 3:
		patch, err := json.Marshal(pick(s.r,
			map[string]any{"metadata": map[string]any{"labels": map[string]any{"team": pick[any](s.r, "red", "green", nil)}}},
			map[string]any{"metadata": map[string]any{"annotations": map[string]any{"note": pick[any](s.r, "x", "z", nil)}}},
			map[string]any{"metadata": map[string]any{"annotations": map[string]any{"foreign": pick[any](s.r, "1", "2")}}},
		))
		if err != nil {
			s.Fatal(err)
		}
		_, err = s.client.Patch(ctx, "it", types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})
		s.note("patch by %s: %s: %v", manager, patch, err)
	case 4, 5:
		rival := s.manifest()
		if s.r.IntN(2) == 0 {
			rival = s.desired.DeepCopy()
			mutate(s.r, rival)
		}
		manager = pick(s.r, "helm", "operator")
		_, err := s.client.Apply(ctx, "it", rival, metav1.ApplyOptions{FieldManager: manager, Force: s.r.IntN(3) > 0})
		s.note("apply by %s: %v", manager, err)
	case 6:
		_, err := s.client.Patch(ctx, "it", types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`), metav1.PatchOptions{FieldManager: manager})
		s.note("managedFields wiped by %s: %v", manager, err)
	case 7:
		shuffle(s.r, live.Object)
		live.SetManagedFields(nil)
		_, err := s.client.Update(ctx, live, metav1.UpdateOptions{FieldManager: manager})
		s.note("shuffled by %s: %v", manager, err)
	}
}

// mutate changes or removes one random leaf below what a manifest may say.
func mutate(r *rand.Rand, u *unstructured.Unstructured) {
	var node any = u.Object
	for range 12 {
		switch t := node.(type) {
		case map[string]any:
			keys := sorted(t)
			if len(keys) == 0 {
				return
			}
			k := pick(r, keys...)
			switch k {
			case "apiVersion", "kind", "status", "name", "namespace", "uid", "resourceVersion", "managedFields", "creationTimestamp", "generation":
				continue
			}
			if !nested(t[k]) || r.IntN(8) == 0 {
				change(r, t, k)
				return
			}
			node = t[k]
		case []any:
			if len(t) == 0 {
				return
			}
			i := r.IntN(len(t))
			if !nested(t[i]) {
				if s, ok := t[i].(string); ok {
					t[i] = s + "x"
				}
				return
			}
			node = t[i]
		default:
			return
		}
	}
}

func nested(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

func change(r *rand.Rand, m map[string]any, k string) {
	if r.IntN(2) == 0 {
		delete(m, k)
		return
	}
	switch t := m[k].(type) {
	case string:
		m[k] = t + "1"
	case int64:
		m[k] = t + 1
	case bool:
		m[k] = !t
	default:
		delete(m, k)
	}
}

// shuffle reorders every list of more than one item.
func shuffle(r *rand.Rand, node any) {
	switch t := node.(type) {
	case map[string]any:
		for _, k := range sorted(t) {
			if k != "managedFields" && k != "status" {
				shuffle(r, t[k])
			}
		}
	case []any:
		r.Shuffle(len(t), func(i, j int) { t[i], t[j] = t[j], t[i] })
		for _, v := range t {
			shuffle(r, v)
		}
	}
}
