package cluster

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/internal/core/frame"
)

// Client makes requests to a cluster as one user. What is known of the cluster
// is the same for all of them: one index, kept by ourselves.
type Client struct {
	known   *Cluster
	user    string
	dynamic dynamic.Interface
	// way is what the dynamic client goes, for the answers that it does not hand on.
	way    rest.Interface
	pods   corev1.PodsGetter
	events corev1.EventsGetter
}

func newClient(known *Cluster, config *rest.Config) (*Client, error) {
	way, err := quickWay(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	pods, err := corev1.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for logs: %w", err)
	}
	return &Client{
		known: known, user: config.Impersonate.UserName, dynamic: dynamic.New(way), way: way, pods: pods, events: pods,
	}, nil
}

// quickWay is the dynamic client's own, with a quicker way to read what it is
// sent.
func quickWay(config *rest.Config) (rest.Interface, error) {
	config = dynamic.ConfigFor(config)
	config.NegotiatedSerializer = frame.Quick(config.NegotiatedSerializer, frame.Unstructured)
	// Each request names its whole path.
	config.GroupVersion, config.APIPath = nil, "/"
	return rest.UnversionedRESTClientFor(config)
}

// mostUsers is how many users' clients are kept. They share the connections; a
// client that is made anew costs little.
const mostUsers = 200

// As makes requests as another user, whom the server must let us impersonate.
// The server gives service accounts their groups itself.
func (c *Cluster) As(user string) (*Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.IndexFunc(c.others, func(o *Client) bool { return o.user == user }); i >= 0 {
		found := c.others[i]
		c.others = append(slices.Delete(c.others, i, i+1), found)
		return found, nil
	}
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	made, err := newClient(c, config)
	if err != nil {
		return nil, fmt.Errorf("acting as %s: %w", user, err)
	}
	if len(c.others) >= mostUsers {
		c.others = slices.Delete(c.others, 0, 1)
	}
	c.others = append(c.others, made)
	return made, nil
}

// Fits asks whether a manifest has the shape of its kind, which is the same for
// everybody.
func (c *Client) Fits(ctx context.Context, body *unstructured.Unstructured) error {
	return c.known.Fits(ctx, body)
}
