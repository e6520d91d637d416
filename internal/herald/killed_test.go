package herald_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/towline-cd/towline/internal/core/notice"
)

// strike ends a process as a power cut would: nothing that it does from now on is written.
func strike(m *memory, stop func()) {
	m.set(func(m *memory) { m.allowed = m.writes })
	stop()
	m.set(func(m *memory) { m.allowed = 1 << 20 })
}

// heir has another process take over, and says what it tells when the message was sent.
func heir(t *testing.T, m *memory, data map[string]string) string {
	t.Helper()
	_, told, stop := play(t, m, "second", data)
	m.await(t, "one message that was told", toldOnce)
	stop()
	return strings.Join(told(), "\n")
}

// TestKilledAfterRefusals has a service say no several times, and the process killed between two tries: the other one sends,
// and the service has the message once.
func TestKilledAfterRefusals(t *testing.T) {
	for _, refusals := range []int{1, 2} {
		t.Run(fmt.Sprintf("after %d", refusals), func(t *testing.T) {
			box, m := openInbox(t), hubOf(t, shop)
			var open atomic.Bool
			var took atomic.Int32
			box.answer = func(int) int {
				if !open.Load() {
					return http.StatusServiceUnavailable
				}
				took.Add(1)
				return http.StatusOK
			}
			data := hookConfig(box.URL)
			_, _, stop := play(t, m, "first", data)
			for range refusals {
				box.await(t)
			}
			m.await(t, "due again", in(notice.Due))
			strike(m, stop)
			open.Store(true)
			if said := heir(t, m, data); said != "" || took.Load() != 1 {
				t.Errorf("the service took %d messages, and it is said %q", took.Load(), said)
			}
		})
	}
}

// TestRefusalIsWrittenFirst: a refusal is written before the next try is waited for, and the lane stays at it while the server
// does not answer.
func TestRefusalIsWrittenFirst(t *testing.T) {
	box, m := openInbox(t), hubOf(t, shop)
	var refused atomic.Int32
	box.answer = func(int) int {
		m.set(func(m *memory) { m.hiccups = 2 })
		refused.Add(1)
		return http.StatusServiceUnavailable
	}
	_, _, stop := play(t, m, "one", hookConfig(box.URL))
	box.await(t)
	m.await(t, "due again", func(r notice.Record) bool { return refused.Load() > 0 && in(notice.Due)(r) })
	if n := refused.Load(); n != 1 {
		t.Errorf("the service was asked %d times before its first answer was written", n)
	}
	strike(m, stop)
}

// TestUnreachableHasNothing: a message to a service that nobody can reach stays due, without a write for each try, and is sent
// by whoever comes after a kill.
func TestUnreachableHasNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	m := hubOf(t, shop)
	data := hookConfig("http://" + address)
	_, _, stop := play(t, m, "first", data)
	m.await(t, "due", in(notice.Due))
	time.Sleep(1500 * time.Millisecond) // it is tried at once, and after a second
	var writes int
	m.set(func(m *memory) { writes = m.writes })
	if r := m.record(); !in(notice.Due)(r) || writes != 1 {
		t.Errorf("after %d writes the record is %+v", writes, r)
	}
	strike(m, stop)
	box := openInboxAt(t, address)
	if said := heir(t, m, data); said != "" || len(box.all()) != 1 {
		t.Errorf("%q came, and it is said %q", box.all(), said)
	}
}

// TestKilledWhileDialing has a service take connections and never speak TLS: nothing was handed over.
func TestKilledWhileDialing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	m := hubOf(t, shop)
	_, _, stop := play(t, m, "first", hookConfig("https://"+l.Addr().String()))
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if r := m.record(); !in(notice.Due)(r) {
		t.Errorf("the record is %+v while nothing was sent", r)
	}
	m.set(func(m *memory) { m.allowed = m.writes })
	_ = conn.Close()
	stop()
	m.set(func(m *memory) { m.allowed = 1 << 20 })
	box := openInbox(t)
	if said := heir(t, m, hookConfig(box.URL)); said != "" || len(box.all()) != 1 {
		t.Errorf("%q came, and it is said %q", box.all(), said)
	}
}

// TestRefusedAtTheEnd: an answer that comes while the process ends is written, so that the next one sends the message.
func TestRefusedAtTheEnd(t *testing.T) {
	box, m := openInbox(t), hubOf(t, shop)
	answer := make(chan int)
	box.answer = func(int) int { return <-answer }
	data := hookConfig(box.URL)
	_, _, stop := play(t, m, "first", data)
	box.await(t)
	m.set(func(m *memory) { m.hiccups = 1 })
	ended := make(chan struct{})
	go func() {
		stop()
		close(ended)
	}()
	time.Sleep(100 * time.Millisecond)
	answer <- http.StatusServiceUnavailable
	<-ended
	if r := m.record(); !in(notice.Due)(r) {
		t.Errorf("the record is %+v", r)
	}
	go func() { answer <- http.StatusOK }()
	if said := heir(t, m, data); said != "" || len(box.all()) != 2 {
		t.Errorf("%d were asked for, and it is said %q", len(box.all()), said)
	}
}

// openInboxAt is one at an address.
func openInboxAt(t *testing.T, address string) *inbox {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	b := &inbox{came: make(chan struct{}, 100)}
	b.Server = httptest.NewUnstartedServer(http.HandlerFunc(b.take))
	_ = b.Listener.Close()
	b.Listener = l
	b.Start()
	t.Cleanup(b.Close)
	return b
}
