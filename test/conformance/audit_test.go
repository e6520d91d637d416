package conformance_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

// audit reads the API server's audit log as it grows, and keeps the writes of
// the implementations, dry-runs among them.
type audit struct {
	path   string
	client kubernetes.Interface

	mu     sync.Mutex
	offset int64
	marks  int
	seen   map[string]bool
	writes []controlplane.Event
}

const (
	users = "conformance-"
	marks = "conformance-mark-"
)

// place returns how many writes there were so far. A request of our own marks
// the place: when it is in the log, so is all that was answered before it.
func (a *audit) place(ctx context.Context) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.marks++
	mark := fmt.Sprintf("%s%d", marks, a.marks)
	// Nobody has that name; the request is what counts.
	_, _ = a.client.CoreV1().ConfigMaps("default").Get(ctx, mark, metav1.GetOptions{})
	for !a.seen[mark] {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(5 * time.Millisecond):
			// The log is a file: nobody tells when it grows.
		}
		if err := a.read(); err != nil {
			return 0, err
		}
	}
	delete(a.seen, mark)
	return len(a.writes), nil
}

// read takes in what was added to the log.
func (a *audit) read() error {
	f, err := os.Open(a.path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Seek(a.offset, io.SeekStart); err != nil {
		return err
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	a.offset += int64(len(data))
	var ours []byte
	for line := range bytes.Lines(data) {
		// Most lines are of others, and decoding is what costs.
		if bytes.Contains(line, []byte(`"username":"`+users)) || bytes.Contains(line, []byte(marks)) {
			ours = append(ours, line...)
		}
	}
	events, err := controlplane.DecodeAudit(bytes.NewReader(ours))
	if err != nil {
		return err
	}
	for _, e := range events {
		switch {
		case strings.HasPrefix(e.Name, marks):
			a.seen[e.Name] = true
		case strings.HasPrefix(e.User, users) && (e.Writes() || e.DryRun) && e.Resource != "leases":
			a.writes = append(a.writes, e)
		}
	}
	return nil
}

// since are the writes after a place, by a user.
func (a *audit) since(ctx context.Context, place int, user string) ([]controlplane.Event, error) {
	until, err := a.place(ctx)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []controlplane.Event
	for _, e := range a.writes[place:until] {
		if e.User == user {
			out = append(out, e)
		}
	}
	return out, nil
}
