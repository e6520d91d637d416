// Package settings reads the hub's config maps into one immutable value, the
// secrets of repositories and of clusters into others, and keeps them current.
// It must not act on what it reads: whoever needs a setting asks for the current
// one each time. What a secret holds never reaches a log or an error.
package settings

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/account"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/policy"
	"github.com/towline-cd/towline/internal/core/rbac"
	"github.com/towline-cd/towline/internal/core/sso"
)

// Settings are what the config maps say, with defaults where they are silent.
type Settings struct {
	// Name names all that the config maps say, to other processes too; only a
	// Store gives one.
	Name object.Digest
	// Reconciliation is how often repositories are looked at; zero means only
	// when something asks for it. Jitter is added at random, so that a fleet
	// does not look all at once.
	Reconciliation time.Duration
	Jitter         time.Duration
	// IgnoreDifferences are the fields that no application compares, and Compare
	// the switches that stand for such rules.
	IgnoreDifferences []IgnoreRule
	Compare           CompareOptions
	// Exclusions and Inclusions say which kinds are looked at; nil exclusions
	// are the default ones.
	Exclusions, Inclusions []Filter
	// Health and Actions are the scripts of the users, in the order of their
	// kinds.
	Health  []HealthScript
	Actions []ActionScripts
	// Tracker is how objects are marked. It is read once, at the start.
	Tracker object.Tracker
	// Sync is how syncs are made.
	Sync Sync
	// Sets is how ApplicationSets are generated.
	Sets Sets
	// Build is how manifests are rendered, and Fetching how repositories are
	// read.
	Build    manifest.Build
	Fetching Fetching
	// Metrics is what is told to whoever scrapes.
	Metrics Metrics
	// NotifySelfService lets the namespaces of applications have configurations of notifications of their own. It is read
	// once, at the start.
	NotifySelfService bool
	// Logging and Tracing are how the process tells of itself.
	Logging Logging
	Tracing Tracing
	// Accounts are the local accounts and how they sign in; never nil.
	Accounts *account.Config
	// Serving is how the server answers.
	Serving Serving
	// NotInCluster says that the cluster that we run in is no destination.
	NotInCluster bool
	// Tenancy is what holds for all projects. AppNamespaces are the namespaces,
	// besides the control namespace, that applications may live in: globs, or
	// regular expressions between slashes. They are read once, at the start.
	Tenancy       policy.Tenancy
	AppNamespaces []string
	// Access is how permissions are asked for; what they are is the Store's
	// Policy.
	Access Access
	// Problems are the keys that could not be read, NotHonoured those that this
	// version knows and does nothing with.
	Problems    []string
	NotHonoured []string
}

// Default is what holds without any config map: a look every two to three
// minutes.
func Default() Settings {
	return Settings{
		Reconciliation: 2 * time.Minute, Jitter: time.Minute, Sync: defaultSync(), Sets: Sets{Progressive: true},
		Accounts: account.DefaultConfig(),
	}
}

// Parse reads the data of argocd-cm. A value that makes no sense is a problem
// by name, and the default stands.
func Parse(data map[string]string) Settings { return parse(data, nil) }

// parse reads argocd-cm and argocd-cmd-params-cm.
func parse(data, params map[string]string) Settings {
	s := Default()
	var problems []string
	s.Sync, problems = parseSync(data, params)
	s.Metrics = parseMetrics(params)
	s.NotifySelfService = params[v1alpha1.KeyParamNotifySelfService] == "true"
	s.Logging, s.Tracing = parseLogging(params), parseTracing(params)
	var ofServing []string
	s.Serving, ofServing = parseServing(data, params)
	var ofSets setReader
	s.Sets, ofSets = parseSets(params, s.Sync.ByLetter)
	ignore := parseIgnore(data)
	s.IgnoreDifferences, s.Compare = ignore.rules, ignore.compare
	kinds := parseResources(data)
	s.Exclusions, s.Inclusions, s.Tracker = kinds.exclusions, kinds.inclusions, kinds.tracker
	lua := parseScripts(data)
	s.Health, s.Actions = lua.healthScripts(), lua.allActions()
	tenancy, more := parseTenancy(data, s.Sync.ByLetter)
	s.Tenancy, s.AppNamespaces = tenancy, words(params[v1alpha1.KeyParamApplicationNamespaces])
	access, ofAccess := parseAccess(data)
	s.Access = access
	build := parseBuild(data, params)
	s.Build, s.Fetching = build.build, build.fetching
	if text := data[v1alpha1.KeyInClusterEnabled]; text != "" {
		enabled, err := strconv.ParseBool(text)
		if s.NotInCluster = err == nil && !enabled; err != nil {
			problems = append(problems, fmt.Sprintf("%s: %q is neither true nor false; using true", v1alpha1.KeyInClusterEnabled, text))
		}
	}
	s.Problems = slices.Concat(problems, ofSets.problems, ofServing, more, ofAccess, ignore.problems, kinds.problems, lua.problems,
		build.problems)
	s.NotHonoured = slices.Concat(ignore.notHonoured, build.notHonoured, ofSets.notHonoured)
	durations := map[string]*time.Duration{
		v1alpha1.KeyTimeoutReconciliation:       &s.Reconciliation,
		v1alpha1.KeyTimeoutReconciliationJitter: &s.Jitter,
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		into, ok := durations[key]
		if !ok {
			if !honoured(key) && !indifferent(key, data[key]) {
				s.NotHonoured = append(s.NotHonoured, key)
			}
			continue
		}
		d, err := duration(data[key])
		if err != nil {
			s.Problems = append(s.Problems, fmt.Sprintf("%s: %v; using %s", key, err, *into))
			continue
		}
		*into = d
	}
	var ofAccounts []string
	s.Accounts, ofAccounts = account.ReadConfig(data)
	s.Problems = append(s.Problems, ofAccounts...)
	slices.Sort(s.Problems)
	slices.Sort(s.NotHonoured)
	return s
}

