package cli

import (
	"testing"
	"time"
)

func TestAged(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 7, 5, 0, time.UTC)
	for message, want := range map[string]string{
		"cluster a cannot be reached: x; last seen 2026-01-02T03:04:05Z. And": "cluster a cannot be reached: x; last seen 2026-01-02T03:04:05Z (3m ago). And",
		"last seen 2026-99-02T03:04:05Z":                                      "last seen 2026-99-02T03:04:05Z",
		"nothing of the kind":                                                 "nothing of the kind",
	} {
		if got := aged(now, message); got != want {
			t.Errorf("aged(%q) = %q", message, got)
		}
	}
}
