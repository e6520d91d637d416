package controlplane

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The users that the control plane makes for its own parts.
const (
	adminUser  = "towline-test-admin"
	adminGroup = "system:masters"
)

// Name returns the cluster's name.
func (p *Plane) Name() string { return p.name }

// Server returns the URL of the API server.
func (p *Plane) Server() string { return p.server }

// Dir returns the folder of the cluster's data, keys and logs.
func (p *Plane) Dir() string { return p.dir }

// Kubectl returns the path of a kubectl of the same version.
func (p *Plane) Kubectl() string { return p.bin.Path("kubectl") }

// Kubeconfig returns the path of the administrator's kubeconfig.
func (p *Plane) Kubeconfig() string { return filepath.Join(p.dir, "kubeconfig") }

// AuditLog returns the path of the audit log; the file exists only if auditing was asked for.
func (p *Plane) AuditLog() string { return filepath.Join(p.dir, "audit.log") }

// CACert returns the path of the authority's certificate.
func (p *Plane) CACert() string { return p.pki.file("ca.crt") }

// PIDs returns the process of each component that runs, by its name.
func (p *Plane) PIDs() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	pids := map[string]int{}
	for _, part := range p.parts {
		if part.alive() {
			pids[part.Name] = part.PID
		}
	}
	return pids
}

// ClientCert makes a client certificate for any user and groups.
func (p *Plane) ClientCert(user string, groups ...string) (certPEM, keyPEM []byte, err error) {
	return p.pki.issue(subject{user: user, groups: groups})
}

// KubeconfigFor writes a kubeconfig for any user and groups and returns its path.
func (p *Plane) KubeconfigFor(user string, groups ...string) (string, error) {
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%q %q", user, groups)
	path := filepath.Join(p.dir, "kubeconfig-"+hex.EncodeToString(hash.Sum(nil)))
	return path, p.writeKubeconfig(path, subject{user: user, groups: groups})
}

// RESTConfig returns a client configuration for the administrator. Its client-side rate limit is off, as the tests
// measure the server's limits and ours, not client-go's.
func (p *Plane) RESTConfig() (*rest.Config, error) {
	return p.RESTConfigFor(adminUser, adminGroup)
}

// RESTConfigFor returns a client configuration for any user and groups.
func (p *Plane) RESTConfigFor(user string, groups ...string) (*rest.Config, error) {
	certPEM, keyPEM, err := p.ClientCert(user, groups...)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:            p.server,
		QPS:             -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: encodeCert(p.pki.cert.Raw), CertData: certPEM, KeyData: keyPEM},
	}, nil
}

// Client returns a typed client for the administrator.
func (p *Plane) Client() (kubernetes.Interface, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.client != nil {
		return p.client, nil
	}
	config, err := p.RESTConfig()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for %q: %w", p.name, err)
	}
	p.client = client
	return client, nil
}

func (p *Plane) writeKubeconfig(path string, s subject) error {
	certPEM, keyPEM, err := p.pki.issue(s)
	if err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[p.name] = &clientcmdapi.Cluster{Server: p.server, CertificateAuthorityData: encodeCert(p.pki.cert.Raw)}
	config.AuthInfos[s.user] = &clientcmdapi.AuthInfo{ClientCertificateData: certPEM, ClientKeyData: keyPEM}
	config.Contexts[p.name] = &clientcmdapi.Context{Cluster: p.name, AuthInfo: s.user}
	config.CurrentContext = p.name
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("writing the kubeconfig of %q: %w", s.user, err)
	}
	return nil
}
