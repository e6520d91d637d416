package appset

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// git yields the folders or the files of a repository.
func (g *generation) git(in *v1alpha1.GitGenerator) ([]map[string]any, error) {
	switch {
	case len(in.Directories) == 0 && len(in.Files) == 0:
		return nil, errors.New("it names neither directories nor files; list the paths of one kind")
	case len(in.Directories) > 0 && len(in.Files) > 0:
		return nil, errors.New("it names directories and files; give each kind a generator of its own")
	}
	// The project of the template says which credentials may be used; one with parameters in it is known too late.
	project := ProjectOf(g.set)
	answer, err := g.answer(Need{Git: &GitNeed{RepoURL: in.RepoURL, Revision: in.Revision, Project: project}})
	if err != nil {
		return nil, err
	}
	if answer.Tree == nil {
		return nil, fmt.Errorf("there is no content of %s at %s", in.RepoURL, in.Revision)
	}
	if len(in.Directories) > 0 {
		return g.directories(in, answer.Tree)
	}
	return g.files(in, answer.Tree)
}

func (g *generation) directories(in *v1alpha1.GitGenerator, tree fs.FS) ([]map[string]any, error) {
	var without []string
	for i, d := range in.Directories {
		if _, err := path.Match(d.Path, ""); err != nil {
			return nil, fmt.Errorf("directories[%d].path %q is no pattern; close the [ in it", i, d.Path)
		}
		if d.Exclude {
			without = append(without, d.Path)
		}
	}
	var found []string
	for _, d := range in.Directories {
		if d.Exclude {
			continue
		}
		dirs, err := matchingDirs(tree, d.Path)
		if err != nil {
			return nil, fmt.Errorf("looking for the folders %s in %s: %w", d.Path, in.RepoURL, err)
		}
		found = append(found, dirs...)
	}
	slices.Sort(found)
	var out []map[string]any
	for _, dir := range slices.Compact(found) {
		excluded := slices.ContainsFunc(without, func(p string) bool { ok, _ := path.Match(p, dir); return ok })
		if !excluded {
			out = append(out, g.placed(map[string]any{}, in.PathParamPrefix, place{dir: dir}))
		}
	}
	return out, nil
}

func (g *generation) files(in *v1alpha1.GitGenerator, tree fs.FS) ([]map[string]any, error) {
	var with, without []glob
	for i, f := range in.Files {
		pattern, err := newGlob(f.Path, g.world.StrictGlobs)
		if err != nil {
			return nil, fmt.Errorf("files[%d].path %q: %w", i, f.Path, err)
		}
		if f.Exclude {
			without = append(without, pattern)
		} else {
			with = append(with, pattern)
		}
	}
	var found []string
	for _, p := range with {
		files, err := p.files(tree)
		if err != nil {
			return nil, fmt.Errorf("looking for the files %s in %s: %w", p.source, in.RepoURL, err)
		}
		found = append(found, files...)
	}
	slices.Sort(found)
	var out []map[string]any
	for _, file := range slices.Compact(found) {
		if slices.ContainsFunc(without, func(p glob) bool { return p.matches(file) }) {
			continue
		}
		docs, err := g.content(tree, file)
		if err != nil {
			return nil, fmt.Errorf("the file %s of %s: %w; correct it, or exclude it in files", file, in.RepoURL, err)
		}
		for _, doc := range docs {
			out = append(out, g.placed(doc, in.PathParamPrefix, place{dir: path.Dir(file), file: path.Base(file)}))
		}
	}
	return out, nil
}

// content are the parameters in a file.
func (g *generation) content(tree fs.FS, file string) ([]map[string]any, error) {
	data, err := fs.ReadFile(tree, file)
	if err != nil {
		return nil, err
	}
	docs, err := objects(data)
	if err != nil {
		return nil, err
	}
	for i, d := range docs {
		docs[i] = g.shaped(d)
	}
	return docs, nil
}

// place is where a set of parameters was found.
type place struct{ dir, file string }

// placed adds the parameters of a place to a set.
func (g *generation) placed(set map[string]any, prefix string, at place) map[string]any {
	segments := strings.Split(at.dir, "/")
	base := path.Base(at.dir)
	params := map[string]any{"basename": base, "basenameNormalized": Normalize(base)}
	if at.file != "" {
		params["filename"], params["filenameNormalized"] = at.file, Normalize(at.file)
	}
	if !g.language {
		name := join(prefix, "path")
		set[name] = at.dir
		for k, v := range params {
			set[name+"."+k] = v
		}
		for i, s := range segments {
			if s != "" {
				set[name+"["+strconv.Itoa(i)+"]"] = s
			}
		}
		return set
	}
	params["path"], params["segments"] = at.dir, segments
	if prefix == "" {
		set["path"] = params
		return set
	}
	set[prefix] = map[string]any{"path": params}
	return set
}

// matchingDirs are the folders that a pattern matches, segment by segment: only folders that can hold a match are
// listed, since whatever is read decides which commits concern the set.
func matchingDirs(tree fs.FS, pattern string) ([]string, error) {
	found := []string{"."}
	for segment := range strings.SplitSeq(pattern, "/") {
		var next []string
		for _, dir := range found {
			below, err := matchingBelow(tree, dir, segment)
			if err != nil {
				return nil, err
			}
			next = append(next, below...)
		}
		found = next
	}
	return slices.DeleteFunc(found, func(s string) bool { return s == "." }), nil
}

// matchingBelow are the folders in a folder that a segment of a pattern matches. Hidden ones are not seen.
func matchingBelow(tree fs.FS, dir, segment string) ([]string, error) {
	if !strings.ContainsAny(segment, `*?[\`) {
		at := path.Join(dir, segment)
		if segment == "" || strings.HasPrefix(segment, ".") || !fs.ValidPath(at) {
			return nil, nil
		}
		info, err := fs.Lstat(tree, at)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) || err == nil && !info.IsDir() {
			return nil, nil
		}
		return []string{at}, err
	}
	entries, err := list(tree, dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if ok, err := path.Match(segment, e.Name()); err != nil {
			return nil, err
		} else if ok {
			out = append(out, path.Join(dir, e.Name()))
		}
	}
	return out, nil
}

// list is what a folder holds; one that is not there holds nothing.
func list(tree fs.FS, dir string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(tree, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}
