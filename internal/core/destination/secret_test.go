package destination_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/secret"
)

func clusterSecret(data map[string]string) destination.Secret {
	s := destination.Secret{Name: "prod", Data: map[string][]byte{}}
	for k, v := range data {
		s.Data[k] = []byte(v)
	}
	return s
}

func TestRead(t *testing.T) {
	full := clusterSecret(map[string]string{
		"name": "prod", "server": "https://prod.example.com/", "project": "team", "namespaces": "web, db,,web ", "clusterResources": "true",
		"shard": "2", "config": `{
			"username": "u", "password": "hunter2", "bearerToken": "hunter2\n",
			"tlsClientConfig": {"serverName": "api", "caData": "Q0E=", "certData": "Q0VSVA==", "keyData": "aHVudGVyMg=="},
			"proxyUrl": "http://proxy", "disableCompression": true}`,
	})
	full.Labels = map[string]string{"stage": "prod"}
	full.Annotations = map[string]string{
		"kubectl.kubernetes.io/last-applied-configuration": "hunter2", "argocd.argoproj.io/skip-reconcile": "true",
		"argocd.argoproj.io/refresh": "2026-01-02T03:04:05Z",
	}
	got, problems := destination.Read(full)
	want := destination.Cluster{
		Secret: "prod", Name: "prod", Server: "https://prod.example.com", Project: "team", Namespaces: []string{"db", "web"},
		ClusterResources: true, Shard: new(2), Labels: map[string]string{"stage": "prod"}, Skip: true, Refresh: "2026-01-02T03:04:05Z",
		Annotations: map[string]string{
			"argocd.argoproj.io/skip-reconcile": "true", "argocd.argoproj.io/refresh": "2026-01-02T03:04:05Z",
		},
		Config: destination.Config{
			Username: "u", Password: secret.New("hunter2"), BearerToken: secret.New("hunter2"),
			TLS:      destination.TLS{ServerName: "api", CAData: "CA", CertData: "CERT", KeyData: secret.New("hunter2")},
			ProxyURL: "http://proxy", DisableCompression: true,
		},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(secret.Text{})); d != "" || len(problems) > 0 {
		t.Errorf("it is read otherwise (-want +got):\n%s\n%q", d, problems)
	}
	if told := fmt.Sprintf("%+v", got); strings.Contains(told, "hunter2") {
		t.Errorf("a secret is told: %s", told)
	}
}

func TestReadProblems(t *testing.T) {
	cases := map[string]struct {
		data     map[string]string
		problems []string
		broken   string
	}{
		"no server": {map[string]string{"name": "a"}, []string{"server is missing, so that the secret counts for nothing"}, ""},
		"not JSON": {
			map[string]string{"server": "https://a", "config": `{"password": "hunter2" "`},
			[]string{"config cannot be read, so that the cluster cannot be used: it is not JSON from byte 24 on"},
			"it is not JSON",
		},
		"a wrong type": {
			map[string]string{"server": "https://a", "config": `{"tlsClientConfig": {"insecure": "hunter2"}}`},
			[]string{"config cannot be read, so that the cluster cannot be used: tlsClientConfig.insecure must be of type bool"},
			"tlsClientConfig.insecure",
		},
		"unknown keys": {
			map[string]string{"server": "https://a", "colour": "hunter2", "config": `{"BearerToken": "t", "token": "x", "execProviderConfig": {"command": "c", "config": {}}}`},
			[]string{
				`config has the key "execproviderconfig.config", which is not honoured`, `config has the key "token", which is not honoured`,
				"colour is not a key of a cluster secret; it counts for nothing",
			},
			"",
		},
		"insecure and an authority": {
			map[string]string{"server": "https://a", "config": `{"tlsClientConfig": {"insecure": true, "caData": "Q0E="}}`},
			[]string{"config has tlsClientConfig.insecure and caData; caData counts for nothing"},
			"",
		},
		"numbers and flags": {
			map[string]string{"server": "https://a", "shard": "x", "clusterResources": "maybe"},
			[]string{"clusterResources is neither true nor false; it counts as false", "shard is not a number; it counts as absent"},
			"",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, problems := destination.Read(clusterSecret(c.data))
			if d := cmp.Diff(c.problems, problems); d != "" {
				t.Errorf("the problems differ (-want +got):\n%s", d)
			}
			if !strings.Contains(got.Broken, c.broken) || c.broken == "" && got.Broken != "" {
				t.Errorf("it is broken by %q", got.Broken)
			}
			if strings.Contains(fmt.Sprint(problems, got.Broken), "hunter2") {
				t.Error("a value is told")
			}
		})
	}
}

func TestReadAWS(t *testing.T) {
	config := `{"execProviderConfig": {"command": "argocd-k8s-auth", "apiVersion": "client.authentication.k8s.io/v1beta1",
		"args": ["aws", "--cluster-name", "shop", "--role-arn=arn:aws:iam::1:role/x", "--verbose=yes"], "env": {"AWS_REGION": "eu-west-1"}}}`
	got, problems := destination.Read(clusterSecret(map[string]string{"server": "https://a", "config": config}))
	want := &destination.AWS{ClusterName: "shop", RoleARN: "arn:aws:iam::1:role/x", Env: map[string]secret.Text{"AWS_REGION": secret.New("eu-west-1")}}
	if d := cmp.Diff(want, got.Config.AWS, cmp.AllowUnexported(secret.Text{})); d != "" || got.Config.Exec != nil {
		t.Errorf("it is read otherwise (-want +got):\n%s", d)
	}
	if len(problems) != 1 || !strings.Contains(problems[0], `"--verbose"`) {
		t.Errorf("the problems are %q", problems)
	}
	got, _ = destination.Read(clusterSecret(map[string]string{"server": "https://a", "config": strings.Replace(config, `"aws"`, `"gcp"`, 1)}))
	if got.Config.AWS != nil || got.Config.Exec == nil {
		t.Error("another cloud is taken for AWS")
	}
	got, _ = destination.Read(clusterSecret(map[string]string{"server": "https://a", "config": `{"awsAuthConfig": {"clusterName": "shop", "roleARN": "r", "profile": "p"}}`}))
	if d := cmp.Diff(&destination.AWS{ClusterName: "shop", RoleARN: "r", Profile: "p"}, got.Config.AWS); d != "" {
		t.Error(d)
	}
}
