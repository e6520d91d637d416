package conformance_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"
)

// story is one file of testdata. README.md there explains the format.
type story struct {
	file    string
	name    string
	mu      sync.Mutex
	archive *txtar.Archive
	// rows are the lines of rows.txt that the case is about.
	rows []string
	// kept says that things are as Argo CD has them; else changed names the row
	// of the list of deviations.
	kept    bool
	changed string
	// known says why the implementation is wrong here, if it is.
	known string
	// alone says that the case needs an installation of its own.
	alone bool
	// config are keys for the config maps of the installation.
	config map[string]map[string]string
	steps  []string
}

// profile names, as towline.profile has them.
const (
	profileTowline = "towline"
	profileArgoCD  = "argocd"
)

func stories(t *testing.T) []*story {
	t.Helper()
	var out []*story
	err := filepath.WalkDir("testdata", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".txtar" {
			return err
		}
		s, err := readStory(path)
		if err != nil {
			return err
		}
		out = append(out, s)
		return nil
	})
	check(t, err)
	return out
}

func readStory(path string) (*story, error) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	// The folder is part of the name.
	name := strings.TrimSuffix(filepath.Base(path), ".txtar")
	if folder := filepath.Base(filepath.Dir(path)); folder != "testdata" {
		name = folder + "-" + name
	}
	s := &story{file: path, archive: archive, name: name}
	for line := range strings.Lines(string(archive.Comment)) {
		s.header(strings.TrimSpace(line))
	}
	for _, f := range archive.Files {
		if err := s.section(f.Name, string(f.Data)); err != nil {
			return nil, fmt.Errorf("reading section %q of %s: %w", f.Name, path, err)
		}
	}
	switch {
	case s.kept == (s.changed != ""):
		return nil, fmt.Errorf("%s says neither \"kept\" nor \"changed: …\", or both", path)
	case len(s.rows) == 0:
		return nil, fmt.Errorf("%s names no rows", path)
	case len(s.name) > 40:
		return nil, fmt.Errorf("%s: the name is too long for what is named after it", path)
	}
	return s, nil
}

func (s *story) header(line string) {
	word, rest, _ := strings.Cut(line, ":")
	rest = strings.TrimSpace(rest)
	switch word {
	case "rows":
		s.rows = append(s.rows, strings.Fields(rest)...)
	case "kept":
		s.kept = true
	case "changed":
		s.changed = rest
	case "known":
		s.known = rest
	case "alone":
		s.alone = true
	}
}

func (s *story) section(name, text string) error {
	switch kind, _, _ := strings.Cut(name, " "); kind {
	case "when":
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				s.steps = append(s.steps, line)
			}
		}
	case "settings":
		return yaml.UnmarshalStrict([]byte(text), &s.config)
	case "application", "project", "given", "git", "later", "then":
	default:
		return fmt.Errorf("there is no such section")
	}
	return nil
}

// enactment is a story as it is played in one profile.
type enactment struct {
	*story
	profile string
	// ns is the name of the namespace, the Application, the repository and the
	// project; cluster-scoped objects begin with it.
	ns string
	// control is the namespace of the Application, repo the address of the
	// repository; both are known when the case begins.
	control, repo string
}

func (s *story) in(profile string) *enactment {
	return &enactment{story: s, profile: profile, ns: s.name + "-" + profile[:1]}
}

// played says whether there is anything to play in a profile: what is kept
// holds in each.
func (s *story) played(profile string) bool { return s.then(profile) != "" }

// then is the section that says what has to come of it in a profile.
func (s *story) then(profile string) string {
	for _, name := range []string{"then " + profile, "then"} {
		if slices.ContainsFunc(s.archive.Files, func(f txtar.File) bool { return f.Name == name }) {
			return name
		}
	}
	return ""
}

// namespaceWord stands for the name of the case's namespace.
const namespaceWord = "$ns"

func (e *enactment) expand(text string) string { return strings.ReplaceAll(text, namespaceWord, e.ns) }

func (e *enactment) fold(text string) string { return strings.ReplaceAll(text, e.ns, namespaceWord) }

// text is a section, expanded.
func (e *enactment) text(name string) (string, bool) {
	i := slices.IndexFunc(e.archive.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		return "", false
	}
	return e.expand(string(e.archive.Files[i].Data)), true
}

// record replaces the text of a section and the file.
func (e *enactment) record(name, text string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	i := slices.IndexFunc(e.archive.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		return fmt.Errorf("no section %q", name)
	}
	data := []byte(e.fold(text))
	if bytes.Equal(data, e.archive.Files[i].Data) {
		return nil
	}
	e.archive.Files[i].Data = data
	return os.WriteFile(e.file, txtar.Format(e.archive), 0o644)
}
