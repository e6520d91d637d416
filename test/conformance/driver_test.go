package conformance_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/test/workshop"
)

// implementation is a running sync engine for the Applications of one
// namespace.
type implementation interface {
	// kill ends it as a power cut would; start runs it again, with what it
	// kept on disk.
	kill() error
	start(ctx context.Context) error
	// stop ends it politely and says what went wrong with it, if anything did.
	stop() error
	// told are the lines of its log that name something.
	told(word string) string
}

// house is one installation: a control namespace with its settings, and the
// implementation that serves it. Cases with the same settings share one.
type house struct {
	implementation
	control, user string
	once          sync.Once
	err           error
	// left counts the cases that are still to be played in it.
	mu   sync.Mutex
	left int
}

// houses are all installations by the settings that they have.
type houses struct {
	mu  sync.Mutex
	all map[string]*house
}

// reserve notes that a case will be played in the house of its settings.
func (h *houses) reserve(c *enactment) *house {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := c.settingsKey()
	sum := fmt.Sprintf("c-%x", sha256.Sum256([]byte(key)))[:12]
	it, ok := h.all[sum]
	if !ok {
		it = &house{control: sum, user: "conformance-" + sum}
		h.all[sum] = it
	}
	it.left++
	return it
}

// open makes the namespace with its settings and starts the implementation.
func (h *house) open(ctx context.Context, s *stage, c *enactment) error {
	h.once.Do(func() { h.err = h.furnish(ctx, s, c) })
	return h.err
}

func (h *house) furnish(ctx context.Context, s *stage, c *enactment) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: h.control}}
	if _, err := s.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return err
	}
	for name, data := range c.settings() {
		m := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app.kubernetes.io/part-of": "argocd"}}, Data: data,
		}
		if _, err := s.client.CoreV1().ConfigMaps(h.control).Create(ctx, m, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	kubeconfig, err := s.plane.KubeconfigFor(h.user, "system:masters")
	if err != nil {
		return err
	}
	data, err := os.MkdirTemp(s.scratch, "data-")
	if err != nil {
		return err
	}
	h.implementation = &command{
		args: []string{"run", "--listen", "", "--kubeconfig", kubeconfig, "--namespace", h.control, "--data", data, "--log-level", "debug", "--audit", "0"},
		log:  &log{},
	}
	return h.start(ctx)
}

// leave stops the implementation after the last case.
func (h *house) leave(t *testing.T) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left--
	if h.left > 0 || h.implementation == nil {
		return
	}
	if err := h.stop(); err != nil {
		t.Error(err)
	}
}

// settings are the config maps of a case's installation.
func (e *enactment) settings() map[string]map[string]string {
	out := map[string]map[string]string{
		"argocd-cm": {
			"towline.profile": e.profile, "towline.prune.settle": "1s",
			// Nobody looks at a repository without being asked.
			"timeout.reconciliation": "0s",
		},
		"argocd-cmd-params-cm": {"controller.self.heal.backoff.timeout.seconds": "1"},
	}
	for name, data := range e.config {
		for k, v := range data {
			if out[name] == nil {
				out[name] = map[string]string{}
			}
			out[name][k] = v
		}
	}
	return out
}

func (e *enactment) settingsKey() string {
	raw, err := yaml.Marshal(e.settings())
	if err != nil {
		return err.Error()
	}
	if e.alone {
		return string(raw) + e.ns
	}
	return string(raw)
}

// command is an implementation that is started by a command line.
type command struct {
	args []string
	log  *log

	process *exec.Cmd
}

// patience is how long anything is waited for that has to come.
const patience = 60 * time.Second

func (c *command) start(context.Context) error {
	ready := c.log.await("msg=ready")
	// The process outlives the case that needed it first.
	c.process = exec.CommandContext(context.Background(), *program, c.args...)
	c.process.Stderr, c.process.Stdout = c.log, c.log
	c.process.SysProcAttr = workshop.Bound()
	if err := c.process.Start(); err != nil {
		return err
	}
	select {
	case <-ready:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("the implementation did not become ready; it says:\n%s", c.log.about(""))
	}
}

func (c *command) kill() error {
	if err := c.process.Process.Kill(); err != nil {
		return err
	}
	_ = c.process.Wait()
	c.process = nil
	return nil
}

func (c *command) stop() error {
	if c.process == nil {
		return nil
	}
	if err := c.process.Process.Signal(os.Interrupt); err != nil {
		return fmt.Errorf("interrupting the implementation: %w", err)
	}
	if err := c.process.Wait(); err != nil {
		return fmt.Errorf("the implementation ended with %w", err)
	}
	c.process = nil
	for _, word := range []string{"panicked", "DATA RACE"} {
		if lines := c.log.about(word); lines != "" {
			return fmt.Errorf("the implementation's log tells of trouble:\n%s", lines)
		}
	}
	return nil
}

func (c *command) told(word string) string { return c.log.about(word) }

// log keeps what a program says.
type log struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	word  string
	heard chan struct{}
}

// await returns a channel that closes when the word is said next.
func (l *log) await(word string) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.word, l.heard = word, make(chan struct{})
	return l.heard
}

// Write keeps a line.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.word != "" && bytes.Contains(p, []byte(l.word)) {
		close(l.heard)
		l.word = ""
	}
	return l.buf.Write(p)
}

func (l *log) about(word string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.SplitAfter(l.buf.String(), "\n")
	return strings.Join(slices.DeleteFunc(lines, func(s string) bool { return !strings.Contains(s, word) }), "")
}
