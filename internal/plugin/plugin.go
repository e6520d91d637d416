// Package plugin has config management plugins render: programs of the installation that run beside this one, each in a
// container of its own, and speak the protocol of Argo CD's sidecars over sockets in a folder. A plugin gets the content
// of a source and the variables of its render, and never a credential. What it answers is bounded here and read by the
// worker that every render has: this package must not believe or interpret it, and it must not run anything itself.
package plugin

import (
	"context"
	"io/fs"
	"maps"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/reads"
)

// Renderer renders everything else. Asked for a source of a plugin it answers with a manifest.NeedPlugin, and given what
// came of that, it reads it.
type Renderer interface {
	Render(ctx context.Context, trees manifest.Trees, req manifest.Request) (manifest.Result, error)
}

// Options are what a Host is made of.
type Options struct {
	// Dir is the folder of the sockets. Empty switches plugins off.
	Dir string
	// Next renders.
	Next Renderer
	// Scratch is a folder for what is being sent; empty is that of the system.
	Scratch string
	Limits  Limits
}

// Limits bound what one render has to do with a plugin. A zero field has its default.
type Limits struct {
	// Time is how long a plugin may take: 90 seconds, as in Argo CD.
	Time time.Duration
	// SentBytes and SentFiles bound the content that it is sent: 200 MiB and 100,000.
	SentBytes int64
	SentFiles int
	// AnswerBytes bounds all that it answers, ManifestBytes one manifest of it: 100 MiB and 10 MiB.
	AnswerBytes   int64
	ManifestBytes int
	// Calls is how many renders may be in the hands of one plugin at once: 4. The others wait, those of other plugins
	// do not.
	Calls int
}

func (l Limits) withDefaults() Limits {
	if l.Time <= 0 {
		l.Time = 90 * time.Second
	}
	if l.SentBytes <= 0 {
		l.SentBytes = 200 << 20
	}
	if l.SentFiles <= 0 {
		l.SentFiles = 100_000
	}
	if l.AnswerBytes <= 0 {
		l.AnswerBytes = 100 << 20
	}
	if l.ManifestBytes <= 0 {
		l.ManifestBytes = manifest.MaxFileBytes
	}
	if l.Calls <= 0 {
		l.Calls = 4
	}
	return l
}

// Host renders, with a plugin where a source asks for one. It is safe for use by many goroutines.
type Host struct {
	dir     string
	scratch string
	next    Renderer
	limits  Limits

	mu    sync.Mutex
	slots map[string]chan struct{}
}

// New makes a host. It opens nothing before a source asks for a plugin.
func New(o Options) *Host {
	return &Host{dir: o.Dir, scratch: o.Scratch, next: o.Next, limits: o.Limits.withDefaults(), slots: map[string]chan struct{}{}}
}

// reasonLimit is the reason of a fault for a plugin that takes or gives too much.
const reasonLimit = "PluginLimit"

// Render turns content into manifests, or says what has to be fetched first. An error is never a smaller result.
func (h *Host) Render(ctx context.Context, trees manifest.Trees, req manifest.Request) (manifest.Result, error) {
	result, err := h.next.Render(ctx, trees, req)
	need, asked := askedOf(result)
	if err != nil || !asked {
		return result, err
	}
	made, notes, err := h.generate(ctx, trees[""], req, need)
	if err != nil {
		return manifest.Result{}, err
	}
	given := maps.Clone(trees)
	given[need.ID()] = made
	result, err = h.next.Render(ctx, given, req)
	if err != nil {
		return manifest.Result{}, err
	}
	if _, again := askedOf(result); again {
		return manifest.Result{}, fault.Terminalf("PluginFailed", "what plugin %q made was not read; this is a bug of Towline", need.URL)
	}
	result.Reads = withAll(trees[""], result.Reads)
	result.Notes = append(result.Notes, notes.said...)
	result.Incomplete = result.Incomplete || notes.incomplete
	return result, nil
}

// askedOf is the plugin that a render asks for.
func askedOf(result manifest.Result) (manifest.Need, bool) {
	if len(result.Needs) == 1 && result.Needs[0].Kind == manifest.NeedPlugin {
		return result.Needs[0], true
	}
	return manifest.Need{}, false
}

