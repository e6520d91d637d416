package client

import (
	"context"
	"fmt"
	"time"

	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/core/roster"
)

// Repositories are those that we may see.
func (c *Client) Repositories(ctx context.Context) ([]repository.View, error) {
	out, err := get[struct{ Items []repository.View }](ctx, c, request{path: under("repositories"), about: "repository"})
	return out.Items, err
}

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

// Clusters is the server's list of clusters, to be read.
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

// errReadOnly is for what the list of a server is not changed by from here.
func (c Clusters) errReadOnly(doing string) error {
	return fmt.Errorf("%s is not asked to %s from here; --core does it, with your kubeconfig", c.Server(), doing)
}

// Create is not asked of a server.
func (c Clusters) Create(context.Context, roster.Cluster) (string, error) {
	return "", c.errReadOnly("add a cluster")
}

// Edit is not asked of a server.
func (c Clusters) Edit(context.Context, string, roster.Edit) error {
	return c.errReadOnly("change a cluster")
}

// Remove is not asked of a server.
func (c Clusters) Remove(context.Context, roster.Entry) (bool, error) {
	return false, c.errReadOnly("remove a cluster")
}

// Probe is the server's own business: its entries say how it is with a cluster.
func (c Clusters) Probe(context.Context, roster.Cluster) (string, error) {
	return "", c.errReadOnly("try a login")
}
