package settings

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/account"
	"github.com/towline-cd/towline/internal/core/secret"
	"github.com/towline-cd/towline/internal/core/sso"
)

// signOn keeps how people sign in elsewhere. It is made of config maps and of secrets that they refer to, when somebody
// asks after one of them has changed.
type signOn struct {
	current atomic.Pointer[signOnOf]
	// raw is what the config maps hold; nil is that they were not read.
	raw    atomic.Pointer[raw]
	getenv func(string) string

	mu   sync.Mutex
	told []string
}

// signOnOf is a reading, and what it was made from.
type signOnOf struct {
	raw     *raw
	stored  *account.Stored
	version uint64
	config  *sso.Config
}

// Environment lets variables say where Dex is; it is called before Run.
func (s *Store) Environment(getenv func(string) string) { s.signOn.getenv = getenv }

// SSO is how people sign in elsewhere now. It is the same value for as long as nothing of it changes.
func (s *Store) SSO() *sso.Config {
	of, stored, version := s.signOn.raw.Load(), s.Secret(), s.hooks.version.Load()
	if of == nil {
		return &sso.Config{}
	}
	last := s.signOn.current.Load()
	if last != nil && last.raw == of && last.stored == stored && last.version == version {
		return last.config
	}
	s.signOn.mu.Lock()
	defer s.signOn.mu.Unlock()
	config := sso.Read(sso.Input{
		Data: of.data, Params: of.params, Getenv: s.signOn.getenv, Lookup: s.hooks.find,
		Key: stored.Values[v1alpha1.KeyServerSecretKey],
	})
	if last = s.signOn.current.Load(); last != nil && reflect.DeepEqual(last.config, config) {
		// Whoever knows the provider need not ask it again.
		config = last.config
	}
	if s.hooks.settled() {
		s.signOn.tell(config)
	}
	s.signOn.current.Store(&signOnOf{raw: of, stored: stored, version: version, config: config})
	return config
}

// tell says once what is wrong; the caller holds the mutex.
func (o *signOn) tell(c *sso.Config) {
	all := slices.Concat(c.Problems, c.NotHonoured)
	if slices.Equal(all, o.told) {
		return
	}
	o.told = all
	for _, p := range c.Problems {
		slog.Warn("a setting could not be read", "configMap", v1alpha1.ConfigMapSettings, "problem", p)
	}
	if len(c.NotHonoured) > 0 {
		slog.Warn("settings are not honoured by this version", "configMap", v1alpha1.ConfigMapSettings, "keys", c.NotHonoured)
	}
}

// find is what a reference means.
func (h *hooks) find(reference string) (secret.Text, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lookup(reference)
}

// settled says that the secrets that are referred to have been read.
func (h *hooks) settled() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stored.Version != "" && (!h.wanted || h.synced)
}

// want has other secrets followed, because something besides webhooks refers to them.
func (h *hooks) want(others bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if others && !h.wanted {
		h.wanted = true
		h.compile()
	}
}

// ReadDex is the configuration of the Dex that runs beside, made from what stands now.
func ReadDex(ctx context.Context, config *rest.Config, namespace string, getenv func(string) string) ([]byte, []string, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("making a client for the settings: %w", err)
	}
	of, err := readRaw(ctx, client, namespace)
	if err != nil {
		return nil, nil, err
	}
	stored := &account.Stored{}
	own, err := client.CoreV1().Secrets(namespace).Get(ctx, v1alpha1.SecretSettings, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, nil, fmt.Errorf("reading secret %q: %w", v1alpha1.SecretSettings, err)
	}
	if err == nil {
		stored = account.NewStored(own.ResourceVersion, own.Data)
	}
	h := newHooks(client, namespace)
	h.stored = stored
	if sso.Refers(of.data) {
		list, err := client.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{
			LabelSelector: labels.SelectorFromSet(labels.Set{v1alpha1.LabelPartOf: v1alpha1.PartOfLabelValue}).String(),
		})
		if err != nil {
			return nil, nil, fmt.Errorf("reading the secrets that %s refers to: %w", v1alpha1.KeyDexConfig, err)
		}
		for _, one := range list.Items {
			h.others[one.Name] = one.Data
		}
	}
	key := stored.Values[v1alpha1.KeyServerSecretKey]
	if key.Empty() {
		return nil, nil, fmt.Errorf("secret %q has no %s yet, which the secret of Dex's client comes from; start Towline first",
			v1alpha1.SecretSettings, v1alpha1.KeyServerSecretKey)
	}
	return sso.WriteDex(sso.Input{Data: of.data, Params: of.params, Getenv: getenv, Lookup: h.find, Key: key})
}

// signsOn says that a key is read here.
func signsOn(key string) bool {
	return slices.Contains(sso.Keys, key)
}
