// Package cli holds the commands that people and CI jobs type, one file each:
// they show what the hub knows and ask the controller to act. It must not do
// the controller's work: the only things that it writes are a wish (an
// operation, a refresh, a deletion) on an Application, and an action that a
// person runs on an object, which the engine carries out.
package cli

import (
	"context"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/policy"
)

// Hub is the Applications of one namespace.
type Hub interface {
	Application(ctx context.Context, name string) (*v1alpha1.Application, error)
	Applications(ctx context.Context, o metav1.ListOptions) (*v1alpha1.ApplicationList, error)
	WatchApplications(ctx context.Context, o metav1.ListOptions) (watch.Interface, error)
	PatchApplication(ctx context.Context, name string, patch []byte) (*v1alpha1.Application, error)
	DeleteApplication(ctx context.Context, name string, uid types.UID) error
}

// Projects are the AppProjects of the same namespace.
type Projects interface {
	Project(ctx context.Context, name string) (*v1alpha1.AppProject, error)
}

// Drifts are the fields that drifted and were set right, the oldest first.
type Drifts interface {
	Drift(ctx context.Context, app string) ([]plan.Episode, error)
}

// Planner says what a sync would do, without doing it. An empty revision means
// that of the Application; the answer names the one that was compared.
type Planner interface {
	Plan(ctx context.Context, app *v1alpha1.Application, revision string) (plan.Plan, string, error)
}

// Flags say which hub a command talks to. An empty kubeconfig or context means
// what kubectl would take.
type Flags struct {
	Kubeconfig string
	Context    string
	// Namespace is the control namespace: of the settings and the projects.
	Namespace string
	// AppNamespace is that of the Applications; empty means the same.
	AppNamespace string
}

// Apps is the namespace of the Applications.
func (f Flags) Apps() string {
	if f.AppNamespace == "" {
		return f.Namespace
	}
	return f.AppNamespace
}

// Env is all that the commands know of the process that runs them.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	// Which of the three a person sits at.
	InIsTerminal, OutIsTerminal, ErrIsTerminal bool
	// Width and Height of the terminal; zero if not known.
	Width, Height int

	Getenv func(string) string
	Now    func() time.Time
	// User is who asks for operations; empty means "towline-cli".
	User string
	// Namespace is where Applications are looked for unless a flag says
	// otherwise; empty means "argocd".
	Namespace string

	// Hub, Projects, Drifts and Planner are only called by commands that need them.
	Hub      func(ctx context.Context, f Flags) (Hub, error)
	Projects func(ctx context.Context, f Flags) (Projects, error)
	Drifts   func(ctx context.Context, f Flags) (Drifts, error)
	// Tenancy is what the installation says of all projects; nil is nothing.
	Tenancy func(ctx context.Context, f Flags) (policy.Tenancy, error)
	Planner func(ctx context.Context, f Flags) (Planner, error)
	// Actor acts on the objects of one application; whoever asked for it says
	// when it is done with.
	Actor func(ctx context.Context, app *v1alpha1.Application, f Flags) (a Actor, done func(), err error)
	// Local renders a folder of this machine as the source of an application
	// would be, an object each.
	Local func(ctx context.Context, dir string, app *v1alpha1.Application) ([]string, error)
	// Render renders an application.
	Render func(ctx context.Context, app *v1alpha1.Application, r Rendering) (Rendered, error)
	// Judge is called by commands that judge objects in files, which ReadFile
	// reads.
	Judge    func(rules HealthRules) (Judge, error)
	ReadFile func(name string) ([]byte, error)

	// colour is the flag of the command that runs, for its errors too.
	colour string
}

func (e *Env) namespace() string {
	if e.Namespace == "" {
		return v1alpha1.DefaultNamespace
	}
	return e.Namespace
}

func (e *Env) user() string {
	if e.User == "" {
		return "towline-cli"
	}
	return e.User
}
