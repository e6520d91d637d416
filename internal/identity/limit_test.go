package identity

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/account"
)

// four accounts, each with its own name for a password.
func four() *memory {
	m := newMemory(map[string]string{"accounts.alice": "login", "accounts.bob": "login", "accounts.carol": "login"})
	m.seed(map[string]string{
		"server.secretkey": "key", "admin.password": "admin-hash", "accounts.alice.password": "alice-hash",
		"accounts.bob.password": "bob-hash", "accounts.carol.password": "carol-hash",
	})
	return m
}

var names = []string{"admin", "alice", "bob", "carol"}

// Ten thousand guesses at once, over four accounts and as many addresses as there are guesses, with the process killed in
// the middle: each account is tried as often as the limit says, and not once more.
func TestParallelGuessesGetNoMoreTries(t *testing.T) {
	m, hashes, now := four(), &plain{}, &clock{now: time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)}
	guess := func(k *Keeper, n int) {
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				name := names[i%len(names)]
				_, err := k.Login(t.Context(), Attempt{Name: name, Password: text(fmt.Sprint("guess", i)), Source: fmt.Sprintf("10.%d.%d.1", i/256, i%256)})
				if err == nil || err.Error() != publicLogin {
					t.Errorf("%s: a guess got the answer %v", name, err)
				}
			})
		}
		wg.Wait()
	}
	for round := range 3 {
		k, kill := begin(t, m, Options{Now: now.Now, compare: hashes.compare, Hashing: 4})
		guess(k, 5000)
		kill()
		k, kill = begin(t, m, Options{Now: now.Now, compare: hashes.compare, Hashing: 4})
		guess(k, 5000)
		for _, name := range names {
			if got, want := hashes.tries[name+"-hash"], defaultTries*(round+1); got != want {
				t.Errorf("after window %d %s was tried %d times, not %d", round+1, name, got, want)
			}
		}
		// Even with the right password.
		if _, err := k.Login(t.Context(), Attempt{Name: "bob", Password: text("bob-hash"), Source: "192.0.2.1"}); err == nil {
			t.Error("somebody signed in to an account that is locked")
		}
		kill()
		now.move(defaultWindow + time.Second)
	}
	k, _ := begin(t, m, Options{Now: now.Now, compare: hashes.compare})
	if _, err := k.Login(t.Context(), Attempt{Name: "bob", Password: text("bob-hash"), Source: "192.0.2.1"}); err != nil {
		t.Errorf("after the window nobody can sign in: %v", err)
	}
	if writes := m.written(v1alpha1.SecretSessions); writes > 3*defaultTries*len(names)+1 {
		t.Errorf("the secret was written %d times", writes)
	}
}

// A process that is killed while a guess is being checked may forget that guess, but nobody has its outcome.
func TestAnAnswerWaitsUntilItIsWrittenDown(t *testing.T) {
	m, hashes := four(), &plain{}
	k, _ := begin(t, m, Options{compare: hashes.compare})
	for i := range defaultTries {
		if _, err := k.Login(t.Context(), Attempt{Name: "admin", Password: text("guess"), Source: "192.0.2.1"}); err == nil {
			t.Fatal("a guess was right")
		}
		s, err := account.ReadSessions(m.data(v1alpha1.SecretSessions)[sessionsKey])
		if err != nil || s.Failures["admin"].Count != i+1 {
			t.Fatalf("after answer %d the secret has %+v (%v)", i+1, s, err)
		}
	}
}

