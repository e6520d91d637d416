package render

import (
	"errors"
	"io/fs"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/worker"
)

// What a message from a worker begins with. The parent's are a request and, to questions, answers.
const (
	saidQuestions = 'q'
	saidObjects   = 'o'
	saidResult    = 'r'
	saidError     = 'e'
)

// op is a question about a tree.
type op byte

const (
	opFile   op = 'f' // the content of a file
	opList   op = 'l' // the entries of a folder
	opStat   op = 's' // what a path is, links followed
	opLstat  op = 'k' // what a path is, a link itself
	opLink   op = 'r' // where a link leads to
	opFolder op = 'd' // everything in a folder and below
)

// question is about one path of one tree.
type question struct {
	op         op
	tree, path string
}

// fileInfo is what a tree says of a path. It is all that a render may know: neither times nor owners.
type fileInfo struct {
	name      string
	size      int64
	mode      fs.FileMode
	submodule string
}

// found is one path below a folder, with what is there.
type found struct {
	path string
	info fileInfo
	// content is that of a file, or where a link leads to.
	content []byte
}

// answer is what a tree says to a question.
type answer struct {
	err     error
	content []byte     // opFile, opLink
	info    fileInfo   // opStat, opLstat
	entries []fileInfo // opList
	below   []found    // opFolder
	// none says that the question was left for later, or that there is too much to tell at once.
	none bool
}

// What an answer begins with.
const (
	answerYes  = 'y'
	answerErr  = 'e'
	answerNone = 'n'
)

func appendQuestion(out []byte, q question) []byte {
	return worker.AppendText(worker.AppendText(append(out, byte(q.op)), q.tree), q.path)
}

func readQuestion(c *worker.Cursor) question {
	return question{op: op(c.Tag()), tree: c.Text(), path: c.Text()}
}

func appendInfo(out []byte, i fileInfo) []byte {
	out = worker.AppendText(out, i.name)
	out = worker.AppendWord(out, uint64(i.size))
	out = worker.AppendWord(out, uint64(i.mode))
	return worker.AppendText(out, i.submodule)
}

func readInfo(c *worker.Cursor) fileInfo {
	return fileInfo{name: c.Text(), size: int64(c.Word()), mode: fs.FileMode(c.Word()), submodule: c.Text()}
}

func appendBytes(out, b []byte) []byte { return append(worker.AppendCount(out, len(b)), b...) }

func appendAnswer(out []byte, o op, a answer, id int) []byte {
	if a.err != nil {
		return appendError(append(out, answerErr), a.err, id)
	}
	if a.none {
		return append(out, answerNone)
	}
	out = append(out, answerYes)
	switch o {
	case opFile, opLink:
		out = appendBytes(out, a.content)
	case opStat, opLstat:
		out = appendInfo(out, a.info)
	case opList:
		out = worker.AppendCount(out, len(a.entries))
		for _, e := range a.entries {
			out = appendInfo(out, e)
		}
	case opFolder:
		out = worker.AppendCount(out, len(a.below))
		for _, f := range a.below {
			out = appendBytes(appendInfo(worker.AppendText(out, f.path), f.info), f.content)
		}
	}
	return out
}

// readAnswer reads an answer; what it holds stays part of the message.
func readAnswer(c *worker.Cursor, o op) answer {
	switch c.Tag() {
	case answerErr:
		return answer{err: readError(c)}
	case answerNone:
		return answer{none: true}
	}
	var a answer
	switch o {
	case opFile, opLink:
		a.content = c.Bytes()
	case opStat, opLstat:
		a.info = readInfo(c)
	case opList:
		for n := c.Count(); n > 0 && c.Err == nil; n-- {
			a.entries = append(a.entries, readInfo(c))
		}
	case opFolder:
		for n := c.Count(); n > 0 && c.Err == nil; n-- {
			a.below = append(a.below, found{path: c.Text(), info: readInfo(c), content: c.Bytes()})
		}
	}
	return a
}

// remoteError is an error that came from the other process: its words, and the errors that callers ask for by name.
type remoteError struct {
	text string
	// id is that of the error at the parent, which has more to say of it; zero is none.
	id int
	is error
}

