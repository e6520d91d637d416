package roster_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/core/roster"
)

var reveal = cmp.AllowUnexported(repository.Secret{})

// The names are those that Argo CD gives: an installation has them already.
func TestSecretName(t *testing.T) {
	for server, want := range map[string]string{
		"http://foo": "cluster-foo-752281925",
		"http://thelongestdomainnameintheworld.argocd-project.com:3000": "cluster-thelongestdomainnameintheworld.argocd-project.com-2721640553",
		"http://[fe80::1ff:fe23:4567:890a]":                             "cluster-fe80--1ff-fe23-4567-890a-3877258831",
		"http://[FE80::1FF:FE23:4567:890A]:8000":                        "cluster-fe80--1ff-fe23-4567-890a-682802007",
	} {
		got, err := roster.SecretName(server)
		if err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", server, got, err, want)
		}
	}
	for _, server := range []string{"", "prod", "https://", "10.0.0.1:6443"} {
		if got, err := roster.SecretName(server); err == nil {
			t.Errorf("%q is taken for a server: %q", server, got)
		}
	}
}

func whole() roster.Cluster {
	return roster.Cluster{
		Name: "prod", Server: "https://10.0.0.1:6443", Namespaces: []string{"shop", "shop-test"}, ClusterResources: true,
		Shard: new(int64(3)), Project: "retail",
		Labels: map[string]string{"tier": "prod"}, Annotations: map[string]string{"owner": "jane"},
		Config: roster.Config{
			Username: "jane", Password: repository.NewSecret("hush-password"), BearerToken: repository.NewSecret("hush-token"),
			TLS: roster.TLS{ServerName: "api", CAData: []byte("ca"), CertData: []byte("cert"), KeyData: repository.NewSecret("hush-key")},
			AWS: &roster.AWS{ClusterName: "prod", RoleARN: "arn", Profile: "deployer"},
			Exec: &roster.Exec{
				Command: "login", Args: []repository.Secret{repository.NewSecret("--token=hush-arg")},
				Env: map[string]repository.Secret{"TOKEN": repository.NewSecret("hush-env")}, APIVersion: "v1", InstallHint: "install it",
			},
			DisableCompression: true, ProxyURL: "http://jane:hush-proxy@proxy:3128",
		},
	}
}

func TestWrittenIsRead(t *testing.T) {
	s, err := roster.Write(whole())
	if err != nil {
		t.Fatal(err)
	}
	want := roster.Entry{Cluster: whole(), Secret: "cluster-10.0.0.1-" + s.Name[len("cluster-10.0.0.1-"):], Managed: true}
	if d := cmp.Diff(want, roster.Read(s), reveal); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if s.Labels["argocd.argoproj.io/secret-type"] != "cluster" || s.Annotations["managed-by"] != "argocd.argoproj.io" {
		t.Errorf("the hub would not take it for a cluster: %v, %v", s.Labels, s.Annotations)
	}
	// In the words of Argo CD, logins and all.
	var config map[string]any
	if err := json.Unmarshal(s.Data["config"], &config); err != nil {
		t.Fatal(err)
	}
	tls, _ := config["tlsClientConfig"].(map[string]any)
	if config["bearerToken"] != "hush-token" || tls["keyData"] != base64.StdEncoding.EncodeToString([]byte("hush-key")) || tls["insecure"] != false {
		t.Errorf("the config is %s", s.Data["config"])
	}
}

// However a cluster is printed, nothing of its login is told.
func TestNothingIsTold(t *testing.T) {
	s, err := roster.Write(whole())
	if err != nil {
		t.Fatal(err)
	}
	s.Annotations["kubectl.kubernetes.io/last-applied-configuration"] = `{"data":{"config":"hush-applied"}}`
	e := roster.Read(s)
	asJSON, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(asJSON), fmt.Sprintf("%v %+v", e, e.Config)} {
		if i := strings.Index(text, "hush"); i >= 0 {
			t.Errorf("a login is told: …%s", text[i:min(len(text), i+40)])
		}
	}
	if !strings.Contains(string(asJSON), `"proxyUrl":"http://proxy:3128"`) {
		t.Errorf("the proxy is not shown: %s", asJSON)
	}
}

