package destination

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/secret"
)

// clusterKeys are the keys of cluster secrets that are read.
var clusterKeys = []string{
	v1alpha1.KeyClusterName, v1alpha1.KeyClusterServer, v1alpha1.KeyClusterConfig, v1alpha1.KeyClusterNamespaces,
	v1alpha1.KeyClusterClusterResources, v1alpha1.KeyClusterShard, v1alpha1.KeyClusterProject,
}

// clusterConfig is the JSON in a cluster secret.
type clusterConfig struct {
	Username    string `json:"username"`
	Password    string `json:"password"`
	BearerToken string `json:"bearerToken"`
	TLS         struct {
		Insecure   bool   `json:"insecure"`
		ServerName string `json:"serverName"`
		CAData     []byte `json:"caData"`
		CertData   []byte `json:"certData"`
		KeyData    []byte `json:"keyData"`
	} `json:"tlsClientConfig"`
	AWS *struct {
		ClusterName string `json:"clusterName"`
		RoleARN     string `json:"roleARN"`
		Profile     string `json:"profile"`
	} `json:"awsAuthConfig"`
	Exec *struct {
		Command            string            `json:"command"`
		Args               []string          `json:"args"`
		Env                map[string]string `json:"env"`
		APIVersion         string            `json:"apiVersion"`
		InstallHint        string            `json:"installHint"`
		ProvideClusterInfo bool              `json:"provideClusterInfo"`
	} `json:"execProviderConfig"`
	ProxyURL           string `json:"proxyUrl"`
	DisableCompression bool   `json:"disableCompression"`
}

// configKeys are the keys of that JSON, by the field that they are in.
var configKeys = map[string][]string{
	"": {
		"username", "password", "bearertoken", "tlsclientconfig", "awsauthconfig", "execproviderconfig", "proxyurl",
		"disablecompression",
	},
	"tlsclientconfig":    {"insecure", "servername", "cadata", "certdata", "keydata"},
	"awsauthconfig":      {"clustername", "rolearn", "profile"},
	"execproviderconfig": {"command", "args", "env", "apiversion", "installhint", "provideclusterinfo"},
}

// Secret is the part of a Kubernetes secret that speaks of a cluster.
type Secret struct {
	Name                string
	Data                map[string][]byte
	Labels, Annotations map[string]string
}

// reader reads values and collects what is wrong with them.
type reader struct {
	data     map[string][]byte
	problems []string
}

func (r *reader) problem(key, what string) {
	r.problems = append(r.problems, fmt.Sprintf("%s %s", key, what))
}

func (r *reader) text(key string) string { return strings.TrimSpace(string(r.data[key])) }

func (r *reader) flag(key string) bool {
	text := r.text(key)
	if text == "" {
		return false
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		r.problem(key, "is neither true nor false; it counts as false")
	}
	return value
}

// Read reads a cluster secret, for whoever needs to know: there is no other
// reading of one. Problems name keys, never values: most of them are secrets. An
// entry without a server is none.
func Read(from Secret) (Cluster, []string) {
	in := reader{data: from.Data}
	c := Cluster{
		Secret:           from.Name,
		Name:             in.text(v1alpha1.KeyClusterName),
		Server:           Trim(in.text(v1alpha1.KeyClusterServer)),
		Project:          in.text(v1alpha1.KeyClusterProject),
		ClusterResources: in.flag(v1alpha1.KeyClusterClusterResources),
		Labels:           from.Labels,
		Refresh:          from.Annotations[v1alpha1.AnnotationRefresh],
	}
	if c.Server == "" {
		in.problem(v1alpha1.KeyClusterServer, "is missing, so that the secret counts for nothing")
		return c, in.problems
	}
	if c.Name == "" {
		c.Name = c.Server
	}
	for name := range strings.SplitSeq(in.text(v1alpha1.KeyClusterNamespaces), ",") {
		if name = strings.TrimSpace(name); name != "" {
			c.Namespaces = append(c.Namespaces, name)
		}
	}
	slices.Sort(c.Namespaces)
	c.Namespaces = slices.Compact(c.Namespaces)
	if text := in.text(v1alpha1.KeyClusterShard); text != "" {
		if n, err := strconv.Atoi(text); err == nil && n >= 0 {
			c.Shard = &n
		} else {
			in.problem(v1alpha1.KeyClusterShard, "is not a number; it counts as absent")
		}
	}
	in.annotations(&c, from.Annotations)
	in.config(&c)
	for _, key := range slices.Sorted(maps.Keys(from.Data)) {
		if !slices.Contains(clusterKeys, key) {
			in.problem(key, "is not a key of a cluster secret; it counts for nothing")
		}
	}
	return c, in.problems
}

