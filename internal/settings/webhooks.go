package settings

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/account"
	"github.com/towline-cd/towline/internal/core/secret"
	"github.com/towline-cd/towline/internal/core/webhook"
)

// webhookSize is how many bytes a webhook may have; zero is the default.
func webhookSize(data map[string]string) (size int64, problem string) {
	text := strings.TrimSpace(data[v1alpha1.KeyWebhookMaxPayloadMB])
	if text == "" {
		return 0, ""
	}
	mb, err := strconv.ParseInt(text, 10, 32)
	if err != nil || mb <= 0 {
		return 0, fmt.Sprintf("%s: %q is not a number of megabytes; using 50", v1alpha1.KeyWebhookMaxPayloadMB, text)
	}
	return mb << 20, ""
}

// hooks keep what webhooks are proved by: keys of argocd-secret, each of which may refer to a key of another secret.
// Those are watched from when there is such a reference.
type hooks struct {
	client    kubernetes.Interface
	namespace string
	current   atomic.Pointer[webhook.Secrets]

	mu     sync.Mutex
	stored *account.Stored
	others map[string]map[string][]byte
	// begin watches other secrets; nil once it does, and before there is anybody to stop it.
	begin    func()
	synced   bool
	problems []string
	// wanted says that something besides webhooks refers to other secrets; version is another one after each change.
	wanted  bool
	version atomic.Uint64
}

func newHooks(client kubernetes.Interface, namespace string) *hooks {
	h := &hooks{client: client, namespace: namespace, stored: &account.Stored{}, others: map[string]map[string][]byte{}}
	h.current.Store(&webhook.Secrets{})
	return h
}

// Webhooks are what the senders of webhooks prove themselves by now.
func (s *Store) Webhooks() *webhook.Secrets { return s.hooks.current.Load() }

// start lets other secrets be watched, from when somebody needs that until ctx ends.
func (h *hooks) start(ctx context.Context, wg *sync.WaitGroup) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.begin = func() { h.watch(ctx, wg) }
}

// read takes what argocd-secret holds.
func (h *hooks) read(stored *account.Stored) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stored = stored
	h.compile()
}

// compile finds the secrets anew; the caller holds the lock.
func (h *hooks) compile() {
	h.version.Add(1)
	elsewhere := h.wanted || slices.ContainsFunc(webhook.Keys, func(key string) bool {
		reference, ok := webhook.Reference(h.stored.Values[key])
		return ok && strings.Contains(reference, ":")
	})
	if elsewhere && h.begin != nil {
		begin := h.begin
		h.begin = nil
		begin()
	}
	secrets, problems := webhook.ReadSecrets(h.stored.Values, h.lookup)
	// What is not read yet is not missing.
	if (!elsewhere || h.synced) && !slices.Equal(problems, h.problems) {
		for _, p := range problems {
			slog.Warn("the secret of a webhook is missing", "secret", v1alpha1.SecretSettings, "problem", p)
		}
		h.problems = problems
	}
	h.current.Store(secrets)
}

func (h *hooks) lookup(reference string) (secret.Text, bool) {
	name, key, elsewhere := strings.Cut(reference, ":")
	if !elsewhere {
		value, ok := h.stored.Values[reference]
		return value, ok
	}
	value, ok := h.others[strings.TrimSpace(name)][strings.TrimSpace(key)]
	return secret.New(string(value)), ok
}

// watch follows the secrets that say that they are part of Argo CD: references to others are not followed, as there.
func (h *hooks) watch(ctx context.Context, wg *sync.WaitGroup) {
	factory := informers.NewSharedInformerFactoryWithOptions(h.client, 0, informers.WithNamespace(h.namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.LabelSelector = labels.SelectorFromSet(labels.Set{v1alpha1.LabelPartOf: v1alpha1.PartOfLabelValue}).String()
		}))
	informer := factory.Core().V1().Secrets().Informer()
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { h.other(obj, false) },
		UpdateFunc: func(_, obj any) { h.other(obj, false) },
		DeleteFunc: func(obj any) { h.other(obj, true) },
	})
	if err != nil {
		slog.ErrorContext(ctx, "the secrets that webhooks refer to cannot be watched", "error", err)
		return
	}
	wg.Go(func() { informer.RunWithContext(ctx) })
	wg.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.synced = true
			h.compile()
		}
	})
}

func (h *hooks) other(obj any, gone bool) {
	if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = last.Obj
	}
	s, ok := obj.(*corev1.Secret)
	if !ok {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.others, s.Name)
	if !gone {
		h.others[s.Name] = s.Data
	}
	h.compile()
}