// nameOf names the content of a config map.
func nameOf(data map[string]string) object.Digest {
	var out object.Digest
	for _, key := range slices.Sorted(maps.Keys(data)) {
		out = object.Combine(out, object.Combine(object.DigestOfText(key), object.DigestOfText(data[key])))
	}
	return out
}

// honoured are the keys that are read elsewhere.
func honoured(key string) bool {
	return ignores(key) || scripted(key) || builds(key) || slices.Contains(resourceKeys, key) || slices.Contains(syncKeys, key) ||
		key == v1alpha1.KeyInClusterEnabled || slices.Contains(tenancyKeys, key) || slices.Contains(accessKeys, key) || serves(key) ||
		signsOn(key)
}

// indifferent are settings whose value is what happens anyway, or is read with
// the accounts.
func indifferent(key, value string) bool {
	if account.Reads(key) {
		return true
	}
	switch key {
	case v1alpha1.KeyServerSideDiff:
		return value == "true"
	default:
		return value == ""
	}
}

// duration reads a Go duration; a bare number is seconds.
func duration(s string) (time.Duration, error) {
	if _, err := strconv.Atoi(s); err == nil {
		s += "s"
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a duration like 180s or 3m", s)
	}
	return d, nil
}

// Store keeps the current settings.
type Store struct {
	current  atomic.Pointer[Settings]
	informer cache.SharedIndexInformer
	params   cache.SharedIndexInformer
	rbac     cache.SharedIndexInformer
	changed  func(*Settings)
	// policy is who may do what.
	policy policyStore
	// listed is closed when the config maps were read for the first time, so
	// that nobody acts by half of what they say.
	listed chan struct{}
	// repositories is what is known of repositories, which changes on its own.
	repositories *repositories
	// clusters are the destinations, which change on their own too.
	clusters *clusters
	// vault is argocd-secret, and hooks what it says of webhooks.
	vault *vault
	hooks *hooks
	// signOn is how people sign in elsewhere.
	signOn signOn

	mu sync.Mutex
	// data is what the config maps hold, by their names; begun is set when all
	// were read.
	data  map[string]map[string]string
	begun bool
}

// Listeners are told what changed. They must not block; those that are nil are
// not told.
type Listeners struct {
	// Settings gets each new reading of the config maps.
	Settings func(*Settings)
	// Policy gets each new reading of who may do what.
	Policy func(*rbac.Table)
	// Repositories gets the URLs whose entries changed, as repository.Changed
	// has them.
	Repositories func(urls []string)
	// Clusters gets the destinations before and after a change of any of them.
	Clusters func(old, now *destination.Set)
	// Secret gets each new reading of argocd-secret.
	Secret func(*account.Stored)
}

// New makes a store for the control namespace.
func New(config *rest.Config, namespace string, tell Listeners) (*Store, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for the settings: %w", err)
	}
	s := &Store{
		changed: tell.Settings, data: map[string]map[string]string{}, listed: make(chan struct{}),
		informer:     configMap(client, namespace, v1alpha1.ConfigMapSettings),
		params:       configMap(client, namespace, v1alpha1.ConfigMapCmdParams),
		rbac:         configMap(client, namespace, v1alpha1.ConfigMapRBAC),
		policy:       policyStore{changed: tell.Policy},
		repositories: newRepositories(client, namespace, tell.Repositories),
		clusters:     newClusters(client, namespace, tell.Clusters),
		vault:        newVault(client, namespace, tell.Secret),
		hooks:        newHooks(client, namespace),
	}
	s.vault.hooks = s.hooks
	d := Default()
	s.current.Store(&d)
	return s, nil
}

