package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// product is the program itself, serving.
type product struct {
	cmd  *exec.Cmd
	dir  string
	base string
}

// startProduct builds the program and starts it on the plane.
func (b *bench) startProduct(ctx context.Context) (p *product, err error) {
	made := &product{}
	p = made
	if p.dir, err = os.MkdirTemp("", "towline-bench-"); err != nil {
		return nil, fmt.Errorf("making a folder for the product: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, made.end())
		}
	}()
	binary := filepath.Join(p.dir, "towline")
	// With the flags of `make`, whose packages are in the cache.
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-gcflags=all=-dwarf=false", "-o", binary, "./cmd/towline")
	build.Dir, build.Env = b.root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the product: %w: %s", err, out)
	}
	kubeconfig, err := b.plane.KubeconfigFor(engineUser, masters)
	if err != nil {
		return nil, err
	}
	p.cmd = exec.CommandContext(ctx, binary, "run", "--kubeconfig", kubeconfig, "--namespace", controlNamespace,
		"--data", filepath.Join(p.dir, "data"), "--metrics-address", "127.0.0.1:0", "--peer-listen", "127.0.0.1:0",
		"--listen", "127.0.0.1:0", "--insecure")
	log, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the product: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the product: %w", err)
	}
	if p.base, err = awaitServing(ctx, log); err != nil {
		return nil, err
	}
	return p, nil
}

var servingLine = regexp.MustCompile(`msg="serving the API" address=(\S+)`)

// awaitServing reads the log until the product is ready, and from then on so that
// it does not block.
func awaitServing(ctx context.Context, log io.Reader) (string, error) {
	found := make(chan string, 1)
	go func() {
		address := ""
		lines := bufio.NewScanner(log)
		for lines.Scan() {
			if m := servingLine.FindStringSubmatch(lines.Text()); m != nil {
				address = m[1]
			}
			if address != "" && strings.Contains(lines.Text(), "msg=ready") {
				found <- "http://" + address
				address = ""
			}
		}
		_, _ = io.Copy(io.Discard, log)
	}()
	select {
	case base := <-found:
		return base, nil
	case <-time.After(time.Minute):
		return "", errors.New("the product was not ready within a minute")
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (p *product) cpu() (float64, error) { return cpuOf(p.cmd.Process.Pid) }

// end stops the product and removes what it had.
func (p *product) end() error {
	if p.cmd != nil && p.cmd.Process != nil {
		_ = p.cmd.Process.Signal(os.Interrupt)
		_ = p.cmd.Wait()
	}
	return os.RemoveAll(p.dir)
}

// refusalPart is a handler that answers 401 and knows nothing else.
type refusalPart struct{}

func newRefusalPart(setup) (part, error) { return refusalPart{}, nil }

func (refusalPart) do(ctx context.Context, o order) (map[string]int64, error) {
	if o.Do != "serve" {
		return nil, fmt.Errorf("it cannot %s", o.Do)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return nil, errors.New("listening: no TCP address")
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusUnauthorized)
	})}
	go func() { _ = server.Serve(listener) }()
	return map[string]int64{"port": int64(address.Port)}, nil
}

// client keeps as many connections as there are senders.
func client(connections int) *http.Client {
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		MaxIdleConns: connections, MaxIdleConnsPerHost: connections, DisableCompression: true,
	}}
}

// post sends a webhook as GitHub does, and says how it was answered.
func post(ctx context.Context, c *http.Client, to, body, signature string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Github-Event", "push")
	if signature != "" {
		r.Header.Set("X-Hub-Signature-256", signature)
	}
	answer, err := c.Do(r)
	if err != nil {
		return 0, fmt.Errorf("sending a webhook: %w", err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return 0, fmt.Errorf("reading the answer to a webhook: %w", err)
	}
	return answer.StatusCode, nil
}
