package identity

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/towline-cd/towline/internal/core/account"
)

// ledger is what is remembered of signing in and out. What stands in its secret
// is shared by all replicas and outlives them; what happened since is added to
// it here at once, and written down soon.
//
// A secret, because it is small, every installation has the rights for it, and
// a watch tells the others: there is no store besides Kubernetes to run, to
// back up or to lose.
type ledger struct {
	secrets Secrets
	limits  account.Limits
	now     func() time.Time
	// known says that an account exists, and key is what places in tables are
	// found by, so that nobody can choose theirs.
	known func(account string) bool
	key   func() []byte
	// ready is closed when the secret was read for the first time.
	ready chan struct{}
	// dirty has something in it when there is something to write.
	dirty chan struct{}

	mu     sync.Mutex
	begun  bool
	secret *corev1.Secret
	// shared is what the secret says, and view the same with the sessions that
	// were ended here since.
	shared, view *account.Sessions
	// tallies are what happened here and is not in the secret.
	tallies map[string]*tally
	// writing are the tallies that are being written.
	writing map[string]tally
	ending  []ending
	locked  map[string]account.Failure
	// strangers are names that are no account.
	strangers, sources cells
	// next is the writing that will have what happens now, and took is how long
	// an answer waited for the last one.
	next *round
	took time.Duration
}

// tally is what happened to one account since the last writing.
type tally struct {
	underway int
	failed   int
	last     int64
	// cleared says that somebody signed in: what the secret has counts no more.
	// clears counts how often.
	cleared bool
	clears  int
}

// ending is a session that was ended here.
type ending struct {
	account, digest string
	until           time.Time
}

// round is one writing, and how it ended.
type round struct {
	done chan struct{}
	err  error
}

func newRound() *round { return &round{done: make(chan struct{})} }

func newLedger(secrets Secrets, limits account.Limits, now func() time.Time) *ledger {
	return &ledger{
		secrets: secrets, limits: limits, now: now,
		ready: make(chan struct{}), dirty: make(chan struct{}, 1), next: newRound(),
		shared: &account.Sessions{}, view: &account.Sessions{},
		tallies: map[string]*tally{}, locked: map[string]account.Failure{},
		strangers: make(cells, cellCount), sources: make(cells, cellCount),
	}
}

// sessions are those that were ended, once that is known.
func (l *ledger) sessions() (*account.Sessions, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.view, l.begun
}

// place is where something is counted in a table. Only who has the key knows
// which things share one.
func (l *ledger) place(kind, name string) int {
	sum := sha256.Sum256(slices.Concat(l.key(), []byte(kind), []byte{0}, []byte(name)))
	return int(binary.BigEndian.Uint32(sum[:]) % cellCount)
}

// reservation is the right to try once. It ends with one of fail, succeed and
// release.
type reservation struct {
	ledger *ledger
	// name is empty for strangers.
	name string
	// stranger and source are the places where those are counted; less than zero
	// is nowhere.
	stranger, source int
}

// reserve takes a try, or says that there is none left. Nothing is checked
// before it is taken: those who ask at once get no more than those who ask one
// after the other.
func (l *ledger) reserve(name string, known bool, source string) (*reservation, bool) {
	r := &reservation{ledger: l, stranger: -1, source: -1}
	if source != "" {
		r.source = l.place("source", sourceOf(source))
	}
	if known {
		r.name = name
	} else {
		r.stranger = l.place("name", name)
	}
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begun {
		return nil, false
	}
	from := &cell{}
	if r.source >= 0 {
		from = &l.sources[r.source]
	}
	if !l.limits.Source.Allows(from.failure, from.underway, now) {
		return nil, false
	}
	if !known {
		s := &l.strangers[r.stranger]
		if !l.strange().Allows(s.failure, s.underway, now) {
			return nil, false
		}
		s.underway++
	} else {
		t := l.tallyOf(name)
		if !l.limits.Account.Allows(l.failures(name, t, now), t.underway, now) {
			return nil, false
		}
		t.underway++
	}
	from.underway++
	return r, true
}

