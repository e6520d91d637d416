package main

import (
	"context"
	"fmt"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/registrar"
	"github.com/towline-cd/towline/internal/settings"
	"github.com/towline-cd/towline/internal/source/signature"
)

// hubRepositories are those that the secrets of the hub tell of.
type hubRepositories struct{ flags cli.Flags }

// Repositories are the entries, as they may be shown.
func (h hubRepositories) Repositories(ctx context.Context) ([]repository.View, error) {
	book, err := readRepositories(ctx, h.flags)
	if err != nil {
		return nil, err
	}
	return book.Views(), nil
}

// Templates are the entries for many repositories, as they may be shown.
func (h hubRepositories) Templates(ctx context.Context) ([]repository.Template, error) {
	book, err := readRepositories(ctx, h.flags)
	if err != nil {
		return nil, err
	}
	return book.Templates(), nil
}

func readRepositories(ctx context.Context, f cli.Flags) (*repository.Set, error) {
	config, err := restConfig(f.Kubeconfig, f.Context)
	if err != nil {
		return nil, err
	}
	return settings.ReadRepositories(ctx, config, f.Namespace)
}

func openRegistrar(f cli.Flags) (*registrar.Repositories, error) {
	config, err := restConfig(f.Kubeconfig, f.Context)
	if err != nil {
		return nil, err
	}
	return registrar.NewRepositories(config, f.Namespace)
}

// entry is the one of an address in a project.
func entry(book *repository.Set, r repository.Repository, many bool) (repository.Repository, bool) {
	all, templates := book.Entries()
	if many {
		all = templates
	}
	for _, e := range all {
		if repository.Same(e.URL, r.URL) && e.Project == r.Project {
			return e, true
		}
	}
	return repository.Repository{}, false
}

// PutRepository writes an entry down. One repository is asked first, from this
// machine.
func (h hubRepositories) PutRepository(ctx context.Context, r repository.Repository, w repository.Wish) error {
	book, err := readRepositories(ctx, h.flags)
	if err != nil {
		return err
	}
	if now, there := entry(book, r, w.Many); there && !w.Upsert {
		if repository.Alike(now, r) {
			return nil
		}
		return fmt.Errorf("%s is there already with another login or other settings; --upsert changes it", r.URL)
	}
	if !w.Many {
		full := r
		if !r.SignsIn() {
			full = r.WithLogin(book.For(r.URL, r.Project))
		}
		if err := tryRepository(ctx, full, fetchOptions{}, book.Trust()); err != nil {
			return fmt.Errorf("%s cannot be read from this machine: %w; nothing was written", r.URL, err)
		}
	}
	writer, err := openRegistrar(h.flags)
	if err != nil {
		return err
	}
	return writer.Put(ctx, r, w.Many)
}

// DropRepository takes an entry away.
func (h hubRepositories) DropRepository(ctx context.Context, r repository.Repository, many bool) error {
	writer, err := openRegistrar(h.flags)
	if err != nil {
		return err
	}
	found, err := writer.Drop(ctx, r, many)
	if err == nil && !found {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "repository"}, r.URL)
	}
	return err
}

