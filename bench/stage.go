package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/hack/cluster/gitserver"
)

// staged is the program itself on a cluster of its own, with a git server that
// it fetches from and that counts.
type staged struct {
	*fresh
	git           *gitserver.Server
	product       *product
	objects, apps *observer
	// told are the commits that were last told of, by repository.
	told sync.Map
	// stamp makes the content of every push another.
	stamp int
}

// stage makes the cluster, the git server and the settings. The product is
// started by whoever needs it, when everything is there.
func (b *bench) stage(ctx context.Context, files map[string]string, settings map[string]any) (s *staged, err error) {
	f, err := b.openFresh(ctx, files)
	if err != nil {
		return nil, err
	}
	s = &staged{fresh: f}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.end())
		}
	}()
	if s.git, err = gitserver.Start(filepath.Join(f.world.dir, "git")); err != nil {
		return nil, err
	}
	called := func(name string) map[string]any { return map[string]any{"name": name, "namespace": controlNamespace} }
	if err := create(ctx, inNamespace(s.client, controlNamespace), map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": called(v1alpha1.ConfigMapSettings), "data": settings,
	}); err != nil {
		return nil, err
	}
	if err := create(ctx, s.client.Resource(secretKind).Namespace(controlNamespace), map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": called(v1alpha1.SecretSettings),
		"stringData": map[string]any{v1alpha1.KeyWebhookGitHub: hookSecret},
	}); err != nil {
		return nil, err
	}
	if s.objects, err = observe(ctx, s.client.Resource(configMapKind)); err != nil {
		return nil, err
	}
	s.apps, err = observe(ctx, s.client.Resource(appKind))
	return s, err
}

// rarely are settings with which nobody looks at a repository by himself while
// we measure.
func rarely() map[string]any { return map[string]any{v1alpha1.KeyTimeoutReconciliation: "1h"} }

func (s *staged) end() error {
	var errs []error
	if s.product != nil {
		errs = append(errs, s.product.end())
	}
	if s.git != nil {
		errs = append(errs, s.git.Close())
	}
	return errors.Join(append(errs, s.close(), s.plane.Stop())...)
}

// play starts the product.
func (s *staged) play(ctx context.Context) (err error) {
	s.product, err = s.startProduct(ctx)
	return err
}

// place is where an application comes from and goes to.
type place struct{ name, repo, path, namespace string }

// app is an Application that is synced by itself.
func (s *staged) app(p place) map[string]any {
	return map[string]any{
		"apiVersion": v1alpha1.Group + "/" + v1alpha1.Version, "kind": v1alpha1.ApplicationKind,
		"metadata": map[string]any{"name": p.name, "namespace": controlNamespace},
		"spec": map[string]any{
			"project":     v1alpha1.DefaultProjectName,
			"source":      map[string]any{"repoURL": s.git.URL(p.repo), "path": p.path, "targetRevision": "main"},
			"destination": map[string]any{"server": v1alpha1.InClusterServer, "namespace": p.namespace},
			"syncPolicy":  map[string]any{"automated": map[string]any{"prune": true, "selfHeal": true}},
		},
	}
}

func (s *staged) create(ctx context.Context, app map[string]any) error {
	return create(ctx, s.client.Resource(appKind).Namespace(controlNamespace), app)
}

// allSynced waits until so many Applications are Synced and Healthy.
func (s *staged) allSynced(ctx context.Context, apps int, within time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("not all synced after %s", within))
	defer cancel()
	_, err := awaitSynced(ctx, s.client, apps)
	return err
}

// awaitSynced watches the Applications of the control namespace until so many
// were seen Synced and Healthy, and says when that was.
func awaitSynced(ctx context.Context, client dynamic.Interface, apps int) (time.Time, error) {
	w, err := client.Resource(appKind).Namespace(controlNamespace).Watch(ctx, metav1.ListOptions{TimeoutSeconds: new(int64(7200))})
	if err != nil {
		return time.Time{}, fmt.Errorf("watching Applications: %w", err)
	}
	defer w.Stop()
	done := map[string]struct{}{}
	for {
		select {
		case e, open := <-w.ResultChan():
			if !open {
				return time.Time{}, errors.New("watching Applications: it ended")
			}
			u, ok := e.Object.(*unstructured.Unstructured)
			if !ok {
				return time.Time{}, fmt.Errorf("watching Applications: unexpected event %s", e.Type)
			}
			if syncOf(u) == "Synced" && healthOf(u) == "Healthy" && phaseOf(u) == "Succeeded" {
				done[u.GetName()] = struct{}{}
			}
			if len(done) >= apps {
				return time.Now(), nil
			}
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("waiting for %d applications, %d are synced: %w", apps, len(done), context.Cause(ctx))
		}
	}
}

func healthOf(u *unstructured.Unstructured) string {
	s, _, _ := unstructured.NestedString(u.Object, "status", "health", "status")
	return s
}

// level waits for an object to have a word in it.
func (s *staged) level(object, word string) <-chan time.Time {
	return s.objects.await(object, func(u *unstructured.Unstructured) bool {
		got, _, _ := unstructured.NestedString(u.Object, "data", "level")
		return got == word
	})
}

// tell sends the webhook of a commit.
func (s *staged) tell(ctx context.Context, repo, sha string) error {
	before, _ := s.told.Swap(repo, sha)
	last, _ := before.(string)
	body := letterOf(s.git.URL(repo), last, sha)
	code, err := post(ctx, client(1), s.product.base+"/api/webhook", body, signatureOf(hookSecret, body))
	if err != nil || code != 200 {
		return fmt.Errorf("sending the webhook of a push: %d %w", code, err)
	}
	return nil
}

// push commits, tells of it, and says how many milliseconds it took from the
// webhook to the cluster.
func (s *staged) push(ctx context.Context, changes map[string]*string, object, word string) (float64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("%s was not applied within a minute", word))
	defer cancel()
	sha, err := s.git.Commit(repository, "main", "push "+word, changes)
	if err != nil {
		return 0, err
	}
	seen := s.level(object, word)
	start := time.Now()
	if err := s.tell(ctx, repository, sha); err != nil {
		return 0, err
	}
	at, err := await(ctx, seen)
	return millis(at.Sub(start)), err
}

// word is one that was never there before.
func (s *staged) word() string {
	s.stamp++
	return fmt.Sprint(s.stamp)
}