// withAll adds that everything was read: nobody knows what a plugin looks at.
func withAll(tree fs.FS, set reads.Set) reads.Set {
	traced, ok := tree.(manifest.Traced)
	if !ok || set == nil {
		return nil
	}
	all, err := traced.Trace(reads.Folder, ".")
	if err != nil {
		return nil
	}
	return reads.Of(append(set, all...))
}

// remarks are what people should know of a render by a plugin.
type remarks struct {
	said []string
	// incomplete says that the plugin did not get all that Argo CD would have sent.
	incomplete bool
}

// generate has the plugin of a need make manifests.
func (h *Host) generate(ctx context.Context, tree fs.FS, req manifest.Request, need manifest.Need) (*answer, remarks, error) {
	sent, found, err := h.begin(ctx, tree, req, need)
	if err != nil {
		return nil, remarks{}, err
	}
	defer sent.close()
	defer found.close()
	free, err := h.take(ctx, found.name)
	if err != nil {
		return nil, remarks{}, err
	}
	defer free()
	message, err := found.stream(ctx, methodGenerate, sent)
	if err != nil {
		return nil, remarks{}, err
	}
	made, err := readManifests(message)
	if err != nil {
		return nil, remarks{}, found.nonsense(err)
	}
	for i, m := range made {
		if len(m) > h.limits.ManifestBytes {
			return nil, remarks{}, fault.Terminalf(reasonLimit, "manifest %d of plugin %q has %d bytes, more than %d; "+
				"have it print less, or split it", i+1, found.name, len(m), h.limits.ManifestBytes)
		}
	}
	notes := sent.remarks
	if found.wantsCredentials {
		notes.said = append(notes.said, "plugin "+found.name+" asks for the credentials of the repository (provideGitCreds), "+
			"which are not given to plugins; what it fetches it must fetch with credentials of its own")
	}
	return &answer{manifests: made}, notes, nil
}

// Parameters are those that the plugin of a source says it takes; nil for a source that has no plugin.
func (h *Host) Parameters(ctx context.Context, trees manifest.Trees, req manifest.Request) ([]Parameter, error) {
	result, err := h.next.Render(ctx, trees, req)
	need, asked := askedOf(result)
	if err != nil || !asked {
		return nil, err
	}
	sent, found, err := h.begin(ctx, trees[""], req, need)
	if err != nil {
		return nil, err
	}
	defer sent.close()
	defer found.close()
	message, err := found.stream(ctx, methodParameters, sent)
	if err != nil {
		return nil, err
	}
	parameters, err := readParameters(message)
	if err != nil {
		return nil, found.nonsense(err)
	}
	return parameters, nil
}

// begin packs the content and finds the plugin.
func (h *Host) begin(ctx context.Context, tree fs.FS, req manifest.Request, need manifest.Need) (*parcel, *sidecar, error) {
	if h.dir == "" {
		return nil, nil, off(need.URL)
	}
	root := path.Clean(req.Source.Path)
	if req.Source.Chart != "" {
		root = "."
	}
	sent, err := h.pack(ctx, tree)
	if err != nil {
		return nil, nil, err
	}
	sent.app, sent.root, sent.variables = req.App.Name, root, strings.Split(need.Variables, "\x00")
	found, err := h.find(ctx, need.URL, sent)
	if err != nil {
		sent.close()
		return nil, nil, err
	}
	return sent, found, nil
}

func off(name string) error {
	which := "a config management plugin"
	if name != "" {
		which = "the config management plugin " + strings.ToValidUTF8(name, "?")
	}
	return fault.Terminalf("PluginsOff", "the source is to be rendered by %s, and plugins are switched off here; start `towline run` "+
		"with --plugins and the folder of the sidecars' sockets (docs/plugins.md), let helm, kustomize or directory render it, "+
		"or commit what the plugin makes", which)
}

// take waits for a place with a plugin.
func (h *Host) take(ctx context.Context, name string) (free func(), err error) {
	h.mu.Lock()
	slots, ok := h.slots[name]
	if !ok {
		slots = make(chan struct{}, h.limits.Calls)
		h.slots[name] = slots
	}
	h.mu.Unlock()
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, fault.Transientf("Cancelled", "waiting for plugin %q: %w", name, context.Cause(ctx))
	}
}
