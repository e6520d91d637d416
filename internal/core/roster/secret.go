package roster

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/repository"
)

// Secret is the part of a Kubernetes secret that speaks of a cluster.
type Secret = destination.Secret

// ours are labels and annotations that are about the secret, not about the cluster. What kubectl applied last has the
// whole login in it.
var ours = []string{v1alpha1.LabelSecretType, v1alpha1.AnnotationManagedBy, v1alpha1.AnnotationLastAppliedByKubectl}

// Read turns a secret into an entry, by the reading that the controller has of it. What cannot be used is told.
func Read(s Secret) Entry {
	c, _ := destination.Read(s)
	e := Entry{
		Cluster: Cluster{
			Name: c.Name, Server: c.Server, Namespaces: c.Namespaces, ClusterResources: c.ClusterResources, Project: c.Project,
			Labels: theirs(s.Labels), Annotations: theirs(s.Annotations), Config: configOf(c.Config),
		},
		Secret: s.Name, Problem: c.Broken,
		Managed: s.Annotations[v1alpha1.AnnotationManagedBy] == v1alpha1.ManagedByValue,
	}
	if c.Shard != nil {
		e.Shard = new(int64(*c.Shard))
	}
	if e.Server == "" {
		e.Problem = fmt.Sprintf("secret %q has no %q", s.Name, v1alpha1.KeyClusterServer)
	}
	return e
}

func theirs(in map[string]string) map[string]string {
	out := maps.Clone(in)
	for _, k := range ours {
		delete(out, k)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// Write is the secret of a new cluster.
func Write(c Cluster) (Secret, error) {
	name, err := SecretName(c.Server)
	if err != nil {
		return Secret{}, err
	}
	s := Secret{Name: name, Annotations: map[string]string{v1alpha1.AnnotationManagedBy: v1alpha1.ManagedByValue}}
	return Change(s, Whole(c))
}

// SecretName is the name that the secret of a server gets; others look for it by this name.
func SecretName(server string) (string, error) {
	u, err := url.ParseRequestURI(server)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("the server %q is no URL like https://10.0.0.1:6443", server)
	}
	host := strings.ToLower(u.Hostname())
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is6() {
		host = strings.ReplaceAll(addr.String(), ":", "-")
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(server))
	return fmt.Sprintf("cluster-%s-%d", host, h.Sum32()), nil
}

// Edit is a change of a cluster. What is nil stays.
type Edit struct {
	Name, Server, Project *string
	Namespaces            *[]string
	ClusterResources      *bool
	Shard                 *int64
	Config                *Config
	// Labels and Annotations are added to those that there are; a nil value takes one away.
	Labels, Annotations map[string]*string
	// Token replaces the one that is Old, and nothing else of the config.
	Token, Old repository.Secret
}

// Whole is the change that makes a secret say what a cluster says. A shard that it does not name stays.
func Whole(c Cluster) Edit {
	e := Edit{
		Name: &c.Name, Server: &c.Server, Project: &c.Project, Namespaces: &c.Namespaces,
		ClusterResources: &c.ClusterResources, Shard: c.Shard, Config: &c.Config,
		Labels: map[string]*string{}, Annotations: map[string]*string{},
	}
	for k, v := range c.Labels {
		e.Labels[k] = &v
	}
	for k, v := range c.Annotations {
		e.Annotations[k] = &v
	}
	return e
}

// ErrTokenMoved says that the token to be replaced is not the one that stands.
var ErrTokenMoved = errors.New("its token was replaced by somebody else meanwhile")

// Change is a secret with a change; keys that nobody here knows stay.
func Change(s Secret, e Edit) (Secret, error) {
	s.Data = maps.Clone(s.Data)
	if s.Data == nil {
		s.Data = map[string][]byte{}
	}
	s.Labels, s.Annotations = merged(s.Labels, e.Labels), merged(s.Annotations, e.Annotations)
	s.Labels[v1alpha1.LabelSecretType] = v1alpha1.SecretTypeCluster
	put := func(key string, value *string) {
		switch {
		case value == nil:
		case *value == "":
			delete(s.Data, key)
		default:
			s.Data[key] = []byte(*value)
		}
	}
	put(v1alpha1.KeyClusterName, e.Name)
	put(v1alpha1.KeyClusterServer, e.Server)
	put(v1alpha1.KeyClusterProject, e.Project)
	if e.Namespaces != nil {
		put(v1alpha1.KeyClusterNamespaces, new(strings.Join(*e.Namespaces, ",")))
	}
	if e.ClusterResources != nil {
		put(v1alpha1.KeyClusterClusterResources, new(strconv.FormatBool(*e.ClusterResources)))
		if !*e.ClusterResources {
			delete(s.Data, v1alpha1.KeyClusterClusterResources)
		}
	}
	if e.Shard != nil {
		put(v1alpha1.KeyClusterShard, new(strconv.FormatInt(*e.Shard, 10)))
	}
	var err error
	if e.Config != nil {
		s.Data[v1alpha1.KeyClusterConfig], err = writeConfig(*e.Config)
	}
	if err == nil && !e.Token.Empty() {
		s.Data[v1alpha1.KeyClusterConfig], err = withToken(s.Data[v1alpha1.KeyClusterConfig], e.Token, e.Old)
	}
	return s, err
}

func merged(into map[string]string, change map[string]*string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, into)
	for _, k := range slices.Sorted(maps.Keys(change)) {
		if v := change[k]; v != nil {
			out[k] = *v
		} else {
			delete(out, k)
		}
	}
	return out
}

// withToken replaces the token of a config as it is written, so that what we do not know in it stays.
func withToken(config []byte, token, old repository.Secret) ([]byte, error) {
	raw := map[string]any{}
	if err := json.Unmarshal(config, &raw); err != nil {
		return nil, badConfig(err)
	}
	// Space around a token is no part of it.
	if stands, _ := raw["bearerToken"].(string); strings.TrimSpace(stands) != strings.TrimSpace(old.Reveal()) {
		return nil, ErrTokenMoved
	}
	raw["bearerToken"] = token.Reveal()
	return json.Marshal(raw)
}
