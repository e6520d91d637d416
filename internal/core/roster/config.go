package roster

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/repository"
)

// wire is Config as a secret has it, logins and all. It does not leave this file.
type wire struct {
	Username           string    `json:"username,omitempty"`
	Password           string    `json:"password,omitempty"`
	BearerToken        string    `json:"bearerToken,omitempty"`
	TLS                wireTLS   `json:"tlsClientConfig"`
	AWS                *AWS      `json:"awsAuthConfig,omitempty"`
	Exec               *wireExec `json:"execProviderConfig,omitempty"`
	DisableCompression bool      `json:"disableCompression,omitempty"`
	ProxyURL           string    `json:"proxyUrl,omitempty"`
}

type wireTLS struct {
	Insecure   bool   `json:"insecure"`
	ServerName string `json:"serverName,omitempty"`
	CAData     []byte `json:"caData,omitempty"`
	CertData   []byte `json:"certData,omitempty"`
	KeyData    []byte `json:"keyData,omitempty"`
}

type wireExec struct {
	Command     string            `json:"command,omitempty"`
	Args        []string          `json:"args,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	APIVersion  string            `json:"apiVersion,omitempty"`
	InstallHint string            `json:"installHint,omitempty"`
	Info        bool              `json:"provideClusterInfo,omitempty"`
}

// configOf is a config as it is shown.
func configOf(c destination.Config) Config {
	out := Config{
		Username: c.Username, Password: c.Password, BearerToken: c.BearerToken,
		TLS: TLS{
			Insecure: c.TLS.Insecure, ServerName: c.TLS.ServerName, CAData: bytesOf(c.TLS.CAData), CertData: bytesOf(c.TLS.CertData),
			KeyData: c.TLS.KeyData,
		},
		DisableCompression: c.DisableCompression, ProxyURL: ProxyURL(c.ProxyURL),
	}
	if a := c.AWS; a != nil {
		out.AWS = &AWS{ClusterName: a.ClusterName, RoleARN: a.RoleARN, Profile: a.Profile}
	}
	if e := c.Exec; e != nil {
		out.Exec = NewExec(e.Command, e.Args, nil)
		out.Exec.Env = e.Env
		out.Exec.APIVersion, out.Exec.InstallHint, out.Exec.ProvideClusterInfo = e.APIVersion, e.InstallHint, e.ProvideClusterInfo
	}
	return out
}

func bytesOf(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}

// NewExec hides what a program is given.
func NewExec(command string, args []string, env map[string]string) *Exec {
	e := &Exec{Command: command}
	for _, a := range args {
		e.Args = append(e.Args, repository.NewSecret(a))
	}
	if len(env) > 0 {
		e.Env = map[string]repository.Secret{}
	}
	for k, v := range env {
		e.Env[k] = repository.NewSecret(v)
	}
	return e
}

func writeConfig(c Config) ([]byte, error) {
	w := wire{
		Username: c.Username, Password: c.Password.Reveal(), BearerToken: c.BearerToken.Reveal(),
		TLS: wireTLS{
			Insecure: c.TLS.Insecure, ServerName: c.TLS.ServerName, CAData: c.TLS.CAData,
			CertData: c.TLS.CertData, KeyData: []byte(c.TLS.KeyData.Reveal()),
		},
		AWS: c.AWS, DisableCompression: c.DisableCompression, ProxyURL: string(c.ProxyURL),
	}
	if e := c.Exec; e != nil {
		w.Exec = &wireExec{Command: e.Command, APIVersion: e.APIVersion, InstallHint: e.InstallHint, Info: e.ProvideClusterInfo}
		for _, a := range e.Args {
			w.Exec.Args = append(w.Exec.Args, a.Reveal())
		}
		if len(e.Env) > 0 {
			w.Exec.Env = map[string]string{}
		}
		for k, v := range e.Env {
			w.Exec.Env[k] = v.Reveal()
		}
	}
	return json.Marshal(w)
}

// badConfig says where a config is wrong. The words of the decoder could have a piece of the login in them.
func badConfig(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("no JSON, at byte %d", syntax.Offset)
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("field %q is of the wrong type", kind.Field)
	}
	return errors.New("a field cannot be decoded; are caData, certData and keyData base64?")
}
