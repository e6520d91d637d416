package render

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// foreseen is a question that a render will ask, with its answer.
type foreseen struct {
	question question
	answer   answer
}

// foresee answers what a render will ask before it does: each question on its way to another process and back costs as
// much as parsing a small file. It asks nothing that the render would not, or that could change what comes of it.
func (d *desk) foresee(req manifest.Request) []foreseen {
	of := req.Source
	root := path.Clean(of.Path)
	if of.Chart != "" {
		root = "."
	}
	if lends(of) || !fs.ValidPath(root) || d.trees[""] == nil {
		return nil
	}
	questions := []question{{op: opStat, path: root}}
	for _, name := range overrideFiles(req.App.Called()) {
		questions = append(questions, question{op: opFile, path: path.Join(root, name)})
	}
	overrides := questions[1:]
	if len(blocks(of)) == 0 && of.Chart == "" {
		for _, sign := range signs {
			questions = append(questions, question{op: opStat, path: path.Join(root, sign.file)})
		}
	}
	out := d.told(nil, questions...)
	for _, f := range out[1 : 1+len(overrides)] {
		if !errors.Is(f.answer.err, fs.ErrNotExist) {
			return out // the settings are not these
		}
	}
	if out[0].answer.err != nil || !out[0].answer.info.IsDir() {
		return out
	}
	switch kindOf(req, out[1+len(overrides):]) {
	case v1alpha1.SourceTypeDirectory:
		return d.foreseeFolder(out, root, of.Directory)
	case v1alpha1.SourceTypeHelm:
		for _, q := range charts(d.trees, root) {
			out = d.told(out, q)
		}
		return out
	default:
		return out // it reads what its files name
	}
}

// told answers questions and adds them.
func (d *desk) told(out []foreseen, questions ...question) []foreseen {
	answers, err := d.ask(questions)
	if err != nil {
		return out
	}
	for i, q := range questions {
		out = append(out, foreseen{q, answers[i]})
	}
	return out
}

// kindOf is the tool that will render the source, as far as the signs tell.
func kindOf(req manifest.Request, found []foreseen) v1alpha1.SourceType {
	explicit := blocks(req.Source)
	switch {
	case len(explicit) > 1:
		return ""
	case len(explicit) == 1:
		kind, _, _ := enabled(explicit[0], req.Build)
		return kind
	case req.Source.Chart != "":
		kind, _, _ := enabled(v1alpha1.SourceTypeHelm, req.Build)
		return kind
	}
	for i, sign := range signs {
		if kind, _, _ := enabled(sign.kind, req.Build); !errors.Is(found[i].answer.err, fs.ErrNotExist) && kind == sign.kind {
			return kind
		}
	}
	return v1alpha1.SourceTypeDirectory
}

// foreseeFolder adds the files of a folder of manifests.
func (d *desk) foreseeFolder(out []foreseen, root string, of *v1alpha1.ApplicationSourceDirectory) []foreseen {
	filter, err := manifest.NewFilter(of)
	if err != nil {
		return out
	}
	out = d.told(out, question{op: opList, path: root})
	return d.told(out, filesOf(root, out[len(out)-1].answer.entries, func(name string) bool { return filter.Match(name) })...)
}

// filesOf are the questions for the files of a folder that are taken, by their names in it.
func filesOf(dir string, entries []fileInfo, taken func(name string) bool) []question {
	var questions []question
	for _, e := range entries {
		if e.mode.IsRegular() && taken(e.name) {
			questions = append(questions, question{op: opFile, path: path.Join(dir, e.name)})
		}
	}
	return questions
}

// charts are the folders that a chart is read from as a whole: its own, and those that were fetched for it.
func charts(trees manifest.Trees, root string) []question {
	questions := []question{{op: opFolder, path: root}}
	for name := range trees {
		if strings.HasPrefix(name, string(manifest.NeedChart)+" ") {
			questions = append(questions, question{op: opFolder, tree: name, path: "."})
		}
	}
	return questions
}

// learn tells trees what was foreseen.
func learn(trees manifest.Trees, all []foreseen) {
	for _, f := range all {
		if tree, ok := trees[f.question.tree].(*tree); ok {
			tree.known[f.question] = f.answer
		}
	}
}

// wholeCharts asks at once for all of what a chart is made of, unless that was foreseen.
func wholeCharts(trees manifest.Trees, root string, kind v1alpha1.SourceType) error {
	if kind != v1alpha1.SourceTypeHelm {
		return nil
	}
	for _, q := range charts(trees, root) {
		tree, ok := trees[q.tree].(*tree)
		if !ok {
			continue
		}
		if err := tree.whole(q.path); err != nil {
			return fmt.Errorf("reading the chart: %w", err)
		}
	}
	return nil
}

// lends reports whether a source only lends its files to others.
func lends(of v1alpha1.ApplicationSource) bool {
	return of.Ref != "" && of.Path == "" && of.Chart == ""
}
