package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/roster"
)

// cluster is a cluster as the server tells it, as far as it is read.
type cluster struct {
	Server, Name     string
	Namespaces       []string
	ClusterResources bool
	Project          string
	Shard            *int64
	Labels           map[string]string
	Annotations      map[string]string
	Config           struct {
		TLSClientConfig struct {
			Insecure   bool
			ServerName string
		}
	}
	ServerVersion   string
	ConnectionState struct {
		Status, Message string
		AttemptedAt     *time.Time
	}
	Info struct{ ApplicationsCount int }
}

// Clusters is the server's list of clusters. A cluster goes by its server here, where the hub goes by a secret.
type Clusters struct{ *Client }

// Entries are those that we may see, with what the server knows of them. Of a login it tells nothing.
func (c Clusters) Entries(ctx context.Context) ([]roster.Entry, error) {
	said, err := get[struct{ Items []cluster }](ctx, c.Client, request{path: under("clusters"), about: "cluster"})
	if err != nil {
		return nil, err
	}
	out := make([]roster.Entry, len(said.Items))
	for i, s := range said.Items {
		e := roster.Entry{Cluster: roster.Cluster{
			Name: s.Name, Server: s.Server, Namespaces: s.Namespaces, ClusterResources: s.ClusterResources, Shard: s.Shard,
			Project: s.Project, Labels: s.Labels, Annotations: s.Annotations,
			Config: roster.Config{TLS: roster.TLS{
				Insecure: s.Config.TLSClientConfig.Insecure, ServerName: s.Config.TLSClientConfig.ServerName,
			}},
		}}
		e.Report = &roster.Report{
			Status: s.ConnectionState.Status, Message: s.ConnectionState.Message, Version: s.ServerVersion,
			Applications: s.Info.ApplicationsCount,
		}
		if at := s.ConnectionState.AttemptedAt; at != nil {
			e.Report.AttemptedAt = at.UTC()
		}
		out[i] = e
	}
	return out, nil
}

// Create has the server put a cluster on its list, after it has signed in there.
func (c Clusters) Create(ctx context.Context, cluster roster.Cluster) (string, error) {
	return cluster.Server, c.post(ctx, cluster, false)
}

// Replace makes a cluster of the list what is said here.
func (c Clusters) Replace(ctx context.Context, cluster roster.Cluster) error {
	return c.post(ctx, cluster, true)
}

func (c Clusters) post(ctx context.Context, cluster roster.Cluster, upsert bool) error {
	body, err := clusterBody(cluster)
	if err != nil {
		return err
	}
	query := url.Values{}
	if upsert {
		query.Set("upsert", "true")
	}
	return c.ask(ctx, request{
		method: http.MethodPost, path: under("clusters"), query: query, body: body, about: "cluster", name: cluster.Name,
	}, nil)
}

// clusterBody is a cluster as a server takes it, login and all.
func clusterBody(c roster.Cluster) (map[string]any, error) {
	// Its secret has the login in the form that the API has it.
	s, err := roster.Write(c)
	if err != nil {
		return nil, err
	}
	out := map[string]any{
		"server": c.Server, "name": c.Name, "namespaces": c.Namespaces, "clusterResources": c.ClusterResources, "project": c.Project,
		"labels": c.Labels, "annotations": c.Annotations, "config": json.RawMessage(s.Data[v1alpha1.KeyClusterConfig]),
	}
	if c.Shard != nil {
		out["shard"] = *c.Shard
	}
	return out, nil
}

// Edit changes a cluster of the list, which is named by its server.
func (c Clusters) Edit(ctx context.Context, server string, e roster.Edit) error {
	if e.Config != nil || !e.Token.Empty() {
		return fmt.Errorf("%s is not given another login so; \"cluster add CONTEXT --upsert\" does that", c.Server())
	}
	body, fields := map[string]any{"server": server}, []string{}
	put := func(name string, value any, given bool) {
		if given {
			body[name], fields = value, append(fields, name)
		}
	}
	put("name", e.Name, e.Name != nil)
	put("project", e.Project, e.Project != nil)
	put("namespaces", e.Namespaces, e.Namespaces != nil)
	put("clusterResources", e.ClusterResources, e.ClusterResources != nil)
	put("shard", e.Shard, e.Shard != nil)
	for name, set := range map[string]map[string]*string{"labels": e.Labels, "annotations": e.Annotations} {
		for key, value := range set {
			if value == nil {
				return fmt.Errorf("%s adds %s and takes none away; --core removes %q, with your kubeconfig", c.Server(), name, key)
			}
		}
		put(name, set, len(set) > 0)
	}
	return c.ask(ctx, request{
		method: http.MethodPut, path: under("clusters", server), query: url.Values{"updatedFields": fields, "id.type": {"url"}},
		body: body, about: "cluster", name: server,
	}, nil)
}

// Remove takes a cluster off the list. Whether its secret is gone the server does not tell.
func (c Clusters) Remove(ctx context.Context, e roster.Entry) (bool, error) {
	return true, c.ask(ctx, request{
		method: http.MethodDelete, path: under("clusters", e.Server), query: url.Values{"id.type": {"url"}}, about: "cluster",
		name: e.Server,
	}, nil)
}

// Rotate asks the server for a new login of a cluster.
func (c Clusters) Rotate(ctx context.Context, server string) error {
	return c.ask(ctx, request{
		method: http.MethodPost, path: under("clusters", server, "rotate-auth"), query: url.Values{"id.type": {"url"}},
		body: map[string]any{}, about: "cluster", name: server,
	}, nil)
}

// Probe is the server's own business: its entries say how it is with a cluster.
func (c Clusters) Probe(context.Context, roster.Cluster) (string, error) {
	return "", fmt.Errorf("%s is not asked to try a login", c.Server())
}
