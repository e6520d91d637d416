package corpus_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/test/corpus"
)

// stock is the folder of the stock tools, which `make corpus` builds.
func stock(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("TOWLINE_STOCK")
	if dir == "" {
		t.Skip("TOWLINE_STOCK does not say where the stock tools are: `make corpus` builds them and runs this test")
	}
	return dir
}

func TestHelmIsStock(t *testing.T) {
	tool := filepath.Join(stock(t), "helm")
	play(t, "helm/*.txtar", func(t *testing.T, c corpus.Case, dir string) ([]byte, error) {
		at := filepath.Join(dir, "given", c.Source.Path)
		for _, chart := range c.Stock.Charts {
			from := filepath.Join(at, chart)
			if err := os.CopyFS(filepath.Join(at, "charts", filepath.Base(from)), os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
		}
		return run(t, at, dir, tool, helmArgs(t, c, dir)...)
	})
}

// helmArgs are those that Argo CD runs `helm template` with.
func helmArgs(t *testing.T, c corpus.Case, dir string) []string {
	t.Helper()
	name, namespace, kube, apis := c.Name, c.Namespace, c.Kube, c.APIs
	var flags []string
	if of := c.Source.Helm; of != nil {
		for _, override := range []struct {
			to   *string
			from string
		}{{&name, of.ReleaseName}, {&namespace, of.Namespace}, {&kube, of.KubeVersion}} {
			if override.from != "" {
				*override.to = override.from
			}
		}
		if len(of.APIVersions) > 0 {
			apis = of.APIVersions
		}
		files := of.ValueFiles
		if c.Stock.Values != nil {
			files = c.Stock.Values
		}
		for _, file := range files {
			if strings.HasPrefix(file, "/") {
				file = filepath.Join(dir, "given", file)
			}
			flags = append(flags, "--values", file)
		}
		inline := of.Values
		if of.ValuesObject != nil {
			text, err := yaml.JSONToYAML(of.ValuesObject.Raw)
			if err != nil {
				t.Fatal(err)
			}
			inline = string(text)
		}
		if inline != "" {
			file := filepath.Join(dir, "inline.yaml")
			if err := os.WriteFile(file, []byte(inline), 0o600); err != nil {
				t.Fatal(err)
			}
			flags = append(flags, "--values", file)
		}
		for _, parameter := range of.Parameters {
			flag, value := "--set", parameter.Value
			if parameter.ForceString {
				flag = "--set-string"
			}
			if !strings.HasPrefix(value, "{") {
				value = strings.ReplaceAll(value, ",", `\,`)
			}
			flags = append(flags, flag, parameter.Name+"="+value)
		}
		for _, parameter := range of.FileParameters {
			file := parameter.Path
			if ref, ok := strings.CutPrefix(file, "$"); ok {
				file = filepath.Join(dir, "ref", ref)
			}
			flags = append(flags, "--set-file", parameter.Name+"="+file)
		}
		if of.SkipTests {
			flags = append(flags, "--skip-tests")
		}
		if of.SkipSchemaValidation {
			flags = append(flags, "--skip-schema-validation")
		}
	}
	if c.Source.Helm == nil || !c.Source.Helm.SkipCrds {
		flags = append(flags, "--include-crds")
	}
	for _, api := range apis {
		flags = append(flags, "--api-versions", api)
	}
	return append([]string{"template", name, ".", "--namespace", namespace, "--kube-version", kube}, flags...)
}

func TestKustomizeIsStock(t *testing.T) {
	tools := stock(t)
	play(t, "kustomize/*.txtar", func(t *testing.T, c corpus.Case, dir string) ([]byte, error) {
		at := filepath.Join(dir, "given", c.Source.Path)
		for from, to := range c.Stock.Place {
			if err := os.CopyFS(filepath.Join(dir, to), os.DirFS(filepath.Join(dir, from))); err != nil {
				t.Fatal(err)
			}
		}
		replace(t, dir, c.Stock.Replace)
		for _, args := range kustomizeEdits(c) {
			if out, err := run(t, at, dir, filepath.Join(tools, "kustomize"), append([]string{"edit"}, args...)...); err != nil {
				return out, err
			}
		}
		addPatches(t, at, c)
		options := c.Options
		if c.Stock.Options != "" {
			options = c.Stock.Options
		}
		args := append([]string{"build", "."}, strings.Fields(options)...)
		if strings.Contains(options, "--enable-helm") {
			args = append(args, "--helm-command", filepath.Join(tools, "helm"), "--helm-kube-version", c.Kube)
			for _, api := range c.APIs {
				args = append(args, "--helm-api-versions", api)
			}
		}
		return run(t, at, dir, filepath.Join(tools, "kustomize"), args...)
	})
}

// kustomizeEdits are the commands that Argo CD runs on the kustomization file.
func kustomizeEdits(c corpus.Case) [][]string {
	of := c.Source.Kustomize
	if of == nil {
		return nil
	}
	var edits [][]string
	set := func(what, value string) {
		if value != "" {
			edits = append(edits, []string{"set", what, "--", value})
		}
	}
	set("nameprefix", of.NamePrefix)
	set("namesuffix", of.NameSuffix)
	if len(of.Images) > 0 {
		edits = append(edits, append([]string{"set", "image"}, of.Images...))
	}
	if len(of.Replicas) > 0 {
		args := []string{"set", "replicas"}
		for _, replica := range of.Replicas {
			args = append(args, replica.Name+"="+replica.Count.String())
		}
		edits = append(edits, args)
	}
	pairs := func(what string, flags map[string]bool, pairs map[string]string) {
		if len(pairs) == 0 {
			return
		}
		args := []string{"add", what}
		for _, flag := range slices.Sorted(maps.Keys(flags)) {
			if flags[flag] {
				args = append(args, flag)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(pairs)) {
			args = append(args, key+":"+pairs[key])
		}
		edits = append(edits, args)
	}
	pairs("label", map[string]bool{
		"--force": of.ForceCommonLabels, "--without-selector": of.LabelWithoutSelector, "--include-templates": of.LabelIncludeTemplates,
	}, of.CommonLabels)
	pairs("annotation", map[string]bool{"--force": of.ForceCommonAnnotations}, of.CommonAnnotations)
	set("namespace", of.Namespace)
	var components []string
	for _, component := range of.Components {
		if !slices.Contains(c.Stock.SkipComponents, component) {
			components = append(components, component)
		}
	}
	if len(components) > 0 {
		edits = append(edits, append([]string{"add", "component"}, components...))
	}
	return edits
}

// addPatches appends the patches of the Application to the file, which no command of kustomize does.
func addPatches(t *testing.T, at string, c corpus.Case) {
	t.Helper()
	if c.Source.Kustomize == nil || len(c.Source.Kustomize.Patches) == 0 {
		return
	}
	file := filepath.Join(at, "kustomization.yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := yaml.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	patches, _ := fields["patches"].([]any)
	for _, patch := range c.Source.Kustomize.Patches {
		patches = append(patches, patch)
	}
	fields["patches"] = patches
	if data, err = yaml.Marshal(fields); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func replace(t *testing.T, dir string, with map[string]string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Base(name) != "kustomization.yaml" {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for old, replacement := range with {
			data = bytes.ReplaceAll(data, []byte(old), []byte(replacement))
		}
		return os.WriteFile(name, data, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// play asks the stock tool for each case, and compares its answer with what the data file says about ours.
func play(t *testing.T, pattern string, ask func(t *testing.T, c corpus.Case, dir string) ([]byte, error)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no data files by the name of %s: %v", pattern, err)
	}
	compared := 0
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			part := map[string][]byte{}
			for _, f := range archive.Files {
				part[f.Name] = f.Data
			}
			c := corpus.Read(t, part)
			if c.Stock.Without != "" {
				t.Skip(c.Stock.Without)
			}
			dir := t.TempDir()
			writeOut(t, dir, corpus.Files(t, part, ""))
			out, err := ask(t, c, dir)
			compare(t, c, string(part["then"]), out, err)
			compared++
		})
	}
	t.Logf("%d of %d cases were compared", compared, len(files))
}

func compare(t *testing.T, c corpus.Case, then string, out []byte, err error) {
	t.Helper()
	if strings.HasPrefix(then, "error: ") {
		if err == nil {
			t.Errorf("ours refuses it:\n%s\nthe stock tool says\n%s", then, out)
		}
		return
	}
	if err != nil {
		t.Fatalf("the stock tool refuses it: %v", err)
	}
	objects := read(t, out)
	want := corpus.Text(t, objects)
	var ours []string
	for line := range strings.Lines(then) {
		if !strings.HasPrefix(line, "#") {
			ours = append(ours, line)
		}
	}
	got := strings.Join(ours, "")
	if c.Stock.AnyOrder != "" {
		want, got = sorted(want), sorted(got)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ours differs from the stock tool (-stock +ours):\n%s", diff)
	}
}

func sorted(text string) string {
	documents := strings.Split(text, "---\n")
	slices.Sort(documents)
	return strings.Join(documents, "---\n")
}

// read reads the output of a tool as Argo CD does: document by document, lists taken apart, the last of two keys.
func read(t *testing.T, out []byte) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(out), 4096)
	for {
		object, raw := &unstructured.Unstructured{}, json.RawMessage{}
		err := decoder.Decode(&raw)
		if err == nil && len(raw) > 0 {
			err = kjson.UnmarshalCaseSensitivePreserveInts(raw, &object.Object)
		}
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("reading what the stock tool printed: %v\n%s", err, out)
		}
		if len(object.Object) == 0 {
			continue
		}
		if !object.IsList() {
			objects = append(objects, object)
			continue
		}
		list, err := object.ToList()
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			objects = append(objects, &list.Items[i])
		}
	}
}

func run(t *testing.T, at, home, tool string, args ...string) ([]byte, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tool, args...)
	cmd.Dir = at
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Logf("%s %s: %v\n%s", filepath.Base(tool), strings.Join(args, " "), err, stderr.String())
	}
	return out, err
}

// writeOut puts the files of a case on the disk, for tools that know no other place.
func writeOut(t *testing.T, dir string, files fs.FS) {
	t.Helper()
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if entry.Type()&fs.ModeSymlink != 0 {
			target, err := fs.ReadLink(files, name)
			if err != nil {
				return err
			}
			return os.Symlink(target, to)
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}
