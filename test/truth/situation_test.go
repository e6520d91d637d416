package truth_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// situation is one file of testdata. README.md there explains the format.
type situation struct {
	file    string
	archive *txtar.Archive
	// name is that of the namespace, the Application and the repository.
	name string
	// known says why Towline is wrong here, if it is.
	known string
	given []given
	steps []string
	// spec is merged into the Application's.
	spec map[string]any
}

// given is an object that stands before Towline comes, and who made it.
type given struct {
	maker   string
	objects []*unstructured.Unstructured
	text    string
}

// namespaceWord stands for the name of the situation's namespace.
const namespaceWord = "$ns"

func readSituation(file string) (*situation, error) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		return nil, err
	}
	s := &situation{file: file, archive: archive, name: strings.TrimSuffix(filepath.Base(file), ".txtar")}
	for line := range strings.Lines(string(archive.Comment)) {
		if why, ok := strings.CutPrefix(line, "known:"); ok {
			s.known = strings.TrimSpace(why)
		}
	}
	for _, f := range archive.Files {
		if err := s.section(f.Name, s.expand(string(f.Data))); err != nil {
			return nil, fmt.Errorf("reading section %q of %s: %w", f.Name, file, err)
		}
	}
	return s, nil
}

func (s *situation) expand(text string) string {
	return strings.ReplaceAll(text, namespaceWord, s.name)
}

func (s *situation) fold(text string) string { return strings.ReplaceAll(text, s.name, namespaceWord) }

func (s *situation) section(name, text string) error {
	kind, rest, _ := strings.Cut(name, " ")
	switch kind {
	case "given":
		maker, ok := strings.CutPrefix(rest, "by ")
		if !ok {
			return fmt.Errorf("a given object needs its maker, as in %q", "given by kubectl apply")
		}
		objects, err := parse(text)
		s.given = append(s.given, given{maker: maker, objects: objects, text: text})
		return err
	case "when":
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				s.steps = append(s.steps, line)
			}
		}
	case "application":
		return yaml.Unmarshal([]byte(text), &s.spec)
	case "git", "by", "then", "explain", "after":
	default:
		return fmt.Errorf("there is no such section")
	}
	return nil
}

// text is a section, expanded.
func (s *situation) text(name string) (string, bool) {
	i := slices.IndexFunc(s.archive.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		return "", false
	}
	return s.expand(string(s.archive.Files[i].Data)), true
}

// record replaces the text of a section and the file.
func (s *situation) record(name, text string) error {
	i := slices.IndexFunc(s.archive.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		return fmt.Errorf("no section %q", name)
	}
	data := []byte(s.fold(text))
	if bytes.Equal(data, s.archive.Files[i].Data) {
		return nil
	}
	s.archive.Files[i].Data = data
	return os.WriteFile(s.file, txtar.Format(s.archive), 0o644)
}

// parse reads the objects of a YAML text.
func parse(text string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for doc := range strings.SplitSeq(text, "\n---\n") {
		if strings.TrimSpace(doc) == "" {
			continue
		}
		raw, err := yaml.YAMLToJSON([]byte(doc))
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(raw); err != nil {
			return nil, err
		}
		out = append(out, u)
	}
	return out, nil
}
