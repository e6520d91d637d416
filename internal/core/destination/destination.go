// Package destination is what is known of the clusters that applications are
// deployed to: how they are named, who may use them, how to sign in there, and
// which of them a destination means. It must not talk to any of them.
package destination

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/secret"
)

// Cluster is one entry: what a cluster secret stands for.
type Cluster struct {
	// Secret is the name of the secret; "" is the cluster that we run in,
	// without one.
	Secret string
	Name   string
	// Server is as it is written, without a slash at its end: projects have
	// rules about it.
	Server string
	// Project is the only project whose applications may use it by that right
	// alone; "" is for all.
	Project string
	// Namespaces are the only ones that are looked at; nil is all of them.
	Namespaces []string
	// ClusterResources says that objects without a namespace are looked at too,
	// where only some namespaces are.
	ClusterResources bool
	Labels           map[string]string
	Annotations      map[string]string
	// Shard is read and means nothing here: one process has all clusters.
	Shard  *int
	Config Config
	// Skip says that nothing is done for applications of this cluster.
	Skip bool
	// Refresh is another word each time that somebody asks for everything to be
	// read anew.
	Refresh string
	// Broken is why the entry cannot be used; empty while it can.
	Broken string
}

// Config is how a cluster is reached.
type Config struct {
	Username    string
	Password    secret.Text
	BearerToken secret.Text
	TLS         TLS
	// AWS signs in to EKS; Exec runs a program that does. Nil is neither.
	AWS  *AWS
	Exec *Exec
	// ProxyURL is the way to the server; "" is what the environment says.
	ProxyURL           string
	DisableCompression bool
}

// TLS is whom we believe to be the server, and who we are. The data are PEM.
type TLS struct {
	Insecure   bool
	ServerName string
	CAData     string
	CertData   string
	KeyData    secret.Text
}

// AWS is how to sign in to a cluster of EKS.
type AWS struct {
	ClusterName string
	RoleARN     string
	Profile     string
	// ExternalID is what the owner of the role asks for, and Env what counts
	// before the environment.
	ExternalID string
	Env        map[string]secret.Text
}

// Exec is a program that signs in.
type Exec struct {
	Command            string
	Args               []string
	Env                map[string]secret.Text
	APIVersion         string
	InstallHint        string
	ProvideClusterInfo bool
}

// Own says that the cluster is the one that we run in, reached as we are.
func (c Cluster) Own() bool {
	return Key(c.Server) == Key(v1alpha1.InClusterServer) && c.Config.anonymous()
}

// String names a cluster for people.
func (c Cluster) String() string {
	if c.Name == "" || c.Name == c.Server {
		return c.Server
	}
	return fmt.Sprintf("%q (%s)", c.Name, c.Server)
}

// anonymous says that there is nothing to sign in with.
func (c Config) anonymous() bool {
	return c.Username == "" && c.Password.Empty() && c.BearerToken.Empty() && c.TLS.CertData == "" && c.AWS == nil && c.Exec == nil
}

// Connection names everything that a connection is made of. What is the same
// under two of these is reached in the same way.
func (c Cluster) Connection() string {
	d := newDigest()
	d.texts(c.Server, c.Config.Username, c.Config.TLS.ServerName, c.Config.TLS.CAData, c.Config.TLS.CertData, c.Config.ProxyURL)
	d.hidden(c.Config.Password, c.Config.BearerToken, c.Config.TLS.KeyData)
	d.flags(c.Config.TLS.Insecure, c.Config.DisableCompression, c.Config.AWS != nil, c.Config.Exec != nil)
	if a := c.Config.AWS; a != nil {
		d.texts(a.ClusterName, a.RoleARN, a.Profile, a.ExternalID)
		d.environment(a.Env)
	}
	if e := c.Config.Exec; e != nil {
		d.texts(e.Command, e.APIVersion)
		d.texts(e.Args...)
		d.environment(e.Env)
		d.flags(e.ProvideClusterInfo)
	}
	return d.sum()
}

// Reach names what of the cluster is looked at.
func (c Cluster) Reach() string {
	d := newDigest()
	d.flags(c.Namespaces != nil, c.ClusterResources)
	d.texts(c.Namespaces...)
	return d.sum()
}

// digest tells values apart without telling them. Each comes with its length,
// and each list with its own, so that nothing runs into its neighbour.
type digest struct{ hash.Hash }

func newDigest() digest { return digest{sha256.New()} }

func (d digest) texts(list ...string) {
	fmt.Fprintf(d, "[%d]", len(list))
	for _, text := range list {
		fmt.Fprintf(d, "%d:%s", len(text), text)
	}
}

func (d digest) hidden(list ...secret.Text) {
	for _, text := range list {
		sum := text.Digest()
		_, _ = d.Write(sum[:])
	}
}

func (d digest) flags(list ...bool) { fmt.Fprint(d, list) }

func (d digest) environment(env map[string]secret.Text) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		d.texts(name)
		d.hidden(env[name])
	}
}

func (d digest) sum() string { return hex.EncodeToString(d.Sum(nil)[:16]) }

// Key brings the spellings of one server to one text. Host names know no case,
// and a slash at the end says nothing.
func Key(server string) string {
	server = Trim(server)
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return server
	}
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if port, ok := map[string]string{"https": ":443", "http": ":80"}[scheme]; ok {
		host = strings.TrimSuffix(host, port)
	}
	return scheme + "://" + host + strings.TrimRight(u.EscapedPath(), "/")
}

// Trim is a server as it is kept: as it is written, without what says nothing.
func Trim(server string) string { return strings.TrimRight(strings.TrimSpace(server), "/") }
