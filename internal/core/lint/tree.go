package lint

import (
	"path"
	"slices"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// tree is how the folders of a repository hang together: which files are
// patches, and which folders a kustomization takes in.
type tree struct {
	patches map[string]bool
	// takes are the files and folders that the kustomization of a folder takes in, and patched the files it takes patches from.
	takes, patched map[string][]string
}

func newTree() *tree {
	return &tree{patches: map[string]bool{}, takes: map[string][]string{}, patched: map[string][]string{}}
}

// kustomizationNames are the names of the files that kustomize looks for.
var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

func isKustomization(d *document) bool {
	name := path.Base(d.file.Name)
	return d.kind == "Kustomization" || d.kind == "Component" && d.group() == "kustomize.config.k8s.io" ||
		slices.Contains(kustomizationNames, name)
}

// settle reads the kustomizations, and marks the patches.
func (t *tree) settle(documents []*document) {
	for _, d := range documents {
		if !isKustomization(d) {
			continue
		}
		for _, field := range []string{"resources", "bases", "components"} {
			for _, entry := range d.list(field) {
				if s, ok := entry.(string); ok {
					t.takes[d.dir()] = append(t.takes[d.dir()], path.Join(d.dir(), s))
				}
			}
		}
		t.patch(d)
	}
	for _, d := range documents {
		d.partial = t.patches[d.file.Name]
	}
}

// patch notes the files that a kustomization takes for patches.
func (t *tree) patch(d *document) {
	for _, field := range []string{"patches", "patchesStrategicMerge", "patchesJson6902", "transformers", "replacements", "generators"} {
		for _, entry := range d.list(field) {
			if m, ok := entry.(map[string]any); ok {
				entry = m["path"]
			}
			if s, ok := entry.(string); ok && !strings.Contains(s, "\n") {
				t.patches[path.Join(d.dir(), s)] = true
				t.patched[d.dir()] = append(t.patched[d.dir()], path.Join(d.dir(), s))
			}
		}
	}
}

// files are all that a kustomization takes in, the patches among it: those of the nearest first.
func (t *tree) files(folder string) []string {
	var out []string
	seen := map[string]bool{}
	var walk func(entry string)
	walk = func(entry string) {
		if seen[entry] {
			return
		}
		seen[entry] = true
		out = append(out, entry)
		for _, next := range slices.Concat(t.patched[entry], t.takes[entry]) {
			walk(next)
		}
	}
	walk(folder)
	return out
}

// taken are the files and folders that any kustomization takes in.
func (t *tree) taken() map[string]bool {
	out := map[string]bool{}
	for _, entries := range t.takes {
		for _, entry := range entries {
			out[entry] = true
		}
	}
	return out
}

// reaches says that what an Application deploys from a folder has to do with a file.
func (t *tree) reaches(folder, file string) bool {
	folder = path.Clean(strings.Trim(folder, "/"))
	if folder == "." {
		return true
	}
	seen := map[string]bool{}
	var within func(dir string) bool
	within = func(dir string) bool {
		if seen[dir] {
			return false
		}
		seen[dir] = true
		if file == dir || strings.HasPrefix(file, dir+"/") {
			return true
		}
		return slices.ContainsFunc(t.takes[dir], within)
	}
	// What is looked at may be a part of the repository, or a folder above it.
	if strings.Contains("/"+file, "/"+folder+"/") {
		return true
	}
	for dir := range t.takes {
		if (dir == folder || strings.HasSuffix(dir, "/"+folder)) && within(dir) {
			return true
		}
	}
	return false
}

func selectorLabels(fix string) Finding {
	return Finding{
		Check: "selector-labels", Severity: Warning,
		Message: "these labels become part of the selectors of Deployments and StatefulSets, which cannot be changed: " +
			"the first change of a label is refused by the API server",
		Fix: fix,
	}
}

// kustomization looks at one.
func (l *look) kustomization(d *document) {
	if !isKustomization(d) || d.group() == v1alpha1.Group {
		return
	}
	if len(d.fields("commonLabels")) > 0 {
		l.say(d, selectorLabels("write labels: with includeSelectors: false instead; what is deployed keeps its selectors only "+
			"if they are written into the manifests first"), "commonLabels")
	}
	for i, entry := range d.list("labels") {
		if m, ok := entry.(map[string]any); ok && m["includeSelectors"] == true {
			l.say(d, selectorLabels("set includeSelectors: false and includeTemplates: true, before anything is deployed"),
				"labels", i, "includeSelectors")
		}
	}
}
