package render

import (
	"context"
	"runtime/debug"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/environment"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/render/helm"
	"github.com/towline-cd/towline/internal/render/kustomize"
)

// Tool renders one type of source. The fields of the source hold no variables any more.
type Tool func(ctx context.Context, trees manifest.Trees, req manifest.Request) (manifest.Result, error)

// tools are those that this build has.
var tools = map[v1alpha1.SourceType]Tool{
	v1alpha1.SourceTypeDirectory: renderDirectory,
	v1alpha1.SourceTypeHelm:      helm.Render,
	v1alpha1.SourceTypeKustomize: kustomize.Render,
	v1alpha1.SourceTypePlugin:    renderPlugin,
}

func renderDirectory(ctx context.Context, trees manifest.Trees, req manifest.Request) (manifest.Result, error) {
	return Directory{MaxBytes: req.Build.MaxDirectoryBytes, jsonnet: true}.render(ctx, trees, req)
}

// Local renders in this process, which must be one that may be lost: it is for the command line and for tests. Its answer
// is that of a worker.
func Local(ctx context.Context, trees manifest.Trees, req manifest.Request) (manifest.Result, error) {
	limits := Limits{}.withDefaults()
	d := newDesk(trees, limits)
	known := manifest.Trees{}
	for name := range trees {
		known[name] = newTree(name, d)
	}
	learn(known, d.foresee(req))
	result, err := dispatch(ctx, known, req, limits)
	if err != nil {
		return manifest.Result{}, err
	}
	result.Reads = d.set()
	return result, nil
}

// reasonPanic is the reason of a fault for a tool that broke down.
const reasonPanic = "RenderFailed"

// dispatch gives the source to the tool that renders it. What a tool breaks down of, or says of Secrets, does not leave
// here as it is.
func dispatch(ctx context.Context, trees manifest.Trees, req manifest.Request, limits Limits) (result manifest.Result, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fault.Terminalf(reasonPanic, "the tool that renders %q broke down (%v, at %s); this is a bug of the tool or of Towline: "+
				"please report it with the source", req.Source.Path, broken, culprit(debug.Stack()))
		}
		result, err = scrub(trees, result, err)
	}()
	result, err = renderSource(ctx, trees, req)
	if err == nil && len(result.Objects) > limits.Objects {
		err = limits.objects()
	}
	if err != nil {
		return manifest.Result{}, err
	}
	return result, nil
}

// culprit is the function that panicked.
func culprit(stack []byte) string {
	_, after, found := strings.Cut(string(stack), "\npanic(")
	if !found {
		return "an unknown place"
	}
	lines := strings.SplitN(after, "\n", 4)
	if len(lines) < 3 {
		return "an unknown place"
	}
	name, _, _ := strings.Cut(lines[2], "(0x")
	return name
}

func renderSource(ctx context.Context, trees manifest.Trees, req manifest.Request) (manifest.Result, error) {
	of := req.Source
	if lends(of) {
		return manifest.Result{}, nil
	}
	tree := trees[""]
	if tree == nil {
		return manifest.Result{}, fault.Terminalf("PathNotFound", "the source has no content")
	}
	if of.Chart != "" {
		req.Source.Path = "."
	}
	root, err := folder(tree, req.Source.Path)
	if err != nil {
		return manifest.Result{}, err
	}
	notes, err := override(tree, root, &req)
	if err != nil {
		return manifest.Result{}, err
	}
	kind, more, err := sourceType(tree, root, req)
	if err != nil {
		return manifest.Result{}, err
	}
	tool, ok := tools[kind]
	if !ok {
		return manifest.Result{}, fault.Terminalf("SourceTypeUnsupported", "source type %s is not rendered by this build; set the "+
			"source's directory field to have the folder read as plain manifests", kind)
	}
	if err := wholeCharts(trees, root, kind); err != nil {
		return manifest.Result{}, err
	}
	env := environment.Substitute(manifest.Request{Source: asWritten(req.Source, of), App: req.App})
	env.Source.Path = req.Source.Path
	req.Source = env.Source
	result, err := tool(ctx, trees, req)
	if err != nil {
		return manifest.Result{}, err
	}
	result.Type = kind
	result.UsesRevision = result.UsesRevision || env.UsesRevision
	result.Notes = append(append(append(notes, more...), env.Notes...), result.Notes...)
	return result, nil
}

// asWritten is the source with the path that people wrote, which is what its variable stands for.
func asWritten(source, written v1alpha1.ApplicationSource) v1alpha1.ApplicationSource {
	source.Path = written.Path
	return source
}
