package settings

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/repository"
)

// knownKeys are the keys of repository secrets that are read. Those in it with
// false are only read for one repository, not for many.
var knownKeys = map[string]bool{
	v1alpha1.KeyRepoURL: true, v1alpha1.KeyRepoType: true, v1alpha1.KeyRepoName: true, v1alpha1.KeyRepoProject: true,
	v1alpha1.KeyRepoUsername: true, v1alpha1.KeyRepoPassword: true, v1alpha1.KeyRepoBearerToken: true,
	v1alpha1.KeyRepoSSHPrivateKey: true, v1alpha1.KeyRepoTLSClientCertData: true, v1alpha1.KeyRepoTLSClientCertKey: true,
	v1alpha1.KeyRepoGitHubAppID: true, v1alpha1.KeyRepoGitHubAppInstallationID: true,
	v1alpha1.KeyRepoGitHubAppPrivateKey: true, v1alpha1.KeyRepoGitHubAppEnterpriseBaseURL: true,
	v1alpha1.KeyRepoForceHTTPBasicAuth: true, v1alpha1.KeyRepoProxy: true, v1alpha1.KeyRepoNoProxy: true,
	v1alpha1.KeyRepoEnableOCI: true, v1alpha1.KeyRepoInsecureOCIForceHTTP: true,
	v1alpha1.KeyRepoInsecure: false, v1alpha1.KeyRepoInsecureIgnoreHostKey: false, v1alpha1.KeyRepoEnableLFS: false,
	v1alpha1.KeyRepoDepth: false,
}

// ParseRepository reads the data of a repository secret; many says that it is
// for all repositories whose URL begins as its own. Problems name keys, never
// values: most of them are secrets. Keys that have no value count as absent.
func ParseRepository(data map[string][]byte, many bool) (repository.Repository, []string) {
	in := secretReader{data: data}
	r := repository.Repository{
		URL:                   in.text(v1alpha1.KeyRepoURL),
		Type:                  in.kind(),
		Name:                  in.text(v1alpha1.KeyRepoName),
		Project:               in.text(v1alpha1.KeyRepoProject),
		Username:              in.line(v1alpha1.KeyRepoUsername),
		Password:              repository.NewSecret(in.line(v1alpha1.KeyRepoPassword)),
		BearerToken:           repository.NewSecret(in.line(v1alpha1.KeyRepoBearerToken)),
		SSHPrivateKey:         repository.NewSecret(string(data[v1alpha1.KeyRepoSSHPrivateKey])),
		TLSClientCert:         string(data[v1alpha1.KeyRepoTLSClientCertData]),
		TLSClientKey:          repository.NewSecret(string(data[v1alpha1.KeyRepoTLSClientCertKey])),
		ForceBasicAuth:        in.flag(v1alpha1.KeyRepoForceHTTPBasicAuth),
		EnableOCI:             in.flag(v1alpha1.KeyRepoEnableOCI),
		InsecureOCIForceHTTP:  in.flag(v1alpha1.KeyRepoInsecureOCIForceHTTP),
		Insecure:              !many && in.flag(v1alpha1.KeyRepoInsecure),
		InsecureIgnoreHostKey: !many && in.flag(v1alpha1.KeyRepoInsecureIgnoreHostKey),
		EnableLFS:             !many && in.flag(v1alpha1.KeyRepoEnableLFS),
		Proxy:                 in.text(v1alpha1.KeyRepoProxy),
		NoProxy:               in.text(v1alpha1.KeyRepoNoProxy),
		GitHubApp: repository.GitHubApp{
			ID:             in.number(v1alpha1.KeyRepoGitHubAppID),
			InstallationID: in.number(v1alpha1.KeyRepoGitHubAppInstallationID),
			PrivateKey:     repository.NewSecret(string(data[v1alpha1.KeyRepoGitHubAppPrivateKey])),
			BaseURL:        in.text(v1alpha1.KeyRepoGitHubAppEnterpriseBaseURL),
		},
	}
	if !many {
		r.Depth = int(in.number(v1alpha1.KeyRepoDepth))
	}
	if r.URL == "" {
		in.problem(v1alpha1.KeyRepoURL, "is missing, so that the secret counts for nothing")
	}
	r.NotHonoured = notHonoured(data, many)
	return r, in.problems
}

// notHonoured are the keys that ask for something and are not read.
func notHonoured(data map[string][]byte, many bool) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(data)) {
		value := strings.TrimSpace(string(data[key]))
		always, known := knownKeys[key]
		if value == "" || value == "false" || value == "0" || known && (always || !many) {
			continue
		}
		out = append(out, key)
	}
	return out
}

// secretReader reads values and collects what is wrong with them.
type secretReader struct {
	data     map[string][]byte
	problems []string
}

func (r *secretReader) problem(key, what string) {
	r.problems = append(r.problems, fmt.Sprintf("%s %s", key, what))
}

func (r *secretReader) text(key string) string { return strings.TrimSpace(string(r.data[key])) }

// line drops the end of the line that editors and `echo` leave: no login has
// one, and no protocol could carry it.
func (r *secretReader) line(key string) string { return strings.TrimRight(string(r.data[key]), "\r\n") }

func (r *secretReader) flag(key string) bool {
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

func (r *secretReader) number(key string) int64 {
	text := r.text(key)
	if text == "" {
		return 0
	}
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil || value < 0 {
		r.problem(key, "is not a number; it counts as absent")
		return 0
	}
	return value
}

func (r *secretReader) kind() repository.Type {
	switch kind := repository.Type(r.text(v1alpha1.KeyRepoType)); kind {
	case "", repository.Git, repository.Helm, repository.OCI:
		return kind
	default:
		r.problem(v1alpha1.KeyRepoType, "is none of git, helm and oci; it counts as git")
		return ""
	}
}
