package notice_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/notice"
)

// The triggers of the catalogue, and an application for each that it is about.
var catalogue = map[string]string{
	"on-created":             `{metadata: {name: shop}, status: {health: {status: Healthy}, sync: {status: Synced}}}`,
	"on-deleted":             `{metadata: {name: shop, deletionTimestamp: "2026-01-01T00:00:00Z"}, status: {health: {}, sync: {}}}`,
	"on-deployed":            `{metadata: {name: shop}, status: {health: {status: Healthy}, sync: {}, operationState: {phase: Succeeded, syncResult: {revision: abc}}}}`,
	"on-health-degraded":     `{metadata: {name: shop}, status: {health: {status: Degraded, message: broken}, sync: {}}}`,
	"on-sync-failed":         `{metadata: {name: shop}, status: {health: {}, sync: {}, operationState: {phase: Error, message: 'no "way"'}}}`,
	"on-sync-running":        `{metadata: {name: shop}, status: {health: {}, sync: {}, operationState: {phase: Running}}}`,
	"on-sync-status-unknown": `{metadata: {name: shop}, status: {health: {}, sync: {status: Unknown}, conditions: [{type: ComparisonError, message: x}]}}`,
	"on-sync-succeeded":      `{metadata: {name: shop}, status: {health: {}, sync: {}, operationState: {phase: Succeeded}}}`,
}

// TestCatalogue reads what people install, and has each of its triggers hold and its templates say something, to all services.
func TestCatalogue(t *testing.T) {
	text, err := os.ReadFile("../../../config/notifications/catalog.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type configMap struct{ Data map[string]string }
	data := read[configMap](t, text).Data
	data["service.slack"], data["service.teams"], data["service.email"] = "token: x", "recipientUrls: {x: y}", "{host: x, from: a@b}"
	c := notice.Parse(notice.Source{Namespace: "argocd", Data: data})
	for _, p := range c.Problems {
		t.Error(p)
	}
	var names []string
	for name, app := range catalogue {
		names = append(names, name)
		object := read[map[string]any](t, []byte(app))
		outcomes := c.Run(name, object, notice.World{Now: noon})
		if len(outcomes) != 1 || !outcomes[0].Holds || outcomes[0].Problem != "" {
			t.Errorf("%s: %+v", name, outcomes)
			continue
		}
		for _, service := range []string{"slack", "teams", "email"} {
			got, err := c.Render(outcomes[0].Condition.Send, notice.Destination{Service: service}, object, notice.World{Now: noon})
			if err != nil || !strings.Contains(got.Message, "shop") || got.Part == nil {
				t.Errorf("%s to %s: %+v, %v", name, service, got, err)
			}
			for _, field := range []string{"attachments", "facts", "potentialAction"} {
				if s, ok := got.Part[field].(string); ok && !json.Valid([]byte(s)) {
					t.Errorf("%s to %s: %s is no JSON: %s", name, service, field, s)
				}
			}
		}
	}
	slices.Sort(names)
	var there []string
	for name := range c.Triggers {
		there = append(there, name)
	}
	slices.Sort(there)
	if d := cmp.Diff(names, there); d != "" {
		t.Errorf("the catalogue has other triggers:\n%s", d)
	}
	// Argo CD has the same key, so that what it told is not told again.
	if got := fmt.Sprint(c.Triggers["on-sync-failed"].Conditions[0].Key); !strings.HasPrefix(got, "[0].") {
		t.Errorf("the key of a condition is %q", got)
	}
}
