package truth_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

// audit reads the API server's audit log as it grows, and keeps the requests
// that towline made.
type audit struct {
	path, part string
	client     kubernetes.Interface

	mu       sync.Mutex
	offset   int64
	marks    int
	seen     map[string]bool
	requests []controlplane.Event
}

func newAudit(t *testing.T, path string, client kubernetes.Interface) *audit {
	return &audit{path: path, part: filepath.Join(t.TempDir(), "part"), client: client, seen: map[string]bool{}}
}

// until returns how many requests towline has made. A request of our own marks
// the place: when it is in the log, so is all that was answered before it.
func (a *audit) until(ctx context.Context) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.marks++
	mark := fmt.Sprintf("mark-%d", a.marks)
	// Nobody has that name; the request is what counts.
	_, _ = a.client.CoreV1().ConfigMaps(control).Get(ctx, mark, metav1.GetOptions{})
	for !a.seen[mark] {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if err := a.read(); err != nil {
			return 0, err
		}
	}
	return len(a.requests), nil
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
	data = data[:strings.LastIndexByte(string(data), '\n')+1]
	if len(data) == 0 {
		return nil
	}
	if err := os.WriteFile(a.part, data, 0o600); err != nil {
		return err
	}
	events, err := controlplane.ReadAudit(a.part)
	if err != nil {
		return err
	}
	a.offset += int64(len(data))
	for _, e := range events {
		switch {
		case e.User == user && e.Verb != "watch" && e.Verb != "list":
			a.requests = append(a.requests, e)
		case e.Namespace == control && e.Resource == "configmaps":
			a.seen[e.Name] = true
		}
	}
	return nil
}

// count tells the requests about a situation's objects since a place.
func (a *audit) count(ctx context.Context, since int, namespace string) (string, error) {
	until, err := a.until(ctx)
	if err != nil {
		return "", err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	reads, dryRuns, writes := 0, 0, 0
	for _, e := range a.requests[since:until] {
		switch {
		case e.Namespace != namespace && !strings.HasPrefix(e.Name, namespace):
		case e.Group == "argoproj.io":
		case e.DryRun:
			dryRuns++
		case e.Writes():
			writes++
		default:
			reads++
		}
	}
	var out []string
	for _, n := range []struct {
		count int
		what  string
	}{{reads, "get"}, {dryRuns, "dry-run"}, {writes, "write"}} {
		if n.count > 0 {
			out = append(out, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	if len(out) == 0 {
		return "none", nil
	}
	return strings.Join(out, ", "), nil
}
