package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

// leases are where the API server keeps its own, which it renews all the time.
var leases = []string{"/registry/leases/", "/registry/masterleases/", "/registry/peerserverleases/"}

// window is a span of time in which requests and writes are counted.
type window struct {
	plane    *controlplane.Plane
	offset   int64
	revision int64
	server   float64
	etcd     float64
}

// openWindow begins to count.
func openWindow(ctx context.Context, p *controlplane.Plane) (window, error) {
	w := window{plane: p}
	info, err := os.Stat(p.AuditLog())
	if err != nil {
		return w, fmt.Errorf("reading the audit log: %w", err)
	}
	w.offset = info.Size()
	answer, err := etcdRange(ctx, p, 0)
	if err != nil {
		return w, err
	}
	w.revision = int64(answer.Header.Revision)
	if w.etcd, err = etcdBytes(ctx, p); err != nil {
		return w, err
	}
	w.server, err = serverCPU(p)
	return w, err
}

// tally is what was counted.
type tally struct {
	// requests are those of the user by verb; a dry-run has a verb of its own.
	// A watch counts when it ends, which says nothing about the work: it is not
	// among them.
	requests map[string]int
	// onHub are those among them that are about Applications, ApplicationSets
	// and AppProjects; the others are about the target.
	onHub map[string]int
	// onApps are those among these that are about Applications.
	onApps map[string]int
	// schemas are those among requests that are about no object: what kinds the
	// server has, and how they are made.
	schemas int
	// written are the keys in etcd that anybody wrote, without leases.
	written []string
	// revisions is by how many etcd moved on, leases among them, and bytes what
	// it was sent and sent back meanwhile.
	revisions int64
	bytes     float64
	// server is the CPU time of the API server and etcd.
	server float64
}

// close counts the requests of a user and what was written by anybody.
func (w window) close(ctx context.Context, user string) (tally, error) {
	t := tally{requests: map[string]int{}, onHub: map[string]int{}, onApps: map[string]int{}}
	server, err := serverCPU(w.plane)
	if err != nil {
		return t, err
	}
	t.server = server - w.server
	events, err := w.events()
	if err != nil {
		return t, err
	}
	for _, e := range events {
		if e.User != user || e.Verb == "watch" {
			continue
		}
		verb := e.Verb
		if e.DryRun {
			verb = "dry-run"
		}
		t.requests[verb]++
		if e.Resource == "" {
			t.schemas++
		}
		if e.Group == v1alpha1.Group {
			t.onHub[verb]++
		}
		if e.Group == v1alpha1.Group && e.Resource == "applications" {
			t.onApps[verb]++
		}
	}
	bytes, err := etcdBytes(ctx, w.plane)
	if err != nil {
		return t, err
	}
	answer, err := etcdRange(ctx, w.plane, w.revision+1)
	if err != nil {
		return t, err
	}
	t.bytes, t.revisions = bytes-w.etcd, int64(answer.Header.Revision)-w.revision
	for _, kv := range answer.KVs {
		key := string(kv.Key)
		if !slices.ContainsFunc(leases, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			t.written = append(t.written, key)
		}
	}
	return t, nil
}

