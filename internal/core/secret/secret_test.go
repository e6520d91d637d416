package secret_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/towline-cd/towline/internal/core/secret"
)

func TestTextIsNeverTold(t *testing.T) {
	const value = "hunter2"
	type holder struct {
		Text    secret.Text
		Pointer *secret.Text
	}
	text := secret.New(value)
	h := holder{Text: text, Pointer: &text}
	encoded, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("it", "secret", text, "holder", h)
	for _, told := range []string{
		string(encoded), log.String(), text.String(),
		fmt.Sprintf("%v %+v %#v %s %q %x %d", text, text, text, text, text, text, text),
		fmt.Sprintf("%v %+v %#v %x", h, h, h, h),
	} {
		if strings.Contains(told, value) || strings.Contains(told, fmt.Sprintf("%x", value)) {
			t.Errorf("it is told: %s", told)
		}
	}
	if text.Reveal() != value || text.Empty() || !(secret.Text{}).Empty() {
		t.Error("the value is lost")
	}
	if text.Digest() == secret.New("other").Digest() || text.Digest() != secret.New(value).Digest() {
		t.Error("the digest does not tell values apart")
	}
}
