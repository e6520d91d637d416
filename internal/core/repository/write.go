package repository

import (
	"fmt"
	"hash/fnv"
	"maps"
	"strconv"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Same says that two URLs are spellings of one place.
func Same(a, b string) bool {
	x, _ := normal(a)
	y, _ := normal(b)
	return x == y
}

// SecretName is the name that the secret of an entry gets; others look for it by this name.
func SecretName(r Repository, many bool) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.URL))
	prefix := "repo"
	if many {
		prefix = "creds"
	} else {
		_, _ = h.Write([]byte(r.Project))
	}
	return fmt.Sprintf("%s-%d", prefix, h.Sum32())
}

// Write makes the data of a secret say what an entry says; keys that nobody here knows stay.
func Write(data map[string][]byte, r Repository, many bool) map[string][]byte {
	out := maps.Clone(data)
	if out == nil {
		out = map[string][]byte{}
	}
	put := func(key, value string) {
		delete(out, key)
		if value != "" {
			out[key] = []byte(value)
		}
	}
	flag := func(key string, on bool) {
		delete(out, key)
		if on {
			out[key] = []byte("true")
		}
	}
	number := func(key string, n int64) {
		delete(out, key)
		if n != 0 {
			out[key] = []byte(strconv.FormatInt(n, 10))
		}
	}
	put(v1alpha1.KeyRepoURL, r.URL)
	put(v1alpha1.KeyRepoType, string(r.Type))
	put(v1alpha1.KeyRepoProject, r.Project)
	put(v1alpha1.KeyRepoUsername, r.Username)
	put(v1alpha1.KeyRepoPassword, r.Password.Reveal())
	put(v1alpha1.KeyRepoBearerToken, r.BearerToken.Reveal())
	put(v1alpha1.KeyRepoSSHPrivateKey, r.SSHPrivateKey.Reveal())
	put(v1alpha1.KeyRepoTLSClientCertData, r.TLSClientCert)
	put(v1alpha1.KeyRepoTLSClientCertKey, r.TLSClientKey.Reveal())
	put(v1alpha1.KeyRepoGitHubAppPrivateKey, r.GitHubApp.PrivateKey.Reveal())
	put(v1alpha1.KeyRepoGitHubAppEnterpriseBaseURL, r.GitHubApp.BaseURL)
	number(v1alpha1.KeyRepoGitHubAppID, r.GitHubApp.ID)
	number(v1alpha1.KeyRepoGitHubAppInstallationID, r.GitHubApp.InstallationID)
	put(v1alpha1.KeyRepoProxy, r.Proxy)
	put(v1alpha1.KeyRepoNoProxy, r.NoProxy)
	flag(v1alpha1.KeyRepoForceHTTPBasicAuth, r.ForceBasicAuth)
	flag(v1alpha1.KeyRepoEnableOCI, r.EnableOCI)
	flag(v1alpha1.KeyRepoInsecureOCIForceHTTP, r.InsecureOCIForceHTTP)
	if many {
		return out
	}
	put(v1alpha1.KeyRepoName, r.Name)
	flag(v1alpha1.KeyRepoInsecure, r.Insecure)
	flag(v1alpha1.KeyRepoInsecureIgnoreHostKey, r.InsecureIgnoreHostKey)
	flag(v1alpha1.KeyRepoEnableLFS, r.EnableLFS)
	number(v1alpha1.KeyRepoDepth, int64(r.Depth))
	return out
}

// SignsIn says that an entry has a login.
func (r Repository) SignsIn() bool { return r.signsIn() }

// WithLogin is an entry with the login of another.
func (r Repository) WithLogin(of Repository) Repository {
	r.Username, r.Password, r.BearerToken, r.SSHPrivateKey = of.Username, of.Password, of.BearerToken, of.SSHPrivateKey
	r.TLSClientCert, r.TLSClientKey, r.GitHubApp = of.TLSClientCert, of.TLSClientKey, of.GitHubApp
	return r
}

// Hidden are the values of an entry that must not be told.
func (r Repository) Hidden() []string {
	var out []string
	for _, s := range []Secret{r.Password, r.BearerToken, r.SSHPrivateKey, r.TLSClientKey, r.GitHubApp.PrivateKey} {
		if text := strings.TrimSpace(s.Reveal()); text != "" {
			out = append(out, text)
		}
	}
	return out
}
