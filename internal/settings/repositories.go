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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/repository"
)

// repositories keeps what is known of repositories. Until the first listing is
// complete it is nothing, so that nobody signs in with half of it.
type repositories struct {
	current atomic.Pointer[repository.Set]
	changed func(urls []string)
	secrets cache.SharedIndexInformer
	trusted map[string]cache.SharedIndexInformer // by the name of the config map
	ready   chan struct{}

	mu     sync.Mutex
	listed bool
	one    map[string]repository.Repository // by the name of the secret
	many   map[string]repository.Repository
	trust  map[string]map[string]string // the data of the config maps, by their names
}

// repositorySecrets selects the secrets that are about repositories.
const repositorySecrets = v1alpha1.LabelSecretType + " in (" + v1alpha1.SecretTypeRepository + "," + v1alpha1.SecretTypeRepoCreds + ")"

func newRepositories(client kubernetes.Interface, namespace string, changed func(urls []string)) *repositories {
	r := &repositories{
		changed: changed, ready: make(chan struct{}), trusted: map[string]cache.SharedIndexInformer{},
		one: map[string]repository.Repository{}, many: map[string]repository.Repository{}, trust: map[string]map[string]string{},
	}
	r.current.Store(repository.NewSet(nil, nil, repository.Trust{}))
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.LabelSelector = repositorySecrets
		}))
	r.secrets = factory.Core().V1().Secrets().Informer()
	for _, name := range []string{v1alpha1.ConfigMapSSHKnownHosts, v1alpha1.ConfigMapTLSCerts, v1alpha1.ConfigMapGPGKeys} {
		r.trusted[name] = configMap(client, namespace, name)
	}
	return r
}

// Repositories are what is known of repositories now. The value does not
// change: a changed secret is a new one.
func (s *Store) Repositories() *repository.Set { return s.repositories.current.Load() }

// Book is what is known of repositories, asked anew each time.
func (s *Store) Book() repository.Book { return s.repositories }

// For is what is known now of the place behind a URL.
func (r *repositories) For(url, project string) repository.Repository {
	return r.current.Load().For(url, project)
}

// Trust is whom to trust now.
func (r *repositories) Trust() repository.Trust { return r.current.Load().Trust() }

// run watches until ctx ends.
func (r *repositories) run(ctx context.Context) error {
	var synced []cache.InformerSynced
	watch := func(informer cache.SharedIndexInformer, handler cache.ResourceEventHandler) error {
		registration, err := informer.AddEventHandler(handler)
		if err != nil {
			return fmt.Errorf("watching what is known of repositories: %w", err)
		}
		synced = append(synced, registration.HasSynced)
		return nil
	}
	err := watch(r.secrets, cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { r.readSecret(ctx, obj) },
		UpdateFunc: func(_, obj any) { r.readSecret(ctx, obj) },
		DeleteFunc: func(obj any) { r.dropSecret(obj) },
	})
	if err != nil {
		return err
	}
	for name, informer := range r.trusted {
		set := func(obj any) {
			if cm, ok := obj.(*corev1.ConfigMap); ok {
				r.readTrust(name, cm.Data)
			}
		}
		err := watch(informer, cache.ResourceEventHandlerFuncs{
			AddFunc: set, UpdateFunc: func(_, obj any) { set(obj) }, DeleteFunc: func(any) { r.readTrust(name, nil) },
		})
		if err != nil {
			return err
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { r.secrets.RunWithContext(ctx) })
	for _, informer := range r.trusted {
		wg.Go(func() { informer.RunWithContext(ctx) })
	}
	if cache.WaitForCacheSync(ctx.Done(), synced...) {
		r.begin()
	}
	wg.Wait()
	return nil
}

// begin makes the first set, when everything is listed.
func (r *repositories) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listed = true
	r.rebuild()
	close(r.ready)
}

func (r *repositories) readSecret(ctx context.Context, obj any) {
	secret, ok := obj.(*corev1.Secret)
	if !ok {
		return
	}
	many := secret.Labels[v1alpha1.LabelSecretType] == v1alpha1.SecretTypeRepoCreds
	entry, problems := ParseRepository(secret.Data, many)
	if len(problems) > 0 {
		slog.WarnContext(ctx, "a repository secret could not be read as it is", "secret", secret.Name, "problems", problems)
	}
	if len(entry.NotHonoured) > 0 {
		slog.WarnContext(ctx, "keys of a repository secret are not honoured by this version",
			"secret", secret.Name, "keys", entry.NotHonoured)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.one, secret.Name)
	delete(r.many, secret.Name)
	if into := r.one; entry.URL != "" {
		if many {
			into = r.many
		}
		into[secret.Name] = entry
	}
	r.rebuild()
}

func (r *repositories) dropSecret(obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	secret, ok := obj.(*corev1.Secret)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.one, secret.Name)
	delete(r.many, secret.Name)
	r.rebuild()
}

func (r *repositories) readTrust(name string, data map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trust[name] = data
	r.rebuild()
}

// rebuild makes a new set and tells whom it concerns; the caller holds the
// mutex. Of two secrets for one URL the one whose name comes first counts, as
// often as it is asked.
func (r *repositories) rebuild() {
	if !r.listed {
		return
	}
	list := func(in map[string]repository.Repository) (out []repository.Repository) {
		for _, name := range slices.Sorted(maps.Keys(in)) {
			out = append(out, in[name])
		}
		return out
	}
	next := repository.NewSet(list(r.one), list(r.many), repository.Trust{
		KnownHosts:   r.trust[v1alpha1.ConfigMapSSHKnownHosts][v1alpha1.KeySSHKnownHosts],
		Certificates: r.trust[v1alpha1.ConfigMapTLSCerts],
		PublicKeys:   r.trust[v1alpha1.ConfigMapGPGKeys],
	})
	last := r.current.Swap(next)
	if urls := repository.Changed(last, next); len(urls) > 0 && r.changed != nil {
		r.changed(urls)
	}
}
