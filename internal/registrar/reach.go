package registrar

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/roster"
)

// reach is how to talk to a cluster from this machine, with the login that the hub has.
func (h *Hub) reach(c roster.Cluster) (*rest.Config, error) {
	if c.Config.AWS != nil || c.Config.Exec != nil {
		return nil, &roster.ElsewhereError{Login: c.Config.Login()}
	}
	if c.Server != v1alpha1.InClusterServer {
		return configOf(c)
	}
	// The address is good inside of the cluster only; from here the hub is where we found it.
	if c.Config.Login() == "none" {
		return rest.CopyConfig(h.config), nil
	}
	config, err := configOf(c)
	if err != nil {
		return nil, err
	}
	config.Host, config.Proxy = h.config.Host, h.config.Proxy
	trust := h.config.TLSClientConfig
	config.Insecure, config.ServerName, config.CAData, config.CAFile = trust.Insecure, trust.ServerName, trust.CAData, trust.CAFile
	return config, nil
}

func configOf(c roster.Cluster) (*rest.Config, error) {
	l := c.Config
	config := &rest.Config{
		Host: c.Server, UserAgent: "towline", DisableCompression: l.DisableCompression,
		Username: l.Username, Password: l.Password.Reveal(), BearerToken: l.BearerToken.Reveal(),
		TLSClientConfig: rest.TLSClientConfig{
			Insecure: l.TLS.Insecure, ServerName: l.TLS.ServerName, CAData: l.TLS.CAData,
			CertData: l.TLS.CertData, KeyData: []byte(l.TLS.KeyData.Reveal()),
		},
	}
	if l.TLS.Insecure {
		config.CAData = nil // client-go takes either
	}
	if l.ProxyURL != "" {
		proxy, err := url.Parse(string(l.ProxyURL))
		if err != nil {
			return nil, fmt.Errorf("reading the address of its proxy: it is no URL")
		}
		config.Proxy = http.ProxyURL(proxy)
	}
	return config, nil
}

// readVersion is the version as lists of clusters have it, as in 1.34.
func readVersion(body []byte) (string, error) {
	var v version.Info
	if err := json.Unmarshal(body, &v); err != nil || v.Major == "" {
		return "", fmt.Errorf("the server did not answer as a Kubernetes API does")
	}
	return v.Major + "." + strings.TrimRight(v.Minor, "+"), nil
}
