package engine

import "testing"

// TestChecksSayWhy: also of what is not in the way, which is judged without words elsewhere.
func TestChecksSayWhy(t *testing.T) {
	w := newWorld(shop())
	w.commits["c1"], w.head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n", "c1"
	checks, err := w.engine().Checks(t.Context(), w.app, true)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, c := range checks {
		seen[c.Name]++
		if !c.Passed || c.Why == "" {
			t.Errorf("%+v", c)
		}
	}
	if seen["project"] != 1 || seen["source"] != 1 || seen["destination"] != 2 {
		t.Errorf("looked at %v", seen)
	}
}
