package server

import (
	"context"
	"io"
	"io/fs"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/action"
	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/engine"
)

// Hub is the applications and projects, from memory. What it returns is shared: nobody may change it. The one write is
// the wish for a refresh.
type Hub interface {
	Application(ctx context.Context, name string) (*v1alpha1.Application, error)
	Known() []*v1alpha1.Application
	Project(ctx context.Context, name string) (*v1alpha1.AppProject, error)
	KnownProjects() []*v1alpha1.AppProject
	PatchApplication(ctx context.Context, name string, patch []byte) (*v1alpha1.Application, error)
}

// Sets are the ApplicationSets, from memory, by object.AppName.
type Sets interface {
	ApplicationSet(ctx context.Context, name string) (*v1alpha1.ApplicationSet, error)
	Sets() []string
	Generated(set types.UID) []*v1alpha1.Application
}

// Inspector looks at applications: the engine.
type Inspector interface {
	Inspect(ctx context.Context, app *v1alpha1.Application, revisions []string) (engine.Sight, error)
	Manifests(ctx context.Context, app *v1alpha1.Application, revisions []string) (engine.Sight, []*unstructured.Unstructured, error)
	Tree(ctx context.Context, app *v1alpha1.Application) (engine.Family, error)
	Comparisons(ctx context.Context, app *v1alpha1.Application, want func(object.Key) bool) ([]engine.Comparison, error)
	Object(ctx context.Context, app *v1alpha1.Application, k object.Key) (*unstructured.Unstructured, error)
}

// Reader reads what belongs to the objects of applications: the engine too.
type Reader interface {
	ActionsOf(ctx context.Context, app *v1alpha1.Application, k object.Key) ([]action.Action, error)
	EventsOf(ctx context.Context, app *v1alpha1.Application, k object.Key) ([]corev1.Event, error)
	PodsOf(ctx context.Context, app *v1alpha1.Application, below object.Key, name string) ([]object.Key, error)
	Logs(ctx context.Context, app *v1alpha1.Application, pod object.Key, o *corev1.PodLogOptions) (io.ReadCloser, error)
}

// Adviser says what stands in the way, and what a set stands for: the engine once more.
type Adviser interface {
	Windows(ctx context.Context, app *v1alpha1.Application) (engine.Outlook, error)
	Checks(ctx context.Context, app *v1alpha1.Application, manual bool) ([]engine.Check, error)
	Generate(ctx context.Context, set *v1alpha1.ApplicationSet) (appset.Result, error)
}

// Commit is what is told of a commit.
type Commit struct {
	Author, Message string
	Date            time.Time
	Tags            []string
}

// Sources are the places that content comes from.
type Sources interface {
	Commit(ctx context.Context, of manifest.Origin, commit string) (Commit, error)
	Refs(ctx context.Context, of manifest.Origin) (branches, tags []string, err error)
	Charts(ctx context.Context, of manifest.Origin) (map[string][]string, error)
	Tags(ctx context.Context, of manifest.Origin) ([]string, error)
	// Tree is the content of what the revision of the origin stands for now. Whoever asked closes it if it can be closed.
	Tree(ctx context.Context, of manifest.Origin) (fs.FS, error)
}

// Place is a cluster, and how it is with it.
type Place struct {
	destination.Cluster
	// Version is that of its server; empty until it was asked. Since is when it was read first.
	Version string
	Since   time.Time
	// Watched says that somebody needs it, and Err why it cannot be worked with.
	Watched        bool
	Err            error
	Kinds, Objects int
	APIs           []string
}

// Places are the clusters and repositories that are registered.
type Places interface {
	Clusters() []Place
	Repositories() *repository.Set
}

// Subject is an object of the hub that events are about.
type Subject struct{ Kind, Namespace, Name, UID string }

// Events are the Kubernetes events about objects of the hub.
type Events interface {
	Events(ctx context.Context, about Subject) ([]corev1.Event, error)
	// Drift are the fields of an application's objects that drifted and were set right, the oldest first.
	Drift(ctx context.Context, namespace, app string) ([]plan.Episode, error)
}
