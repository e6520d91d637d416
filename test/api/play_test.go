package api_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// step is one line of a script that does something.
type step struct {
	line int
	// verb is "$" for a command, "skip" for one that is left out with a reason, or a word of the player's own.
	verb, text string
	// exit is what a command ends with, wants what it must print, and never what it must not.
	exit         int
	wants, never []*regexp.Regexp
	because      string
	// typed is what somebody at a terminal answers.
	typed string
}

// script is a file of commands as people type them, with what must come of them, and of files that they find.
//
//	$ COMMAND        runs it with sh
//	exit N           it ends with N; 0 without
//	> REGEXP         it prints a line like this, to either stream
//	!> REGEXP        it prints no such line
//	skip COMMAND     it is left out
//	because TEXT     why
//	serve            starts towline, once
//	await NAME       waits until an application is synced and healthy
//	types TEXT       somebody sits at a terminal and answers so
//	push FOLDER      commits the files of a folder to the repository myapp
//	drop FILE        commits that a file of it is gone
//
// Everything else is for people.
func readScript(t *testing.T, file string) ([]step, []txtar.File) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []step
	for i, text := range strings.Split(string(archive.Comment), "\n") {
		verb, rest, _ := strings.Cut(text, " ")
		last := func() *step {
			if len(out) == 0 {
				t.Fatalf("%s:%d: %s is about no command", file, i+1, verb)
			}
			return &out[len(out)-1]
		}
		switch verb {
		case "$", "skip", "serve", "await", "push", "drop":
			out = append(out, step{line: i + 1, verb: verb, text: rest})
		case "types":
			last().typed = rest + "\n"
		case "because":
			last().because += rest
		case "exit":
			n, err := strconv.Atoi(rest)
			if err != nil {
				t.Fatalf("%s:%d: %v", file, i+1, err)
			}
			last().exit = n
		case ">":
			last().wants = append(last().wants, regexp.MustCompile("(?m)"+rest))
		case "!>":
			last().never = append(last().never, regexp.MustCompile("(?m)"+rest))
		}
	}
	for _, s := range out {
		if s.verb == "skip" && s.because == "" {
			t.Fatalf("%s:%d: %q is left out without a reason", file, s.line, s.text)
		}
	}
	return out, archive.Files
}

// player plays scripts in a folder of its own, as somebody with an empty home.
type player struct {
	*stage
	dir  string
	vars map[string]string
	// name is what the program is called in commands that begin with argocd.
	name string
}

// newPlayer makes one whose PATH has kubectl, and towline by all of its names.
func (s *stage) newPlayer(name string) *player {
	s.Helper()
	p := &player{stage: s, dir: s.TempDir(), name: name, vars: map[string]string{
		"KUBECONFIG": s.plane.Kubeconfig(), "HOME": s.TempDir(), "NAMESPACE": s.control, "DEST": s.dest,
	}}
	bin := s.TempDir()
	for name, target := range map[string]string{
		"kubectl": s.plane.Kubectl(), "towline": binary, "argocd": binary, "kubectl-towline": binary, "kubectl_complete-towline": binary,
	} {
		s.must(os.Symlink(target, filepath.Join(bin, name)))
	}
	p.vars["PATH"] = bin + ":" + os.Getenv("PATH")
	return p
}

// signed makes known where the server is.
func (p *player) signed() {
	p.vars["SERVER"] = strings.TrimPrefix(strings.TrimPrefix(p.base, "https://"), "http://")
	p.vars["PASSWORD"] = p.initialPassword()
}

// sh runs a line.
func (p *player) sh(line string) (output string, code int) {
	p.Helper()
	return p.answering("", line)
}

// answering runs a line; where something is typed somebody sits at a terminal.
func (p *player) answering(typed, line string) (output string, code int) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir = p.dir
	for k, v := range p.vars {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	if typed != "" {
		seat, end, err := terminal(typed)
		p.must(err)
		defer end()
		cmd.Stdin = seat
	}
	if strings.Contains(line, " apply -k ") {
		installing.Lock()
		defer installing.Unlock()
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.Fatalf("%s: %v", line, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// play does what a script says, and tells how many commands that were.
func (p *player) play(file string) (ran int) {
	p.Helper()
	steps, files := readScript(p.T, file)
	p.unpack(files)
	for _, s := range steps {
		where := fmt.Sprintf("%s:%d", filepath.Base(file), s.line)
		switch s.verb {
		case "skip":
			p.Logf("%s: left out: %s (%s)", where, s.text, s.because)
		case "serve":
			if p.base == "" {
				p.Fatalf("%s: nobody serves", where)
			}
			p.signed()
		case "await":
			p.await(s.text)
		case "push":
			p.push(s.text)
		case "drop":
			p.commit(map[string]*string{s.text: nil})
		case "$":
			ran++
			p.run(where, s)
		}
	}
	return ran
}

func (p *player) run(where string, s step) {
	p.Helper()
	line := s.text
	if rest, ok := strings.CutPrefix(line, "argocd "); ok {
		line = p.name + " " + rest
	}
	out, code := p.answering(s.typed, line)
	if code != s.exit {
		p.Fatalf("%s: %s\nends with %d, want %d:\n%s", where, line, code, s.exit, out)
	}
	for _, want := range s.wants {
		if !want.MatchString(out) {
			p.Errorf("%s: %s\nprints nothing like %s:\n%s", where, line, want, out)
		}
	}
	for _, never := range s.never {
		if never.MatchString(out) {
			p.Errorf("%s: %s\nprints something like %s:\n%s", where, line, never, out)
		}
	}
}

// unpack writes the files of a script. Those below repo/ are in a repository of that server's.
func (p *player) unpack(files []txtar.File) {
	p.Helper()
	repo := map[string]string{}
	p.vars["REPO"] = p.git.URL("platform")
	for _, f := range files {
		text := os.Expand(string(f.Data), func(name string) string { return p.vars[name] })
		if path, ok := strings.CutPrefix(f.Name, "repo/"); ok {
			repo[path] = text
			continue
		}
		at := filepath.Join(p.dir, filepath.FromSlash(f.Name))
		p.must(os.MkdirAll(filepath.Dir(at), 0o700))
		p.must(os.WriteFile(at, []byte(text), 0o600))
	}
	if _, err := p.git.Revision("platform", "main"); err != nil && len(repo) > 0 {
		p.must(p.git.Create("platform", repo))
	}
}

// push commits the files of a folder of the player's.
func (p *player) push(folder string) {
	p.Helper()
	changes := map[string]*string{}
	root := filepath.Join(p.dir, filepath.FromSlash(folder))
	p.must(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, relErr := filepath.Rel(root, path)
		changes[filepath.ToSlash(name)] = new(string(text))
		return errors.Join(err, relErr)
	}))
	p.commit(changes)
}

func (p *player) commit(changes map[string]*string) {
	p.Helper()
	_, err := p.git.Commit(quickRepo, "main", "by hand", changes)
	p.must(err)
}
