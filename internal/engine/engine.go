// Package engine is the use cases: refresh, sync and delete one application.
// It is the only place that orders reads, decisions and writes. It must not
// decide anything itself (that is the core's), it keeps no progress (that is
// in the application's status), and it never waits: a sync that has to wait
// returns, and an event brings it back.
package engine

import (
	"context"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/health"
	"github.com/towline-cd/towline/internal/core/journal"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/policy"
	"github.com/towline-cd/towline/internal/core/transition"
)

// Hub is where applications and projects live. What it returns is shared: the
// engine copies before it changes anything. A name that does not exist is a
// Terminal fault with the reason NotFound; a write that lost a race is a
// Transient one with the reason Conflict.
type Hub interface {
	Application(ctx context.Context, name string) (*v1alpha1.Application, error)
	Project(ctx context.Context, name string) (*v1alpha1.AppProject, error)
	PatchApplication(ctx context.Context, name string, patch []byte) (*v1alpha1.Application, error)
}

// Sources fetches. An answer of Resolve that is not older than maxAge may be
// an earlier one; Tree is the immutable content of a commit, a chart or an
// artifact, by the revision that Resolve named.
type Sources interface {
	Resolve(ctx context.Context, of manifest.Origin, maxAge time.Duration) (revision string, seen time.Time, err error)
	Tree(ctx context.Context, of manifest.Origin, revision string) (fs.FS, error)
	// File is the content of one file by its URL, under the name "content".
	File(ctx context.Context, url, project string) (fs.FS, error)
}

// Verifier checks commits for who signed them. why says what is wrong with one;
// it is empty when nothing is.
type Verifier interface {
	Verify(ctx context.Context, of manifest.Origin, commit string, demand policy.Demand) (why string, err error)
}

// Shelf keeps renders across restarts. Losing them costs renders.
type Shelf interface {
	Load(key string) (data []byte, ok bool)
	Keep(key string, data []byte)
}

// Renderer turns content into manifests. An error is never a smaller result.
type Renderer interface {
	Render(ctx context.Context, trees manifest.Trees, req manifest.Request) (manifest.Result, error)
}

// Live is what is known of a cluster without asking it.
type Live interface {
	Managed(app string) []object.Fact
	Fact(k object.Key) (object.Fact, bool)
	// Namespace are the facts of all objects in a namespace. They are shared.
	Namespace(name string) []*object.Fact
	View() plan.View
	// Children are the objects that name this UID as an owner. They are shared:
	// nobody may change them.
	Children(uid string) []*object.Fact
}

// Server is what a cluster is asked. A manifest that it will not take is a
// Terminal fault with the reason Rejected.
type Server interface {
	Get(ctx context.Context, k object.Key, version string) (*unstructured.Unstructured, error)
	DryRun(ctx context.Context, body *unstructured.Unstructured) (*unstructured.Unstructured, error)
	Apply(ctx context.Context, body *unstructured.Unstructured) (*unstructured.Unstructured, error)
	Delete(ctx context.Context, f object.Fact, propagation metav1.DeletionPropagation) error
	// TakeOver makes the fields of a live object ours alone, without changing
	// any value.
	TakeOver(ctx context.Context, body *unstructured.Unstructured, ways [][]string) error
}

// Runner is what hooks need of a cluster.
type Runner interface {
	// Release takes the hook finalizer off an object.
	Release(ctx context.Context, f object.Fact) error
	// Tail is the end of what the pods of an object wrote; empty if it cannot
	// be had.
	Tail(ctx context.Context, f object.Fact) string
	// Fits asks whether a manifest has the shape of its kind, by what the server
	// publishes of it.
	Fits(ctx context.Context, body *unstructured.Unstructured) error
	// Creatable asks whether the server would take the manifest for a new
	// object.
	Creatable(ctx context.Context, body *unstructured.Unstructured) error
}

// Merger is what a cluster is asked where an apply is not the question.
type Merger interface {
	// DryRunMerge asks what a merge of the patch into the live object would
	// make of it: null removes a field, whoever holds it.
	DryRunMerge(ctx context.Context, patch *unstructured.Unstructured) (*unstructured.Unstructured, error)
}

// Actor makes the changes of an action. A patch holds for the object as it was
// read: one that has changed since is a Transient fault with the reason
// Conflict.
type Actor interface {
	Patch(ctx context.Context, read *unstructured.Unstructured, patch map[string]any) error
	Create(ctx context.Context, body *unstructured.Unstructured) error
	// Remove deletes an object, as it was read.
	Remove(ctx context.Context, read *unstructured.Unstructured, how metav1.DeleteOptions) error
}