// The words of a decoder may have a piece of what they could not decode.
func TestBrokenSecrets(t *testing.T) {
	for name, test := range map[string]struct{ key, value, says string }{
		"no JSON":    {"config", `{"bearerToken": "hush", hush}`, `it is not JSON from byte 25 on`},
		"wrong type": {"config", `{"bearerToken": ["hush"]}`, `bearerToken must be of type string`},
		"no base64":  {"config", `{"tlsClientConfig":{"keyData":"hush!"}}`, "base64"},
		"no server":  {"server", "", `secret "s" has no "server"`},
	} {
		t.Run(name, func(t *testing.T) {
			data := map[string][]byte{"server": []byte("https://a"), "config": []byte("{}")}
			data[test.key] = []byte(test.value)
			e := roster.Read(roster.Secret{Name: "s", Data: data})
			if !strings.Contains(e.Problem, test.says) || strings.Contains(e.Problem, "hush") {
				t.Errorf("problem is %q, want %q", e.Problem, test.says)
			}
		})
	}
}

// What nobody here knows stays, in the config too.
func TestChange(t *testing.T) {
	before := roster.Secret{
		Name: "s",
		Data: map[string][]byte{
			"name": []byte("prod"), "server": []byte("https://a"), "namespaces": []byte("shop"), "foreign": []byte("x"),
			"config": []byte(`{"bearerToken":"old","future":{"a":1}}`),
		},
		Labels: map[string]string{"argocd.argoproj.io/secret-type": "cluster", "tier": "prod", "gone": "yes"},
	}
	got, err := roster.Change(before, roster.Edit{
		Name: new("production"), Namespaces: &[]string{}, Labels: map[string]*string{"tier": new("top"), "gone": nil},
		Token: repository.NewSecret("new"), Old: repository.NewSecret("old"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := roster.Secret{
		Name: "s",
		Data: map[string][]byte{
			"name": []byte("production"), "server": []byte("https://a"), "foreign": []byte("x"),
			"config": []byte(`{"bearerToken":"new","future":{"a":1}}`),
		},
		Labels:      map[string]string{"argocd.argoproj.io/secret-type": "cluster", "tier": "top"},
		Annotations: map[string]string{},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if string(before.Data["name"]) != "prod" || before.Labels["tier"] != "prod" {
		t.Error("what stood was changed too")
	}
	_, err = roster.Change(got, roster.Edit{Token: repository.NewSecret("newer"), Old: repository.NewSecret("old")})
	if !errors.Is(err, roster.ErrTokenMoved) {
		t.Errorf("a token that somebody else replaced is replaced: %v", err)
	}
}

func TestFind(t *testing.T) {
	entries := []roster.Entry{
		{Cluster: roster.Cluster{Name: "prod", Server: "https://a"}},
		{Cluster: roster.Cluster{Name: "https://b", Server: "https://b"}},
		{Cluster: roster.Cluster{Name: "prod", Server: "https://c"}},
	}
	for selector, want := range map[string]int{"prod": 2, "https://a/": 1, "https://b": 1, "a": 0, "": 0} {
		if got := len(roster.Find(entries, selector)); got != want {
			t.Errorf("%q finds %d, want %d", selector, got, want)
		}
	}
}

func TestDifferences(t *testing.T) {
	stands := whole()
	stands.Labels["argocd.argoproj.io/kubernetes-version"] = "v1.34.0"
	wanted := whole()
	wanted.Config.BearerToken = repository.NewSecret("another")
	if d := roster.Differences(stands, wanted); len(d) > 0 {
		t.Errorf("a new token or a label of others is a difference: %q", d)
	}
	wanted.Project, wanted.Shard, wanted.Namespaces, wanted.Labels["tier"] = "", nil, nil, "test"
	if d := cmp.Diff([]string{"namespaces", "shard", "project", "labels"}, roster.Differences(stands, wanted)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestTokenOf(t *testing.T) {
	jwt := func(claims string) repository.Secret {
		return repository.NewSecret("head." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".sign")
	}
	value := jwt(`{"kubernetes.io/serviceaccount/namespace":"kube-system","kubernetes.io/serviceaccount/secret.name":"s",
		"kubernetes.io/serviceaccount/service-account.name":"argocd-manager"}`)
	got, ok := roster.TokenOf(value)
	want := roster.Token{Account: roster.Account{Namespace: "kube-system", Name: "argocd-manager"}, Secret: "s", Value: value}
	if d := cmp.Diff(want, got, reveal); d != "" || !ok {
		t.Errorf("%t (-want +got):\n%s", ok, d)
	}
	for name, value := range map[string]repository.Secret{
		"short-lived": jwt(`{"kubernetes.io":{"namespace":"kube-system"}}`), "opaque": repository.NewSecret("abc"), "none": {},
		"not encoded": repository.NewSecret("a.!.c"),
	} {
		if _, ok := roster.TokenOf(value); ok {
			t.Errorf("a token that is %s tells where it is kept", name)
		}
	}
}