// A million names that nobody has take no memory, are not checked for long, and have nobody's failures forgotten. The quick
// run takes a tenth: it would show as well.
func TestAMillionNamesTakeNoMemory(t *testing.T) {
	many := int64(1_000_000)
	if testing.Short() {
		many /= 10
	}
	m, hashes, now := four(), &plain{}, &clock{now: time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)}
	k, kill := begin(t, m, Options{Now: now.Now, compare: hashes.compare, Hashing: 4})
	for range defaultTries {
		_, _ = k.Login(t.Context(), Attempt{Name: "admin", Password: text("guess"), Source: "192.0.2.1"})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the padding of a refusal is not what is measured
	heap := func() uint64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	before := heap()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := next.Add(1); i <= many; i = next.Add(1) {
				_, err := k.Login(ctx, Attempt{Name: fmt.Sprint("nobody", i), Password: text("x"), Source: fmt.Sprintf("2001:db8:%x:%x::1", i>>16, i&0xffff)})
				if err == nil {
					t.Error("nobody signed in")
					return
				}
			}
		})
	}
	wg.Wait()
	if grown := int64(heap()) - int64(before); grown > 1<<20 {
		t.Errorf("%d names took %d bytes", many, grown)
	}
	if got := hashes.tries["admin-hash"]; got != defaultTries {
		t.Errorf("the administrator was tried %d times", got)
	}
	if _, err := k.Login(t.Context(), Attempt{Name: "admin", Password: text("admin-hash"), Source: "198.51.100.7"}); err == nil {
		t.Error("a flood of names had the failures of the administrator forgotten")
	}
	if size := len(m.data(v1alpha1.SecretSessions)[sessionsKey]); size > 64<<10 {
		t.Errorf("the secret has %d bytes", size)
	}
	kill()
	k, _ = begin(t, m, Options{Now: now.Now, compare: hashes.compare})
	if _, err := k.Login(t.Context(), Attempt{Name: "admin", Password: text("admin-hash"), Source: "198.51.100.7"}); err == nil {
		t.Error("a restart had the failures of the administrator forgotten")
	}
}

// One address guesses at many accounts and names: it is locked, also after a restart, and signing in to an account of one's
// own between the guesses does not help.
func TestAnAddressIsLocked(t *testing.T) {
	m, hashes, now := four(), &plain{}, &clock{now: time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)}
	limits := account.Limits{Account: account.Limit{Tries: 5, Window: time.Minute}, Source: account.Limit{Tries: 10, Window: time.Minute}}
	o := Options{Now: now.Now, compare: hashes.compare, Limits: limits}
	k, kill := begin(t, m, o)
	for i := range 30 {
		_, _ = k.Login(t.Context(), Attempt{Name: fmt.Sprint("nobody", i), Password: text("x"), Source: fmt.Sprintf("[2001:db8::%x]:%d", i+1, 40000+i)})
		_, _ = k.Login(t.Context(), Attempt{Name: "bob", Password: text("bob-hash"), Source: "2001:db8::ffff"})
	}
	mine := Attempt{Name: "bob", Password: text("bob-hash"), Source: "2001:db8::2"}
	if got := hashes.tries["bob-hash"]; got != 9 {
		t.Errorf("before the address was locked, bob signed in %d times", got)
	}
	r := k.ledger.end("nobody-at-all", "x", now.Now())
	if err := r.wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	kill()
	k, _ = begin(t, m, o)
	if _, err := k.Login(t.Context(), mine); err == nil {
		t.Error("after a restart the address is not locked")
	}
	mine.Source = "2001:db8:0:1::2"
	if _, err := k.Login(t.Context(), mine); err != nil {
		t.Errorf("somebody from elsewhere: %v", err)
	}
	now.move(2 * time.Minute)
	mine.Source = "2001:db8::2"
	if _, err := k.Login(t.Context(), mine); err != nil {
		t.Errorf("after the window: %v", err)
	}
}

// Two replicas know of each other's failures.
func TestReplicasShareFailures(t *testing.T) {
	m, hashes := four(), &plain{}
	one, _ := begin(t, m, Options{compare: hashes.compare})
	two, _ := begin(t, m, Options{compare: hashes.compare})
	for i := range 4 * defaultTries {
		k := []*Keeper{one, two}[i%2]
		_, _ = k.Login(t.Context(), Attempt{Name: "admin", Password: text("guess"), Source: "192.0.2.1"})
		await(t, func() bool {
			return one.ledger.count("admin") == two.ledger.count("admin")
		})
	}
	if got := hashes.tries["admin-hash"]; got != defaultTries {
		t.Errorf("two replicas tried %d times", got)
	}
}

// count is how many failures of an account are known, for tests.
func (l *ledger) count(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failures(name, l.tallyOf(name), l.now()).Count
}

