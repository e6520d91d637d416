package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// fetchPart is the bare program of pushes: it fetches one commit with git,
// renders its chart with the library, and applies what differs from the last
// time, between the two patches that a truthful status costs.
type fetchPart struct {
	client dynamic.Interface
	setup  setup
	dir    string
	last   map[string]string
}

func newFetchPart(s setup) (part, error) {
	p := &fetchPart{setup: s, dir: filepath.Join(s.Data, "bare.git"), last: map[string]string{}}
	if s.Kubeconfig == "" {
		return p, nil
	}
	config, err := s.client()
	if err != nil {
		return nil, err
	}
	if p.client, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return p, nil
}

func (p *fetchPart) do(ctx context.Context, o order) (map[string]int64, error) {
	switch o.Do {
	case "start":
		if err := os.MkdirAll(p.dir, 0o755); err != nil {
			return nil, fmt.Errorf("making a folder: %w", err)
		}
		_, err := p.git(ctx, "init", "--bare", "--quiet", ".")
		return nil, err
	case "push":
		return p.push(ctx, o.Object)
	case "look":
		return nil, p.look(ctx, o.Object, o.Count)
	}
	return nil, fmt.Errorf("unknown order %q", o.Do)
}

func (p *fetchPart) git(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, said.String())
	}
	return out, nil
}

// pushedFolder is the chart in the repositories of pushes, and pushedName its
// release.
const (
	pushedFolder = "web"
	pushedName   = "web"
)

// push does all that a push asks for. What it counts are microseconds.
func (p *fetchPart) push(ctx context.Context, url string) (map[string]int64, error) {
	begin := time.Now()
	if _, err := p.git(ctx, "fetch", "--quiet", "--depth", "1", "--no-tags", url, "main"); err != nil {
		return nil, err
	}
	packed, err := p.git(ctx, "archive", "FETCH_HEAD", pushedFolder)
	if err != nil {
		return nil, err
	}
	files, err := untar(packed)
	if err != nil {
		return nil, err
	}
	fetched := time.Now()
	objects, err := bareHelm(pushedName, bareNamespace)(files)
	if err != nil {
		return nil, err
	}
	rendered := time.Now()
	if err := p.patch(ctx, 0); err != nil {
		return nil, err
	}
	patched := time.Now()
	applied, err := p.apply(ctx, objects)
	if err != nil {
		return nil, err
	}
	done := time.Now()
	counts := map[string]int64{
		"applied": int64(applied), "fetch": fetched.Sub(begin).Microseconds(), "render": rendered.Sub(fetched).Microseconds(),
		"patch": patched.Sub(rendered).Microseconds(), "apply": done.Sub(patched).Microseconds(),
	}
	return counts, p.patch(ctx, 1)
}

func untar(data []byte) (map[string]string, error) {
	files := map[string]string{}
	from := tar.NewReader(bytes.NewReader(data))
	for {
		header, err := from.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading what git packed: %w", err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(from)
		if err != nil {
			return nil, fmt.Errorf("reading what git packed: %w", err)
		}
		files[strings.TrimPrefix(header.Name, pushedFolder+"/")] = string(text)
	}
}

// apply applies what differs from the last time.
func (p *fetchPart) apply(ctx context.Context, objects []*unstructured.Unstructured) (applied int, err error) {
	g, ctx := errgroup.WithContext(ctx)
	for _, body := range objects {
		text, err := json.Marshal(body.Object)
		if err != nil {
			return 0, fmt.Errorf("encoding a manifest: %w", err)
		}
		key := body.GetKind() + "/" + body.GetName()
		if p.last[key] == string(text) {
			continue
		}
		p.last[key] = string(text)
		applied++
		g.Go(func() error {
			_, err := p.client.Resource(bootKinds[body.GetKind()]).Namespace(bareNamespace).
				Apply(ctx, body.GetName(), body, metav1.ApplyOptions{FieldManager: "bare", Force: true})
			if err != nil {
				return fmt.Errorf("applying %q: %w", body.GetName(), err)
			}
			return nil
		})
	}
	return applied, g.Wait()
}

func (p *fetchPart) patch(ctx context.Context, which int) error {
	_, err := p.client.Resource(appKind).Namespace(bareNamespace).Patch(ctx, pushedName, types.MergePatchType,
		[]byte(p.setup.Loop.Patches[which]), metav1.PatchOptions{FieldManager: "bare-status"})
	if err != nil {
		return fmt.Errorf("patching Application %q: %w", pushedName, err)
	}
	return nil
}

// look asks repositories where their branches are, several at once.
func (p *fetchPart) look(ctx context.Context, pattern string, repositories int) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for i := range repositories {
		g.Go(func() error {
			_, err := p.git(ctx, "ls-remote", "--quiet", fmt.Sprintf(pattern, i), "refs/heads/main")
			return err
		})
	}
	return g.Wait()
}
