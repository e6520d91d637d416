package roster

import (
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"
)

// Kubeconfig is a file with which kubectl talks to a cluster as the hub does, login and all. Where only the controller can
// make the login there is none.
func Kubeconfig(c Cluster) ([]byte, error) {
	user := map[string]any{}
	put := func(key string, value any, given bool) {
		if given {
			user[key] = value
		}
	}
	l := c.Config
	if l.AWS != nil {
		return nil, &ElsewhereError{Login: l.Login()}
	}
	put("token", l.BearerToken.Reveal(), !l.BearerToken.Empty())
	put("username", l.Username, l.Username != "")
	put("password", l.Password.Reveal(), !l.Password.Empty())
	put("client-certificate-data", l.TLS.CertData, len(l.TLS.CertData) > 0)
	put("client-key-data", []byte(l.TLS.KeyData.Reveal()), !l.TLS.KeyData.Empty())
	if e := l.Exec; e != nil {
		var args []string
		for _, a := range e.Args {
			args = append(args, a.Reveal())
		}
		var env []map[string]string
		for _, k := range slices.Sorted(maps.Keys(e.Env)) {
			env = append(env, map[string]string{"name": k, "value": e.Env[k].Reveal()})
		}
		user["exec"] = map[string]any{
			"apiVersion": e.APIVersion, "command": e.Command, "args": args, "env": env, "installHint": e.InstallHint,
			"provideClusterInfo": e.ProvideClusterInfo, "interactiveMode": "Never",
		}
	}
	cluster := map[string]any{"server": c.Server}
	if l.TLS.Insecure {
		cluster["insecure-skip-tls-verify"] = true
	} else if len(l.TLS.CAData) > 0 {
		cluster["certificate-authority-data"] = l.TLS.CAData
	}
	if l.TLS.ServerName != "" {
		cluster["tls-server-name"] = l.TLS.ServerName
	}
	if l.ProxyURL != "" {
		cluster["proxy-url"] = string(l.ProxyURL)
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": c.Name,
		"clusters": []any{map[string]any{"name": c.Name, "cluster": cluster}},
		"users":    []any{map[string]any{"name": c.Name, "user": user}},
		"contexts": []any{map[string]any{"name": c.Name, "context": map[string]any{"cluster": c.Name, "user": c.Name}}},
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the kubeconfig: %w", err)
	}
	return text, nil
}
