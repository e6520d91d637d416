package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/core/roster"
	"github.com/towline-cd/towline/internal/core/wish"
	"github.com/towline-cd/towline/internal/engine"
)

// Writing is where what people declare is written. What is nil is not there: its routes say so.
type Writing struct {
	Applications AppWriter
	Projects     ObjectWriter[v1alpha1.AppProject]
	Sets         ObjectWriter[v1alpha1.ApplicationSet]
	Clusters     ClusterWriter
	Repositories RepositoryWriter
	Trust        TrustWriter
	// Keys are the public keys of an armoured text, by their ids.
	Keys func(armoured string) (map[string]string, error)
}

// AppWriter writes applications, by object.AppName. They are read from where they are stored.
type AppWriter interface {
	Get(ctx context.Context, name string) (*v1alpha1.Application, error)
	Create(ctx context.Context, app *v1alpha1.Application) (*v1alpha1.Application, error)
	Patch(ctx context.Context, name string, patch []byte) (*v1alpha1.Application, error)
	Delete(ctx context.Context, name string, uid types.UID) error
}

// ObjectWriter writes the objects of one kind in the control namespace.
type ObjectWriter[T any] interface {
	Get(ctx context.Context, name string) (*T, error)
	Create(ctx context.Context, object *T, dryRun bool) (*T, error)
	Patch(ctx context.Context, name string, patch []byte, dryRun bool) (*T, error)
	Delete(ctx context.Context, name string, uid types.UID) error
}

// ClusterWriter writes the list of clusters.
type ClusterWriter interface {
	Entries(ctx context.Context) ([]roster.Entry, error)
	Create(ctx context.Context, c roster.Cluster) (secret string, err error)
	Edit(ctx context.Context, secret string, e roster.Edit) error
	Remove(ctx context.Context, e roster.Entry) (deleted bool, err error)
	// Probe asks a cluster for its version, with the login that it is to have.
	Probe(ctx context.Context, c roster.Cluster) (version string, err error)
}

// RepositoryWriter writes what is known of repositories; many is for those that begin with the same URL.
type RepositoryWriter interface {
	Put(ctx context.Context, r repository.Repository, many bool) error
	Drop(ctx context.Context, r repository.Repository, many bool) (found bool, err error)
	// Try signs in to a repository as an entry says, which need not be stored.
	Try(ctx context.Context, r repository.Repository) error
}

// TrustWriter writes whom to trust.
type TrustWriter interface {
	// Change has the data of a config map changed by edit, which may be called more than once.
	Change(ctx context.Context, configMap string, edit func(data map[string]string) error) error
}

// Hands do what people ask for: the engine.
type Hands interface {
	Admission(ctx context.Context, app *v1alpha1.Application) (problems []string, err error)
	RunAction(ctx context.Context, app *v1alpha1.Application, act engine.Act) (did []string, err error)
	EditObject(ctx context.Context, app *v1alpha1.Application, k object.Key,
		edit func(*unstructured.Unstructured) (wish.Patch, error)) (*unstructured.Unstructured, error)
	DeleteObject(ctx context.Context, app *v1alpha1.Application, k object.Key, how metav1.DeleteOptions) error
}

// maxConflicts is how often a write is tried against others who write at the same time.
const maxConflicts = 5

// errMoved is told to those who say which version they looked at, and to those who are unlucky.
var errMoved = &Fault{Code: Aborted, Message: "it was changed by somebody else meanwhile; read it again, and send what you want of that"}

// conflict says that somebody else was quicker.
func conflict(err error) bool { return fault.ReasonOf(err) == "Conflict" }

// gone says that there is nothing.
func gone(err error) bool { return fault.ReasonOf(err) == "NotFound" }

// refused is an error for what somebody sent.
func refused(problems []string) error {
	slices.Sort(problems)
	return badRequest(strings.Join(slices.Compact(problems), "; "))
}

// precondition is an error for what cannot be done as things stand.
func precondition(format string, args ...any) *Fault {
	return &Fault{Code: FailedPrecondition, Message: fmt.Sprintf(format, args...)}
}

// wellNamed says what is wrong with the name of something. A name goes into what rules are asked about, where a slash has
// a meaning.
func wellNamed(what, name string) error {
	if name == "" {
		return badRequest(what + " is missing")
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return badRequest(fmt.Sprintf("%s is no name: %s", what, problems[0]))
	}
	return nil
}

// mostSettling is how long it is waited until what was written can be read here too.
const mostSettling = 2 * time.Second

// settle waits until what was written can be read from memory, so that whoever asks next sees it. How long that takes is no
// reason to fail.
func (s *Server) settle(req *Request, topic string, seen func() bool) {
	changed, done := s.topics.on(topic)
	defer done()
	ctx, cancel := context.WithTimeout(req.Context, mostSettling)
	defer cancel()
	for !seen() {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// The topics of Changed.
const (
	TopicProjects     = "projects"
	TopicSets         = "applicationsets"
	TopicClusters     = "clusters"
	TopicRepositories = "repositories"
)

// Changed tells those who wait that something of a topic was read anew. It does not block.
func (s *Server) Changed(topic string) { s.topics.tell(topic, struct{}{}) }
