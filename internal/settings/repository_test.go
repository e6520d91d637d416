package settings_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/settings"
)

func TestParseRepository(t *testing.T) {
	hide := repository.NewSecret
	for name, test := range map[string]struct {
		data     map[string]string
		many     bool
		want     repository.Repository
		problems []string
	}{
		"a login": {
			data: map[string]string{
				"url": "https://example.com/shop\n", "type": "git", "name": "shop", "project": "blue",
				"username": "bot\n", "password": " hunter2 \n", "proxy": "http://proxy:3128", "noProxy": "a,b", "depth": "3",
			},
			want: repository.Repository{
				URL: "https://example.com/shop", Type: repository.Git, Name: "shop", Project: "blue",
				Username: "bot", Password: hide(" hunter2 "), Proxy: "http://proxy:3128", NoProxy: "a,b", Depth: 3,
			},
		},
		"keys and certificates": {
			data: map[string]string{
				"url": "git@example.com:shop", "sshPrivateKey": "KEY\n", "tlsClientCertData": "CERT", "tlsClientCertKey": "PRIVATE",
				"bearerToken": "token", "githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": "APP\n",
				"githubAppEnterpriseBaseUrl": "https://ghe/api/v3",
			},
			want: repository.Repository{
				URL: "git@example.com:shop", SSHPrivateKey: hide("KEY\n"), TLSClientCert: "CERT", TLSClientKey: hide("PRIVATE"),
				BearerToken: hide("token"),
				GitHubApp:   repository.GitHubApp{ID: 1, InstallationID: 2, PrivateKey: hide("APP\n"), BaseURL: "https://ghe/api/v3"},
			},
		},
		"switches": {
			data: map[string]string{
				"url": "oci://example.com", "type": "oci", "insecure": "true", "insecureIgnoreHostKey": "true", "enableLfs": "true",
				"enableOCI": "true", "insecureOCIForceHttp": "true", "forceHttpBasicAuth": "true", "useAzureWorkloadIdentity": "false",
			},
			want: repository.Repository{
				URL: "oci://example.com", Type: repository.OCI, Insecure: true, InsecureIgnoreHostKey: true, EnableLFS: true,
				EnableOCI: true, InsecureOCIForceHTTP: true, ForceBasicAuth: true,
			},
		},
		"what is not honoured": {
			data: map[string]string{
				"url": "https://example.com", "gcpServiceAccountKey": "{}", "useAzureWorkloadIdentity": "true",
				"azureServicePrincipalClientId": "x", "webhookManifestCacheWarmDisabled": "true", "somethingNew": "x",
			},
			want: repository.Repository{URL: "https://example.com", NotHonoured: []string{
				"azureServicePrincipalClientId", "gcpServiceAccountKey", "somethingNew", "useAzureWorkloadIdentity",
				"webhookManifestCacheWarmDisabled",
			}},
		},
		"many repositories do not have the switches of one": {
			data: map[string]string{"url": "https://example.com", "insecure": "true", "enableLfs": "true", "depth": "1", "username": "bot"},
			many: true,
			want: repository.Repository{
				URL: "https://example.com", Username: "bot", NotHonoured: []string{"depth", "enableLfs", "insecure"},
			},
		},
		"mistakes": {
			data: map[string]string{"insecure": "hunter2", "type": "hunter2", "githubAppID": "hunter2", "depth": "-1"},
			want: repository.Repository{},
			problems: []string{
				"type is none of git, helm and oci; it counts as git", "insecure is neither true nor false; it counts as false",
				"githubAppID is not a number; it counts as absent", "depth is not a number; it counts as absent",
				"url is missing, so that the secret counts for nothing",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			data := map[string][]byte{}
			for key, value := range test.data {
				data[key] = []byte(value)
			}
			got, problems := settings.ParseRepository(data, test.many)
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(repository.Secret{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(test.problems, problems); diff != "" {
				t.Errorf("problems (-want +got)\n%s", diff)
			}
			if strings.Contains(strings.Join(problems, " "), "hunter2") {
				t.Errorf("a value is told: %v", problems)
			}
		})
	}
}
