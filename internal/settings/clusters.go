package settings

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/destination"
)

// clusters keeps the destinations. Until the first listing is complete there
// are none, and nobody may conclude that one is gone.
type clusters struct {
	current atomic.Pointer[destination.Set]
	changed func(old, now *destination.Set)
	secrets cache.SharedIndexInformer
	ready   chan struct{}

	mu     sync.Mutex
	listed bool
	own    bool
	// entries are by the name of their secret.
	entries map[string]destination.Cluster
	// told are the problems that were logged, so that each is said once.
	told []string
}

// clusterSecrets selects the secrets that are about clusters.
const clusterSecrets = v1alpha1.LabelSecretType + "=" + v1alpha1.SecretTypeCluster

func newClusters(client kubernetes.Interface, namespace string, changed func(old, now *destination.Set)) *clusters {
	c := &clusters{changed: changed, ready: make(chan struct{}), own: true, entries: map[string]destination.Cluster{}}
	c.current.Store(destination.NewSet(nil, true))
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = clusterSecrets }))
	c.secrets = factory.Core().V1().Secrets().Informer()
	return c
}

// Clusters are the destinations now. The value does not change: a changed
// secret is a new one.
func (s *Store) Clusters() *destination.Set { return s.clusters.current.Load() }

// start watches until ctx ends, in goroutines of the group.
func (c *clusters) start(ctx context.Context, wg *sync.WaitGroup) error {
	registration, err := c.secrets.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { c.read(ctx, obj) },
		UpdateFunc: func(_, obj any) { c.read(ctx, obj) },
		DeleteFunc: func(obj any) { c.drop(ctx, obj) },
	})
	if err != nil {
		return fmt.Errorf("watching the cluster secrets: %w", err)
	}
	wg.Go(func() { c.secrets.RunWithContext(ctx) })
	wg.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
			c.begin(ctx)
		}
	})
	return nil
}

// begin makes the first set, when everything is listed.
func (c *clusters) begin(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listed = true
	if !c.rebuild(ctx) && c.changed != nil {
		// Even that there are none has to be heard once.
		c.changed(c.current.Load(), c.current.Load())
	}
	close(c.ready)
}

// enable says whether the cluster that we run in is a destination.
func (c *clusters) enable(ctx context.Context, own bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own == own {
		return
	}
	c.own = own
	c.rebuild(ctx)
}

func (c *clusters) read(ctx context.Context, obj any) {
	secret, ok := obj.(*corev1.Secret)
	if !ok {
		return
	}
	entry, problems := destination.Read(valueOf(secret))
	if len(problems) > 0 {
		slog.WarnContext(ctx, "a cluster secret could not be read as it is", "secret", secret.Name, "problems", problems)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, secret.Name)
	if entry.Server != "" {
		c.entries[secret.Name] = entry
	}
	c.rebuild(ctx)
}

func valueOf(s *corev1.Secret) destination.Secret {
	return destination.Secret{Name: s.Name, Data: s.Data, Labels: s.Labels, Annotations: s.Annotations}
}

func (c *clusters) drop(ctx context.Context, obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	secret, ok := obj.(*corev1.Secret)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, secret.Name)
	c.rebuild(ctx)
}

// rebuild makes a new set and tells of it, if it says anything else; the caller
// holds the mutex.
func (c *clusters) rebuild(ctx context.Context) (told bool) {
	if !c.listed {
		return false
	}
	next := destination.NewSet(slices.Collect(maps.Values(c.entries)), c.own)
	if p := next.Problems(); !slices.Equal(p, c.told) {
		c.told = p
		for _, problem := range p {
			slog.WarnContext(ctx, "a cluster secret counts for nothing", "problem", problem)
		}
	}
	last := c.current.Swap(next)
	if c.changed == nil || destination.Same(last, next) {
		return false
	}
	c.changed(last, next)
	return true
}

// ReadClusters reads the destinations once, for a command. Who may not read
// secrets knows only the cluster that the command speaks to.
func ReadClusters(ctx context.Context, config *rest.Config, namespace string) (*destination.Set, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for the clusters: %w", err)
	}
	s, err := Read(ctx, config, namespace)
	if err != nil {
		return nil, err
	}
	secrets, err := client.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{LabelSelector: clusterSecrets})
	if apierrors.IsForbidden(err) {
		return destination.NewSet(nil, !s.NotInCluster), nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the cluster secrets: %w", err)
	}
	var entries []destination.Cluster
	for i := range secrets.Items {
		if entry, _ := destination.Read(valueOf(&secrets.Items[i])); entry.Server != "" {
			entries = append(entries, entry)
		}
	}
	return destination.NewSet(entries, !s.NotInCluster), nil
}
