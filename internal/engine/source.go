package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/policy"
	"github.com/towline-cd/towline/internal/core/reads"
	"github.com/towline-cd/towline/internal/core/status"
)

// refTree is the name of the tree of a source that others refer to.
func refTree(s v1alpha1.ApplicationSource) string { return "$" + s.Ref }

// gives says whether a source gives manifests; one that others only refer to
// does not.
func gives(s v1alpha1.ApplicationSource) bool { return s.Path != "" || s.Chart != "" || s.Ref == "" }

// render gives the manifests of all sources of the revisions at hand, joined in
// their order, from memory where nothing that they were made from has changed.
func (e *Engine) render(ctx context.Context, o *observation, l look) (manifest.Result, error) {
	content := &contents{engine: e, o: o, trees: map[string]fs.FS{}}
	defer content.close()
	o.rendered = make([]*rendered, len(o.content.Sources))
	var out manifest.Result
	for i, s := range o.content.Sources {
		if !gives(s) {
			continue
		}
		r, err := e.renderSource(ctx, content, i, l)
		if err != nil {
			return manifest.Result{}, fmt.Errorf("rendering %s: %w", o.described(i), err)
		}
		o.rendered[i] = r
		out = joined(out, r.Result)
	}
	return out, nil
}

func joined(a, b manifest.Result) manifest.Result {
	return manifest.Result{
		Objects: slices.Concat(a.Objects, b.Objects), Files: a.Files + b.Files,
		Skipped: slices.Concat(a.Skipped, b.Skipped), Notes: slices.Concat(a.Notes, b.Notes), Incomplete: a.Incomplete || b.Incomplete,
	}
}

// described names a source to people.
func (o *observation) described(i int) string {
	s := o.content.Sources[i]
	what := fmt.Sprintf("%q", s.Path)
	if s.Chart != "" {
		what = "chart " + s.Chart
	}
	text := fmt.Sprintf("%s of %s at %s", what, policy.Address(s.RepoURL), short(o.content.Revisions[i]))
	if len(o.content.Sources) > 1 {
		text = fmt.Sprintf("source %d, %s", i+1, text)
	}
	return text
}

// renderSource gives the manifests of one source.
func (e *Engine) renderSource(ctx context.Context, content *contents, i int, l look) (*rendered, error) {
	req := e.request(content.o, i)
	ask, err := question(req)
	if err != nil {
		return nil, err
	}
	name := ask + content.o.revisionsFor(i, content.o.content.Revisions)
	if !l.hard {
		if r, ok := e.named(ask, name); ok && r.serves(req) && e.stands(ctx, content.o, r) {
			return r, nil
		}
	}
	trees, err := content.given(ctx, i)
	if err != nil {
		return nil, err
	}
	if !l.hard {
		for _, r := range e.answers(ask) {
			if r.serves(req) && e.stands(ctx, content.o, r) && r.fits(trees) {
				e.name(r, name)
				return r, nil
			}
		}
	}
	start := e.Now()
	r, err := e.make(ctx, content, trees, req)
	e.Meter.Rendered(e.renderCause(ask, req, l), e.Now().Sub(start))
	if err != nil {
		return nil, err
	}
	r.Names = []string{name}
	e.keep(ask, r)
	return r, nil
}

// request is what a renderer is asked for a source.
func (e *Engine) request(o *observation, i int) manifest.Request {
	req := manifest.Request{
		Source: o.content.Sources[i],
		App: manifest.App{
			Name: o.app.Name, Project: o.app.ProjectName(), Namespace: o.app.Spec.Destination.Namespace,
			Revision: o.content.Revisions[i],
		},
		Build: e.Settings().Build,
	}
	if instance := object.Instance(e.Namespace, o.app.Namespace, o.app.Name); instance != o.app.Name {
		req.App.Instance = instance
	}
	switch {
	case o.kube != nil:
		req.Kube = *o.kube
	case o.cluster != nil && o.cluster.View().Kube != nil:
		req.Kube = *o.cluster.View().Kube
	}
	return req
}

// Rendering says how an application is rendered for somebody who looks.
type Rendering struct {
	// Revisions override those of the sources.
	Revisions []string
	// Kube is what charts are told of the cluster.
	Kube manifest.Kube
}

// Render gives the manifests of an application. It asks no cluster and writes
// nothing.
func (e *Engine) Render(ctx context.Context, app *v1alpha1.Application, r Rendering) (manifest.Result, error) {
	o := &observation{engine: e, app: app, content: status.ContentOf(app), kube: &r.Kube}
	o.findings = plan.SourceFindings(app)
	if finding.Blocking(o.findings) {
		return manifest.Result{}, errors.New(why(o))
	}
	l := look{asked: true, revisions: r.Revisions}
	if err := e.resolve(ctx, o, l); err != nil {
		return manifest.Result{}, err
	}
	return e.render(ctx, o, l)
}

