package settings

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/account"
)

// vault keeps what argocd-secret holds.
type vault struct {
	current  atomic.Pointer[account.Stored]
	changed  func(*account.Stored)
	hooks    *hooks
	informer cache.SharedIndexInformer
	ready    chan struct{}
}

func newVault(client kubernetes.Interface, namespace string, changed func(*account.Stored)) *vault {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, v1alpha1.SecretSettings).String()
		}))
	v := &vault{changed: changed, informer: factory.Core().V1().Secrets().Informer(), ready: make(chan struct{})}
	v.current.Store(&account.Stored{})
	return v
}

// Secret is what argocd-secret holds now. The value does not change: a changed
// secret is a new one.
func (s *Store) Secret() *account.Stored { return s.vault.current.Load() }

// Accounts is what argocd-cm says now of accounts and sessions.
func (s *Store) Accounts() *account.Config { return s.Current().Accounts }

// start watches until ctx ends, in goroutines of the group.
func (v *vault) start(ctx context.Context, wg *sync.WaitGroup) error {
	registration, err := v.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { v.read(obj, false) },
		UpdateFunc: func(_, obj any) { v.read(obj, false) },
		DeleteFunc: func(obj any) { v.read(obj, true) },
	})
	if err != nil {
		return fmt.Errorf("watching secret %q: %w", v1alpha1.SecretSettings, err)
	}
	wg.Go(func() { v.informer.RunWithContext(ctx) })
	wg.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
			close(v.ready)
		}
	})
	return nil
}

// read takes what the secret holds. One that is gone has a version too, so that
// it can be told from one that was not read yet.
func (v *vault) read(obj any, gone bool) {
	if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = last.Obj
	}
	secret, ok := obj.(*corev1.Secret)
	if !ok {
		return
	}
	next := &account.Stored{Version: secret.ResourceVersion}
	if !gone {
		next = account.NewStored(secret.ResourceVersion, secret.Data)
	}
	v.current.Store(next)
	if v.hooks != nil {
		v.hooks.read(next)
	}
	if v.changed != nil {
		v.changed(next)
	}
}