// ActionScripts are the actions that users made. Discover returns what their
// script says of an object, and whether the kind's own actions count too; Run
// what an action returned, and whether the users have it.
type ActionScripts interface {
	Discover(obj *unstructured.Unstructured) (found any, builtin bool, err error)
	Run(obj *unstructured.Unstructured, name string, params map[string]string) (returned any, known bool, err error)
}

// Cluster is a destination. Everything but what is known of it is reached
// through a door.
type Cluster interface {
	Live
	Hands
}

// Hands are what requests to a cluster are made with, as one user.
type Hands interface {
	Server
	Runner
	Writer
}

// Writer is how a cluster is asked and written to where an apply is not the
// way.
type Writer interface {
	Merger
	Replacer
	Actor
}

// Clusters finds the cluster of a destination, and that cluster's server and
// name: a destination has one of the two, and rules are written for either.
// Why there is none is a fault with a reason of core/destination.
type Clusters interface {
	For(destination v1alpha1.ApplicationDestination) (c Cluster, server, name string, err error)
}

// Finder says which cluster a destination means without asking anything of it,
// and whether it is open: one that is not is opened by For.
type Finder interface {
	Find(destination v1alpha1.ApplicationDestination) (server, name string, open bool, err error)
}

// Pairs remembers confirmed pairs across restarts. They hold in a scope: the
// cluster and the version of its server. Losing them costs requests.
type Pairs interface {
	Load(app, scope string) []diff.Pair
	Keep(app, scope string, pairs []diff.Pair) error
	Drop(app string)
	// Mark is that of the last look at an application that was worth remembering;
	// the zero mark of SetMark is none.
	Mark(app string) (mark object.Seen, ok bool)
	SetMark(app string, mark object.Seen) error
}

// Settings are the knobs that may change while the engine runs.
type Settings struct {
	// Name names the program and all that its settings say, to the next process:
	// where that has the same name it would see the same in the same. Empty is
	// that nobody can tell.
	Name string
	// MaxAge is how old the last look at a repository may be before a refresh
	// that nobody asked for looks again.
	MaxAge  time.Duration
	Backoff plan.Backoff
	// Ignore are the rules for every application. The pointer moves when they
	// change, and only then; nil means the defaults.
	Ignore *Ignore
	// Gate is what a wave waits for.
	Gate plan.Gate
	// Settle is how old a sync must be before a deletion that looks like a
	// mistake.
	Settle time.Duration
	// WaveDelay is a pause between waves, where somebody asks for one.
	WaveDelay time.Duration
	// SyncTimeout ends a sync that takes longer; zero means never.
	SyncTimeout time.Duration
	// Build is how things are rendered.
	Build manifest.Build
	// Tenancy is what holds for all projects; the pointer moves when it changes.
	// Nil is nothing.
	Tenancy *policy.Tenancy
	// ConfirmRate is how many objects a second are asked about again after a
	// start that knows of no confirmed pairs; zero means all at once.
	ConfirmRate float64
	// Sets are the knobs of ApplicationSets.
	Sets SetSettings
}

// Ignore says which differences do not count anywhere.
type Ignore struct {
	Rules   []diff.Rule
	Options diff.Options
}

// Options are the parts that an engine is made of.
type Options struct {
	SetOptions

	// Namespace is the control namespace.
	Namespace string
	Hub       Hub
	Sources   Sources
	Renderer  Renderer
	Clusters  Clusters
	Settings  func() Settings
	Compiler  Compiler
	Pairs     Pairs
	// Shelf is nil where nothing is kept.
	Shelf Shelf
	// Verifier checks what projects demand of commits; without one nothing that
	// must be signed is.
	Verifier Verifier
	// Changer compares commits; without one a push wakes all who follow.
	Changer Changer
	// Projects are let go when nobody belongs to them; nil means never.
	Projects Projects
	// Scoped knows what is for one project alone; nil means that nothing is.
	Scoped Scoped
	// As makes the requests to a cluster those of another user; nil means that
	// nobody can, and what is to be written as another is not written.
	As func(c Cluster, user string) (Hands, error)
	// Tracker marks the objects of applications.
	Tracker object.Tracker
	// Health judges an object as the clusters' own index does; nil means by the
	// rules of its kind.
	Health func(*unstructured.Unstructured) health.Health
	// Actions are those of the users; nil means that they have none.
	Actions ActionScripts
	Now     func() time.Time
	// Observe is told of every transition, after it was written. It must not
	// block; nil means that nobody wants to know.
	Observe func(transition.Transition)
	// Journal is told of what is decided and done, for those who ask afterwards.
	// It must be quick; nil means that nobody writes it down.
	Journal func(journal.Record)
	// Meter counts; nil means that nobody does.
	Meter Meter
	// Tracer tells how long the parts of the work take; nil means that nobody
	// wants to know.
	Tracer Tracer
}

