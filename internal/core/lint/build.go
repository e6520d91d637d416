package lint

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/internal/core/manifest"
)

// Build is a kustomization as it is built. What it takes in is judged as it comes out of it: a base may lack what each
// overlay has.
type Build struct {
	// Folder is where the kustomization is, as File names it.
	Folder  string
	Objects []Built
	// Needs are what would have to be fetched first, and Fault is why it cannot be built; with either there are no objects.
	Needs []string
	Fault string
}

// Built is an object of a build.
type Built struct {
	Value map[string]any
	// Origin is the file that the object was written in, or that of the kustomization that generates it; empty where it was fetched.
	Origin string
}

// NewBuilt takes from an object of the build of a folder where it was written, as kustomize noted it.
func NewBuilt(folder string, object map[string]any) Built {
	out := Built{Value: object}
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	text, _ := annotations[manifest.OriginAnnotation].(string)
	delete(annotations, manifest.OriginAnnotation)
	var origin struct{ Path, Repo, ConfiguredIn string }
	if err := yaml.Unmarshal([]byte(text), &origin); err != nil || origin.Repo != "" {
		return out
	}
	if file := cmp.Or(origin.Path, origin.ConfiguredIn); file != "" {
		out.Origin = path.Join(folder, file)
	}
	return out
}

// Roots are the folders of the kustomizations that no other one takes in, in order: those are deployed.
func Roots(files []File) []string {
	l := &look{in: Input{Files: files}, repo: newTree()}
	for _, f := range files {
		if slices.Contains(kustomizationNames, path.Base(f.Name)) {
			l.read(f)
		}
	}
	l.repo.settle(l.documents)
	taken := l.repo.taken()
	var out []string
	for _, d := range l.documents {
		if isKustomization(d) && d.kind != "Component" && !foreign(d) && !taken[d.dir()] {
			out = append(out, d.dir())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// foreign says that a file with the name of a kustomization is something else, such as a Kustomization of Flux.
func foreign(d *document) bool { return d.apiVersion != "" && d.group() != "kustomize.config.k8s.io" }

// builds puts what kustomizations come to in the place of what they take in.
func (l *look) builds() {
	written, whole := map[string][]*document{}, map[string]bool{}
	for _, d := range l.documents {
		written[d.file.Name] = append(written[d.file.Name], d)
	}
	var built []*document
	for _, b := range l.in.Builds {
		switch {
		case b.Fault != "":
			l.unbuildable(b)
			continue
		case len(b.Needs) > 0:
			l.report.Unread = append(l.report.Unread, fmt.Sprintf("%s: it is not built, for nothing is fetched; it takes in %s", b.Folder,
				strings.Join(b.Needs, ", ")))
			continue
		}
		parts := l.repo.files(b.Folder)
		for _, name := range parts {
			whole[name] = true
		}
		for _, o := range b.Objects {
			built = append(built, assemble(b.Folder, o, written, parts))
		}
	}
	taken := l.repo.taken()
	l.documents = slices.DeleteFunc(l.documents, func(d *document) bool {
		d.part = taken[d.file.Name]
		return !d.partial && whole[d.file.Name] && !isKustomization(d)
	})
	l.documents = append(l.documents, built...)
}

// assemble is the document of an object, with the places where its fields are written. parts are the files of its build.
func assemble(folder string, o Built, written map[string][]*document, parts []string) *document {
	d := &document{value: o.Value, set: folder}
	d.identify()
	var base *document
	for _, raw := range written[o.Origin] {
		// A prefix or a suffix may have come to the name.
		if raw.kind == d.kind && strings.Contains(d.name, raw.name) && (base == nil || len(raw.name) > len(base.name)) {
			base = raw
		}
	}
	if base == nil {
		// It was generated, or lies outside of what is looked at.
		d.file, d.node = File{Name: cmp.Or(o.Origin, folder)}, &yamlv3.Node{Line: 1}
		if all := written[o.Origin]; len(all) > 0 {
			d.file = all[0].file
		}
		return d
	}
	d.base, d.file, d.node = base, base.file, base.node
	for _, name := range parts {
		for _, raw := range written[name] {
			if raw.partial && raw.kind == d.kind && raw.name == base.name {
				d.patches = append(d.patches, raw)
			}
		}
	}
	return d
}

func (l *look) unbuildable(b Build) {
	for _, d := range l.documents {
		if d.dir() != b.Folder || !isKustomization(d) {
			continue
		}
		l.say(d, Finding{
			Check: "kustomization", Severity: Error, Message: "this cannot be built: " + b.Fault,
			Fix: "correct it; what it takes in is judged as it is written until then",
		})
		return
	}
}
