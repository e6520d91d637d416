package cli_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/internal/cli"
)

// verb is a command of Argo CD's, and its flags.
type verb struct {
	words []string
	flags []string
}

func (v verb) String() string { return strings.Join(v.words, " ") }

// verbs reads a list of them. Lines before the first empty one are for people.
func verbs(t *testing.T, file string) []verb {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "\n\n")
	var out []verb
	for line := range strings.Lines(list) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if !strings.HasPrefix(line, " ") {
			out = append(out, verb{})
		}
		for _, w := range words {
			last := &out[len(out)-1]
			if name, ok := strings.CutPrefix(w, "--"); ok {
				last.flags = append(last.flags, name)
			} else {
				last.words = append(last.words, w)
			}
		}
	}
	return out
}

// TestVerbsOfArgoCD walks everything that people type at Argo CD. It is there, or it is refused by name, and then running it
// says why.
func TestVerbsOfArgoCD(t *testing.T) {
	root := rootOf(&cli.Env{Getenv: func(string) string { return "" }})
	root.InitDefaultCompletionCmd("completion")
	all, count := verbs(t, "testdata/verbs/argocd.txt"), 0
	for _, v := range all {
		if v.words[0] == "global" {
			v.words = []string{"app", "list"}
		}
		cmd, rest, err := root.Find(v.words)
		if err != nil || len(rest) > 0 {
			t.Errorf("there is no command %q, and none that refuses it", v)
			continue
		}
		count++
		if reason := cli.Refused(cmd); reason != "" {
			refusedFor(t, reason, v.words...)
			continue
		}
		for _, name := range v.flags {
			count++
			flag := cmd.Flag(name)
			switch {
			case flag == nil:
				t.Errorf("there is no flag %s --%s, and none that refuses it", v, name)
			case cli.RefusedFlag(flag) != "":
				refusedFor(t, cli.RefusedFlag(flag), append(append(slices.Clone(v.words), needed(cmd)...), "--"+name+"=true")...)
			}
		}
	}
	if count < 400 {
		t.Errorf("only %d commands and flags were looked at", count)
	}
	t.Logf("%d commands and flags", count)
}

// needed are the words that a command does not do without.
func needed(cmd *cobra.Command) []string {
	var out []string
	for _, w := range strings.Fields(cmd.Use)[1:] {
		if !strings.HasPrefix(w, "[") {
			out = append(out, "https://x.example.com")
		}
	}
	return out
}

// refusedFor wants a command to be refused with a reason, and nothing to be done.
func refusedFor(t *testing.T, reason string, words ...string) {
	t.Helper()
	got := (&desk{}).run(t, words...)
	if got.code != cli.ExitUsage || !strings.Contains(got.err, reason) || got.out != "" {
		t.Errorf("%s ends with %d and says\n%s%s\nwant the reason: %s", strings.Join(words, " "), got.code, got.out, got.err, reason)
	}
}
