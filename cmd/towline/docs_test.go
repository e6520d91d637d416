package main

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var updateDocs = flag.Bool("update", false, "write docs/cli-reference.md anew")

// otherPrograms are those that the documents may name beside towline, and why
// the commands are not held against anything here.
var otherPrograms = map[string]string{
	"kubectl": "what we tell people to apply is applied by the end-to-end tests; kubectl's own flags are not ours",
	"git":     "people's own repository",
	"go":      "builds and tests are run by CI",
	"cd":      "the shell's", "source": "the shell's", "export": "the shell's", "cat": "the shell's",
	"curl": "the routes are tested by test/api", "ssh-keyscan": "asks a server of the reader's",
	"docker": "there is no container runtime where the tests run", "helm": "the chart is rendered by our own Helm in a test",
	"brew": "asks the reader's package manager", "openssl": "makes a secret of the reader's",
	"jq": "reads what was printed", "gpg": "reads a key of the reader's", "dex": "run by the tests of signing in",
	"npm": "run by the targets of the Makefile", "promtool": "run by a target of the Makefile", "cosign": "asks a registry",
	"provision": "run by the end-to-end test of its example", "base64": "reads what was printed",
}

// TestDocumentedCommands holds every command in a fenced block of the documents
// against the commands and flags that there are. What the commands do is tested
// where they are; this is about a document that promises one that is not there.
func TestDocumentedCommands(t *testing.T) {
	targets := makeTargets(t)
	seen := 0
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range fenced(string(text)) {
			for _, words := range commandsOf(block) {
				seen++
				if err := documented(words, targets); err != nil {
					t.Errorf("%s: %s: %v", file, strings.Join(words, " "), err)
				}
			}
		}
	}
	if seen < 90 {
		t.Errorf("only %d commands were found: are the blocks still fenced with ```console or ```sh?", seen)
	}
}

func documented(words []string, targets string) error {
	switch name := filepath.Base(words[0]); name {
	case "towline", "argocd":
		return parses(words[1:])
	case "make":
		for _, word := range words[1:] {
			if !strings.Contains(word, "=") && !strings.Contains(targets, "\n"+word+":") {
				return fmt.Errorf("there is no target %s", word)
			}
		}
		return nil
	default:
		if otherPrograms[name] == "" {
			return fmt.Errorf("%q is no program that this test knows: add it to the list, with the reason", name)
		}
		return nil
	}
}

// parses reads words as the command line would, and runs nothing.
func parses(words []string) error {
	root := command(environment())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	cmd, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if left := cmd.Flags().Args(); cmd.HasSubCommands() && len(left) > 0 && !cmd.Runnable() {
		return fmt.Errorf("%s has no command %q", cmd.CommandPath(), left[0])
	}
	return nil
}