// question names what is asked, without what only some answers depend on.
func question(req manifest.Request) (string, error) {
	req.App.Revision = ""
	req.Kube.APIs, req.Kube.Digest = nil, ""
	text, err := json.Marshal(req)
	if err != nil {
		return "", fmt.Errorf("encoding the source: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}

// revisionsFor are the revisions that a source is rendered from: its own and
// those that it may refer to.
func (o *observation) revisionsFor(i int, revisions []string) string {
	var b strings.Builder
	b.WriteString("@" + revisions[i])
	for j, s := range o.content.Sources {
		if s.Ref != "" && j != i {
			b.WriteString("," + refTree(s) + "=" + revisions[j])
		}
	}
	return b.String()
}

// serves says whether what an answer depends on besides content is as asked.
func (r *rendered) serves(req manifest.Request) bool {
	return (r.Revision == "" || r.Revision == req.App.Revision) && (r.APIs == "" || r.APIs == req.Kube.Digest)
}

// fits says whether an answer is also one to this content.
func (r *rendered) fits(trees manifest.Trees) bool {
	if r.Result.Reads == nil {
		return false
	}
	for _, read := range r.Result.Reads {
		if slices.ContainsFunc(r.Needs, func(n needed) bool { return n.Need.ID() == read.Tree }) {
			// What was fetched for it is the same revision.
			continue
		}
		tree, ok := trees[read.Tree].(manifest.Traced)
		if !ok {
			return false
		}
		if same, err := tree.Same(read); err != nil || !same {
			return false
		}
	}
	return true
}

// stands says whether what an answer had fetched besides is still what it would
// have fetched.
func (e *Engine) stands(ctx context.Context, o *observation, r *rendered) bool {
	maxAge := e.Settings().MaxAge
	if !r.Made.IsZero() && e.Now().Sub(r.Made) > pluginAge {
		return false
	}
	for _, n := range r.Needs {
		if n.Need.Kind == manifest.NeedFile {
			if e.Now().Sub(n.Seen) > maxAge {
				return false
			}
			continue
		}
		revision, _, err := e.Sources.Resolve(ctx, needOrigin(o, n.Need), maxAge)
		if fault.ClassOf(err) == fault.Transient && err != nil {
			// What is out of reach is taken for what it was.
			continue
		}
		if err != nil || revision != n.Revision {
			return false
		}
	}
	return true
}

// pluginAge is how long what a plugin made is taken for what it would make, as
// in Argo CD: it may look at more than content.
const pluginAge = 24 * time.Hour

// due is how long what plugins made for an application still stands; zero if no
// plugin did.
func (e *Engine) due(o *observation) time.Duration {
	var out time.Duration
	for _, r := range o.rendered {
		if r == nil || r.Made.IsZero() {
			continue
		}
		left := max(pluginAge-e.Now().Sub(r.Made), time.Second)
		if out == 0 || left < out {
			out = left
		}
	}
	return out
}

func needOrigin(o *observation, n manifest.Need) manifest.Origin {
	return manifest.Origin{RepoURL: n.URL, Chart: n.Chart, Revision: n.Revision, Project: o.app.ProjectName(), ByContent: true}
}

// Bounds on what a render may have fetched.
const (
	mostRounds = 16
	mostNeeds  = 200
)

// make renders. What the renderer needs is fetched, and it is asked again.
func (e *Engine) make(
	ctx context.Context, content *contents, trees manifest.Trees, req manifest.Request,
) (*rendered, error) {
	r := &rendered{}
	for range mostRounds {
		result, err := e.Renderer.Render(ctx, trees, req)
		if err != nil {
			return nil, err
		}
		if len(result.Needs) == 0 {
			r.Result = result
			if result.UsesRevision {
				r.Revision = req.App.Revision
			}
			if result.UsesAPIs {
				r.APIs = req.Kube.Digest
			}
			if result.Type == v1alpha1.SourceTypePlugin {
				r.Made = e.Now()
			}
			return r, nil
		}
		if err := r.meet(ctx, content, trees, result.Needs); err != nil {
			return nil, err
		}
	}
	return nil, fault.Terminalf("TooManyNeeds", "what it needs fetched needs more fetched in turn, more than %d times", mostRounds)
}

// meet has fetched what a render needs.
func (r *rendered) meet(ctx context.Context, content *contents, trees manifest.Trees, needs []manifest.Need) error {
	if len(r.Needs)+len(needs) > mostNeeds {
		return fault.Terminalf("TooManyNeeds", "it asks for more than %d other sources to be fetched", mostNeeds)
	}
	for _, need := range needs {
		if _, met := trees[need.ID()]; met {
			return fault.Terminalf("NeedUnmet", "%s was fetched and is still asked for by %s", need.URL, need.Why)
		}
		met, tree, err := content.fetch(ctx, need)
		if err != nil {
			return fmt.Errorf("fetching %s for %s: %w", need.URL, need.Why, err)
		}
		r.Needs = append(r.Needs, met)
		trees[need.ID()] = tree
	}
	return nil
}

// contents opens what a render reads, each once, and closes it in the end.
type contents struct {
	engine *Engine
	o      *observation
	trees  map[string]fs.FS
}

// given are the trees of a source: its own, and those that it may refer to.
func (c *contents) given(ctx context.Context, i int) (manifest.Trees, error) {
	out := manifest.Trees{}
	for j, s := range c.o.content.Sources {
		if j != i && s.Ref == "" {
			continue
		}
		tree, err := c.open(ctx, manifest.OriginOf(c.o.app, s), c.o.content.Revisions[j])
		if err != nil {
			return nil, err
		}
		if j == i {
			out[""] = tree
		}
		if s.Ref != "" {
			out[refTree(s)] = tree
		}
	}
	return out, nil
}

func (c *contents) open(ctx context.Context, of manifest.Origin, revision string) (fs.FS, error) {
	key := of.RepoURL + " " + of.Chart + " " + revision
	if tree, ok := c.trees[key]; ok {
		return tree, nil
	}
	tree, err := c.engine.Sources.Tree(ctx, of, revision)
	if err != nil {
		return nil, err
	}
	c.trees[key] = tree
	return tree, nil
}

// fetch meets a need.
func (c *contents) fetch(ctx context.Context, n manifest.Need) (needed, fs.FS, error) {
	out := needed{Need: n, Seen: c.engine.Now()}
	origin := needOrigin(c.o, n)
	if n.Kind == manifest.NeedFile {
		tree, err := c.engine.Sources.File(ctx, n.URL, origin.Project)
		return out, tree, err
	}
	revision, _, err := c.engine.Sources.Resolve(ctx, origin, c.engine.Settings().MaxAge)
	if err != nil {
		return out, nil, err
	}
	out.Revision = revision
	tree, err := c.open(ctx, origin, revision)
	return out, tree, err
}

func (c *contents) close() {
	var failures []error
	for _, tree := range c.trees {
		if closer, ok := tree.(io.Closer); ok {
			failures = append(failures, closer.Close())
		}
	}
	// What was read was read.
	_ = errors.Join(failures...)
}

// named finds an answer by the revisions that it is of, without a look at their
// content: in memory, or else among what an earlier process kept.
func (e *Engine) named(ask, name string) (*rendered, bool) {
	if r, ok := e.renders.named(name); ok {
		return r, true
	}
	e.answers(ask)
	return e.renders.named(name)
}

// answers are those that are known to a question: from memory, or else what an
// earlier process kept.
func (e *Engine) answers(ask string) []*rendered {
	if known := e.renders.answers(ask); len(known) > 0 {
		return known
	}
	data, ok := e.Shelf.Load(ask)
	if !ok {
		return nil
	}
	r, err := decode(data)
	if err != nil {
		return nil
	}
	e.renders.put(ask, r, len(data))
	return []*rendered{r}
}

// shelved is what an earlier process kept of the answer for a source at the
// revisions at hand, without its objects.
func (e *Engine) shelved(o *observation, i int) (*rendered, bool) {
	req := e.request(o, i)
	ask, err := question(req)
	if err != nil {
		return nil, false
	}
	data, ok := e.Shelf.Load(ask)
	if !ok {
		return nil, false
	}
	r, err := decodeHead(data)
	if err != nil {
		return nil, false
	}
	return r, r.serves(req) && slices.Contains(r.Names, ask+o.revisionsFor(i, o.content.Revisions))
}

// name notes another revision of an answer.
func (e *Engine) name(r *rendered, name string) {
	e.renders.name(r, name)
}

// keep keeps an answer, for the next process too where it can tell whether it
// still holds.
func (e *Engine) keep(ask string, r *rendered) {
	data, err := e.renders.encode(r)
	if err != nil {
		return
	}
	e.renders.put(ask, r, len(data))
	if r.Result.Reads != nil {
		e.Shelf.Keep(ask, data)
	}
}

// readsOf are the reads of an answer in one of its trees, as those of a
// repository.
func readsOf(r *rendered, tree string) []reads.Read {
	var out []reads.Read
	for _, read := range r.Result.Reads {
		if read.Tree == tree {
			read.Tree = ""
			out = append(out, read)
		}
	}
	return out
}