// configMap watches one config map.
func configMap(client kubernetes.Interface, namespace, name string) cache.SharedIndexInformer {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}))
	return factory.Core().V1().ConfigMaps().Informer()
}

// Current are the settings as they stand. They do not change: a new reading is
// a new value.
func (s *Store) Current() *Settings { return s.current.Load() }

// Read reads the settings once.
func Read(ctx context.Context, config *rest.Config, namespace string) (*Settings, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for the settings: %w", err)
	}
	of, err := readRaw(ctx, client, namespace)
	if err != nil {
		return nil, err
	}
	s := parse(of.data, of.params)
	return &s, nil
}

// raw is what the config maps hold.
type raw struct{ data, params map[string]string }

// readRaw reads the config maps; one that is not there is empty.
func readRaw(ctx context.Context, client kubernetes.Interface, namespace string) (raw, error) {
	var data [2]map[string]string
	for i, name := range []string{v1alpha1.ConfigMapSettings, v1alpha1.ConfigMapCmdParams} {
		cm, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return raw{}, fmt.Errorf("reading config map %q: %w", name, err)
		}
		data[i] = cm.Data
	}
	return raw{data: data[0], params: data[1]}, nil
}

// Run keeps the settings current until ctx ends.
func (s *Store) Run(ctx context.Context) error {
	var told []cache.InformerSynced
	for name, informer := range map[string]cache.SharedIndexInformer{
		v1alpha1.ConfigMapSettings: s.informer, v1alpha1.ConfigMapCmdParams: s.params, v1alpha1.ConfigMapRBAC: s.rbac,
	} {
		set := func(obj any) {
			if cm, ok := obj.(*corev1.ConfigMap); ok {
				s.read(ctx, name, cm.Data)
			}
		}
		registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    set,
			UpdateFunc: func(_, obj any) { set(obj) },
			DeleteFunc: func(any) { s.read(ctx, name, nil) },
		})
		if err != nil {
			return fmt.Errorf("watching %s: %w", name, err)
		}
		told = append(told, registration.HasSynced)
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.params.RunWithContext(ctx) })
	wg.Go(func() { s.rbac.RunWithContext(ctx) })
	wg.Go(func() { s.informer.RunWithContext(ctx) })
	if err := s.clusters.start(ctx, &wg); err != nil {
		return err
	}
	s.hooks.start(ctx, &wg)
	if err := s.vault.start(ctx, &wg); err != nil {
		return err
	}
	wg.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), told...) {
			s.begin(ctx)
		}
	})
	err := s.repositories.run(ctx)
	if err == nil {
		wg.Wait()
	}
	return err
}

// read takes what a config map holds now. Nothing is told before all were
// read: half of the settings are not the settings.
func (s *Store) read(ctx context.Context, name string, data map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data[name] = data
	switch {
	case !s.begun:
	case name == v1alpha1.ConfigMapRBAC:
		s.policy.set(ctx, data, s.Current().Access)
	default:
		s.set(ctx, parse(s.data[v1alpha1.ConfigMapSettings], s.data[v1alpha1.ConfigMapCmdParams]))
	}
}

// begin tells the first reading.
func (s *Store) begin(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(s.listed)
	s.begun = true
	s.set(ctx, parse(s.data[v1alpha1.ConfigMapSettings], s.data[v1alpha1.ConfigMapCmdParams]))
}

// WaitReady waits for the first reading.
func (s *Store) WaitReady(ctx context.Context) bool {
	for _, read := range []<-chan struct{}{s.listed, s.repositories.ready, s.clusters.ready, s.vault.ready} {
		select {
		case <-read:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func (s *Store) set(ctx context.Context, next Settings) {
	for _, p := range next.Problems {
		slog.WarnContext(ctx, "a setting could not be read", "configMap", v1alpha1.ConfigMapSettings, "problem", p)
	}
	if len(next.NotHonoured) > 0 {
		slog.WarnContext(ctx, "settings are not honoured by this version",
			"configMap", v1alpha1.ConfigMapSettings, "keys", next.NotHonoured)
	}
	of := raw{data: s.data[v1alpha1.ConfigMapSettings], params: s.data[v1alpha1.ConfigMapCmdParams]}
	next.Name = object.Combine(nameOf(of.data), nameOf(of.params))
	s.current.Store(&next)
	s.signOn.raw.Store(&of)
	s.hooks.want(sso.Refers(of.data))
	s.clusters.enable(ctx, !next.NotInCluster)
	s.policy.set(ctx, s.data[v1alpha1.ConfigMapRBAC], next.Access)
	if s.changed != nil {
		s.changed(&next)
	}
}
