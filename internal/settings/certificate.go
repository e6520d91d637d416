package settings

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// certificateSecrets are where the server's certificate may be; the first that has one counts.
var certificateSecrets = []string{v1alpha1.SecretServerTLS, v1alpha1.SecretSettings}

// Certificates keeps the certificate that the server shows.
type Certificates struct {
	current   atomic.Pointer[tls.Certificate]
	informers map[string]cache.SharedIndexInformer

	mu    sync.Mutex
	found map[string]*tls.Certificate // by the name of the secret
}

// NewCertificates makes a keeper for the control namespace.
func NewCertificates(config *rest.Config, namespace string) (*Certificates, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for the certificate: %w", err)
	}
	c := &Certificates{informers: map[string]cache.SharedIndexInformer{}, found: map[string]*tls.Certificate{}}
	for _, name := range certificateSecrets {
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
			informers.WithNamespace(namespace),
			informers.WithTweakListOptions(func(o *metav1.ListOptions) {
				o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
			}))
		c.informers[name] = factory.Core().V1().Secrets().Informer()
		// Only two of the keys are of use here, and the others are secrets of somebody else.
		if err := c.informers[name].SetTransform(onlyCertificate); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func onlyCertificate(obj any) (any, error) {
	if s, ok := obj.(*corev1.Secret); ok {
		s.Data = map[string][]byte{
			corev1.TLSCertKey: s.Data[corev1.TLSCertKey], corev1.TLSPrivateKeyKey: s.Data[corev1.TLSPrivateKeyKey],
		}
		s.Annotations, s.ManagedFields = nil, nil
	}
	return obj, nil
}

// Current is the certificate now; nil is that there is none.
func (c *Certificates) Current() *tls.Certificate { return c.current.Load() }

// Run watches until ctx ends.
func (c *Certificates) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	for name, informer := range c.informers {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { c.read(ctx, name, obj) },
			UpdateFunc: func(_, obj any) { c.read(ctx, name, obj) },
			DeleteFunc: func(any) { c.read(ctx, name, nil) },
		})
		if err != nil {
			return fmt.Errorf("watching secret %q: %w", name, err)
		}
		wg.Go(func() { informer.RunWithContext(ctx) })
	}
	return nil
}

// read takes what a secret holds. A pair that does not fit is said, and the next one counts.
func (c *Certificates) read(ctx context.Context, name string, obj any) {
	var pair *tls.Certificate
	if s, ok := obj.(*corev1.Secret); ok && len(s.Data[corev1.TLSCertKey]) > 0 {
		made, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey])
		if err != nil {
			slog.WarnContext(ctx, "the certificate of the server cannot be read; another is shown", "secret", name)
		} else {
			pair = &made
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found[name] = pair
	for _, from := range certificateSecrets {
		if c.found[from] != nil {
			c.current.Store(c.found[from])
			return
		}
	}
	c.current.Store(nil)
}
