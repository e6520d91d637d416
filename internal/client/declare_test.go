package client_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/client"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/core/roster"
	"github.com/towline-cd/towline/internal/core/secret"
)

// TestWhatIsDeclared: each change is one request, with the login in its body and nowhere else.
func TestWhatIsDeclared(t *testing.T) {
	name := "prod"
	repo := repository.Repository{
		URL: "https://git.example.com/shop.git", Type: repository.Git, Project: "retail", Username: "ci", Password: secret.New("hush"),
		EnableLFS: true, Depth: 3,
	}
	cluster := roster.Cluster{
		Name: "prod", Server: "https://10.0.0.1:6443", Labels: map[string]string{"tier": "prod"},
		Config: roster.Config{BearerToken: secret.New("hush"), TLS: roster.TLS{CAData: []byte("ca")}},
	}
	for what, tc := range map[string]struct {
		do   func(context.Context, *client.Client) error
		want string
		body string
	}{
		"a repository": {
			func(ctx context.Context, c *client.Client) error {
				return c.PutRepository(ctx, repo, repository.Wish{Upsert: true})
			},
			"POST /api/v1/repositories?upsert=true",
			`{"depth":3,"enableLfs":true,"password":"hush","project":"retail","repo":"https://git.example.com/shop.git","type":"git","username":"ci"}`,
		},
		"a login for many": {
			func(ctx context.Context, c *client.Client) error {
				return c.PutRepository(ctx, repository.Repository{URL: "https://x"}, repository.Wish{Many: true})
			},
			"POST /api/v1/repocreds", `{"url":"https://x"}`,
		},
		"a repository goes": {
			func(ctx context.Context, c *client.Client) error { return c.DropRepository(ctx, repo, false) },
			"DELETE /api/v1/repositories/https:%2F%2Fgit.example.com%2Fshop.git?appProject=retail", "",
		},
		"a cluster": {
			func(ctx context.Context, c *client.Client) error {
				_, err := client.Clusters{Client: c}.Create(ctx, cluster)
				return err
			},
			"POST /api/v1/clusters",
			`{"annotations":null,"clusterResources":false,"config":{"bearerToken":"hush","tlsClientConfig":{"insecure":false,"caData":"Y2E="}},` +
				`"labels":{"tier":"prod"},"name":"prod","namespaces":null,"project":"","server":"https://10.0.0.1:6443"}`,
		},
		"a part of a cluster": {
			func(ctx context.Context, c *client.Client) error {
				return client.Clusters{Client: c}.Edit(ctx, "https://a", roster.Edit{Name: &name, Labels: map[string]*string{"tier": &name}})
			},
			"PUT /api/v1/clusters/https:%2F%2Fa?id.type=url&updatedFields=name&updatedFields=labels",
			`{"labels":{"tier":"prod"},"name":"prod","server":"https://a"}`,
		},
		"a cluster goes": {
			func(ctx context.Context, c *client.Client) error {
				_, err := client.Clusters{Client: c}.Remove(ctx, roster.Entry{Cluster: roster.Cluster{Server: "https://a"}})
				return err
			},
			"DELETE /api/v1/clusters/https:%2F%2Fa?id.type=url", "",
		},
		"a host": {
			func(ctx context.Context, c *client.Client) error {
				_, err := c.AddCertificates(ctx, []repository.GivenCertificate{{ServerName: "a", CertType: "ssh", CertSubType: "x", CertData: []byte("k")}}, true)
				return err
			},
			"POST /api/v1/certificates?upsert=true", `{"items":[{"serverName":"a","certType":"ssh","certSubType":"x","certData":"aw=="}]}`,
		},
		"a host goes": {
			func(ctx context.Context, c *client.Client) error {
				_, err := c.RemoveCertificates(ctx, repository.Certificate{ServerName: "a*", CertType: "ssh"})
				return err
			},
			"DELETE /api/v1/certificates?certType=ssh&hostNamePattern=a%2A", "",
		},
		"a key": {
			func(ctx context.Context, c *client.Client) error {
				_, _, err := c.AddKeys(ctx, "key", false)
				return err
			},
			"POST /api/v1/gpgkeys", `{"keyData":"key"}`,
		},
		"a key goes": {
			func(ctx context.Context, c *client.Client) error { return c.RemoveKey(ctx, "ABC") },
			"DELETE /api/v1/gpgkeys?keyID=ABC", "",
		},
		"a token of a role": {
			func(ctx context.Context, c *client.Client) error {
				_, err := c.Projects().NewRoleToken(ctx, "retail", "ci", v1alpha1.JWTToken{ID: "one", ExpiresAt: 60})
				return err
			},
			"POST /api/v1/projects/retail/roles/ci/token", `{"expiresIn":60,"id":"one","project":"retail","role":"ci"}`,
		},
		"a token of a role goes": {
			func(ctx context.Context, c *client.Client) error {
				return c.Projects().DeleteRoleToken(ctx, "retail", "ci", 5)
			},
			"DELETE /api/v1/projects/retail/roles/ci/token/5", "",
		},
	} {
		t.Run(what, func(t *testing.T) {
			var got, body string
			c := dial(t, func(w http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				got, body = r.Method+" "+r.RequestURI, string(text)
				_, _ = w.Write([]byte("{}"))
			}, nil)
			if err := tc.do(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want+" "+tc.body, got+" "+body); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if strings.Contains(got, "hush") {
				t.Error("there is a login in the address")
			}
		})
	}
}

// TestProjectsAreChanged: a server takes whole projects, so the change is made on the one that was looked at, or refused.
func TestProjectsAreChanged(t *testing.T) {
	var asked []string
	stored := `{"metadata":{"name":"retail","resourceVersion":"7","labels":{"team":"shop"}},"spec":{"sourceRepos":["a"],"description":"old"}}`
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		asked = append(asked, r.Method+" "+r.RequestURI+" "+string(text))
		_, _ = w.Write([]byte(stored))
	}, nil)
	_, err := c.Projects().Patch(t.Context(), "retail", []byte(`{"metadata":{"resourceVersion":"5"},"spec":{"description":null,"sourceRepos":["a","b"]}}`), false)
	if err != nil {
		t.Fatal(err)
	}
	if len(asked) != 2 || !strings.HasPrefix(asked[1], "PUT /api/v1/projects/retail ") {
		t.Fatalf("asked %q", asked)
	}
	var sent struct{ Project v1alpha1.AppProject }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(asked[1], "PUT /api/v1/projects/retail ")), &sent); err != nil {
		t.Fatal(err)
	}
	p := sent.Project
	if p.ResourceVersion != "5" || len(p.Spec.SourceRepos) != 2 || p.Spec.Description != "" || p.Labels["team"] != "shop" {
		t.Errorf("sent %+v", p)
	}
	if _, err := c.Projects().Create(t.Context(), &p, false); !apierrors.IsAlreadyExists(err) {
		t.Errorf("one that is there is %v", err)
	}
}
