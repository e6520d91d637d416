package fleet

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/towline-cd/towline/internal/cluster/eks"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/secret"
)

// Access is what ways to clusters are made with.
type Access struct {
	// Own is how the cluster that we run in is reached.
	Own *rest.Config
	// AllowExec says that programs may be run that sign in.
	AllowExec bool
	// UserAgent is who we say that we are.
	UserAgent string
	// Guard has a say in every request to the other clusters, as Own has in those
	// to ours; nil means that nobody has.
	Guard func(*rest.Config)
	// Getenv and ReadFile are where the credentials of clouds come from.
	Getenv   func(string) string
	ReadFile func(string) ([]byte, error)
}

// Config is how a cluster is reached, for a program that looks once. What it
// cannot do is an error that says the way out.
func (a Access) Config(c destination.Cluster) (*rest.Config, error) {
	config := &rest.Config{
		Host: c.Server, UserAgent: a.UserAgent,
		Username: c.Config.Username, Password: c.Config.Password.Reveal(), BearerToken: c.Config.BearerToken.Reveal(),
		DisableCompression: c.Config.DisableCompression,
		TLSClientConfig: rest.TLSClientConfig{
			Insecure: c.Config.TLS.Insecure, ServerName: c.Config.TLS.ServerName, CAData: []byte(c.Config.TLS.CAData),
			CertData: []byte(c.Config.TLS.CertData), KeyData: []byte(c.Config.TLS.KeyData.Reveal()),
		},
	}
	if c.Own() {
		return rest.CopyConfig(a.Own), nil
	}
	if c.Config.ProxyURL != "" {
		proxy, err := url.Parse(c.Config.ProxyURL)
		if err != nil || proxy.Host == "" {
			return nil, fmt.Errorf("proxyUrl of secret %q is no URL", c.Secret)
		}
		config.Proxy = http.ProxyURL(proxy)
	}
	if c.Config.AWS != nil {
		source := a.eks(*c.Config.AWS)
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &signer{next: next, source: source} })
	}
	if a.Guard != nil {
		a.Guard(config)
	}
	if c.Config.Exec == nil {
		return config, nil
	}
	return config, a.exec(config, c)
}

// way makes the way to a cluster.
func (a Access) way(c destination.Cluster) (*way, error) {
	config, err := a.Config(c)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("config of secret %q cannot be used: %w", c.Secret, err)
	}
	return &way{transport}, nil
}

// exec lets a program sign in, where the operator allows that.
func (a Access) exec(config *rest.Config, c destination.Cluster) error {
	e := c.Config.Exec
	if !a.AllowExec {
		program := e.Command
		if strings.HasSuffix(program, "argocd-k8s-auth") && len(e.Args) > 0 {
			program += " " + e.Args[0]
		}
		return fmt.Errorf("secret %q signs in by running the program %q (execProviderConfig), and programs are not run here: "+
			"use a token or a client certificate, or awsAuthConfig for EKS; "+
			"or start the controller with --allow-exec-credentials and the program in its image", c.Secret, program)
	}
	config.ExecProvider = &clientcmdapi.ExecConfig{
		Command: e.Command, Args: e.Args, APIVersion: e.APIVersion, InstallHint: e.InstallHint,
		ProvideClusterInfo: e.ProvideClusterInfo, InteractiveMode: clientcmdapi.NeverExecInteractiveMode, StdinUnavailable: true,
	}
	for name, value := range e.Env {
		config.ExecProvider.Env = append(config.ExecProvider.Env, clientcmdapi.ExecEnvVar{Name: name, Value: value.Reveal()})
	}
	return nil
}

func (a Access) eks(from destination.AWS) *eks.Source {
	return eks.New(eks.Options{
		Cluster: from.ClusterName, Role: from.RoleARN, Profile: from.Profile, ExternalID: from.ExternalID, ReadFile: a.ReadFile,
		Getenv: func(name string) string {
			if value, ok := from.Env[name]; ok {
				return value.Reveal()
			}
			return a.Getenv(name)
		},
	})
}

// tokens makes tokens.
type tokens interface {
	Token(ctx context.Context) (secret.Text, error)
	Forget()
}

// signer signs requests with a token that does not last.
type signer struct {
	next   http.RoundTripper
	source tokens
}

// RoundTrip signs and sends.
func (s *signer) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := s.source.Token(r.Context())
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token.Reveal())
	response, err := s.next.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusUnauthorized {
		// The next one may be taken.
		s.source.Forget()
	}
	return response, err
}

// WrappedRoundTripper lets client-go look behind it.
func (s *signer) WrappedRoundTripper() http.RoundTripper { return s.next }
