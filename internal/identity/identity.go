// Package identity knows who is calling: it makes and checks the tokens of
// local accounts and of roles of projects, signs people in by their passwords,
// and keeps what has to be remembered of that in secrets of the installation.
// It must not speak HTTP nor decide what somebody may do: that is for the
// server and for core/rbac. No token, password or hash reaches a log or an
// error.
package identity

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/bcrypt"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/account"
)

// Values are what the installation says now. Each value does not change: a new
// reading is a new one.
type Values interface {
	// Accounts is what argocd-cm says of accounts and sessions.
	Accounts() *account.Config
	// Secret is what argocd-secret holds.
	Secret() *account.Stored
}

// Projects are the AppProjects as they are known here.
type Projects interface {
	Project(ctx context.Context, name string) (*v1alpha1.AppProject, error)
}

// Editor changes AppProjects. With a resource version in the patch the server
// refuses it for any other.
type Editor interface {
	Get(ctx context.Context, name string) (*v1alpha1.AppProject, error)
	Patch(ctx context.Context, name string, patch []byte, dryRun bool) (*v1alpha1.AppProject, error)
}

// Secrets are those of the control namespace.
type Secrets interface {
	Get(ctx context.Context, name string, o metav1.GetOptions) (*corev1.Secret, error)
	Create(ctx context.Context, s *corev1.Secret, o metav1.CreateOptions) (*corev1.Secret, error)
	Update(ctx context.Context, s *corev1.Secret, o metav1.UpdateOptions) (*corev1.Secret, error)
}

// follower tells what a secret holds whenever it changes, until ctx ends.
type follower func(ctx context.Context, name string, e events) error

// events are told what becomes of a secret: listed comes once, when all that
// there was has been told.
type events struct {
	seen, gone func(*corev1.Secret)
	listed     func()
}

// Options is all that a keeper needs.
type Options struct {
	Values   Values
	Projects Projects
	Editor   Editor
	// Provider vouches for tokens that are not ours; nil is nobody.
	Provider Provider
	// Limits are how often somebody may fail; see ReadLimits.
	Limits account.Limits
	// Now is the clock; nil is that of the machine.
	Now func() time.Time
	// Floor is what the time of a refusal is rounded up to, so that it tells
	// nothing; zero is a third of a second.
	Floor time.Duration
	// Hashing is how many passwords are checked at once; zero is one for every
	// two processors.
	Hashing int
	// compare checks a password; nil is bcrypt. Tests count by it.
	compare func(hash, password []byte) error
}

// Keeper knows who is calling.
type Keeper struct {
	o       Options
	secrets Secrets
	follow  follower
	ledger  *ledger
	// slots are the places for checking passwords.
	slots chan struct{}
	// decoy is a hash that no password has, for accounts that do not exist.
	decoy func() []byte

	// written is argocd-secret as it was written here last. It counts until the
	// watch has come as far.
	written atomic.Pointer[account.Stored]
	book    atomic.Pointer[account.Book]

	mu sync.Mutex
	// projects are those that were written here and that the cache may not have
	// seen yet.
	projects map[string]*v1alpha1.AppProject
	// told are the problems that were logged, so that each is said once.
	told []string
}

const defaultFloor = 333 * time.Millisecond

// New makes a keeper for the control namespace.
func New(config *rest.Config, namespace string, o Options) (*Keeper, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for the accounts: %w", err)
	}
	return newKeeper(client.CoreV1().Secrets(namespace), informing(client, namespace), o), nil
}

func newKeeper(secrets Secrets, follow follower, o Options) *Keeper {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Floor == 0 {
		o.Floor = defaultFloor
	}
	if o.Hashing == 0 {
		o.Hashing = max(1, runtime.GOMAXPROCS(0)/2)
	}
	if o.compare == nil {
		o.compare = compare
	}
	o.Limits = orDefault(o.Limits)
	k := &Keeper{
		o: o, secrets: secrets, follow: follow, slots: make(chan struct{}, o.Hashing),
		decoy: sync.OnceValue(decoy), projects: map[string]*v1alpha1.AppProject{},
	}
	k.ledger = newLedger(secrets, o.Limits, o.Now)
	k.ledger.known = func(name string) bool {
		_, ok := k.current().Find(name)
		return ok || elsewhere(name)
	}
	k.ledger.key = func() []byte { return []byte(k.current().Key().Reveal()) }
	return k
}

// Run keeps what is remembered of sessions current, and writes down what has to
// be, until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() { k.ledger.write(ctx) })
	return k.follow(ctx, v1alpha1.SecretSessions, events{
		seen:   func(s *corev1.Secret) { k.ledger.saw(ctx, s) },
		gone:   func(s *corev1.Secret) { k.ledger.lost(ctx, s) },
		listed: func() { k.ledger.begin(ctx) },
	})
}

// WaitReady waits until it is known which sessions were ended. Before that
// nobody is let in.
func (k *Keeper) WaitReady(ctx context.Context) bool {
	select {
	case <-k.ledger.ready:
		return true
	case <-ctx.Done():
		return false
	}
}

// current is all that is known of the accounts now.
func (k *Keeper) current() *account.Book {
	c, s := k.o.Values.Accounts(), k.o.Values.Secret()
	if w := k.written.Load(); w != nil && newer(w.Version, s.Version) {
		s = w
	}
	if b := k.book.Load(); b != nil && b.Of(c, s) {
		return b
	}
	b := account.NewBook(c, s)
	k.book.Store(b)
	k.tell(b.Problems())
	return b
}

// tell says what is wrong with argocd-secret, once.
func (k *Keeper) tell(problems []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if slices.Equal(problems, k.told) {
		return
	}
	k.told = problems
	for _, p := range problems {
		slog.Warn("a key of a secret could not be read as it is", "secret", v1alpha1.SecretSettings, "problem", p)
	}
}

// newer compares resource versions. Anything is newer than what was not read.
func newer(a, b string) bool {
	if b == "" {
		return a != ""
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}

// Accounts are the local accounts, in the order of their names.
func (k *Keeper) Accounts() []account.Account { return k.current().All() }

// Account is one of them.
func (k *Keeper) Account(name string) (account.Account, bool) { return k.current().Find(name) }

// compare checks a password, unless that would take for ever.
func compare(hash, password []byte) error {
	// Each step doubles the time; sixteen are some seconds.
	const most = 16
	cost, err := bcrypt.Cost(hash)
	if err != nil {
		return fmt.Errorf("reading the hash: %w", err)
	}
	if cost > most {
		return fmt.Errorf("the hash has a cost of %d, more than %d", cost, most)
	}
	return bcrypt.CompareHashAndPassword(hash, password)
}
