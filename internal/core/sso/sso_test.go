package sso_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/internal/core/secret"
	"github.com/towline-cd/towline/internal/core/sso"
)

// keys are the secrets of an installation.
func keys(reference string) (secret.Text, bool) {
	value, ok := map[string]string{"oidc.clientSecret": "hunter2\n", "okta:id": "the-client", "dex:github": "from-github"}[reference]
	return secret.New(value), ok
}

func read(data, params map[string]string) *sso.Config {
	return sso.Read(sso.Input{Data: data, Params: params, Lookup: keys, Key: secret.New("signing")})
}

func TestReadOIDC(t *testing.T) {
	got := read(map[string]string{
		"url": "https://cd.example.com/", "additionalUrls": `["https://cd.example.org"]`,
		"oidc.config": `
name: Okta
issuer: https://login.example.com
clientID: $okta:id
clientSecret: $oidc.clientSecret
cliClientID: cli
requestedScopes: [email, groups]
requestedIDTokenClaims: {groups: {essential: true}}
logoutURL: https://login.example.com/out?id_token_hint={{token}}&to={{logoutRedirectURL}}
refreshTokenThreshold: 2m
domainHint: example.com
enableUserInfoGroups: true
userInfoPath: /userinfo
color: green
`,
	}, nil)
	want := &sso.Config{
		Name: "Okta", Issuer: "https://login.example.com", ClientID: "the-client", CLIClientID: "cli",
		ClientSecret: secret.New("hunter2"), Scopes: []string{"openid", "email", "groups"}, Chosen: true,
		Claims: map[string]sso.Claim{"groups": {Essential: true}}, Early: 2 * time.Minute, DomainHint: "example.com",
		LogoutURL: "https://login.example.com/out?id_token_hint={{token}}&to={{logoutRedirectURL}}",
		Audiences: []string{"the-client", "cli"}, URL: "https://cd.example.com", AdditionalURLs: []string{"https://cd.example.org"},
		Problems:    []string{`oidc.config: "color" is not a field that is known`},
		NotHonoured: []string{"oidc.config: enableUserInfoGroups", "oidc.config: userInfoPath"},
	}
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b secret.Text) bool { return a.Reveal() == b.Reveal() })); d != "" {
		t.Errorf("read otherwise (-want +got):\n%s", d)
	}
	if !got.On() {
		t.Error("nobody can sign in")
	}
	if got := got.Away("a.b.c", "https://cd.example.com/"); got != "https://login.example.com/out?id_token_hint=a.b.c&to=https%3A%2F%2Fcd.example.com%2F" {
		t.Errorf("signing out goes to %s", got)
	}
}

// What is wrong is named, by its key, and without what a secret holds.
func TestProblems(t *testing.T) {
	const at = "https://cd.example.com"
	for name, c := range map[string]struct {
		data map[string]string
		on   bool
		want string
	}{
		"nothing":           {map[string]string{"url": at}, false, ""},
		"no YAML":           {map[string]string{"url": at, "oidc.config": "clientSecret: {hunter2"}, false, "oidc.config: it is no YAML"},
		"no issuer":         {map[string]string{"url": at, "oidc.config": "clientID: a"}, false, "issuer: it is no URL"},
		"an odd issuer":     {map[string]string{"url": at, "oidc.config": "{clientID: a, issuer: 'file:///etc'}"}, false, "issuer: it is no URL"},
		"no client":         {map[string]string{"url": at, "oidc.config": "issuer: https://a"}, false, "clientID: it is missing"},
		"no such secret":    {map[string]string{"url": at, "oidc.config": "{issuer: https://a, clientID: b, clientSecret: $none}"}, true, "it refers to $none"},
		"no url":            {map[string]string{"oidc.config": "{issuer: https://a, clientID: b}"}, false, "url: it is missing"},
		"an odd logout":     {map[string]string{"url": at, "oidc.config": "{issuer: https://a, clientID: b, logoutURL: 'javascript:x'}"}, true, "logoutURL"},
		"a wrong kind":      {map[string]string{"url": at, "oidc.config": "{issuer: [a], clientID: b}"}, false, "of another kind"},
		"both":              {map[string]string{"url": at, "oidc.config": "{issuer: https://a, clientID: b}", "dex.config": "connectors: [{name: a}]"}, true, "oidc.config counts"},
		"no connectors":     {map[string]string{"url": at, "dex.config": "{}"}, false, "it has no connectors"},
		"neither yes or no": {map[string]string{"url": at, "oidc.config": "{issuer: https://a, clientID: b}", "oidc.tls.insecure.skip.verify": "perhaps"}, true, "neither true nor false"},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(c.data, nil)
			said := strings.Join(got.Problems, "\n")
			if got.On() != c.on || !strings.Contains(said, c.want) || c.want == "" && said != "" || strings.Contains(said, "hunter2") {
				t.Errorf("on %t, %s", got.On(), said)
			}
		})
	}
}