func documents(t *testing.T) []string {
	t.Helper()
	root := filepath.Join("..", "..")
	files, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"docs", "examples"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil
			}
			if err == nil && !d.IsDir() && filepath.Ext(path) == ".md" && d.Name() != "cli-reference.md" {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// fenced are the blocks that hold commands.
func fenced(text string) []string {
	var blocks []string
	var block strings.Builder
	inside, shell := false, false
	for line := range strings.Lines(text) {
		word := strings.TrimSpace(line)
		switch {
		case !inside && strings.HasPrefix(word, "```"):
			language := strings.TrimPrefix(word, "```")
			inside, shell = true, language == "console" || language == "sh" || language == "bash"
			block.Reset()
		case inside && word == "```":
			if shell {
				blocks = append(blocks, block.String())
			}
			inside = false
		case inside:
			block.WriteString(line)
		}
	}
	return blocks
}

var (
	assignment = regexp.MustCompile(`^[A-Z_]+=`)
	heredoc    = regexp.MustCompile(`<<-?'?(\w+)'?`)
)

// commandsOf are the commands of a block, each as its words. In a block with
// prompts the other lines are what the commands printed.
func commandsOf(block string) [][]string {
	prompts := strings.HasPrefix(block, "$ ") || strings.Contains(block, "\n$ ")
	block = strings.ReplaceAll(block, "\\\n", " ")
	var out [][]string
	end := ""
	for line := range strings.Lines(block) {
		line = strings.TrimSpace(line)
		if end != "" {
			if line == end {
				end = ""
			}
			continue
		}
		if m := heredoc.FindStringSubmatch(line); m != nil {
			end = m[1]
		}
		if prompts {
			var ok bool
			if line, ok = strings.CutPrefix(line, "$ "); !ok {
				continue
			}
		}
		if strings.Contains(line, "=$(") {
			line = strings.TrimSuffix(strings.ReplaceAll(line, "=$(", "= ; "), ")")
		}
		for _, words := range split(line) {
			for len(words) > 0 && assignment.MatchString(words[0]) {
				words = words[1:]
			}
			if len(words) > 0 {
				out = append(out, words)
			}
		}
	}
	return out
}

// split cuts a line into commands and words. It knows quotes, comments, pipes
// and redirections, which is what the documents use of a shell.
func split(line string) [][]string {
	var out [][]string
	var words []string
	var word strings.Builder
	quote, begun, skip := rune(0), false, false
	flush := func() {
		if begun && !skip {
			words = append(words, word.String())
		}
		if begun {
			skip = false
		}
		word.Reset()
		begun = false
	}
	next := func() {
		flush()
		out, words = append(out, words), nil
	}
	for _, r := range line {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == '#' && !begun:
			next()
			return out
		case r == '|' || r == ';' || r == '&':
			next()
		case (r == '<' || r == '>') && (!begun || word.String() == "2"):
			word.Reset()
			begun, skip = false, true
		case r == ' ' || r == '\t':
			flush()
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	next()
	return out
}

func makeTargets(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	return "\n" + string(text)
}

// TestReference holds docs/cli-reference.md against the commands.
func TestReference(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "cli-reference.md")
	var b bytes.Buffer
	b.WriteString("# The command line, verb by verb\n\nWritten from the commands themselves (`go test ./cmd/towline -run TestReference -update`); " +
		"[the command line](cli.md) tells how to use them.\n")
	describe(&b, command(environment()))
	if *updateDocs {
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(have), b.String()); d != "" {
		t.Errorf("docs/cli-reference.md is not what the commands say; run this test with -update (-have +want):\n%s", d)
	}
}

func describe(b *bytes.Buffer, cmd *cobra.Command) {
	if cmd.Hidden || cmd.Name() == "help" || cmd.Name() == "completion" {
		return
	}
	use := strings.TrimPrefix(cmd.UseLine(), cmd.Root().Name())
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n```text\ntowline%s\n", "towline"+strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()), text(cmd), use)
	var flags []string
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" && f.Name != "version" {
			flags = append(flags, flagLine(f))
		}
	})
	if len(flags) > 0 {
		b.WriteString("\n" + strings.Join(flags, "\n") + "\n")
	}
	b.WriteString("```\n")
	for _, sub := range cmd.Commands() {
		describe(b, sub)
	}
}

// flagLine does without the default value: those that name a folder or a file
// are of one machine.
func flagLine(f *pflag.Flag) string {
	name, usage := pflag.UnquoteUsage(f)
	short := "    "
	if f.Shorthand != "" {
		short = "-" + f.Shorthand + ", "
	}
	return fmt.Sprintf("%s--%-34s %s", short, strings.TrimSpace(f.Name+" "+name), usage)
}

func text(cmd *cobra.Command) string {
	out := cmd.Short
	if cmd.Long != "" {
		out = cmd.Long
	}
	out = strings.TrimSpace(out)
	if !strings.HasSuffix(out, ".") && !strings.Contains(out, "\n") {
		out += "."
	}
	return strings.ReplaceAll(out, "\n\n\n", "\n\n")
}