func await(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); {
		if time.Now().After(end) {
			t.Fatal("it does not come")
		}
		runtime.Gosched()
	}
}

// A success begins a new count, in memory and in the secret; giving up before the check does not count.
func TestSuccessBeginsANewCount(t *testing.T) {
	m, hashes := four(), &plain{}
	k, _ := begin(t, m, Options{compare: hashes.compare})
	for range 5 {
		for range defaultTries - 1 {
			_, _ = k.Login(t.Context(), Attempt{Name: "bob", Password: text("guess"), Source: "192.0.2.1"})
		}
		if _, err := k.Login(t.Context(), Attempt{Name: "bob", Password: text("bob-hash"), Source: "192.0.2.1"}); err != nil {
			t.Fatal(err)
		}
	}
	await(t, func() bool {
		s, err := account.ReadSessions(m.data(v1alpha1.SecretSessions)[sessionsKey])
		return err == nil && s.Failures["bob"].Count == 0
	})
	r, ok := k.ledger.reserve("bob", true, "192.0.2.1")
	if !ok {
		t.Fatal("bob has no tries")
	}
	r.release()
	if got := k.ledger.count("bob"); got != 0 {
		t.Errorf("a try that was not made counts as %d", got)
	}
}

// While the hub's server is away, failures count in memory, and are written down when it is back.
func TestFailuresCountWhileTheServerIsAway(t *testing.T) {
	m, hashes := four(), &plain{}
	k, _ := begin(t, m, Options{compare: hashes.compare})
	m.mu.Lock()
	m.broken = errors.New("away")
	m.mu.Unlock()
	var wg sync.WaitGroup
	for range 3 * defaultTries {
		wg.Go(func() {
			_, _ = k.Login(t.Context(), Attempt{Name: "admin", Password: text("guess"), Source: "192.0.2.1"})
		})
	}
	wg.Wait()
	if got := hashes.tries["admin-hash"]; got != defaultTries {
		t.Errorf("tried %d times", got)
	}
	m.mu.Lock()
	m.broken = nil
	m.mu.Unlock()
	await(t, func() bool {
		s, err := account.ReadSessions(m.data(v1alpha1.SecretSessions)[sessionsKey])
		return err == nil && s.Failures["admin"].Count == defaultTries
	})
}

// A refusal takes a whole number of floors, whether anything was checked or not.
func TestRefusalsTakeTheSameTime(t *testing.T) {
	m, hashes := four(), &plain{}
	k, _ := begin(t, m, Options{compare: hashes.compare, Floor: 50 * time.Millisecond})
	for name, a := range map[string]Attempt{
		"known": {Name: "admin", Password: text("guess")}, "unknown": {Name: "nobody", Password: text("guess")}, "blank": {Name: "admin"},
	} {
		start := time.Now()
		_, err := k.Login(t.Context(), a)
		if took := time.Since(start); err == nil || took < 50*time.Millisecond {
			t.Errorf("%s: %v after %s", name, err, took)
		}
	}
}

func TestLimitsOfTheEnvironment(t *testing.T) {
	got, problems := ReadLimits(func(name string) string {
		return map[string]string{v1alpha1.EnvLoginMaxFailures: "3", v1alpha1.EnvLoginFailureWindow: "60", v1alpha1.EnvLoginMaxCacheSize: "7"}[name]
	})
	if got.Account != (account.Limit{Tries: 3, Window: time.Minute}) || got.Source.Window != time.Minute || len(problems) != 1 {
		t.Errorf("got %+v, %q", got, problems)
	}
	got, problems = ReadLimits(func(string) string { return "few" })
	if got.Account != (account.Limit{Tries: defaultTries, Window: defaultWindow}) || len(problems) != 3 {
		t.Errorf("got %+v, %q", got, problems)
	}
	got, problems = ReadLimits(func(name string) string { return map[string]string{v1alpha1.EnvLoginFailureWindow: "0"}[name] })
	if got.Account.Window != 0 || got.Source.Window != defaultWindow || len(problems) > 0 {
		t.Errorf("got %+v, %q", got, problems)
	}
}
