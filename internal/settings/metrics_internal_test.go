package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTellingOfItself: the keys are Argo CD's.
func TestTellingOfItself(t *testing.T) {
	s := parse(nil, map[string]string{
		"controller.log.format": "json", "server.log.format": "text", "server.log.level": "debug",
		"otlp.address": "collector:4318", "otlp.insecure": "false", "otlp.headers": "a=b, c=d=e", "otlp.attrs": "env:test,broken",
		"applicationsetcontroller.metrics.applicationset.labels": "tier,team",
	})
	if d := cmp.Diff(Logging{Format: "json", Level: "debug"}, s.Logging); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	want := Tracing{
		Address: "collector:4318", Secure: true, Headers: map[string]string{"a": "b", "c": "d=e"}, Attributes: map[string]string{"env": "test"},
	}
	if d := cmp.Diff(want, s.Tracing); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"tier", "team"}, s.Metrics.SetLabels); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
