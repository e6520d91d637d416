package render

import (
	"errors"
	"io/fs"
	"path"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/reads"
)

// Bounds on one answer: what is larger is asked for piece by piece.
const (
	folderBytes  = 32 << 20
	folderFiles  = 20_000
	answersBytes = 8 << 20
	largestFile  = 40 << 20
)

// desk answers the questions of one render and notes what it was asked: the process that asks is not trusted with
// either. So what a render depends on is known from here, names that it did not find among it.
type desk struct {
	trees  manifest.Trees
	limits Limits

	bytes     int64
	files     int
	questions int
	// over is the limit that was reached; from then on it is the only answer.
	over error
	// errs are the errors that were told, by the ids that they were told with, less one.
	errs  []error
	reads []reads.Read
	// untold says that a tree could not tell what a read depends on.
	untold bool
}

func newDesk(trees manifest.Trees, limits Limits) *desk {
	return &desk{trees: trees, limits: limits}
}

// ask answers.
func (d *desk) ask(questions []question) ([]answer, error) {
	answers := make([]answer, len(questions))
	size := int64(0)
	for i, q := range questions {
		if size > answersBytes {
			answers[i] = answer{none: true}
			continue
		}
		before := d.bytes
		answers[i] = d.answer(q)
		size += d.bytes - before
	}
	return answers, nil
}

// set is what the render read, or nil.
func (d *desk) set() reads.Set {
	if d.untold {
		return nil
	}
	set := reads.Of(d.reads)
	if set == nil {
		set = reads.Set{}
	}
	return set
}

// cause is the error that was told with an id.
func (d *desk) cause(id int) error {
	if id < 1 || id > len(d.errs) {
		return nil
	}
	return d.errs[id-1]
}

// number gives an error its id.
func (d *desk) number(err error) int {
	d.errs = append(d.errs, err)
	return len(d.errs)
}

// append appends an answer.
func (d *desk) append(out []byte, o op, a answer) []byte {
	id := 0
	if a.err != nil {
		id = d.number(a.err)
	}
	return appendAnswer(out, o, a, id)
}

func (d *desk) answer(q question) answer {
	if d.questions++; d.questions > 8*d.limits.Files {
		d.over = d.limits.files()
	}
	if d.over != nil {
		return answer{err: d.over}
	}
	tree, ok := d.trees[q.tree]
	if !ok || tree == nil || !fs.ValidPath(q.path) {
		return answer{err: &fs.PathError{Op: "open", Path: q.path, Err: fs.ErrInvalid}}
	}
	a := d.look(tree, q)
	d.trace(tree, q, a)
	if d.over != nil {
		return answer{err: d.over}
	}
	return a
}

// look reads.
func (d *desk) look(tree fs.FS, q question) (a answer) {
	switch q.op {
	case opFile:
		if a.content, a.err = fs.ReadFile(tree, q.path); a.err == nil && len(a.content) > largestFile {
			return answer{err: fault.Terminalf("TooLarge", "%q has %d bytes, more than the %d of a file that is read; "+
				"move it out of the folder", q.path, len(a.content), largestFile)}
		}
		d.count(len(a.content), 1)
	case opList:
		var entries []fs.DirEntry
		entries, a.err = fs.ReadDir(tree, q.path)
		for _, e := range entries {
			a.entries = append(a.entries, fileInfo{name: e.Name(), mode: e.Type(), submodule: submodule(e)})
		}
		d.count(0, len(entries))
	case opStat, opLstat:
		var info fs.FileInfo
		if q.op == opStat {
			info, a.err = fs.Stat(tree, q.path)
		} else {
			info, a.err = fs.Lstat(tree, q.path)
		}
		if a.err == nil {
			a.info = infoOf(info)
		}
	case opLink:
		var target string
		target, a.err = fs.ReadLink(tree, q.path)
		a.content = []byte(target)
	case opFolder:
		w := folderWalk{tree: tree}
		if a.err = w.walk(q.path); a.err == nil {
			a.below, a.none = w.found, w.tooMuch
		}
		d.count(w.bytes, len(w.found))
	default:
		a.err = fs.ErrInvalid
	}
	return a
}

// count holds the render to what it may read.
func (d *desk) count(bytes, files int) {
	d.bytes += int64(bytes)
	d.files += files
	switch {
	case d.bytes > d.limits.ReadBytes:
		d.over = d.limits.read()
	case d.files > d.limits.Files:
		d.over = d.limits.files()
	}
}

// kinds are what is read by a question that finds something.
var kinds = map[op]reads.Kind{
	opFile: reads.File, opList: reads.Listing, opStat: reads.Type, opLstat: reads.Type, opLink: reads.Link, opFolder: reads.Folder,
}

// trace notes what the answer depends on.
func (d *desk) trace(tree fs.FS, q question, a answer) {
	if d.untold || a.none {
		return
	}
	traced, ok := tree.(manifest.Traced)
	if !ok {
		d.untold = true
		return
	}
	kind := kinds[q.op]
	switch {
	case errors.Is(a.err, fs.ErrNotExist):
		kind = reads.Absent
	case a.err != nil && q.op == opFolder:
		return // it is read piece by piece then
	case a.err != nil:
		// What came of it cannot be told from a commit where it went well.
		d.untold = true
		return
	case q.op == opLstat && a.info.mode&fs.ModeSymlink != 0:
		kind = reads.Link
	}
	found, err := traced.Trace(kind, q.path)
	if err != nil {
		d.untold = true
		return
	}
	for _, r := range found {
		r.Tree = q.tree
		d.reads = append(d.reads, r)
	}
}

func infoOf(info fs.FileInfo) fileInfo {
	return fileInfo{name: info.Name(), size: info.Size(), mode: info.Mode(), submodule: submodule(info)}
}

// submodule asks an entry or a FileInfo of a tree that knows about submodules.
func submodule(of any) string {
	if module, ok := of.(interface{ Submodule() string }); ok {
		return module.Submodule()
	}
	return ""
}

// folderWalk reads everything below a folder, unless that is too much.
type folderWalk struct {
	tree    fs.FS
	found   []found
	bytes   int
	tooMuch bool
}

func (w *folderWalk) walk(dir string) error {
	entries, err := fs.ReadDir(w.tree, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if w.bytes > folderBytes || len(w.found) > folderFiles {
			w.tooMuch = true
		}
		if w.tooMuch {
			w.found = nil
			return nil
		}
		if err := w.entry(path.Join(dir, e.Name()), e); err != nil {
			return err
		}
	}
	return nil
}

func (w *folderWalk) entry(name string, e fs.DirEntry) error {
	f := found{path: name, info: fileInfo{name: e.Name(), mode: e.Type(), submodule: submodule(e)}}
	switch {
	case e.IsDir():
		w.found = append(w.found, f)
		if f.info.submodule != "" {
			return nil
		}
		return w.walk(name)
	case e.Type()&fs.ModeSymlink != 0:
		target, err := fs.ReadLink(w.tree, name)
		if err != nil {
			return err
		}
		f.content = []byte(target)
	case e.Type().IsRegular():
		content, err := fs.ReadFile(w.tree, name)
		if err != nil {
			return err
		}
		f.content = content
	}
	f.info.size = int64(len(f.content))
	w.bytes += len(f.content)
	w.found = append(w.found, f)
	return nil
}