// strange is the limit for names that are no account: the same, but they are
// not locked for ever.
func (l *ledger) strange() account.Limit {
	return account.Limit{Tries: l.limits.Account.Tries, Window: l.limits.Source.Window}
}

func (l *ledger) tallyOf(name string) *tally {
	t, ok := l.tallies[name]
	if !ok {
		t = &tally{}
		l.tallies[name] = t
	}
	return t
}

// failures are those of an account that count now; the caller holds the mutex.
func (l *ledger) failures(name string, t *tally, now time.Time) account.Failure {
	var f account.Failure
	if !t.cleared {
		f = l.limits.Account.Standing(l.shared.Failures[name], now)
	}
	own := l.limits.Account.Standing(account.Failure{Count: t.failed, Last: t.last}, now)
	return account.Failure{Count: f.Count + own.Count, Last: max(f.Last, own.Last)}
}

// fail says that the try failed. The answer has to wait for the writing: then a
// process that is killed forgets no try that anybody knows the outcome of.
func (r *reservation) fail() *round {
	l := r.ledger
	at := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.source >= 0 {
		l.failSource(r.source, at)
	}
	if r.name == "" {
		s := &l.strangers[r.stranger]
		s.underway--
		s.failure = account.Failure{Count: l.strange().Standing(s.failure, at).Count + 1, Last: at.UnixMilli()}
		return nil
	}
	t := l.tallyOf(r.name)
	t.underway--
	t.failed++
	t.last = at.UnixMilli()
	return l.touch()
}

// failSource counts a failure of an address. Only those that are locked by it
// are written down.
func (l *ledger) failSource(place int, at time.Time) {
	s := &l.sources[place]
	s.underway--
	s.failure = account.Failure{Count: l.limits.Source.Standing(s.failure, at).Count + 1, Last: at.UnixMilli()}
	if s.failure.Count >= l.limits.Source.Tries {
		l.locked[strconv.Itoa(place)] = s.failure
		l.touch()
	}
}

// succeed says that the password was right, and whose it is has no failures any
// more. Those of the address stay: whoever has one account must not be able to
// go on guessing at others.
func (r *reservation) succeed() {
	l := r.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	r.leave()
	l.clear(r.name)
}

// clear forgets the failures of an account; the caller holds the mutex.
func (l *ledger) clear(name string) {
	t := l.tallyOf(name)
	t.failed = 0
	t.clears++
	if l.shared.Failures[name].Count > 0 || l.writing[name].failed > 0 {
		t.cleared = true
		l.touch()
	}
}

// pardon forgets the failures of an account whose password was changed.
func (l *ledger) pardon(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear(name)
}

// release gives a try back that was not made.
func (r *reservation) release() {
	l := r.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	r.leave()
}

// leave says that a try is not under way any more; the caller holds the mutex.
func (r *reservation) leave() {
	l := r.ledger
	if r.source >= 0 {
		l.sources[r.source].underway--
	}
	if r.name == "" {
		l.strangers[r.stranger].underway--
		return
	}
	l.tallyOf(r.name).underway--
}

// end ends a session, here at once, and everywhere with the next writing.
func (l *ledger) end(name, id string, until time.Time) *round {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ending = append(l.ending, ending{account: name, digest: account.Digest(id), until: until})
	l.look()
	return l.touch()
}

// look makes the view anew; the caller holds the mutex.
func (l *ledger) look() {
	l.view = l.shared
	if len(l.ending) == 0 {
		return
	}
	l.view = l.shared.Clone()
	for _, e := range l.ending {
		l.view.End(e.account, e.digest, e.until)
	}
}

// touch says that there is something to write, and which writing will have it;
// the caller holds the mutex.
func (l *ledger) touch() *round {
	select {
	case l.dirty <- struct{}{}:
	default:
	}
	return l.next
}