func TestReadDex(t *testing.T) {
	data := map[string]string{
		"url": "https://cd.example.com", "dex.auth.connectorId": "github",
		"dex.config": "connectors: [{type: github, id: github, name: GitHub, config: {clientID: a, clientSecret: $dex:github}}]",
	}
	for name, c := range map[string]struct {
		params  map[string]string
		address string
		strict  bool
	}{
		"nothing said":  {nil, "https://argocd-dex-server:5556", false},
		"plain text":    {map[string]string{"server.dex.server.plaintext": "true"}, "http://argocd-dex-server:5556", false},
		"an address":    {map[string]string{"server.dex.server": "dex:1"}, "https://dex:1", false},
		"a URL, strict": {map[string]string{"server.dex.server": "http://dex:1", "server.dex.server.strict.tls": "true"}, "http://dex:1", true},
	} {
		got := read(data, c.params)
		if !got.On() || got.Dex.Address != c.address || got.Dex.Strict != c.strict || got.Issuer != "https://cd.example.com/api/dex" {
			t.Errorf("%s: %+v, %+v", name, got, got.Dex)
		}
		if got.ClientID != "argo-cd" || got.CLIClientID != "argo-cd-cli" || len(got.ClientSecret.Reveal()) != 40 {
			t.Errorf("%s: we are called %s, %s", name, got.ClientID, got.CLIClientID)
		}
		if d := cmp.Diff([]sso.Connector{{Name: "GitHub", Type: "github"}}, got.Dex.Connectors); d != "" {
			t.Error(d)
		}
	}
	text, problems, err := sso.WriteDex(sso.Input{Data: data, Lookup: keys, Key: secret.New("signing")})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	var tree map[string]any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"issuer": "https://cd.example.com/api/dex", "storage": map[string]any{"type": "memory"},
		"oauth2": map[string]any{"skipApprovalScreen": true},
		"web":    map[string]any{"https": "0.0.0.0:5556", "tlsCert": "/etc/dex/tls/tls.crt", "tlsKey": "/etc/dex/tls/tls.key"},
		"connectors": []any{map[string]any{"type": "github", "id": "github", "name": "GitHub", "config": map[string]any{
			"clientID": "a", "clientSecret": "from-github", "redirectURI": "https://cd.example.com/api/dex/callback",
		}}},
		"staticClients": []any{
			map[string]any{
				"id": "argo-cd", "name": "Argo CD", "secret": sso.DexSecret(secret.New("signing")).Reveal(),
				"redirectURIs": []any{"https://cd.example.com/auth/callback"},
			},
			map[string]any{"id": "argo-cd-cli", "name": "Argo CD CLI", "public": true},
		},
	}
	if d := cmp.Diff(want, tree); d != "" {
		t.Errorf("written otherwise (-want +got):\n%s", d)
	}
}

