package slug_test

import (
	"strings"
	"testing"

	"github.com/towline-cd/towline/internal/core/slug"
)

func TestMake(t *testing.T) {
	tests := map[string]string{
		"main":                          "main",
		"feature/Add_login":             "feature-add-login",
		"  spaced out  ":                "spaced-out",
		"a__b---c":                      "a-b-c",
		"-_lead and trail_-":            "lead-and-trail",
		"user@host & co":                "userathost-and-co",
		"it's \"quoted\"":               "its-quoted",
		"release–2.0":                   "release-2-0",
		"Größe/Łódź":                    "grosse-lodz",
		"фича":                          "ficha",
		"":                              "",
		"///":                           "",
		strings.Repeat("a", 60):         strings.Repeat("a", 50),
		strings.Repeat("abcd-", 20):     strings.TrimSuffix(strings.Repeat("abcd-", 10), "-"),
		strings.Repeat("x", 50) + "-y":  strings.Repeat("x", 50),
		strings.Repeat("x", 49) + "-yz": strings.Repeat("x", 49),
	}
	for text, want := range tests {
		if got := slug.Make(text); got != want {
			t.Errorf("Make(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	tests := []struct {
		text  string
		limit int
		words bool
		want  string
	}{
		{"very long name here", 12, true, "very-long"},
		{"very long name here", 12, false, "very-long-na"},
		{"very long name here", 0, true, "very-long-name-here"},
		{"ends-here-", 10, false, "ends-here"},
	}
	for _, tc := range tests {
		if got := slug.Cut(tc.text, tc.limit, tc.words); got != tc.want {
			t.Errorf("Cut(%q, %d, %v) = %q, want %q", tc.text, tc.limit, tc.words, got, tc.want)
		}
	}
}
