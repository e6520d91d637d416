package repository_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/towline-cd/towline/internal/core/repository"
)

func TestSecretsAreNotTold(t *testing.T) {
	const value = "hunter2"
	r := repository.Repository{URL: "https://example.com", Password: repository.NewSecret(value)}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("signing in", "to", r, "with", r.Password)
	slog.New(slog.NewTextHandler(&log, nil)).Info("signing in", "to", r, "with", r.Password)
	encoded, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	told := log.String() + string(encoded)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		told += fmt.Sprintf(verb, r) + fmt.Sprintf(verb, r.Password) + fmt.Sprintf(verb, &r)
	}
	if strings.Contains(told, value) || strings.Contains(told, "68756e746572") {
		t.Errorf("the password is told: %s", told)
	}
	if r.Password.Reveal() != value {
		t.Error("the password is lost")
	}
}