// annotations takes those of the secret that others may read, and what they ask
// for.
func (r *reader) annotations(c *Cluster, all map[string]string) {
	// kubectl keeps a copy of the whole secret in one of them.
	c.Annotations = maps.Clone(all)
	delete(c.Annotations, v1alpha1.AnnotationLastAppliedByKubectl)
	text := all[v1alpha1.AnnotationSkipReconcile]
	if text == "" {
		return
	}
	skip, err := strconv.ParseBool(text)
	if err != nil {
		r.problem("annotation "+v1alpha1.AnnotationSkipReconcile, "is neither true nor false; it counts as false")
	}
	c.Skip = skip
}

// config reads the JSON. What cannot be read leaves an entry that is known and
// cannot be used: a cluster with a typing error is not a cluster that is gone.
func (r *reader) config(c *Cluster) {
	raw := r.data[v1alpha1.KeyClusterConfig]
	if len(strings.TrimSpace(string(raw))) == 0 {
		return
	}
	var read clusterConfig
	if err := json.Unmarshal(raw, &read); err != nil {
		c.Broken = fmt.Sprintf("%s of secret %q cannot be read: %s", v1alpha1.KeyClusterConfig, c.Secret, jsonProblem(err))
		r.problem(v1alpha1.KeyClusterConfig, "cannot be read, so that the cluster cannot be used: "+jsonProblem(err))
		return
	}
	r.unknown("", raw)
	c.Config = Config{
		Username: read.Username, Password: secret.New(read.Password), BearerToken: secret.New(strings.TrimSpace(read.BearerToken)),
		TLS: TLS{
			Insecure: read.TLS.Insecure, ServerName: read.TLS.ServerName,
			CAData: string(read.TLS.CAData), CertData: string(read.TLS.CertData), KeyData: secret.New(string(read.TLS.KeyData)),
		},
		ProxyURL: read.ProxyURL, DisableCompression: read.DisableCompression,
	}
	if a := read.AWS; a != nil {
		c.Config.AWS = &AWS{ClusterName: a.ClusterName, RoleARN: a.RoleARN, Profile: a.Profile}
	}
	if e := read.Exec; e != nil {
		env := make(map[string]secret.Text, len(e.Env))
		for name, value := range e.Env {
			env[name] = secret.New(value)
		}
		c.Config.Exec = &Exec{
			Command: e.Command, Args: e.Args, Env: env, APIVersion: e.APIVersion, InstallHint: e.InstallHint,
			ProvideClusterInfo: e.ProvideClusterInfo,
		}
		r.aws(c)
	}
	if read.TLS.Insecure && len(read.TLS.CAData) > 0 {
		// client-go refuses the two together, and Argo CD lets the first win.
		c.Config.TLS.CAData = ""
		r.problem(v1alpha1.KeyClusterConfig, "has tlsClientConfig.insecure and caData; caData counts for nothing")
	}
}

// aws recognises Argo CD's own program for EKS, which is not run: what it does
// is done here.
func (r *reader) aws(c *Cluster) {
	e := c.Config.Exec
	if path.Base(e.Command) != "argocd-k8s-auth" || len(e.Args) == 0 || e.Args[0] != "aws" {
		return
	}
	a := &AWS{Env: e.Env}
	flags := map[string]*string{
		"--cluster-name": &a.ClusterName, "--role-arn": &a.RoleARN, "--profile": &a.Profile, "--role-external-id": &a.ExternalID,
	}
	for args := e.Args[1:]; len(args) > 0; {
		name, value, joined := strings.Cut(args[0], "=")
		args = args[1:]
		if !joined && len(args) > 0 {
			value, args = args[0], args[1:]
		}
		into, known := flags[name]
		if !known {
			r.problem(v1alpha1.KeyClusterConfig, fmt.Sprintf("has the argument %q in execProviderConfig.args; it counts for nothing", name))
			continue
		}
		*into = value
	}
	c.Config.AWS, c.Config.Exec = a, nil
}

// unknown names the keys that nobody reads. Letter case does not matter, as it
// does not to Argo CD.
func (r *reader) unknown(at string, raw []byte) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		low := strings.ToLower(key)
		if !slices.Contains(configKeys[at], low) {
			name := key
			if at != "" {
				name = at + "." + key
			}
			r.problem(v1alpha1.KeyClusterConfig, fmt.Sprintf("has the key %q, which is not honoured", name))
			continue
		}
		if at == "" && configKeys[low] != nil {
			r.unknown(low, fields[key])
		}
	}
}

// jsonProblem is an error of a decoder without what it was given.
func jsonProblem(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%s must be of type %s", wrong.Field, wrong.Type)
	}
	if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("it is not JSON from byte %d on", bad.Offset)
	}
	// What is left is about base64, and names a position.
	return err.Error()
}