func (e *remoteError) Error() string { return e.text }

func (e *remoteError) Unwrap() error { return e.is }

// knownErrors are those that callers tell from others.
var knownErrors = []error{nil, fs.ErrNotExist, fs.ErrInvalid, fs.ErrPermission, fs.ErrClosed}

// appendError appends an error: its class if it has one, its words, which of the known errors it is, and an id.
func appendError(out []byte, err error, id int) []byte {
	known := 0
	for i, e := range knownErrors {
		if e != nil && errors.Is(err, e) {
			known = i
		}
	}
	classified, ok := errors.AsType[*fault.Error](err)
	out = append(out, worker.BoolTag(ok))
	if ok {
		out = worker.AppendText(append(out, byte(classified.Class)), classified.Reason)
		out = worker.AppendCount(out, len(classified.Fields))
		for _, field := range classified.Fields {
			out = worker.AppendText(out, field)
		}
	}
	out = worker.AppendText(append(out, byte(known)), err.Error())
	return worker.AppendWord(out, uint64(id))
}

func readError(c *worker.Cursor) error {
	var classified *fault.Error
	if c.Truth() {
		classified = &fault.Error{Class: fault.Class(c.Tag()), Reason: c.Text()}
		for n := c.Count(); n > 0 && c.Err == nil; n-- {
			classified.Fields = append(classified.Fields, c.Text())
		}
		if classified.Class > fault.Terminal {
			c.Fail(worker.ErrTag)
		}
	}
	remote := &remoteError{}
	known := int(c.Tag())
	remote.text, remote.id = c.Text(), int(c.Word())
	if known >= len(knownErrors) {
		c.Fail(worker.ErrTag)
	} else {
		remote.is = knownErrors[known]
	}
	if classified == nil {
		return remote
	}
	classified.Err = remote
	return classified
}

// appendResult appends what a render answers, less its objects.
func appendResult(out []byte, r manifest.Result) []byte {
	out = worker.AppendText(out, string(r.Type))
	out = worker.AppendCount(out, len(r.Needs))
	for _, n := range r.Needs {
		for _, text := range []string{string(n.Kind), n.URL, n.Chart, n.Revision, n.Why, n.Variables} {
			out = worker.AppendText(out, text)
		}
	}
	out = append(out, worker.BoolTag(r.UsesRevision), worker.BoolTag(r.UsesAPIs), worker.BoolTag(r.Incomplete))
	out = worker.AppendWord(out, uint64(r.Files))
	out = appendTexts(out, r.Skipped)
	return appendTexts(out, r.Notes)
}

func readResult(c *worker.Cursor) manifest.Result {
	r := manifest.Result{Type: v1alpha1.SourceType(c.Text())}
	for n := c.Count(); n > 0 && c.Err == nil; n-- {
		r.Needs = append(r.Needs, manifest.Need{
			Kind: manifest.NeedKind(c.Text()), URL: c.Text(), Chart: c.Text(), Revision: c.Text(), Why: c.Text(),
			Variables: c.Text(),
		})
	}
	r.UsesRevision, r.UsesAPIs, r.Incomplete = c.Truth(), c.Truth(), c.Truth()
	r.Files = int(c.Word())
	r.Skipped, r.Notes = readTexts(c), readTexts(c)
	return r
}

func appendTexts(out []byte, texts []string) []byte {
	out = worker.AppendCount(out, len(texts))
	for _, text := range texts {
		out = worker.AppendText(out, text)
	}
	return out
}

func readTexts(c *worker.Cursor) []string {
	var texts []string
	for n := c.Count(); n > 0 && c.Err == nil; n-- {
		texts = append(texts, c.Text())
	}
	return texts
}

// readObjects reads the objects of one message.
func readObjects(c *worker.Cursor, into []*unstructured.Unstructured) []*unstructured.Unstructured {
	for len(c.Data) > 0 && c.Err == nil {
		fields, ok := c.Value(0).(map[string]any)
		if !ok {
			c.Fail(worker.ErrTag)
			break
		}
		into = append(into, &unstructured.Unstructured{Object: fields})
	}
	return into
}
