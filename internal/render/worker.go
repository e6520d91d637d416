package render

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/worker"
)

const (
	// memoryMargin is how much more memory than at its start a worker may map.
	memoryMargin = 512 << 20
	// stackLimit is how deep the recursion of a library may go.
	stackLimit = 64 << 20
	// patience is how much longer than allowed a worker computes before it ends itself, if its parent did not.
	patience = 15 * time.Second
)

// What a worker says of its confinement when it is ready.
const (
	sandboxFull    = "full"
	sandboxPartial = "partial: "
	sandboxNone    = "none: "
)

// Work is the worker process: it answers the requests that come in until there are none left. It must be given a process
// of its own, from which it takes files, network and programs before it reads a byte.
func Work(ctx context.Context, in io.Reader, out io.Writer) error {
	return work(ctx, in, out, warmUps())
}

// work is Work with what is to be rendered first.
func work(ctx context.Context, in io.Reader, out io.Writer, first map[string]manifest.Request) error {
	// What is rendered does not depend on the machine.
	time.Local = time.UTC
	debug.SetMaxStack(stackLimit)
	debug.SetGCPercent(200)
	warm(ctx, first)
	level := confine()
	if err := worker.WriteFrame(out, worker.AppendText(worker.NewFrame(nil), level)); err != nil {
		return err
	}
	l := &link{in: bufio.NewReaderSize(in, 64<<10), out: bufio.NewWriterSize(out, 64<<10)}
	for {
		frame, err := worker.ReadFrame(l.in, nil)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := l.serve(ctx, frame); err != nil {
			return err
		}
	}
}

// warm renders something with each tool, so that what is made once is made while files can still be opened.
func warm(ctx context.Context, first map[string]manifest.Request) {
	// The runtime's own descriptor for timers.
	time.AfterFunc(time.Hour, func() {}).Stop()
	for _, req := range first {
		_, _ = Local(ctx, manifest.Trees{"": samples}, req)
	}
}

const sampleObject = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: &d {a: b}\nc: *d\n"

// samples are something for each tool.
var samples = sample{
	"plain/a.yaml":               sampleObject,
	"plain/b.jsonnet":            `{apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: std.format('%s', ['b'])}}`,
	"chart/Chart.yaml":           "apiVersion: v2\nname: a\nversion: 1.0.0\n",
	"chart/templates/a.yaml":     sampleObject + "n: {{ .Release.Name | quote }}\n",
	"overlay/kustomization.yaml": "namePrefix: a-\nresources: [a.yaml]\n",
	"overlay/a.yaml":             sampleObject,
}

// warmUps are what is asked of the samples, by folder.
func warmUps() map[string]manifest.Request {
	out := map[string]manifest.Request{}
	for _, folder := range []string{"plain", "chart", "overlay"} {
		out[folder] = manifest.Request{
			Source: v1alpha1.ApplicationSource{Path: folder},
			App:    manifest.App{Name: "a", Namespace: "a"},
			Kube:   manifest.Kube{Version: "1.36.0"},
		}
	}
	return out
}

// sample are files by their paths.
type sample map[string]string

// Open is not needed: the files are read in other ways.
func (s sample) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
}

