package repository_test

import (
	"testing"

	"github.com/towline-cd/towline/internal/core/repository"
)

func TestSpeaksFor(t *testing.T) {
	tests := []struct {
		entry, asked string
		want         bool
	}{
		{"https://host/org", "https://host/org", true},
		{"https://host/org/", "https://host/org", true},
		{"https://host/org", "https://host/org/charts", true},
		{"https://host", "https://HOST:443/anything", true},
		{"https://host/org", "https://host/organisation", false},
		{"https://host/org", "https://host/org/../other", false},
		{"https://host/org", "http://host/org", false},
		{"https://host/org", "https://host:8443/org", false},
		{"https://host", "https://host.example.com", false},
		{"registry.example.com/charts", "oci://registry.example.com/charts/app", true},
		{"oci://registry.example.com/charts", "registry.example.com/charts", true},
		{"oci://registry.example.com/charts", "registry.example.com/chartsmuseum", false},
		{"oci://registry.example.com", "https://registry.example.com", false},
		{"", "https://host", false},
		{"https://", "https://host", false},
		{"https://[::1]", "https://[::1]:443/x", true},
		{"https://[::1]", "https://[::1]:8443/x", false},
	}
	for _, tc := range tests {
		if got := repository.SpeaksFor(tc.entry, tc.asked); got != tc.want {
			t.Errorf("Covers(%q, %q) = %v", tc.entry, tc.asked, got)
		}
	}
}