// tryRepository asks a repository for what it has, by an entry that need not
// stand anywhere. Registries are not asked: a login there is for a repository
// below the address.
func tryRepository(ctx context.Context, r repository.Repository, o fetchOptions, trust repository.Trust) error {
	if r.EnableOCI || r.Type == repository.OCI {
		return nil
	}
	dir, err := os.MkdirTemp("", "towline-try-")
	if err != nil {
		return fmt.Errorf("making a folder to try it in: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	o.book = bookOf(func() *repository.Set { return repository.NewSet([]repository.Repository{r}, nil, trust) })
	s, err := openSources(dir, o)
	if err != nil {
		return err
	}
	defer func() { _ = s.close() }()
	of := manifest.Origin{RepoURL: r.URL, Project: r.Project}
	if r.Type == repository.Helm {
		_, err = s.charts.Charts(ctx, of, 0)
	} else {
		_, _, _, err = s.git.Refs(ctx, of, "", 0)
	}
	return err
}

// hubTrust is whom the config maps of the hub have us trust.
type hubTrust struct{ flags cli.Flags }

// Certificates are those that are trusted.
func (h hubTrust) Certificates(ctx context.Context) ([]repository.Certificate, error) {
	book, err := readRepositories(ctx, h.flags)
	if err != nil {
		return nil, err
	}
	return book.Trust().Listed(), nil
}

// AddCertificates has hosts trusted, all or none of each config map.
func (h hubTrust) AddCertificates(
	ctx context.Context, list []repository.GivenCertificate, upsert bool,
) ([]repository.Certificate, error) {
	writer, err := openRegistrar(h.flags)
	if err != nil {
		return nil, err
	}
	byMap := map[string][]repository.GivenCertificate{}
	for _, c := range list {
		byMap[c.ConfigMap()] = append(byMap[c.ConfigMap()], c)
	}
	var out []repository.Certificate
	for name, some := range byMap {
		var made []repository.Certificate
		err := writer.Change(ctx, name, func(data map[string]string) error {
			made = nil
			for _, c := range some {
				more, err := c.Put(data, upsert)
				if err != nil {
					return err
				}
				made = append(made, more...)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		out = append(out, made...)
	}
	return out, nil
}

// RemoveCertificates has hosts trusted no more.
func (h hubTrust) RemoveCertificates(ctx context.Context, of repository.Certificate) ([]repository.Certificate, error) {
	writer, err := openRegistrar(h.flags)
	if err != nil {
		return nil, err
	}
	q := repository.Distrust{
		CertType: of.CertType, CertSubType: of.CertSubType,
		Takes: func(host string) bool { return repository.MatchesHost(of.ServerName, host) },
	}
	var out []repository.Certificate
	for _, name := range []string{v1alpha1.ConfigMapSSHKnownHosts, v1alpha1.ConfigMapTLSCerts} {
		var gone []repository.Certificate
		err := writer.Change(ctx, name, func(data map[string]string) error {
			gone = q.Drop(name, data)
			return nil
		})
		if err != nil {
			return nil, err
		}
		out = append(out, gone...)
	}
	return out, nil
}

// Keys are those that commits may be signed with.
func (h hubTrust) Keys(ctx context.Context) ([]repository.PublicKey, error) {
	book, err := readRepositories(ctx, h.flags)
	if err != nil {
		return nil, err
	}
	return book.Trust().Keys(), nil
}

// AddKeys has keys trusted. They are named by themselves.
func (h hubTrust) AddKeys(ctx context.Context, armoured string, upsert bool) (created, skipped []string, err error) {
	keys, err := signature.Keys(armoured)
	if err != nil {
		return nil, nil, fmt.Errorf("it is no armoured text of public keys: %w", err)
	}
	writer, err := openRegistrar(h.flags)
	if err != nil {
		return nil, nil, err
	}
	err = writer.Change(ctx, v1alpha1.ConfigMapGPGKeys, func(data map[string]string) error {
		created, skipped = repository.PutKeys(data, keys, upsert)
		return nil
	})
	return created, skipped, err
}

// RemoveKey has a key trusted no more.
func (h hubTrust) RemoveKey(ctx context.Context, id string) error {
	writer, err := openRegistrar(h.flags)
	if err != nil {
		return err
	}
	return writer.Change(ctx, v1alpha1.ConfigMapGPGKeys, func(data map[string]string) error {
		if !repository.DropKey(data, id) {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "key"}, id)
		}
		return nil
	})
}

// configMapData is the data of a config map of the hub; one that is not there
// has none.
func configMapData(ctx context.Context, f cli.Flags, name string) (map[string]string, error) {
	client, err := kubeClient(f)
	if err != nil {
		return nil, err
	}
	cm, err := client.CoreV1().ConfigMaps(f.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	return cm.Data, nil
}
