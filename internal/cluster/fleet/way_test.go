package fleet

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/secret"
)

func newSecret(text string) secret.Text { return secret.New(text) }

// Whoever has a say in requests has it for every way to another cluster.
func TestEveryWayIsGuarded(t *testing.T) {
	for name, c := range map[string]destination.Config{
		"a token":     {BearerToken: newSecret("t")},
		"a proxy":     {ProxyURL: "http://proxy:3128"},
		"Amazon":      {AWS: &destination.AWS{ClusterName: "c"}},
		"a program":   {Exec: &destination.Exec{Command: "/bin/true", APIVersion: "client.authentication.k8s.io/v1beta1"}},
		"insecure":    {TLS: destination.TLS{Insecure: true}},
		"a user name": {Username: "u", Password: newSecret("p")},
	} {
		t.Run(name, func(t *testing.T) {
			var guarded *rest.Config
			a := Access{Own: &rest.Config{Host: "https://10.0.0.1"}, AllowExec: true, Guard: func(config *rest.Config) { guarded = config }}
			config, err := a.Config(destination.Cluster{Secret: "s", Server: "https://a", Config: c})
			if err != nil || config != guarded {
				t.Errorf("the way was not guarded: %v", err)
			}
		})
	}
}

func TestWays(t *testing.T) {
	own := &rest.Config{Host: "https://10.0.0.1", BearerToken: "ours"}
	program := &destination.Exec{Command: "/usr/local/bin/argocd-k8s-auth", Args: []string{"gcp"}, APIVersion: "client.authentication.k8s.io/v1beta1"}
	cases := map[string]struct {
		entry destination.Cluster
		allow bool
		says  string
		check func(*rest.Config) bool
	}{
		"our own": {
			entry: destination.Cluster{Server: v1alpha1.InClusterServer},
			check: func(c *rest.Config) bool { return c.Host == own.Host && c.BearerToken == "ours" },
		},
		"our own, signed in otherwise": {
			entry: destination.Cluster{Server: v1alpha1.InClusterServer, Config: destination.Config{BearerToken: newSecret("theirs")}},
			check: func(c *rest.Config) bool {
				return c.Host == v1alpha1.InClusterServer && c.BearerToken == "theirs"
			},
		},
		"by a proxy": {
			entry: destination.Cluster{Server: "https://a", Config: destination.Config{ProxyURL: "http://proxy:3128", DisableCompression: true}},
			check: func(c *rest.Config) bool {
				to, err := c.Proxy(httptest.NewRequest(http.MethodGet, "https://a", nil))
				return err == nil && to.Host == "proxy:3128" && c.DisableCompression
			},
		},
		"a proxy that is none": {
			entry: destination.Cluster{Secret: "s", Server: "https://a", Config: destination.Config{ProxyURL: "proxy"}},
			says:  `proxyUrl of secret "s" is no URL`,
		},
		"a program": {
			entry: destination.Cluster{Secret: "s", Server: "https://a", Config: destination.Config{Exec: program}},
			says:  `secret "s" signs in by running the program "/usr/local/bin/argocd-k8s-auth gcp"`,
		},
		"a program that is allowed": {
			entry: destination.Cluster{Secret: "s", Server: "https://a", Config: destination.Config{Exec: program}}, allow: true,
			check: func(c *rest.Config) bool {
				return c.ExecProvider.Command == program.Command && string(c.ExecProvider.InteractiveMode) == "Never"
			},
		},
		"no certificate": {
			entry: destination.Cluster{Secret: "s", Server: "https://a", Config: destination.Config{TLS: destination.TLS{CAData: "junk"}}},
			says:  `config of secret "s" cannot be used`,
		},
		"two ways at once": {
			entry: destination.Cluster{Secret: "s", Server: "https://a", Config: destination.Config{Username: "u", BearerToken: newSecret("t")}},
			says:  `config of secret "s" cannot be used`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := Access{Own: own, AllowExec: c.allow}
			if c.says != "" {
				if _, err := a.way(c.entry); err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("the error is %v", err)
				}
				return
			}
			config, err := a.Config(c.entry)
			if err != nil || !c.check(config) {
				t.Errorf("it is reached by %+v, %v", config, err)
			}
			if _, err := a.way(c.entry); err != nil {
				t.Error(err)
			}
		})
	}
}

// once gives a token until it is told to forget it.
type once struct {
	token string
	err   error
}

func (o *once) Token(context.Context) (secret.Text, error) { return newSecret(o.token), o.err }
func (o *once) Forget()                                    { o.token = "fresh" }

func TestSigner(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer fresh" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	source := &once{token: "stale"}
	s := &signer{next: http.DefaultTransport, source: source}
	get := func() (*http.Response, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s.RoundTrip(r)
	}
	for _, want := range []int{401, 200} {
		response, err := get()
		if err != nil || response.StatusCode != want {
			t.Fatalf("it answers %v, %v", response, err)
		}
		_ = response.Body.Close()
	}
	source.err = errors.New("no role")
	if response, err := get(); err == nil {
		_ = response.Body.Close()
		t.Error("a request without a token was sent")
	}
}
