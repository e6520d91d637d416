package cluster

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/internal/core/fault"
)

// identify asks once who the cluster is. An account that may not read the
// namespace that everybody has knows the cluster by its address.
func (c *Cluster) identify(ctx context.Context, version string) error {
	c.mu.RLock()
	known := c.identity != ""
	c.mu.RUnlock()
	if known {
		return nil
	}
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	who := c.server
	ns, err := c.dynamic.Resource(namespaces).Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	switch {
	case err == nil:
		who = string(ns.GetUID())
	case !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
		return fault.Transientf("Discovery", "asking the cluster who it is: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.identity = who + " v" + version
	return nil
}

// Version is that of the API server; empty until it was asked.
func (c *Cluster) Version() string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.catalog.version == "" {
		return ""
	}
	return "v" + c.catalog.version
}

// parts are the namespaces that a kind is watched in, each by itself; the empty
// one stands for all of them, and for what has none.
func (c *Cluster) parts(k kind) []string {
	if c.namespaces == nil || !k.Namespaced {
		return []string{everywhere}
	}
	return c.namespaces
}