// events are those of the audit log since the window was opened.
func (w window) events() ([]controlplane.Event, error) {
	log, err := os.Open(w.plane.AuditLog())
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	defer func() { _ = log.Close() }()
	if _, err := log.Seek(w.offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	part, err := os.CreateTemp(w.plane.Dir(), "window-*")
	if err != nil {
		return nil, fmt.Errorf("cutting the audit log: %w", err)
	}
	defer func() { _ = os.Remove(part.Name()) }()
	_, err = io.Copy(part, log)
	if err := errors.Join(err, part.Close()); err != nil {
		return nil, fmt.Errorf("cutting the audit log: %w", err)
	}
	return controlplane.ReadAudit(part.Name())
}

func (t tally) total() int {
	sum := 0
	for _, n := range t.requests {
		sum += n
	}
	return sum
}

// onTarget counts the requests that were not for the hub.
func (t tally) onTarget() int {
	sum := t.total()
	for _, n := range t.onHub {
		sum -= n
	}
	return sum
}

// String lists the requests: "get=10 patch=2".
func (t tally) String() string {
	if len(t.requests) == 0 {
		return "0"
	}
	var out []string
	for _, verb := range slices.Sorted(maps.Keys(t.requests)) {
		out = append(out, verb+"="+strconv.Itoa(t.requests[verb]))
	}
	return strings.Join(out, " ")
}

// etcdAnswer is the part of etcd's answer to a range request that we read.
// Numbers are strings in its JSON.
type etcdAnswer struct {
	Header struct {
		Revision quoted `json:"revision"`
	} `json:"header"`
	KVs []struct {
		Key []byte `json:"key"`
	} `json:"kvs"`
}

type quoted int64

// UnmarshalJSON reads a number with or without quotes.
func (q *quoted) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseInt(strings.Trim(string(data), `"`), 10, 64)
	*q = quoted(n)
	return err
}

// etcdRange asks etcd for the keys that were written since a revision, over
// its JSON gateway; since 0 it only asks for the current revision.
func etcdRange(ctx context.Context, p *controlplane.Plane, since int64) (etcdAnswer, error) {
	var answer etcdAnswer
	question := map[string]any{
		"key":       base64.StdEncoding.EncodeToString([]byte("/registry/")),
		"range_end": base64.StdEncoding.EncodeToString([]byte("/registry0")),
		"keys_only": true,
	}
	if since > 0 {
		question["min_mod_revision"] = strconv.FormatInt(since, 10)
	} else {
		question["limit"] = "1"
	}
	body, err := json.Marshal(question)
	if err != nil {
		return answer, fmt.Errorf("asking etcd: %w", err)
	}
	response, err := askEtcd(ctx, p, "/v3/kv/range", body)
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return answer, fmt.Errorf("asking etcd: %w", err)
	}
	return answer, nil
}

// askEtcd posts a question, or gets a page where there is none.
func askEtcd(ctx context.Context, p *controlplane.Plane, path string, body []byte) (*http.Response, error) {
	address, err := etcdAddress(p)
	if err != nil {
		return nil, err
	}
	pki := filepath.Join(p.Dir(), "pki")
	client, err := rest.HTTPClientFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{
		CAFile:   filepath.Join(pki, "ca.crt"),
		CertFile: filepath.Join(pki, "etcd-client.crt"),
		KeyFile:  filepath.Join(pki, "etcd-client.key"),
	}})
	if err != nil {
		return nil, fmt.Errorf("asking etcd: %w", err)
	}
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, address+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("asking etcd: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking etcd: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("asking etcd: %s", response.Status), response.Body.Close())
	}
	return response, nil
}

// traffic are etcd's own counters of what it was sent and what it answered.
var traffic = []string{"etcd_network_client_grpc_received_bytes_total ", "etcd_network_client_grpc_sent_bytes_total "}

// etcdBytes is how much etcd has been sent and has sent so far.
func etcdBytes(ctx context.Context, p *controlplane.Plane) (float64, error) {
	response, err := askEtcd(ctx, p, "/metrics", nil)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, fmt.Errorf("reading etcd's metrics: %w", err)
	}
	sum := 0.0
	for line := range strings.Lines(string(text)) {
		for _, name := range traffic {
			if value, ok := strings.CutPrefix(line, name); ok {
				n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
				if err != nil {
					return 0, fmt.Errorf("reading etcd's metrics: %w", err)
				}
				sum += n
			}
		}
	}
	return sum, nil
}

// etcdAddress reads where etcd listens from its command line, since the port
// is a free one.
func etcdAddress(p *controlplane.Plane) (string, error) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PIDs()[controlplane.Etcd]))
	if err != nil {
		return "", fmt.Errorf("finding etcd: %w", err)
	}
	for arg := range strings.SplitSeq(string(line), "\x00") {
		if url, ok := strings.CutPrefix(arg, "--listen-client-urls="); ok {
			return url, nil
		}
	}
	return "", errors.New("finding etcd: its command line does not say where it listens")
}