// Engine refreshes, syncs and deletes applications. It is safe for use by
// many goroutines, as long as an application is in the hands of one.
type Engine struct {
	Options
	renders    *renders
	footprints *footprints
	wants      *wants
	doubts     *wants
	quiet      *quiet
	moves      *moves
	written    *writes
	// removed has what was deleted with an application, by UID: until the watch
	// tells that it is gone, nobody deletes it again.
	removed *writes
	drifts  *drifts
	ailing  *ailing
	pace    *pace
	pauses  *pauses
	traffic *traffic
	// places are the namespaces that are watched for objects that nobody has.
	places *places
	// undeclared are the fields that kinds turned out not to have.
	undeclared *undeclared
	setStates  *setStates
	audits     atomic.Int64
	wrong      atomic.Int64

	mu sync.Mutex
	// verdicts are the answers of the server, per application. They are only
	// ever used for the pair that they were given for, so losing or keeping one
	// changes the cost and not the result.
	verdicts map[string]judged
	// waiting are the applications with kinds that their cluster does not serve
	// or that cannot be read, each with the cluster's server.
	waiting map[string]string
	// compiled are the applications' ignore rules, ready for use.
	compiled map[string]compiledRules
}

// New makes an engine.
func New(o Options) *Engine {
	if o.Actions == nil {
		o.Actions = noActions{}
	}
	if o.Health == nil {
		o.Health = health.Of
	}
	if o.Settings == nil {
		o.Settings = func() Settings { return Settings{} }
	}
	if o.Scoped == nil {
		o.Scoped = nothingScoped{}
	}
	if o.As == nil {
		o.As = nobodyElse
	}
	if o.Pairs == nil {
		o.Pairs = noPairs{}
	}
	if o.Shelf == nil {
		o.Shelf = noShelf{}
	}
	if o.Meter == nil {
		o.Meter = noMeter{}
	}
	if o.Tracer == nil {
		o.Tracer = noTracer{}
	}
	if o.Journal == nil {
		o.Journal = func(journal.Record) {}
	}
	return &Engine{
		Options:    o,
		renders:    newRenders(64 << 20),
		footprints: newFootprints(),
		wants:      newWants(),
		doubts:     newWants(),
		quiet:      newQuiet(),
		moves:      newMoves(),
		written:    newWrites(),
		removed:    newWrites(),
		drifts:     newDrifts(),
		ailing:     newAiling(),
		pace:       newPace(),
		pauses:     newPauses(),
		traffic:    newTraffic(),

		places:     newPlaces(),
		undeclared: newUndeclared(),
		setStates:  newSetStates(),
		verdicts:   map[string]judged{},
		compiled:   map[string]compiledRules{},
		waiting:    map[string]string{},
	}
}

// Result says when an application wants to be looked at again by itself; zero
// means that an event will tell.
type Result struct {
	After time.Duration
}

// key is what an application is called here, and everywhere else.
func (e *Engine) key(app *v1alpha1.Application) string {
	return object.AppName(e.Namespace, app.Namespace, app.Name)
}

func (e *Engine) forget(app string) {
	e.footprints.set(app, nil)
	e.wants.set(app, "", nil)
	e.doubts.set(app, "", nil)
	e.places.set(app, corner{})
	e.quiet.forget(app)
	e.written.forget(app)
	e.removed.forget(app)
	e.drifts.forget(app)
	e.ailing.set(app, false)
	e.pace.forget(app)
	e.pauses.end(app)
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.verdicts, app)
	delete(e.compiled, app)
	delete(e.waiting, app)
	e.Pairs.Drop(app)
}

// noShelf keeps nothing.
type noShelf struct{}

func (noShelf) Load(string) ([]byte, bool) { return nil, false }

func (noShelf) Keep(string, []byte) {}
