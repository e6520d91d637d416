package main

import (
	"context"
	"fmt"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/core/secret"
	"github.com/towline-cd/towline/internal/forge"
	"github.com/towline-cd/towline/internal/hub"
	"github.com/towline-cd/towline/internal/settings"
)

// oracle answers what generators ask: forges and services by HTTP, decisions by
// the cluster that we run in.
type oracle struct {
	forges    *forge.Forges
	decisions *hub.Decisions
}

// oracleOptions are what an oracle is made of.
type oracleOptions struct {
	namespace string
	sets      settings.Sets
	trust     func() repository.Trust
}

func newOracle(config *rest.Config, o oracleOptions) (*oracle, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for generators: %w", err)
	}
	decisions, err := hub.NewDecisions(config, o.namespace)
	if err != nil {
		return nil, err
	}
	return &oracle{
		decisions: decisions,
		forges: forge.New(forge.Options{
			Store: keyStore{client}, Namespace: o.namespace, Trust: o.trust,
			SCMDisabled: o.sets.NoForges, AllowedSCM: o.sets.Forges, StrictTokenRefs: o.sets.StrictTokens, Tenants: true,
			RootCA: authorities(o.sets.RootCA),
		}),
	}, nil
}

// authorities are those of a file, as it is when they are asked for.
func authorities(file string) func() (string, error) {
	if file == "" {
		return nil
	}
	return func() (string, error) {
		text, err := os.ReadFile(file)
		return string(text), err
	}
}

// Ask answers one need.
func (o *oracle) Ask(ctx context.Context, set *v1alpha1.ApplicationSet, need appset.Need) (appset.Answer, error) {
	in := forge.Scope{Namespace: set.Namespace, SetName: set.Name, Project: appset.ProjectOf(set)}
	switch {
	case need.PullRequest != nil:
		return o.forges.PullRequests(ctx, *need.PullRequest, in)
	case need.SCMProvider != nil:
		return o.forges.Repositories(ctx, *need.SCMProvider, in)
	case need.Plugin != nil:
		return o.forges.Plugin(ctx, *need.Plugin, in)
	case need.Decision != nil:
		return o.decisions.Read(ctx, need.Decision)
	}
	return appset.Answer{}, fault.Terminalf("NotHere", "nobody answers that")
}

// keyStore reads secrets and config maps when they are asked for: who may read
// them may change, and a token is not kept longer than it is used.
type keyStore struct{ client kubernetes.Interface }

// Secret reads a secret.
func (s keyStore) Secret(ctx context.Context, namespace, name string) (forge.Secret, bool, error) {
	found, err := s.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return forge.Secret{}, false, nil
	}
	if err != nil {
		return forge.Secret{}, false, fault.Transientf("Unreachable", "reading secret %q: %w", name, err)
	}
	out := forge.Secret{Labels: found.Labels, Data: make(map[string]repository.Secret, len(found.Data))}
	for key, value := range found.Data {
		out.Data[key] = secret.New(string(value))
	}
	return out, true, nil
}

// ConfigMap reads a config map.
func (s keyStore) ConfigMap(ctx context.Context, namespace, name string) (map[string]string, bool, error) {
	found, err := s.client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fault.Transientf("Unreachable", "reading config map %q: %w", name, err)
	}
	return found.Data, true, nil
}

// knownClusters are the clusters that generators know of.
func (p *parts) knownClusters() []appset.Cluster { return generatorClusters(p.settings.Clusters()) }

func generatorClusters(known *destination.Set) []appset.Cluster {
	var out []appset.Cluster
	for _, c := range known.All() {
		out = append(out, appset.Cluster{
			Name: c.Name, Server: c.Server, Project: c.Project, Labels: c.Labels, Annotations: c.Annotations, Local: c.Secret == "",
		})
	}
	return out
}
