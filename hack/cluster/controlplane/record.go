package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Record is what is kept about a detached cluster, so that another process can find and stop it.
type Record struct {
	Name       string       `json:"name"`
	Server     string       `json:"server"`
	Kubeconfig string       `json:"kubeconfig"`
	Dir        string       `json:"dir"`
	Binaries   Binaries     `json:"binaries"`
	Ports      ports        `json:"ports"`
	Parts      []*component `json:"components"`
}

// Alive says whether all components of the cluster still run.
func (r Record) Alive() bool {
	for _, part := range r.Parts {
		if !part.alive() {
			return false
		}
	}
	return len(r.Parts) > 0
}

// Kill ends those components that still run and keeps the data.
func (r Record) Kill(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var errs []error
	for _, part := range r.Parts {
		errs = append(errs, part.stop(ctx, syscall.SIGKILL))
	}
	return errors.Join(errs...)
}

// ClusterDir returns the folder of a detached cluster.
func ClusterDir(name string) (string, error) {
	if !nameRule.MatchString(name) {
		return "", fmt.Errorf("naming the cluster %q: use lower-case letters, digits and dashes", name)
	}
	root, err := CacheDir("clusters")
	if err != nil {
		return "", err
	}
	return filepath.Join(root, name), nil
}

// List returns the records of all detached clusters, running or not, by name.
func List() ([]Record, error) {
	root, err := CacheDir("clusters")
	if err != nil {
		return nil, err
	}
	// ReadDir sorts by name.
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("listing clusters: %w", err)
	}
	records := []Record{}
	for _, entry := range entries {
		record, err := Lookup(entry.Name())
		if errors.Is(err, fs.ErrNotExist) {
			// A start that did not come to its end left a folder without a record.
			record = Record{Name: entry.Name(), Dir: filepath.Join(root, entry.Name())}
		} else if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, nil
}

// Lookup returns the record of a detached cluster; the error is fs.ErrNotExist if there is none.
func Lookup(name string) (Record, error) {
	dir, err := ClusterDir(name)
	if err != nil {
		return Record{}, err
	}
	data, err := os.ReadFile(filepath.Join(dir, "cluster.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, fmt.Errorf("looking for cluster %q: there is none (`go run ./hack/cluster up --name %s` starts it): %w",
			name, name, fs.ErrNotExist)
	}
	if err != nil {
		return Record{}, fmt.Errorf("reading the record of cluster %q: %w", name, err)
	}
	var record Record
	if err := json.Unmarshal(data, &record); err != nil {
		return Record{}, fmt.Errorf("reading the record of cluster %q: %w", name, err)
	}
	return record, nil
}

// Attach returns a detached cluster that another process started. Stop leaves it running.
func Attach(name string) (*Plane, error) {
	record, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	if !record.Alive() {
		return nil, fmt.Errorf("attaching to cluster %q: it does not run (`go run ./hack/cluster up --name %s` starts it again)",
			name, name)
	}
	authority, err := openAuthority(filepath.Join(record.Dir, "pki"))
	if err != nil {
		return nil, err
	}
	return &Plane{
		name:     record.Name,
		dir:      record.Dir,
		prefix:   "/registry",
		server:   record.Server,
		ports:    record.Ports,
		opts:     withDefaults(Options{Name: name, Detach: true}),
		bin:      record.Binaries,
		pki:      authority,
		spawn:    newSpawner(),
		attached: true,
		cleanup:  func() {},
		parts:    record.Parts,
	}, nil
}

// Remove ends a detached cluster and deletes its data.
func Remove(ctx context.Context, name string) error {
	dir, err := ClusterDir(name)
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing cluster %q: there is none (`go run ./hack/cluster list` shows them)", name)
	}
	record, err := Lookup(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := record.Kill(ctx); err != nil {
		return fmt.Errorf("removing cluster %q: %w", name, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing cluster %q: %w", name, err)
	}
	return nil
}

// keepRecord writes the record of a detached cluster, with every component that is started: if this process is
// killed in the middle of a start, Remove still finds what it has started.
func (p *Plane) keepRecord() error {
	if !p.opts.Detach {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	record := Record{
		Name: p.name, Server: p.server, Kubeconfig: p.Kubeconfig(), Dir: p.dir,
		Binaries: p.bin, Ports: p.ports, Parts: p.parts,
	}
	data, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the record of cluster %q: %w", p.name, err)
	}
	path := filepath.Join(p.dir, "cluster.json")
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return fmt.Errorf("writing the record of cluster %q: %w", p.name, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("writing the record of cluster %q: %w", p.name, err)
	}
	return nil
}
