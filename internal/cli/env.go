// Package cli holds the commands that people and CI jobs type, one file each:
// they show what the hub knows and ask the controller to act. It must not do
// the controller's work: what it writes is a wish (an operation, a refresh, a
// deletion) on an Application, an action that a person runs on an object, which
// the engine carries out, and what people declare: projects, ApplicationSets,
// and the list of clusters.
package cli

import (
	"context"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/account"
	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/internal/core/doctor"
	"github.com/towline-cd/towline/internal/core/journal"
	"github.com/towline-cd/towline/internal/core/lint"
	"github.com/towline-cd/towline/internal/core/login"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/policy"
	"github.com/towline-cd/towline/internal/core/rbac"
	"github.com/towline-cd/towline/internal/core/roster"
	"github.com/towline-cd/towline/internal/core/secret"
	"github.com/towline-cd/towline/internal/core/takeover"
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

// Objects are the objects of one kind in the same namespace, for people who
// edit them.
type Objects[T, L any] interface {
	Get(ctx context.Context, name string) (*T, error)
	List(ctx context.Context, o metav1.ListOptions) (*L, error)
	Create(ctx context.Context, object *T, dryRun bool) (*T, error)
	Patch(ctx context.Context, name string, patch []byte, dryRun bool) (*T, error)
	Delete(ctx context.Context, name string, uid types.UID) error
}

// AppProjects are the projects, to be edited.
type AppProjects Objects[v1alpha1.AppProject, v1alpha1.AppProjectList]

// AppSets are the ApplicationSets, to be edited.
type AppSets interface {
	Objects[v1alpha1.ApplicationSet, v1alpha1.ApplicationSetList]
	// Gone returns when there is no such set any more.
	Gone(ctx context.Context, name string) error
}

// Generator says which Applications a set stands for now, and which of them
// cannot be made, without writing anything.
type Generator interface {
	Generate(ctx context.Context, set *v1alpha1.ApplicationSet) ([]*v1alpha1.Application, []appset.Problem, error)
}

// Roster is the hub's list of clusters.
type Roster interface {
	Entries(ctx context.Context) ([]roster.Entry, error)
	Create(ctx context.Context, c roster.Cluster) (secret string, err error)
	Edit(ctx context.Context, secret string, e roster.Edit) error
	Remove(ctx context.Context, e roster.Entry) (deleted bool, err error)
	Probe(ctx context.Context, c roster.Cluster) (version string, err error)
}

// Target is a cluster that is on the list or shall be, reached with a login
// that may give rights there.
type Target interface {
	Endpoint(ctx context.Context, published bool) (roster.Endpoint, error)
	Allow(ctx context.Context, g roster.Grant) (did []string, err error)
	Revoke(ctx context.Context, g roster.Grant) (did []string, err error)
	Token(ctx context.Context, a roster.Account, fresh bool) (roster.Token, error)
	Forget(ctx context.Context, t roster.Token) error
}

// Drifts are the fields that drifted and were set right, the oldest first.
type Drifts interface {
	Drift(ctx context.Context, app string) ([]plan.Episode, error)
}

// Accounts are the local accounts of an installation, and the password that
// whoever installed it signs in with first.
type Accounts interface {
	Accounts(ctx context.Context) ([]account.Account, error)
	InitialPassword(ctx context.Context) (secret.Text, error)
}

// Planner says what a sync would do, without doing it. An empty revision means
// that of the Application; the answer names the one that was compared.
type Planner interface {
	Plan(ctx context.Context, app *v1alpha1.Application, revision string) (plan.Plan, string, error)
}

// Folder is one of this machine, below a root that files in it may refer to; an empty root is the folder itself.
type Folder struct{ Dir, Root string }

// Flags say which hub a command talks to. An empty kubeconfig or context means
// what kubectl would take.
type Flags struct {
	Kubeconfig string
	Context    string
	// Namespace is the control namespace: of the settings and the projects.
	Namespace string
	// AppNamespace is that of the Applications; empty means the same.
	AppNamespace string
	// Remote is the API server that is asked in place of the hub; nil is the hub.
	Remote *Remote
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
	// Policy is who may do what, and what of that cannot be read.
	Policy  func(ctx context.Context, f Flags) (rbac.Config, []rbac.Problem, error)
	Planner func(ctx context.Context, f Flags) (Planner, error)
	// AppProjects, AppSets, Roster and Generator are, too.
	AppProjects func(ctx context.Context, f Flags) (AppProjects, error)
	AppSets     func(ctx context.Context, f Flags) (AppSets, error)
	Roster      func(ctx context.Context, f Flags) (Roster, error)
	Generator   func(ctx context.Context, f Flags) (Generator, error)
	// Repositories are what an installation knows of them. Trees and Logs are only
	// called where an API server is asked.
	Repositories func(ctx context.Context, f Flags) (Repositories, error)
	// Certificates and PublicKeys are whom it trusts.
	Certificates func(ctx context.Context, f Flags) (Certificates, error)
	PublicKeys   func(ctx context.Context, f Flags) (PublicKeys, error)
	Trees        func(ctx context.Context, f Flags) (Trees, error)
	Logs         func(ctx context.Context, f Flags) (Logs, error)
	// Target is a cluster by a context of the kubeconfig, and Member one with
	// the login that the hub has.
	Target func(ctx context.Context, f Flags, context string) (Target, error)
	Member func(ctx context.Context, f Flags, c roster.Cluster) (Target, error)
	// Logins is the file of those who signed in to an API server; Server and
	// ServerAccounts are such a server. Hidden reads what a person types unseen.
	Logins         Logins
	Server         func(ctx context.Context, r Remote) (Server, error)
	ServerAccounts func(ctx context.Context, r Remote) (ServerAccounts, error)
	RoleTokens     func(ctx context.Context, r Remote) (RoleTokens, error)
	Hidden         func() (string, error)
	// SignOn signs somebody in at the login provider of an API server, and Browse
	// has a browser of this machine show a page.
	SignOn func(ctx context.Context, r Remote, p SignOnPrompt) (login.Tokens, error)
	Browse func(ctx context.Context, address string) error
	// Dex is the configuration of the Dex that runs beside an installation.
	Dex func(ctx context.Context, f Flags) (text []byte, problems []string, err error)
	// Edit lets the person at the terminal change a text.
	Edit func(ctx context.Context, name string, text []byte) ([]byte, error)
	// Accounts are the local accounts, and Hash is a password as they have it.
	Accounts func(ctx context.Context, f Flags) (Accounts, error)
	Hash     func(password secret.Text) (secret.Text, error)
	// Actor acts on the objects of one application; whoever asked for it says
	// when it is done with.
	Actor func(ctx context.Context, app *v1alpha1.Application, f Flags) (a Actor, done func(), err error)
	// Admission says what keeps an application from being stored; nil is nothing. It is not called where a server is asked,
	// which looks by itself.
	Admission func(ctx context.Context, app *v1alpha1.Application, f Flags) (problems []string, err error)
	// Local renders a folder of this machine as the source of an application
	// would be, an object each.
	Local func(ctx context.Context, folder Folder, app *v1alpha1.Application) ([]string, error)
	// Render renders an application.
	Render func(ctx context.Context, app *v1alpha1.Application, r Rendering) (Rendered, error)
	// Judge is called by commands that judge objects in files, which ReadFile
	// reads.
	Judge    func(rules HealthRules) (Judge, error)
	ReadFile func(name string) ([]byte, error)
	// WriteFile writes a file that nobody else may read.
	WriteFile func(name string, text []byte) error
	// Backup is all that an installation keeps.
	Backup func(ctx context.Context, f Flags, n Namespaces) (Backup, error)
	// SettingsData is the data of argocd-cm. CheckSettings says what of such
	// data cannot be used, and Overrides tries what it says about objects.
	SettingsData  func(ctx context.Context, f Flags) (map[string]string, error)
	CheckSettings func(data map[string]string) SettingsReport
	Overrides     func(data map[string]string) (Overrides, error)
	// Notices are notifications, to be tried.
	Notices Notices
	// Manifests are the files of a folder of this machine that may hold some, and Clone is what a clone there knows of its
	// repository.
	Manifests func(folder string) ([]lint.File, error)
	Clone     func(ctx context.Context, folder string) (lint.Repository, error)
	// Kustomize builds the kustomizations in folders of this machine. Nothing is read that lies outside of the repository or, where
	// there is none, of what the person named.
	Kustomize func(ctx context.Context, folders, named []string) ([]lint.Build, error)
	// Checkup gathers what is known of an installation; what it cannot learn it says.
	Checkup func(ctx context.Context, f Flags, c Checkup) doctor.Facts
	// Inventory is all that is known of an Argo CD, and Rival its workloads. Shadow looks beside it; data is a folder, or
	// empty for one of its own.
	Inventory func(ctx context.Context, f Flags) (takeover.Installation, error)
	Rival     func(ctx context.Context, f Flags) (Rival, error)
	Shadow    func(ctx context.Context, f Flags, data string) (Shadow, error)
	// Journal shows the records of an audit log, and says whether its chain holds; JournalFolder is where one is kept unless
	// somebody says otherwise.
	Journal       func(path string, see func(journal.Record), heads ...journal.Head) (*journal.Check, error)
	JournalFolder func() string
	// Fetch reads what a URL leads to; nil is that URLs are not read.
	Fetch func(url string) ([]byte, error)

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
