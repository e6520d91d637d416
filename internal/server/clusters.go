package server

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/fault"
)

// Cluster is a cluster as it is told: nothing of how one signs in there.
type Cluster struct {
	Server           string            `json:"server"`
	Name             string            `json:"name"`
	Config           ClusterConfig     `json:"config"`
	ConnectionState  ConnectionState   `json:"connectionState"`
	ServerVersion    string            `json:"serverVersion,omitempty"`
	Namespaces       []string          `json:"namespaces,omitempty"`
	Info             ClusterInfo       `json:"info"`
	Shard            *int              `json:"shard,omitempty"`
	ClusterResources bool              `json:"clusterResources,omitempty"`
	Project          string            `json:"project,omitempty"`
	Labels           map[string]string `json:"labels,omitempty"`
	Annotations      map[string]string `json:"annotations,omitempty"`
}

// ClusterConfig is what may be told of the way to a cluster.
type ClusterConfig struct {
	TLSClientConfig ClusterTLS `json:"tlsClientConfig"`
}

// ClusterTLS is what may be told of the certificates.
type ClusterTLS struct {
	Insecure   bool   `json:"insecure"`
	ServerName string `json:"serverName,omitempty"`
}

// ConnectionState is whether something can be reached.
type ConnectionState struct {
	Status      string     `json:"status"`
	Message     string     `json:"message"`
	AttemptedAt *time.Time `json:"attemptedAt"`
}

// ClusterInfo is how it is with a cluster.
type ClusterInfo struct {
	ConnectionState   ConnectionState `json:"connectionState"`
	ServerVersion     string          `json:"serverVersion,omitempty"`
	CacheInfo         ClusterCache    `json:"cacheInfo"`
	ApplicationsCount int64           `json:"applicationsCount"`
	APIVersions       []string        `json:"apiVersions,omitempty"`
}

// ClusterCache is how much is known of a cluster.
type ClusterCache struct {
	ResourcesCount    int64      `json:"resourcesCount,omitempty"`
	APIsCount         int64      `json:"apisCount,omitempty"`
	LastCacheSyncTime *time.Time `json:"lastCacheSyncTime,omitempty"`
}

// clusterObject is what rules call a cluster.
func clusterObject(c destination.Cluster) string {
	if c.Project != "" {
		return c.Project + "/" + c.Server
	}
	return c.Server
}

// findCluster finds a cluster by its server, or by its name.
func (s *Server) findCluster(req *Request) (Target, error) {
	id := req.Param("id")
	kind := req.Text("id.type")
	if strings.HasSuffix(kind, "_escaped") {
		if plain, err := url.QueryUnescape(id); err == nil {
			id = plain
		}
	}
	byName := strings.HasPrefix(kind, "name")
	if s.Places == nil {
		return Target{}, absent("the list of clusters")
	}
	for _, c := range s.Places.Clusters() {
		if byName && c.Name == id || !byName && destination.Key(c.Server) == destination.Key(id) {
			req.found = c
			return Target{Object: clusterObject(c.Cluster), Found: true}, nil
		}
	}
	return Target{Object: id}, nil
}

func (s *Server) getCluster(req *Request) (any, error) {
	c, _ := req.found.(Place)
	return s.clusterOf(c), nil
}

func (s *Server) listClusters(req *Request) (any, error) {
	if s.Places == nil {
		return nil, absent("the list of clusters")
	}
	out := List[Cluster]{Items: []Cluster{}}
	server, name := req.Text("server"), req.Text("name", "id.value")
	counts := s.appsByCluster()
	for _, c := range s.Places.Clusters() {
		if server != "" && destination.Key(server) != destination.Key(c.Server) || name != "" && name != c.Name {
			continue
		}
		if req.May("clusters", "get", clusterObject(c.Cluster)) {
			shown := s.clusterOf(c)
			shown.Info.ApplicationsCount = counts[destination.Key(c.Server)] + counts[c.Name]
			out.Items = append(out.Items, shown)
		}
	}
	return out, nil
}

// appsByCluster counts the applications of each destination, by server or by name as they are written.
func (s *Server) appsByCluster() map[string]int64 {
	out := map[string]int64{}
	for _, app := range s.Hub.Known() {
		if d := app.Spec.Destination; d.Server != "" {
			out[destination.Key(d.Server)]++
		} else {
			out[d.Name]++
		}
	}
	return out
}

// toldLabels are the labels and annotations of cluster secrets that are told: those whose values we know to be no secret.
var toldLabels = []string{
	"argocd.argoproj.io/secret-type", "argocd.argoproj.io/auto-label-cluster-info",
	"argocd.argoproj.io/kubernetes-version",
}

func (s *Server) clusterOf(c Place) Cluster {
	out := Cluster{
		Server: c.Server, Name: c.Name, Namespaces: c.Namespaces, ClusterResources: c.ClusterResources, Project: c.Project, Shard: c.Shard,
		Config: ClusterConfig{TLSClientConfig: ClusterTLS{Insecure: c.Config.TLS.Insecure, ServerName: c.Config.TLS.ServerName}},
	}
	for k, v := range c.Labels {
		if slices.Contains(toldLabels, k) {
			if out.Labels == nil {
				out.Labels = map[string]string{}
			}
			out.Labels[k] = v
		}
	}
	state := ConnectionState{Status: "Unknown", Message: "no application uses the cluster, so it is not watched"}
	switch {
	case c.Err != nil && fault.ReasonOf(c.Err) == destination.Starting && !c.Watched:
	case c.Err != nil:
		state.Status, state.Message = "Failed", hush(c.Err.Error(), secretsOf(c.Cluster))
	case c.Watched:
		state.Status, state.Message = "Successful", ""
	}
	if !c.Since.IsZero() {
		at := c.Since.UTC().Truncate(time.Second)
		state.AttemptedAt = &at
		out.Info.CacheInfo.LastCacheSyncTime = &at
	}
	out.ConnectionState, out.ServerVersion = state, strings.TrimPrefix(c.Version, "v")
	out.Info.ConnectionState, out.Info.ServerVersion, out.Info.APIVersions = state, out.ServerVersion, c.APIs
	out.Info.CacheInfo.ResourcesCount, out.Info.CacheInfo.APIsCount = int64(c.Objects), int64(c.Kinds)
	return out
}

// secretsOf are the values of a cluster's entry that must not be told.
func secretsOf(c destination.Cluster) []string {
	out := []string{c.Config.Password.Reveal(), c.Config.BearerToken.Reveal(), c.Config.TLS.KeyData.Reveal()}
	if c.Config.Exec != nil {
		for _, v := range c.Config.Exec.Env {
			out = append(out, v.Reveal())
		}
	}
	return out
}
