// Package corpus reads the charts and overlays that our renderers are held against the stock tools by. It turns the parts
// of a data file into trees and a request, and objects into a text that can be compared; it must not render anything.
package corpus

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// Case is what a data file asks for, in its part "when".
type Case struct {
	// Name, Namespace, Kube and APIs are of the application and its cluster.
	Name      string   `json:"name,omitempty"`
	Namespace string   `json:"namespace,omitempty"`
	Kube      string   `json:"kube,omitempty"`
	APIs      []string `json:"apis,omitempty"`
	// Options are those of `kustomize build`.
	Options string                     `json:"options,omitempty"`
	Source  v1alpha1.ApplicationSource `json:"source"`
	// Needs are what was fetched, each in the folder "need/<Dir>" of the data file.
	Needs []Fetched `json:"needs,omitempty"`
	// Stock says how the stock tool is asked the same.
	Stock Stock `json:"stock"`
}

// Fetched is something that a render needed.
type Fetched struct {
	manifest.Need `json:",inline"`
	Dir           string `json:"dir"`
}

// Stock is how the stock tool is asked.
type Stock struct {
	// Without says why the stock tool cannot play the case.
	Without string `json:"without,omitempty"`
	// Values replace the value files, for what only the Application knows: globs, refs.
	Values []string `json:"values,omitempty"`
	// Charts are folders, seen from that of the source, that are put into its charts folder first.
	Charts []string `json:"charts,omitempty"`
	// SkipComponents are not added, Place copies folders, Replace rewrites kustomization files, Options replace those of
	// the case: all for what only the Application knows.
	SkipComponents []string          `json:"skipComponents,omitempty"`
	Place          map[string]string `json:"place,omitempty"`
	Replace        map[string]string `json:"replace,omitempty"`
	Options        string            `json:"options,omitempty"`
	// AnyOrder compares without regard to the order of the objects, and says why.
	AnyOrder string `json:"anyOrder,omitempty"`
}

// Read reads the request out of the parts of a data file.
func Read(t *testing.T, part map[string][]byte) Case {
	t.Helper()
	c := Case{Name: "demo", Namespace: "shop", Kube: "1.36.3"}
	if err := yaml.UnmarshalStrict(part["when"], &c); err != nil {
		t.Fatalf("reading the part when: %v", err)
	}
	return c
}

// Request is the request as a renderer is asked.
func (c Case) Request() manifest.Request {
	return manifest.Request{
		Source: c.Source,
		App:    manifest.App{Name: c.Name, Namespace: c.Namespace, Project: "default", Revision: strings.Repeat("0", 40)},
		Kube:   manifest.Kube{Version: c.Kube, APIs: c.APIs},
		Build:  manifest.Build{KustomizeOptions: c.Options},
	}
}

// Trees are the trees of a data file: "given/…" is the repository, "ref/<name>/…" that of a source with a ref.
func (c Case) Trees(t *testing.T, part map[string][]byte) manifest.Trees {
	t.Helper()
	trees := manifest.Trees{"": Files(t, part, "given/")}
	for name := range part {
		if rest, ok := strings.CutPrefix(name, "ref/"); ok {
			ref, _, _ := strings.Cut(rest, "/")
			trees["$"+ref] = Files(t, part, "ref/"+ref+"/")
		}
	}
	for _, need := range c.Needs {
		trees[need.ID()] = Files(t, part, "need/"+need.Dir+"/")
	}
	return trees
}

// Files are the files below a prefix. A folder whose name ends in ".tgz" is a packed chart, and a file whose content is
// "-> target" is a symbolic link.
func Files(t *testing.T, part map[string][]byte, prefix string) fstest.MapFS {
	t.Helper()
	files, packs := fstest.MapFS{}, map[string]map[string][]byte{}
	for name, data := range part {
		rel, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		if pack, member, ok := strings.Cut(rel, ".tgz/"); ok {
			if packs[pack] == nil {
				packs[pack] = map[string][]byte{}
			}
			packs[pack][member] = data
			continue
		}
		if target, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "-> "); ok {
			files[rel] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
			continue
		}
		files[rel] = &fstest.MapFile{Data: data, Mode: 0o644}
	}
	for pack, members := range packs {
		files[pack+".tgz"] = &fstest.MapFile{Data: Pack(t, members), Mode: 0o644}
	}
	return files
}

// Pack makes a packed chart of files; one that holds a folder whose name ends in ".tgz" holds a packed chart.
func Pack(t *testing.T, members map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	tarred := tar.NewWriter(zipped)
	inner := Files(t, members, "")
	var names []string
	for name := range inner {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		header := &tar.Header{Name: path.Join("chart", name), Mode: 0o644, Size: int64(len(inner[name].Data)), Typeflag: tar.TypeReg}
		if err := tarred.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := tarred.Write(inner[name].Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := tarred.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Outcome is what a render came to, as a text.
func Outcome(t *testing.T, result manifest.Result, err error) string {
	t.Helper()
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var out strings.Builder
	for _, need := range result.Needs {
		fmt.Fprintf(&out, "need: %s (%s)\n", need.ID(), need.Why)
	}
	for _, note := range result.Notes {
		fmt.Fprintf(&out, "# note: %s\n", note)
	}
	if result.UsesAPIs {
		out.WriteString("# uses the APIs of the cluster\n")
	}
	out.WriteString(Text(t, result.Objects))
	return out.String()
}

// Text writes objects as YAML, with the keys of each in order.
func Text(t *testing.T, objects []*unstructured.Unstructured) string {
	t.Helper()
	var out strings.Builder
	for _, object := range objects {
		// By way of JSON, which has one kind of number: what a tool wrote as 1.0 is 1 to the API server.
		text, err := json.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		document, err := yaml.JSONToYAML(text)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "---\n%s", document)
	}
	return out.String()
}
