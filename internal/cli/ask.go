package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/wish"
)

// asked is a server that does by itself what people want of applications: it looks whether they may, and writes their name
// down. Where there is none a command writes the same to the cluster.
type asked interface {
	Sync(ctx context.Context, name string, w wish.Sync) (*v1alpha1.Application, error)
	Rollback(ctx context.Context, name string, id int64, prune bool) (*v1alpha1.Application, error)
	Terminate(ctx context.Context, name string) error
	Remove(ctx context.Context, name string, uid types.UID, r wish.Removal) error
	ChangeApplication(ctx context.Context, name string, p wish.Patch) (*v1alpha1.Application, error)
}

// server is the one that is asked; nil where the command talks to the cluster.
func (s *session) server() asked {
	if s.flags.Remote == nil {
		return nil
	}
	server, _ := s.hub.(asked)
	return server
}

// operate has an application do something: decide looks whether it can, and says what a cluster is written; a server is
// asked.
func (s *session) operate(
	ctx context.Context, name string, decide editor, ask func(asked) (*v1alpha1.Application, error),
) (*v1alpha1.Application, error) {
	server := s.server()
	if server == nil {
		return s.change(ctx, name, decide)
	}
	app, err := s.hub.Application(ctx, name)
	if err != nil {
		return nil, s.explain(name, err)
	}
	if _, err := decide(app); err != nil {
		return nil, err
	}
	made, err := ask(server)
	return made, s.explain(name, err)
}

// Maker makes applications: an API server, which changes one that is there if it is told to, or the cluster, which does not.
type Maker interface {
	CreateApplication(ctx context.Context, app *v1alpha1.Application, upsert bool) (*v1alpha1.Application, error)
}

// admit says what keeps an application from being stored. A server looks by itself.
func (s *session) admit(ctx context.Context, app *v1alpha1.Application) error {
	if s.flags.Remote != nil || s.env.Admission == nil {
		return nil
	}
	problems, err := s.env.Admission(ctx, app, s.flags)
	if err != nil {
		return fmt.Errorf("looking at application %q: %w", app.Name, err)
	}
	if len(problems) > 0 {
		return &refusal{fmt.Sprintf("application %q is refused: %s", app.Name, strings.Join(problems, "; "))}
	}
	return nil
}

// refusal is what the rules say to what somebody wants to store.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

// declare changes what an application declares, again while others are faster.
func (s *session) declare(ctx context.Context, name string, edit func(*v1alpha1.Application) error) (changed bool, err error) {
	a := amending[v1alpha1.Application]{session: s, thing: anApplication, objects: applications{s}}
	return a.amend(ctx, name, edit)
}

// applications are those of the hub, for whoever changes what they declare.
type applications struct{ *session }

// Get reads one.
func (a applications) Get(ctx context.Context, name string) (*v1alpha1.Application, error) {
	app, err := a.hub.Application(ctx, name)
	if err != nil {
		return nil, err
	}
	app = app.DeepCopy()
	app.ManagedFields = nil
	return app, nil
}

// Patch changes one, if it may be so.
func (a applications) Patch(ctx context.Context, name string, patch []byte, _ bool) (*v1alpha1.Application, error) {
	if a.flags.Remote == nil && a.env.Admission != nil {
		now, err := a.hub.Application(ctx, name)
		if err != nil {
			return nil, err
		}
		next, err := wish.Patch{Text: patch}.On(now)
		if err != nil {
			return nil, err
		}
		if err := a.admit(ctx, next); err != nil {
			return nil, err
		}
	}
	return a.hub.PatchApplication(ctx, name, patch)
}

// older says that a version of an object is from before another one. What is no number is not known to be.
func older(a, b string) bool {
	x, err := strconv.ParseUint(a, 10, 64)
	y, err2 := strconv.ParseUint(b, 10, 64)
	return err == nil && err2 == nil && x < y
}
