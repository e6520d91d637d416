package herald

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/notice"
	"github.com/towline-cd/towline/internal/herald/channel"
)

// Store keeps the configurations current.
type Store struct {
	namespace   string
	selfService bool
	maps        cache.SharedIndexInformer
	secrets     cache.SharedIndexInformer
	// changed is told the namespace of a configuration that is another.
	changed func(namespace string)
	ready   chan struct{}

	mu sync.Mutex
	// known are the configurations that were read, by their namespaces; nil is that there is none.
	known map[string]*notice.Config
}

// NewStore makes a store for a control namespace. With selfService other namespaces may have configurations of their own,
// for the applications in them.
func NewStore(config *rest.Config, namespace string, selfService bool, changed func(namespace string)) (*Store, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for the configuration of notifications: %w", err)
	}
	where := namespace
	if selfService {
		where = metav1.NamespaceAll
	}
	named := func(name string) informers.SharedInformerFactory {
		return informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(where),
			informers.WithTweakListOptions(func(o *metav1.ListOptions) {
				o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
			}))
	}
	return &Store{
		namespace: namespace, selfService: selfService, changed: changed, ready: make(chan struct{}), known: map[string]*notice.Config{},
		maps:    named(v1alpha1.ConfigMapNotifications).Core().V1().ConfigMaps().Informer(),
		secrets: named(v1alpha1.SecretNotifications).Core().V1().Secrets().Informer(),
	}, nil
}

// Run keeps them current until ctx ends.
func (s *Store) Run(ctx context.Context) error {
	var told []cache.InformerSynced
	for _, informer := range []cache.SharedIndexInformer{s.maps, s.secrets} {
		moved := func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if o, ok := obj.(metav1.Object); ok {
				s.moved(ctx, o.GetNamespace())
			}
		}
		registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: moved, UpdateFunc: func(_, obj any) { moved(obj) }, DeleteFunc: moved,
		})
		if err != nil {
			return fmt.Errorf("watching the configuration of notifications: %w", err)
		}
		told = append(told, registration.HasSynced)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { s.maps.RunWithContext(ctx) })
	wg.Go(func() { s.secrets.RunWithContext(ctx) })
	if cache.WaitForCacheSync(ctx.Done(), told...) {
		close(s.ready)
	}
	<-ctx.Done()
	return nil
}

// WaitReady waits for the first reading.
func (s *Store) WaitReady(ctx context.Context) bool {
	select {
	case <-s.ready:
		return true
	case <-ctx.Done():
		return false
	}
}

// moved reads a configuration anew, and says what of it cannot be used.
func (s *Store) moved(ctx context.Context, namespace string) {
	next := s.read(namespace)
	s.mu.Lock()
	last := s.known[namespace]
	same := last == next || last != nil && next != nil && last.Version == next.Version
	if !same {
		s.known[namespace] = next
	}
	s.mu.Unlock()
	if same {
		return
	}
	if next != nil {
		for _, p := range next.Problems {
			slog.WarnContext(ctx, "a part of the configuration of notifications cannot be used", "namespace", namespace,
				"configMap", v1alpha1.ConfigMapNotifications, "key", p.Key, "problem", p.Message)
		}
	}
	s.changed(namespace)
}

// read is the configuration of a namespace; nil is that there is none.
func (s *Store) read(namespace string) *notice.Config {
	obj, ok, err := s.maps.GetStore().GetByKey(namespace + "/" + v1alpha1.ConfigMapNotifications)
	cm, typed := obj.(*corev1.ConfigMap)
	if err != nil || !ok || !typed {
		return nil
	}
	source := notice.Source{Namespace: namespace, Own: namespace != s.namespace, Data: cm.Data, HideSecrets: s.selfService}
	if obj, ok, err = s.secrets.GetStore().GetByKey(namespace + "/" + v1alpha1.SecretNotifications); ok && err == nil {
		if held, typed := obj.(*corev1.Secret); typed {
			source.Secrets = held.Data
		}
	}
	return Parse(source)
}

// Parse reads a configuration, and says what of it the services cannot follow.
func Parse(s notice.Source) *notice.Config {
	c := notice.Parse(s)
	c.Problems = append(c.Problems, channel.Check(c)...)
	return c
}

// For are the configurations that count for the applications of a namespace.
func (s *Store) For(namespace string) []*notice.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*notice.Config
	if c := s.known[s.namespace]; c != nil {
		out = append(out, c)
	}
	if c := s.known[namespace]; c != nil && namespace != s.namespace {
		out = append(out, c)
	}
	return out
}
