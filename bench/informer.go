package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/towline-cd/towline/internal/cluster"
)

// The three parts of the scenario "index". Each obeys "load", which ends when
// all objects were read, and counts them.

// indexPart is the product's index.
type indexPart struct {
	cluster *cluster.Cluster
	objects atomic.Int64
}

func newIndexPart(s setup) (part, error) {
	config, err := s.client()
	if err != nil {
		return nil, err
	}
	p := &indexPart{}
	p.cluster, err = cluster.New(config, func(ch cluster.Change) {
		if ch.Old == nil {
			p.objects.Add(1)
		}
	})
	return p, err
}

func (p *indexPart) do(ctx context.Context, _ order) (map[string]int64, error) {
	// As the program does it.
	defer cluster.Frugal()()
	go func() { _ = p.cluster.Run(ctx) }()
	select {
	case <-p.cluster.Ready():
		return map[string]int64{"objects": p.objects.Load()}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// metadataPart is an informer for each kind that keeps the metadata of its
// objects, without managedFields: the least that client-go keeps.
type metadataPart struct {
	config    *rest.Config
	informers []cache.SharedIndexInformer
}

func newMetadataPart(s setup) (part, error) {
	config, err := s.client()
	return &metadataPart{config: config}, err
}

func (p *metadataPart) do(ctx context.Context, _ order) (map[string]int64, error) {
	kinds, err := watchable(p.config)
	if err != nil {
		return nil, err
	}
	client, err := metadata.NewForConfig(p.config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	synced := []cache.InformerSynced{}
	for _, kind := range kinds {
		informer := metadatainformer.NewFilteredMetadataInformer(client, kind, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
		if err := informer.SetTransform(withoutManagedFields); err != nil {
			return nil, fmt.Errorf("making an informer: %w", err)
		}
		p.informers = append(p.informers, informer)
		synced = append(synced, informer.HasSynced)
		go informer.RunWithContext(ctx)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil, ctx.Err()
	}
	objects := 0
	for _, informer := range p.informers {
		objects += len(informer.GetStore().ListKeys())
	}
	return map[string]int64{"objects": int64(objects)}, nil
}

func withoutManagedFields(obj any) (any, error) {
	if m, ok := obj.(metav1.Object); ok {
		m.SetManagedFields(nil)
	}
	return obj, nil
}

// listPart reads every object whole, in a streaming list, and keeps nothing.
type listPart struct{ config *rest.Config }

func newListPart(s setup) (part, error) {
	config, err := s.client()
	return &listPart{config: config}, err
}

func (p *listPart) do(ctx context.Context, _ order) (map[string]int64, error) {
	kinds, err := watchable(p.config)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(p.config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	var objects atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for _, kind := range kinds {
		g.Go(func() error {
			n, err := stream(ctx, client.Resource(kind))
			objects.Add(n)
			return err
		})
	}
	err = g.Wait()
	return map[string]int64{"objects": objects.Load()}, err
}

// stream reads one kind until the server says that this was all.
func stream(ctx context.Context, client dynamic.ResourceInterface) (objects int64, err error) {
	o := metav1.ListOptions{
		SendInitialEvents: new(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}
	w, err := client.Watch(ctx, o)
	for apierrors.IsTooManyRequests(err) && ctx.Err() == nil {
		// The server has just started and fills its cache.
		time.Sleep(100 * time.Millisecond)
		w, err = client.Watch(ctx, o)
	}
	if err != nil {
		return 0, fmt.Errorf("streaming a list: %w", err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		switch e.Type {
		case watch.Added:
			objects++
		case watch.Bookmark:
			if m, ok := e.Object.(metav1.Object); ok && m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
				return objects, nil
			}
		case watch.Error, watch.Modified, watch.Deleted:
			return objects, fmt.Errorf("streaming a list: unexpected event %s", e.Type)
		}
	}
	return objects, fmt.Errorf("streaming a list: it ended early: %w", ctx.Err())
}

// unwatched are the resources that the product does not watch by default.
var unwatched = []string{
	"events", "endpoints", "endpointslices", "leases", "leasecandidates", "certificatesigningrequests", "componentstatuses",
}

// watchable are the kinds that the product watches, each in one version.
func watchable(config *rest.Config) ([]schema.GroupVersionResource, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a discovery client: %w", err)
	}
	lists, err := client.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("discovering the kinds: %w", err)
	}
	var out []schema.GroupVersionResource
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("discovering the kinds: %w", err)
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") || slices.Contains(unwatched, r.Name) || !slices.Contains(r.Verbs, "watch") {
				continue
			}
			out = append(out, gv.WithResource(r.Name))
		}
	}
	return out, nil
}

// watchPart is the bare baseline of the scenario "churn": one watch that
// decodes each event and hashes all but the status.
type watchPart struct {
	config *rest.Config
	once   sync.Once
	events atomic.Int64
	failed atomic.Pointer[error]
}

func newWatchPart(s setup) (part, error) {
	config, err := s.client()
	return &watchPart{config: config}, err
}

func (p *watchPart) do(ctx context.Context, o order) (map[string]int64, error) {
	if o.Do == "start" {
		var err error
		p.once.Do(func() { err = p.start(ctx) })
		return nil, err
	}
	if err := p.failed.Load(); err != nil {
		return nil, *err
	}
	return map[string]int64{"events": p.events.Load()}, nil
}
