// Package roster is the hub's list of clusters as values: what the secret of a cluster says, and how one is written. It
// must not reach a cluster, and however its values are printed, no login is told.
package roster

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/repository"
)

// Cluster is a cluster as the hub knows it.
type Cluster struct {
	Name, Server string
	Config       Config
	// Namespaces are the only ones that are managed; none is all of them.
	Namespaces []string
	// ClusterResources also manages what is in no namespace, where only some namespaces are managed.
	ClusterResources bool
	Shard            *int64
	// Project is the only one whose applications may use the cluster; "" is for all.
	Project             string
	Labels, Annotations map[string]string
}

// Config is how to reach a cluster and how to sign in there. Encoded as it is, it is fit to be shown.
type Config struct {
	Username           string            `json:"username,omitempty"`
	Password           repository.Secret `json:"password,omitzero"`
	BearerToken        repository.Secret `json:"bearerToken,omitzero"`
	TLS                TLS               `json:"tlsClientConfig"`
	AWS                *AWS              `json:"awsAuthConfig,omitempty"`
	Exec               *Exec             `json:"execProviderConfig,omitempty"`
	DisableCompression bool              `json:"disableCompression,omitempty"`
	ProxyURL           ProxyURL          `json:"proxyUrl,omitempty"`
}

// TLS is whom to trust, and with which certificate to sign in.
type TLS struct {
	Insecure   bool              `json:"insecure"`
	ServerName string            `json:"serverName,omitempty"`
	CAData     []byte            `json:"caData,omitempty"`
	CertData   []byte            `json:"certData,omitempty"`
	KeyData    repository.Secret `json:"keyData,omitzero"`
}

// AWS makes the login of an EKS cluster.
type AWS struct {
	ClusterName string `json:"clusterName,omitempty"`
	RoleARN     string `json:"roleARN,omitempty"`
	Profile     string `json:"profile,omitempty"`
}

// Exec is a program that makes the login. Its arguments and variables may hold one themselves.
type Exec struct {
	Command     string                       `json:"command,omitempty"`
	Args        []repository.Secret          `json:"args,omitempty"`
	Env         map[string]repository.Secret `json:"env,omitempty"`
	APIVersion  string                       `json:"apiVersion,omitempty"`
	InstallHint string                       `json:"installHint,omitempty"`
	// ProvideClusterInfo tells it which cluster it is for.
	ProvideClusterInfo bool `json:"provideClusterInfo,omitempty"`
}

// ProxyURL is the address of a proxy. It may hold a login, which is not shown.
type ProxyURL string

// MarshalText leaves the login out.
func (p ProxyURL) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// String leaves the login out.
func (p ProxyURL) String() string {
	u, err := url.Parse(string(p))
	if err != nil {
		return repository.NewSecret("").String()
	}
	u.User = nil
	return u.String()
}

// Login names the way in which one signs in, for people.
func (c Config) Login() string {
	switch {
	case c.AWS != nil:
		return "AWS"
	case c.Exec != nil:
		return "command"
	case !c.BearerToken.Empty():
		return "token"
	case len(c.TLS.CertData) > 0:
		return "certificate"
	case c.Username != "":
		return "password"
	}
	return "none"
}

// Local is the cluster that the hub is, where no secret speaks of it.
func Local() Entry {
	return Entry{Cluster: Cluster{Name: v1alpha1.InClusterName, Server: v1alpha1.InClusterServer}}
}

// Entry is a line of the list.
type Entry struct {
	Cluster

	// Secret is the name of the secret that it stands in; empty for the cluster that the hub is.
	Secret string
	// Managed says that the secret was made by adding the cluster, so that it goes with it. Others keep theirs.
	Managed bool
	// Problem says what of the secret cannot be read.
	Problem string
	// Report is what a server knows of it; nil where none was asked.
	Report *Report
}

// Report is how it is with a cluster, as a server that watches it knows.
type Report struct {
	// Status is Successful, Failed or Unknown.
	Status, Message string
	Version         string
	AttemptedAt     time.Time
	// Applications is how many deploy to it.
	Applications int
}

// Find picks entries as people name them: by the URL of the server, or by the name.
func Find(entries []Entry, selector string) []Entry {
	var out []Entry
	for _, e := range entries {
		if isURL(selector) && SameServer(e.Server, selector) || !isURL(selector) && e.Name == selector {
			out = append(out, e)
		}
	}
	return out
}

func isURL(s string) bool { return strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://") }

// SameServer compares the addresses of two servers.
func SameServer(a, b string) bool { return strings.TrimRight(a, "/") == strings.TrimRight(b, "/") }

// Differences are the names of what a cluster as it stands lacks of another. The value of a login is not compared, for
// every token is new; labels and annotations that others added are no difference.
func Differences(a, b Cluster) []string {
	var out []string
	for _, f := range []struct {
		name string
		same bool
	}{
		{"name", a.Name == b.Name},
		{"server", SameServer(a.Server, b.Server)},
		{"namespaces", slices.Equal(slices.Sorted(slices.Values(a.Namespaces)), slices.Sorted(slices.Values(b.Namespaces)))},
		{"clusterResources", a.ClusterResources == b.ClusterResources},
		{"shard", a.Shard == nil && b.Shard == nil || a.Shard != nil && b.Shard != nil && *a.Shard == *b.Shard},
		{"project", a.Project == b.Project},
		{"labels", holds(a.Labels, b.Labels)},
		{"annotations", holds(a.Annotations, b.Annotations)},
		{"login", a.Config.Login() == b.Config.Login()},
		{"tlsClientConfig", a.Config.TLS.Insecure == b.Config.TLS.Insecure && a.Config.TLS.ServerName == b.Config.TLS.ServerName &&
			slices.Equal(a.Config.TLS.CAData, b.Config.TLS.CAData)},
		{"proxyUrl", a.Config.ProxyURL == b.Config.ProxyURL},
	} {
		if !f.same {
			out = append(out, f.name)
		}
	}
	return out
}

func holds(all, some map[string]string) bool {
	for k, v := range some {
		if got, ok := all[k]; !ok || got != v {
			return false
		}
	}
	return true
}
