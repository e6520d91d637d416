package sso

import (
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// readDex reads dex.config.
func (c *Config) readDex(text string, in Input) {
	var w struct {
		Connectors []Connector `json:"connectors"`
	}
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		c.problem(v1alpha1.KeyDexConfig, "it is no YAML with a list of connectors; nobody can sign in by it")
		return
	}
	if len(w.Connectors) == 0 {
		c.problem(v1alpha1.KeyDexConfig, "it has no connectors; nobody can sign in by it")
		return
	}
	value := func(variable, key string) string {
		if in.Getenv != nil && in.Getenv(variable) != "" {
			return in.Getenv(variable)
		}
		return in.Params[key]
	}
	flag := func(variable, key string) bool {
		on, err := strconv.ParseBool(value(variable, key))
		return err == nil && on
	}
	address := value(v1alpha1.EnvDexServer, v1alpha1.KeyParamDexServer)
	if address == "" {
		address = v1alpha1.DefaultDexServer
	}
	if !strings.Contains(address, "://") {
		scheme := "https://"
		if flag(v1alpha1.EnvDexServerPlainText, v1alpha1.KeyParamDexServerPlainText) {
			scheme = "http://"
		}
		address = scheme + address
	}
	c.Dex = &Dex{
		Address: strings.TrimRight(address, "/"), Connectors: w.Connectors, ConnectorID: in.Data[v1alpha1.KeyDexConnectorID],
		Strict: flag(v1alpha1.EnvDexServerStrictTLS, v1alpha1.KeyParamDexServerStrictTLS),
	}
	c.Name, c.Issuer = "Dex", c.URL+v1alpha1.DexPath
	c.ClientID, c.CLIClientID, c.ClientSecret = v1alpha1.DexClient, v1alpha1.DexCLIClient, DexSecret(in.Key)
	c.Audiences, c.Scopes = clients(c.ClientID, c.CLIClientID), DexScopes()
}

// redirecting are the connectors of Dex to which somebody has to come back.
var redirecting = map[string]bool{
	"oidc": true, "saml": true, "microsoft": true, "linkedin": true, "gitlab": true, "github": true, "bitbucket-cloud": true,
	"openshift": true, "gitea": true, "google": true, "oauth": true,
}

// WriteDex is the configuration of the Dex that runs beside: dex.config with what it does not say. It holds secrets.
func WriteDex(in Input) (text []byte, problems []string, err error) {
	c := Read(in)
	if c.Dex == nil || c.URL == "" {
		return nil, c.Problems, fmt.Errorf("%s of config map %q and %s say no Dex: %s", v1alpha1.KeyDexConfig, v1alpha1.ConfigMapSettings,
			v1alpha1.KeyURL, strings.Join(c.Problems, "; "))
	}
	var tree map[string]any
	if err := yaml.Unmarshal([]byte(in.Data[v1alpha1.KeyDexConfig]), &tree); err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", v1alpha1.KeyDexConfig, err)
	}
	for _, reference := range expand(tree, in.Lookup) {
		problems = append(problems, fmt.Sprintf("%s: it refers to %s, which is not there", v1alpha1.KeyDexConfig, reference))
	}
	tree["issuer"] = c.Issuer
	fill(tree, "storage", map[string]any{"type": "memory"})
	web := map[string]any{"https": "0.0.0.0:5556", "tlsCert": "/etc/dex/tls/tls.crt", "tlsKey": "/etc/dex/tls/tls.key"}
	if strings.HasPrefix(c.Dex.Address, "http://") {
		web = map[string]any{"http": "0.0.0.0:5556"}
	}
	fill(tree, "web", web)
	fill(tree, "oauth2", map[string]any{"skipApprovalScreen": true})
	var back []any
	for _, base := range c.bases() {
		back = append(back, base+callbackPath)
	}
	ours := []any{
		map[string]any{"id": c.ClientID, "name": "Argo CD", "secret": c.ClientSecret.Reveal(), "redirectURIs": back},
		// A public client that names no addresses comes back to any port of its own machine.
		map[string]any{"id": c.CLIClientID, "name": "Argo CD CLI", "public": true},
	}
	if more, is := tree["staticClients"].([]any); is {
		ours = append(ours, more...)
	}
	tree["staticClients"] = ours
	comeBack(tree["connectors"], c.URL+v1alpha1.DexPath+"/callback")
	text, err = yaml.Marshal(tree)
	if err != nil {
		return nil, nil, fmt.Errorf("writing the configuration of Dex: %w", err)
	}
	return text, problems, nil
}

func fill(tree map[string]any, key string, value any) {
	if _, there := tree[key]; !there {
		tree[key] = value
	}
}

// comeBack tells connectors where people come back to from there.
func comeBack(list any, address string) {
	connectors, is := list.([]any)
	if !is {
		return
	}
	for _, one := range connectors {
		c, is := one.(map[string]any)
		if !is {
			continue
		}
		kind, _ := c["type"].(string)
		if !redirecting[kind] {
			continue
		}
		config, is := c["config"].(map[string]any)
		if !is {
			config = map[string]any{}
			c["config"] = config
		}
		config["redirectURI"] = address
	}
}