// ReadFile returns the content of a file.
func (s sample) ReadFile(name string) ([]byte, error) {
	if text, ok := s[name]; ok {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}

// Stat knows files and their folders.
func (s sample) Stat(name string) (fs.FileInfo, error) {
	if text, ok := s[name]; ok {
		return fileInfo{name: path.Base(name), size: int64(len(text))}, nil
	}
	if entries, err := s.ReadDir(name); len(entries) > 0 {
		return fileInfo{name: path.Base(name), mode: fs.ModeDir}, err
	}
	return nil, fs.ErrNotExist
}

// ReadDir lists a folder.
func (s sample) ReadDir(dir string) ([]fs.DirEntry, error) {
	found := map[string]fs.FileMode{}
	for name := range s {
		rest, ok := strings.CutPrefix(name, dir+"/")
		if !ok {
			continue
		}
		if base, _, deeper := strings.Cut(rest, "/"); deeper {
			found[base] = fs.ModeDir
		} else {
			found[base] = 0
		}
	}
	var entries []fs.DirEntry
	for _, base := range slices.Sorted(maps.Keys(found)) {
		entries = append(entries, treeEntry{fileInfo: fileInfo{name: base, mode: found[base]}})
	}
	return entries, nil
}

// link is the worker's way to its parent.
type link struct {
	in  *bufio.Reader
	out *bufio.Writer
	buf []byte
	// kube is what the last request said of the cluster; it is told when it changes.
	kube manifest.Kube
	// soft is where the garbage collector stops being lazy.
	soft int64
	// broken is why the parent can no longer be asked.
	broken error
}

// ask asks the parent.
func (l *link) ask(questions []question) ([]answer, error) {
	if l.broken != nil {
		return nil, l.broken
	}
	frame := worker.AppendCount(append(worker.NewFrame(l.buf), saidQuestions), len(questions))
	for _, q := range questions {
		frame = appendQuestion(frame, q)
	}
	if l.broken = l.say(frame); l.broken != nil {
		return nil, l.broken
	}
	// The answers keep parts of the message, so each has its own.
	said, err := worker.ReadFrame(l.in, nil)
	if l.broken = err; err != nil {
		return nil, err
	}
	c := worker.Cursor{Data: said}
	answers := make([]answer, len(questions))
	for i, q := range questions {
		answers[i] = readAnswer(&c, q.op)
	}
	l.broken = c.Err
	return answers, c.Err
}

// serve makes one render.
func (l *link) serve(ctx context.Context, frame []byte) error {
	r, err := l.request(frame)
	if err != nil {
		return err
	}
	limits := r.limits
	late := time.AfterFunc(limits.Wall+patience, func() {
		os.Exit(exitLate) //nolint:forbidigo // this process is the worker and nothing else
	})
	defer late.Stop()
	if soft := int64(limits.Memory / 4 * 3); soft != l.soft {
		// It stops the world, so it is done when it has to be.
		l.soft = soft
		debug.SetMemoryLimit(soft)
	}
	trees := manifest.Trees{}
	for _, name := range r.trees {
		trees[name] = newTree(name, l)
	}
	learn(trees, r.foreseen)
	result, err := dispatch(ctx, trees, r.Request, limits)
	if l.broken != nil {
		return l.broken
	}
	if err == nil {
		err = l.objects(result.Objects, limits)
	}
	if err != nil {
		id := 0
		if remote, ok := errors.AsType[*remoteError](err); ok {
			id = remote.id
		}
		return l.say(appendError(append(worker.NewFrame(l.buf), saidError), err, id))
	}
	return l.say(appendResult(append(worker.NewFrame(l.buf), saidResult), result))
}

// exitLate is how a worker ends that nobody ended in time.
const exitLate = 67

// say sends a message, and what was written before it: the end of a small answer is the second message of one write.
func (l *link) say(frame []byte) error {
	l.buf = frame
	return errors.Join(worker.WriteFrame(l.out, frame), l.out.Flush())
}

// chunk is how much of the answer is sent at once: the parent reads it while the next is written.
const chunk = 256 << 10

// objects sends the objects of an answer.
func (l *link) objects(objects []*unstructured.Unstructured, limits Limits) error {
	total := int64(0)
	e := worker.Encoder{Unordered: true, Out: append(worker.NewFrame(l.buf), saidObjects)}
	send := func() error {
		total += int64(len(e.Out))
		if total > limits.OutputBytes {
			return limits.output()
		}
		err := worker.WriteFrame(l.out, e.Out)
		e.Out = append(worker.NewFrame(e.Out), saidObjects)
		return err
	}
	for _, object := range objects {
		e.Value(object.Object, 0)
		if e.Err != nil {
			return fault.Terminalf("InvalidManifest", "%s %q cannot be read as JSON: %w", object.GetKind(), object.GetName(), e.Err)
		}
		if len(e.Out) < chunk {
			continue
		}
		if err := send(); err != nil {
			return err
		}
	}
	l.buf = e.Out
	return send()
}

// asked is the part of a request that is small.
type asked struct {
	Source v1alpha1.ApplicationSource
	App    manifest.App
	Build  manifest.Build
	Limits Limits
	Trees  []string
}

// appendRequest is the message that asks for a render. What is known of the cluster is told only if it changed.
func appendRequest(out []byte, a asked, kube *manifest.Kube) ([]byte, error) {
	small, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	out = append(appendBytes(out, small), worker.BoolTag(kube != nil))
	if kube != nil {
		out = appendTexts(worker.AppendText(out, kube.Version), kube.APIs)
	}
	return out, nil
}

// request is what a worker is asked.
type request struct {
	manifest.Request
	trees    []string
	limits   Limits
	foreseen []foreseen
}

func (l *link) request(frame []byte) (request, error) {
	c := worker.Cursor{Data: frame}
	small := c.Bytes()
	if c.Truth() {
		l.kube = manifest.Kube{Version: c.Text(), APIs: readTexts(&c)}
	}
	var r request
	for n := c.Count(); n > 0 && c.Err == nil; n-- {
		q := readQuestion(&c)
		r.foreseen = append(r.foreseen, foreseen{q, readAnswer(&c, q.op)})
	}
	if c.Err != nil {
		return request{}, c.Err
	}
	var a asked
	if err := json.Unmarshal(small, &a); err != nil {
		return request{}, fmt.Errorf("decoding the request: %w", err)
	}
	r.Request = manifest.Request{Source: a.Source, App: a.App, Kube: l.kube, Build: a.Build}
	r.trees, r.limits = a.Trees, a.Limits
	return r, nil
}