func TestReturn(t *testing.T) {
	c := read(map[string]string{
		"url": "https://cd.example.com/argocd", "additionalUrls": `["https://cd.example.org"]`, "oidc.config": "{issuer: https://a, clientID: b}",
	}, nil)
	const base = "https://cd.example.com/argocd"
	for wanted, want := range map[string]string{
		"": base + "/", base: base, base + "/applications/shop?view=tree#x": base + "/applications/shop?view=tree#x",
		"/argocd/applications": base + "/applications", "https://cd.example.org/any": "https://cd.example.org/any",
		"https://CD.example.org/any": "https://CD.example.org/any",

		"https://evil.example.com": "", "//evil.example.com": "", "https://cd.example.com": "", "https://cd.example.com/argocdx": "",
		"https://cd.example.com/argocd/../x": "", "http://cd.example.com/argocd": "", "https://cd.example.com@evil.example.com/argocd": "",
		"https://cd.example.com:444/argocd": "", "javascript:alert(1)": "", `/\evil.example.com`: "", `\\evil.example.com`: "", "applications": "",
		"https://cd.example.com.evil.example/argocd": "", "https://user@cd.example.com/argocd": "", "\thttps://cd.example.com/argocd": "",
		"https:cd.example.com/argocd": "", "/": "", "https://cd.example.com/argocd\nx": "", "///evil.example.com": "", "data:text/html,x": "",
	} {
		got, ok := c.Return(wanted, base)
		if ok != (want != "") || got != want {
			t.Errorf("%q goes to %q, %t", wanted, got, ok)
		}
	}
	if got := c.Base("cd.example.org"); got != "https://cd.example.org" {
		t.Error(got)
	}
	if got := c.Base("evil.example.com"); got != base {
		t.Error(got)
	}
}

func TestJudge(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	c := read(map[string]string{"url": "https://cd", "oidc.config": "{issuer: https://a, clientID: web, cliClientID: cli}"}, nil)
	claims := func(change map[string]any) map[string]any {
		out := map[string]any{
			"iss": "https://a", "sub": "alice", "aud": "web", "iat": float64(now.Unix()), "exp": float64(now.Add(time.Hour).Unix()),
			"email": "alice@example.com", "groups": []any{"dev", "ops", 7.0, "dev"},
		}
		for k, v := range change {
			if v == nil {
				delete(out, k)
				continue
			}
			out[k] = v
		}
		return out
	}
	at := func(d time.Duration) float64 { return float64(now.Add(d).Unix()) }
	for name, k := range map[string]struct {
		claims map[string]any
		want   string
	}{
		"another issuer":    {map[string]any{"iss": "https://b"}, "issuer"},
		"our own issuer":    {map[string]any{"iss": "argocd"}, "issuer"},
		"another audience":  {map[string]any{"aud": "other"}, "another audience"},
		"other audiences":   {map[string]any{"aud": []any{"x", "y"}}, "another audience"},
		"no audience":       {map[string]any{"aud": nil}, "no audience"},
		"expired":           {map[string]any{"exp": at(0)}, "expired"},
		"no end":            {map[string]any{"exp": nil}, "when it ends"},
		"not yet":           {map[string]any{"nbf": at(2 * time.Minute)}, "not valid yet"},
		"far from now":      {map[string]any{"nbf": 1e300}, "not valid yet"},
		"of tomorrow":       {map[string]any{"iat": at(24 * time.Hour)}, "in the future"},
		"nobody":            {map[string]any{"sub": nil}, "no subject"},
		"a role as subject": {map[string]any{"sub": "role:admin"}, "only we"},
		"a project's role":  {map[string]any{"sub": "proj:web:ci"}, "only we"},
	} {
		_, err := c.Judge("raw", claims(k.claims), sso.Facts{Scopes: []string{"groups"}, Now: now})
		if err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, k := range map[string]struct {
		claims map[string]any
		scopes []string
		groups []string
	}{
		"groups":                          {nil, []string{"groups"}, []string{"dev", "ops"}},
		"of two claims":                   {nil, []string{"groups", "email"}, []string{"dev", "ops", "alice@example.com"}},
		"one alone":                       {map[string]any{"groups": "dev"}, []string{"groups"}, []string{"dev"}},
		"for the CLI":                     {map[string]any{"aud": []any{"x", "cli"}}, []string{"groups"}, []string{"dev", "ops"}},
		"an address that nobody verified": {map[string]any{"email_verified": false}, []string{"groups", "email"}, []string{"dev", "ops"}},
		"names that only we give":         {map[string]any{"groups": []any{"role:admin", "proj:a:b", "dev"}}, []string{"groups"}, []string{"dev"}},
	} {
		got, err := c.Judge("raw", claims(k.claims), sso.Facts{Scopes: k.scopes, Now: now})
		if d := cmp.Diff(k.groups, got.Groups, cmpopts.EquateEmpty()); err != nil || d != "" {
			t.Errorf("%s: %v %s", name, err, d)
		}
		if got.Subject != "alice" || got.Username != "alice@example.com" || got.ID != sso.Digest("raw") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
