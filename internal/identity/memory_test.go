package identity

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/account"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/secret"
)

// memory is the secrets and projects of an installation, with the rules of a server: a name is made once, and an update
// is of what was read.
type memory struct {
	mu       sync.Mutex
	version  int
	secrets  map[string]*corev1.Secret
	projects map[string]*v1alpha1.AppProject
	writes   map[string]int
	watchers []events
	broken   error
	config   *account.Config
	stored   *account.Stored
	// late is a watch that does not tell yet of argocd-secret.
	late bool
}

func newMemory(config map[string]string) *memory {
	c, _ := account.ReadConfig(config)
	return &memory{
		secrets: map[string]*corev1.Secret{}, projects: map[string]*v1alpha1.AppProject{},
		writes: map[string]int{}, config: c, stored: &account.Stored{},
	}
}

var secretResource = schema.GroupResource{Resource: "secrets"}

func (m *memory) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return nil, m.broken
	}
	s, ok := m.secrets[name]
	if !ok {
		return nil, apierrors.NewNotFound(secretResource, name)
	}
	return s.DeepCopy(), nil
}

func (m *memory) Create(_ context.Context, s *corev1.Secret, _ metav1.CreateOptions) (*corev1.Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.secrets[s.Name]; ok {
		return nil, apierrors.NewAlreadyExists(secretResource, s.Name)
	}
	return m.put(s)
}

func (m *memory) Update(_ context.Context, s *corev1.Secret, _ metav1.UpdateOptions) (*corev1.Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	have, ok := m.secrets[s.Name]
	if !ok {
		return nil, apierrors.NewNotFound(secretResource, s.Name)
	}
	if have.ResourceVersion != s.ResourceVersion {
		return nil, apierrors.NewConflict(secretResource, s.Name, errors.New("somebody was faster"))
	}
	return m.put(s)
}

func (m *memory) put(s *corev1.Secret) (*corev1.Secret, error) {
	if m.broken != nil {
		return nil, m.broken
	}
	m.version++
	m.writes[s.Name]++
	s = s.DeepCopy()
	s.ResourceVersion = strconv.Itoa(m.version)
	m.secrets[s.Name] = s
	if s.Name == v1alpha1.SecretSettings && !m.late {
		m.stored = account.NewStored(s.ResourceVersion, s.Data)
	}
	if s.Name == v1alpha1.SecretSessions {
		for _, w := range m.watchers {
			go w.seen(s.DeepCopy())
		}
	}
	return s.DeepCopy(), nil
}

// written is how often a secret was written.
func (m *memory) written(name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.writes[name]
}

func (m *memory) follow(ctx context.Context, name string, e events) error {
	m.mu.Lock()
	m.watchers = append(m.watchers, e)
	s := m.secrets[name]
	m.mu.Unlock()
	if s != nil {
		e.seen(s.DeepCopy())
	}
	e.listed()
	<-ctx.Done()
	return nil
}

func (m *memory) Accounts() *account.Config { return m.config }

func (m *memory) Secret() *account.Stored {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stored
}

func (m *memory) Project(_ context.Context, name string) (*v1alpha1.AppProject, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.projects[name]
	if !ok {
		return nil, fault.Terminalf("NotFound", "project %q does not exist", name)
	}
	return p, nil
}

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// begin starts a keeper over a memory, and returns it with what kills it.
func begin(t *testing.T, m *memory, o Options) (*Keeper, func()) {
	t.Helper()
	if o.Values == nil {
		o.Values = m
	}
	if o.Floor == 0 {
		o.Floor = time.Nanosecond
	}
	o.Projects = m
	k := newKeeper(m, m.follow, o)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- k.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	if !k.WaitReady(ctx) {
		t.Fatal("not ready")
	}
	return k, stop
}

// plain takes the hash for the password, and counts.
type plain struct {
	mu    sync.Mutex
	tries map[string]int // by hash
}

func (p *plain) compare(hash, password []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tries == nil {
		p.tries = map[string]int{}
	}
	p.tries[string(hash)]++
	if !slices.Equal(hash, password) {
		return errors.New("wrong")
	}
	return nil
}

// seed writes argocd-secret.
func (m *memory) seed(data map[string]string) {
	s := newSecret(v1alpha1.SecretSettings)
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.put(s); err != nil {
		panic(err)
	}
}

func (m *memory) data(name string) map[string][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.secrets[name]; ok {
		return maps.Clone(s.Data)
	}
	return nil
}

func text(s string) secret.Text { return secret.New(s) }
