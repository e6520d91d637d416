package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWantColour(t *testing.T) {
	tests := map[string]struct {
		mode     string
		terminal bool
		env      string
		want     bool
	}{
		"a terminal":                  {colourAuto, true, "", true},
		"a file":                      {colourAuto, false, "", false},
		"the flag beats the file":     {colourAlways, false, "", true},
		"the flag beats NO_COLOR":     {colourAlways, false, "NO_COLOR=1", true},
		"the flag beats the force":    {colourNever, true, "CLICOLOR_FORCE=1", false},
		"NO_COLOR":                    {colourAuto, true, "NO_COLOR=1", false},
		"NO_COLOR beats the force":    {colourAuto, true, "NO_COLOR=1 CLICOLOR_FORCE=1", false},
		"force":                       {colourAuto, false, "CLICOLOR_FORCE=1", true},
		"force that is off":           {colourAuto, false, "CLICOLOR_FORCE=0", false},
		"CLICOLOR off":                {colourAuto, true, "CLICOLOR=0", false},
		"CLICOLOR on":                 {colourAuto, true, "CLICOLOR=1", true},
		"CLICOLOR on without a human": {colourAuto, false, "CLICOLOR=1", false},
		"force beats CLICOLOR":        {colourAuto, false, "CLICOLOR=0 CLICOLOR_FORCE=1", true},
		"a dumb terminal":             {colourAuto, true, "TERM=dumb", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			getenv := func(key string) string {
				for pair := range strings.FieldsSeq(test.env) {
					if k, v, _ := strings.Cut(pair, "="); k == key {
						return v
					}
				}
				return ""
			}
			if got := wantColour(test.mode, test.terminal, getenv); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestCleanTakesTheTerminalOutOfText(t *testing.T) {
	tests := map[string]string{
		"plain ✔":             "plain ✔",
		"two\nlines\tand tab": "two lines and tab",
		"\x1b[2Jgone":         "\ufffd[2Jgone",
		"c1\u009b2J":          "c1\ufffd2J",
		"evil\u202etxt":       "evil\ufffdtxt",
		" trim \r\n":          "trim",
	}
	for in, want := range tests {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLineDiff(t *testing.T) {
	tests := map[string]struct{ before, after, want string }{
		"the same":         {"a b", "a b", "…2 unchanged lines"},
		"one in the midst": {"a b c", "a x c", " a -b +x  c"},
		"two apart":        {"1 a 2 3 4 5 6 b 7", "1 A 2 3 4 5 6 B 7", " 1 -a +A  2  3 …1 unchanged lines  5  6 -b +B  7"},
		"only added":       {"", "a b", "+a +b"},
		"only removed":     {"a b", "", "-a -b"},
		"moved":            {"a b c", "c a b", "+c  a  b -c"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range lineDiff(strings.Fields(test.before), strings.Fields(test.after)) {
				got = append(got, e.sign+e.line)
			}
			if d := cmp.Diff(test.want, strings.Join(got, " ")); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestShort(t *testing.T) {
	tests := map[string]string{
		"1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d": "1a2b3c4",
		"v1.2.3": "v1.2.3",
		"a-branch-with-a-very-long-name-of-40-chars": "a-branch-with-a-very-long-name-of-40-chars",
		"sha256:0123456789abcdef":                    "sha256:0123456",
		"":                                           "",
	}
	for in, want := range tests {
		if got := short(in); got != want {
			t.Errorf("short(%q) = %q, want %q", in, got, want)
		}
	}
}
