package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/roster"
)

// The states of a connection, in Argo CD's words.
const (
	connected   = "Successful"
	unconnected = "Failed"
	unasked     = "Unknown"
)

// contact is what a cluster said when it was asked.
type contact struct {
	Status      string    `json:"status"`
	Message     string    `json:"message"`
	AttemptedAt time.Time `json:"attemptedAt,omitzero"`
	version     string
}

const (
	// contactTimeout is how long one cluster may hold up the list.
	contactTimeout = 5 * time.Second
	// contactsAtOnce bounds how many are asked at the same time.
	contactsAtOnce = 20
)

// contacts asks all clusters at once. One that does not answer is told as such
// and keeps nobody from seeing the others.
func (c *clustering) contacts(ctx context.Context, all []roster.Entry) []contact {
	out := make([]contact, len(all))
	places := make(chan struct{}, contactsAtOnce)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			out[i] = c.contact(ctx, all[i])
		})
	}
	wg.Wait()
	return out
}

func (c *clustering) contact(ctx context.Context, e roster.Entry) contact {
	if r := e.Report; r != nil {
		return contact{Status: r.Status, Message: r.Message, AttemptedAt: r.AttemptedAt, version: r.Version}
	}
	out := contact{Status: unconnected, AttemptedAt: c.env.Now().UTC()}
	if e.Problem != "" {
		out.Message = clean(e.Problem)
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, contactTimeout)
	defer cancel()
	version, err := c.roster.Probe(ctx, e.Cluster)
	_, elsewhere := errors.AsType[*roster.ElsewhereError](err)
	switch {
	case err == nil:
		out.Status, out.version = connected, version
		return out
	case elsewhere:
		out.Status = unasked
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no answer within %s", contactTimeout)
	}
	out.Message = clean(err.Error())
	return out
}

// counting counts the applications of a cluster. A server has done so, and for
// all of them, not only for those that the caller may see.
func (c *clustering) counting(ctx context.Context) (func(roster.Entry) int, error) {
	if c.flags.Remote != nil {
		return func(e roster.Entry) int {
			if e.Report == nil {
				return 0
			}
			return e.Report.Applications
		}, nil
	}
	apps, err := c.hub.Applications(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, c.explain("", err)
	}
	return func(e roster.Entry) int { return len(deployedTo(apps.Items, e.Cluster)) }, nil
}

// deployedTo are the names of the applications whose destination is a cluster.
func deployedTo(apps []v1alpha1.Application, c roster.Cluster) []string {
	var out []string
	for i := range apps {
		d := apps[i].Spec.Destination
		if d.Server != "" && roster.SameServer(d.Server, c.Server) || d.Server == "" && d.Name != "" && d.Name == c.Name {
			out = append(out, apps[i].Name)
		}
	}
	slices.Sort(out)
	return out
}
