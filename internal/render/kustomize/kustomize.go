// Package kustomize renders kustomizations with kustomize's own library, as `kustomize build` does. It reads the trees
// that it is given and nothing else: no files, no network, no processes; what is missing is answered as a Need.
package kustomize

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/provenance"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// version is that of the command which the linked library belongs to.
const version = "v5.8.2"

// one keeps builds apart: the library has its schemas in variables of the process.
var one sync.Mutex

// Render builds the kustomization at the path of the source.
func Render(ctx context.Context, trees manifest.Trees, req manifest.Request) (result manifest.Result, err error) {
	defer func() {
		// The library meets whatever people write; a panic of its is the fault of one source and ends nothing else.
		if caught := recover(); caught != nil {
			result, err = manifest.Result{}, fault.Terminalf("RenderFailed", "building %q: kustomize gave up: %v", req.Source.Path, caught)
		}
	}()
	if req.Build.NoKustomize {
		return manifest.Result{}, fault.Terminalf("KustomizeDisabled", "kustomize is switched off in this installation; switch it on "+
			"(kustomize.enable in argocd-cm) or use another type of source")
	}
	options, err := parseOptions(req.Build.KustomizeOptions)
	if err != nil {
		return manifest.Result{}, err
	}
	of := req.Source.Kustomize
	if of == nil {
		of = &v1alpha1.ApplicationSourceKustomize{}
	}
	pass := newPass(ctx, trees, options, req)
	if of.Version != "" {
		pass.note("kustomize.version %s is not honoured: kustomize %s is built in", of.Version, version)
	}
	root, err := pass.root(req.Source.Path, of)
	if err != nil {
		return manifest.Result{}, err
	}
	result = manifest.Result{Type: v1alpha1.SourceTypeKustomize, Needs: pass.needs}
	if len(pass.needs) > 0 {
		return result, nil
	}
	built, err := build(pass.disk, root, options)
	if err != nil {
		return manifest.Result{}, fault.Terminalf("KustomizeFailed", "building %q: %w", req.Source.Path, pass.explain(err))
	}
	if result.Objects, err = objects(built, req.Source.Path); err != nil {
		return manifest.Result{}, err
	}
	result.Files, result.UsesAPIs = pass.disk.reads, pass.usesAPIs
	result.Skipped, result.Incomplete = pass.skipped, len(pass.skipped) > 0
	result.Notes = append(options.notes, pass.notes...)
	return result, nil
}

func build(disk *disk, root string, options options) (resmap.ResMap, error) {
	one.Lock()
	defer one.Unlock()
	plugins := types.DisabledPluginConfig()
	return krusty.MakeKustomizer(&krusty.Options{
		Reorder: options.reorder, AddManagedbyLabel: options.managedBy, LoadRestrictions: options.restrictions, PluginConfig: plugins,
	}).Run(disk, root)
}

// objects reads what was built. The library would write YAML for each, which takes a third of a build; the nodes that it
// would write are read here as its own readers do, and only then made into JSON.
func objects(built resmap.ResMap, path string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	ours := "kustomize-" + provenance.GetProvenance().Semver()
	for _, resource := range built.Resources() {
		content := map[string]any{}
		if err := resource.YNode().Decode(&content); err != nil {
			return nil, fault.Terminalf("KustomizeFailed", "building %q: reading %s: %w", path, resource.CurId(), err)
		}
		text, err := json.Marshal(content)
		if err != nil {
			return nil, fault.Terminalf("KustomizeFailed", "building %q: writing %s: %w", path, resource.CurId(), err)
		}
		read, err := manifest.ReadOutput(resource.CurId().String(), text)
		if err != nil {
			return nil, fmt.Errorf("building %q: %w", path, err)
		}
		for _, object := range read.Objects {
			if labels := object.GetLabels(); labels[konfig.ManagedbyLabelKey] == ours {
				labels[konfig.ManagedbyLabelKey] = "kustomize-" + version
				object.SetLabels(labels)
			}
		}
		out = append(out, read.Objects...)
	}
	return out, nil
}

// Bounds on what a kustomization may lead to.
const (
	// maxDepth is how deep kustomizations may be built on others.
	maxDepth = 128
	// maxBuilds is how many kustomizations are built, where one that several build on counts for each of them.
	maxBuilds = 10_000
	// maxEntries is how many entries the lists of all kustomizations may have together.
	maxEntries = 100_000
)

// pass is the look at all kustomizations before anything is built: it finds what has to be fetched, puts in what the
// Application says, and turns all that kustomize would fetch or run into files.
type pass struct {
	ctx     context.Context //nolint:containedctx // it lives for one render, which is this context
	trees   manifest.Trees
	disk    *disk
	options options
	req     manifest.Request

	needs    []manifest.Need
	notes    []string
	skipped  []string
	usesAPIs bool
	seen     map[string]*node
	open     []string
	entries  int
	written  int
	// secrets are what generators make Secrets of, which must not stand in an error.
	secrets []string
}

func newPass(ctx context.Context, trees manifest.Trees, options options, req manifest.Request) *pass {
	return &pass{ctx: ctx, trees: trees, options: options, req: req, disk: newDisk(trees[""]), seen: map[string]*node{}}
}

func (p *pass) note(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); !slices.Contains(p.notes, note) {
		p.notes = append(p.notes, note)
	}
}

// need asks for something, and answers whether it is there already.
func (p *pass) need(need manifest.Need) bool {
	if _, ok := p.trees[need.ID()]; ok {
		return true
	}
	same := func(other manifest.Need) bool { return other.ID() == need.ID() }
	if !slices.ContainsFunc(p.needs, same) {
		p.needs = append(p.needs, need)
	}
	return false
}

// quoted is the configuration of a generator, which the library writes into its errors: it may hold a secret.
var quoted = regexp.MustCompile("(?s) with config: `.*`")

// explain writes the names of an error as people know them.
func (p *pass) explain(err error) error {
	text := quoted.ReplaceAllString(err.Error(), "")
	for _, secret := range p.secrets {
		text = strings.ReplaceAll(text, secret, "(secret)")
	}
	for _, mount := range p.disk.names() {
		text = strings.ReplaceAll(text, mount.at+"/", mount.shown)
		text = strings.ReplaceAll(text, mount.at, strings.TrimSuffix(cmp.Or(mount.shown, "."), "/"))
	}
	if strings.Contains(text, "external plugins disabled") || strings.Contains(text, "plugins are disabled") {
		text += "; " + pluginWayOut
	}
	return errors.New(strings.TrimSpace(text))
}

// conceal remembers the literals of a generator of Secrets, and their values.
func (p *pass) conceal(literals []string) {
	for _, literal := range literals {
		p.secrets = append(p.secrets, literal)
		if _, value, ok := strings.Cut(literal, "="); ok && len(value) > 3 {
			p.secrets = append(p.secrets, value)
		}
	}
	slices.SortStableFunc(p.secrets, func(a, b string) int { return len(b) - len(a) })
}
