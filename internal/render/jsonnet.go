package render

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/google/go-jsonnet"
	kjson "sigs.k8s.io/json"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

const (
	// maxJsonnetStack bounds how deep calls may go.
	maxJsonnetStack = 500
	// maxJsonnetOutput bounds what one file may give.
	maxJsonnetOutput = 100 << 20
	// maxJsonnetWords bounds what is told of an error: its trace may be as deep as its calls.
	maxJsonnetWords = 2 << 10
)

// evaluator evaluates the jsonnet files of one folder.
type evaluator struct {
	vm       *jsonnet.VM
	importer *importer
}

func newEvaluator(tree fs.FS, root string, of v1alpha1.ApplicationSourceJsonnet) (*evaluator, error) {
	imports := &importer{tree: tree, folders: []string{root}, known: map[string]jsonnet.Contents{}}
	for _, lib := range of.Libs {
		// They are relative to the repository, and not to the folder of the application.
		dir := path.Clean(strings.TrimLeft(lib, "/"))
		if !fs.ValidPath(dir) {
			return nil, fault.Terminalf("InvalidPath", "directory.jsonnet.libs: %q leads out of the repository; "+
				"name a folder within it", lib)
		}
		imports.folders = append(imports.folders, dir)
	}
	vm := jsonnet.MakeVM()
	vm.MaxStack = maxJsonnetStack
	vm.Importer(imports)
	for _, v := range of.ExtVars {
		if v.Code {
			vm.ExtCode(v.Name, v.Value)
		} else {
			vm.ExtVar(v.Name, v.Value)
		}
	}
	for _, v := range of.TLAs {
		if v.Code {
			vm.TLACode(v.Name, v.Value)
		} else {
			vm.TLAVar(v.Name, v.Value)
		}
	}
	return &evaluator{vm: vm, importer: imports}, nil
}

// objects evaluates a file: to an object, a list of objects, or a List.
func (e *evaluator) objects(name string) (manifest.Result, error) {
	text, err := e.vm.EvaluateFile(name)
	if e.importer.failed != nil {
		return manifest.Result{}, e.importer.failed // not the user's mistake
	}
	if err != nil {
		words := strings.TrimSpace(err.Error())
		if len(words) > maxJsonnetWords {
			words = words[:maxJsonnetWords] + "…"
		}
		return manifest.Result{}, fault.Terminalf("InvalidManifest", "evaluating %q: %s", name, words)
	}
	if len(text) > maxJsonnetOutput {
		return manifest.Result{}, exceeded("%q evaluates to more than %d MiB; split it", name, maxJsonnetOutput>>20)
	}
	var value any
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &value); err != nil {
		return manifest.Result{}, fault.Terminalf("InvalidManifest", "reading what %q evaluates to: %w", name, err)
	}
	return manifest.Evaluated(name, value)
}

// importer finds what a file imports: beside the file, or in the folders of libraries, the last of them first. It has the
// tree and nothing else.
type importer struct {
	tree    fs.FS
	folders []string
	known   map[string]jsonnet.Contents
	// failed is why the tree could not be read.
	failed error
}

// Import returns the content and the name of an import; the same name always has the same content.
func (i *importer) Import(from, asked string) (jsonnet.Contents, string, error) {
	if asked == "" || path.IsAbs(asked) || strings.ContainsRune(asked, 0) {
		return jsonnet.Contents{}, "", fmt.Errorf("%q is not imported: only files within the repository are, by relative paths", asked)
	}
	places := []string{path.Dir(from)}
	for _, dir := range slices.Backward(i.folders) {
		places = append(places, dir)
	}
	outside := true
	for _, place := range places {
		name := path.Join(place, asked)
		if !fs.ValidPath(name) {
			continue
		}
		outside = false
		if content, ok := i.known[name]; ok {
			return content, name, nil
		}
		data, err := fs.ReadFile(i.tree, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			if fault.ClassOf(err) != fault.Terminal {
				i.failed = fmt.Errorf("importing %q: %w", name, err)
			}
			return jsonnet.Contents{}, "", err
		}
		content := jsonnet.MakeContentsRaw(data)
		i.known[name] = content
		return content, name, nil
	}
	if outside {
		return jsonnet.Contents{}, "", fmt.Errorf("%q leads out of the repository; only files within it are imported", asked)
	}
	return jsonnet.Contents{}, "", fmt.Errorf("%q is in none of %s", asked, strings.Join(places, ", "))
}
