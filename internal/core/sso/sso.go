// Package sso knows what an installation says of signing in elsewhere: which provider there is, what a token of it must
// say to be let in and what it says of somebody, where a browser may be sent back to, and how a Dex that runs beside has
// to be configured. It must not ask the provider, nor check a signature.
package sso

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/secret"
)

// Config is how people sign in elsewhere. It does not change: a new reading is a new value.
type Config struct {
	// Name is what people call the provider. An empty issuer is that there is none.
	Name, Issuer          string
	ClientID, CLIClientID string
	ClientSecret          secret.Text
	// Scopes are what is asked for; Chosen says that the installation named them.
	Scopes []string
	Chosen bool
	// Claims are what ID tokens are asked to say, by name.
	Claims map[string]Claim
	// LogoutURL is where a browser goes when somebody signs out: a text with {{token}} and {{logoutRedirectURL}}.
	LogoutURL  string
	DomainHint string
	// RootCA are the certificates that the provider's must come from; empty are the usual ones. Insecure takes any.
	RootCA   string
	Insecure bool
	// Audiences are those of which a token must have one. NoAudience lets those in that have none at all.
	Audiences  []string
	NoAudience bool
	// PKCE says that the provider knows pages of ours as the client, which come back to another address.
	PKCE bool
	// Early is how long before its end a token is replaced by the next one.
	Early time.Duration
	// Dex is set where the provider is a Dex that runs beside us.
	Dex *Dex
	// URL is where people find us, and AdditionalURLs are where else.
	URL            string
	AdditionalURLs []string
	// Problems are what could not be read, and NotHonoured what this version does nothing with.
	Problems, NotHonoured []string
}

// Claim is how much an ID token should say something.
type Claim struct {
	Essential bool     `json:"essential,omitempty"`
	Value     string   `json:"value,omitempty"`
	Values    []string `json:"values,omitempty"`
}

// Dex is the Dex that runs beside us.
type Dex struct {
	// Address is a URL. Strict has its certificate looked at.
	Address    string
	Strict     bool
	Connectors []Connector
	// ConnectorID is the one that people are sent to, without being asked.
	ConnectorID string
}

// Connector is one way of Dex to know people.
type Connector struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// On says that people can sign in elsewhere.
func (c *Config) On() bool { return c != nil && c.Issuer != "" && c.ClientID != "" && c.URL != "" }

// Input is what a Config is read from.
type Input struct {
	// Data is argocd-cm, and Params argocd-cmd-params-cm; what the environment says counts more than these.
	Data, Params map[string]string
	Getenv       func(string) string
	// Lookup finds what a reference means: KEY of argocd-secret, or SECRET:KEY.
	Lookup func(reference string) (secret.Text, bool)
	// Key is what tokens of ours are signed with; the secret that Dex knows us by comes from it.
	Key secret.Text
}

// Keys are those of argocd-cm that are read here.
var Keys = []string{
	v1alpha1.KeyOIDCConfig, v1alpha1.KeyOIDCInsecureSkipVerify, v1alpha1.KeyDexConfig, v1alpha1.KeyDexConnectorID,
}

const defaultEarly = 5 * time.Minute

// DefaultScopes are what is asked for where nothing else is said.
func DefaultScopes() []string { return []string{"openid", "profile", "email", "groups"} }

// DexScopes are what is asked for at Dex.
func DexScopes() []string { return append(DefaultScopes(), federated) }

// federated has Dex say who somebody is where they signed in.
const federated = "federated:id"

// Read reads how people sign in elsewhere. What cannot be read is a problem by name.
func Read(in Input) *Config {
	c := &Config{Early: defaultEarly, URL: strings.TrimRight(strings.TrimSpace(in.Data[v1alpha1.KeyURL]), "/")}
	if err := yaml.Unmarshal([]byte(in.Data[v1alpha1.KeyAdditionalURLs]), &c.AdditionalURLs); err != nil {
		c.AdditionalURLs = nil // settings says so
	}
	for i, u := range c.AdditionalURLs {
		c.AdditionalURLs[i] = strings.TrimRight(strings.TrimSpace(u), "/")
	}
	if text := in.Data[v1alpha1.KeyOIDCInsecureSkipVerify]; text != "" {
		on, err := strconv.ParseBool(text)
		if err != nil {
			c.problem(v1alpha1.KeyOIDCInsecureSkipVerify, "%q is neither true nor false; using false", text)
		}
		c.Insecure = err == nil && on
	}
	oidc, dex := strings.TrimSpace(in.Data[v1alpha1.KeyOIDCConfig]), strings.TrimSpace(in.Data[v1alpha1.KeyDexConfig])
	switch {
	case oidc != "":
		c.readOIDC(oidc, in)
		if dex != "" {
			c.problem(v1alpha1.KeyDexConfig, "%s counts, and this does not", v1alpha1.KeyOIDCConfig)
		}
	case dex != "":
		c.readDex(dex, in)
	}
	if c.Issuer != "" && c.URL == "" {
		c.problem(v1alpha1.KeyURL, "it is missing; without it nobody comes back from signing in")
	}
	slices.Sort(c.Problems)
	return c
}

func (c *Config) problem(key, format string, args ...any) {
	c.Problems = append(c.Problems, key+": "+fmt.Sprintf(format, args...))
}

// written is oidc.config as people write it.
type written struct {
	Name           string           `json:"name"`
	Issuer         string           `json:"issuer"`
	ClientID       string           `json:"clientID"`
	ClientSecret   string           `json:"clientSecret"`
	CLIClientID    string           `json:"cliClientID"`
	Scopes         []string         `json:"requestedScopes"`
	Claims         map[string]Claim `json:"requestedIDTokenClaims"`
	LogoutURL      string           `json:"logoutURL"`
	RootCA         string           `json:"rootCA"`
	PKCE           bool             `json:"enablePKCEAuthentication"`
	DomainHint     string           `json:"domainHint"`
	Audiences      []string         `json:"allowedAudiences"`
	NoAudience     *bool            `json:"skipAudienceCheckWhenTokenHasNoAudience"`
	Threshold      string           `json:"refreshTokenThreshold"`
	UserInfoGroups bool             `json:"enableUserInfoGroups"`
	UserInfoPath   string           `json:"userInfoPath"`
	UserInfoBase   string           `json:"userInfoBaseURL"`
	UserInfoCache  string           `json:"userInfoCacheExpiration"`
	Azure          *struct {
		WorkloadIdentity bool `json:"useWorkloadIdentity"`
	} `json:"azure"`
}

// known are the fields of oidc.config.
var known = []string{
	"name", "issuer", "clientID", "clientSecret", "cliClientID", "requestedScopes", "requestedIDTokenClaims", "logoutURL", "rootCA",
	"enablePKCEAuthentication", "domainHint", "allowedAudiences", "skipAudienceCheckWhenTokenHasNoAudience", "refreshTokenThreshold",
	"enableUserInfoGroups", "userInfoPath", "userInfoBaseURL", "userInfoCacheExpiration", "azure",
}

// readOIDC reads oidc.config.
func (c *Config) readOIDC(text string, in Input) {
	const key = v1alpha1.KeyOIDCConfig
	var tree map[string]any
	if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
		// What the parser says may repeat a secret that somebody wrote here.
		c.problem(key, "it is no YAML; nobody can sign in by it")
		return
	}
	for _, field := range slices.Sorted(maps.Keys(tree)) {
		if !slices.Contains(known, field) {
			c.problem(key, "%q is not a field that is known", field)
		}
	}
	missing := expand(tree, in.Lookup)
	for _, reference := range missing {
		c.problem(key, "it refers to %s, which is not there", reference)
	}
	again, err := yaml.Marshal(tree)
	var w written
	if err != nil || yaml.Unmarshal(again, &w) != nil {
		c.problem(key, "a field has a value of another kind than it should; nobody can sign in by it")
		return
	}
	c.Name, c.Issuer, c.ClientID, c.CLIClientID = w.Name, strings.TrimSpace(w.Issuer), w.ClientID, w.CLIClientID
	c.ClientSecret, c.Claims = secret.New(w.ClientSecret), w.Claims
	c.LogoutURL, c.RootCA, c.PKCE, c.DomainHint = w.LogoutURL, w.RootCA, w.PKCE, w.DomainHint
	c.Scopes, c.Chosen = w.Scopes, len(w.Scopes) > 0
	if !c.Chosen {
		c.Scopes = DefaultScopes()
	}
	if !slices.Contains(c.Scopes, "openid") {
		// Without it there is no ID token.
		c.Scopes = append([]string{"openid"}, c.Scopes...)
	}
	c.Audiences = slices.DeleteFunc(slices.Concat(w.Audiences), func(a string) bool { return a == "" })
	if len(c.Audiences) == 0 {
		c.Audiences = clients(w.ClientID, w.CLIClientID)
	}
	c.NoAudience = w.NoAudience != nil && *w.NoAudience
	if w.Threshold != "" {
		d, err := time.ParseDuration(w.Threshold)
		if err != nil || d < 0 {
			c.problem(key, "refreshTokenThreshold: %q is not a duration like 2m; using %s", w.Threshold, defaultEarly)
		} else {
			c.Early = d
		}
	}
	c.check()
	c.unsupported(w)
}

// unsupported names what is there and has no effect.
func (c *Config) unsupported(w written) {
	for field, set := range map[string]bool{
		"enableUserInfoGroups": w.UserInfoGroups, "userInfoPath": w.UserInfoGroups && w.UserInfoPath != "",
		"userInfoBaseURL": w.UserInfoBase != "", "userInfoCacheExpiration": w.UserInfoGroups && w.UserInfoCache != "",
		"azure.useWorkloadIdentity": w.Azure != nil && w.Azure.WorkloadIdentity,
	} {
		if set {
			c.NotHonoured = append(c.NotHonoured, v1alpha1.KeyOIDCConfig+": "+field)
		}
	}
	slices.Sort(c.NotHonoured)
}

// check says what of oidc.config cannot be.
func (c *Config) check() {
	const key = v1alpha1.KeyOIDCConfig
	at, err := url.Parse(c.Issuer)
	if err != nil || at.Host == "" || (at.Scheme != "https" && at.Scheme != "http") {
		c.problem(key, "issuer: it is no URL; nobody can sign in by it")
		c.Issuer = ""
		return
	}
	if c.ClientID == "" {
		c.problem(key, "clientID: it is missing; nobody can sign in by it")
		c.Issuer = ""
	}
	if to := c.LogoutURL; to != "" && !strings.HasPrefix(to, "https://") && !strings.HasPrefix(to, "http://") {
		c.problem(key, "logoutURL: it is no URL of the web; it is left out")
		c.LogoutURL = ""
	}
}

func clients(ids ...string) []string {
	var out []string
	for _, id := range ids {
		if id != "" && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// Refers says that a text of the config map refers to a secret other than argocd-secret.
func Refers(data map[string]string) bool {
	found := false
	for _, key := range []string{v1alpha1.KeyOIDCConfig, v1alpha1.KeyDexConfig} {
		var tree map[string]any
		if yaml.Unmarshal([]byte(data[key]), &tree) != nil {
			continue
		}
		expand(tree, func(reference string) (secret.Text, bool) {
			found = found || strings.Contains(reference, ":")
			return secret.Text{}, false
		})
	}
	return found
}

// expand puts what references mean in their place, and tells those that mean nothing: they are left empty.
func expand(value any, lookup func(string) (secret.Text, bool)) (missing []string) {
	text := func(in any) (any, bool) {
		s, is := in.(string)
		reference, refers := strings.CutPrefix(strings.TrimSpace(s), "$")
		if !is || !refers || reference == "" {
			return nil, false
		}
		found, ok := lookup(reference)
		if !ok {
			missing = append(missing, "$"+reference)
			return "", true
		}
		// Secrets come with the newline that an editor left.
		return strings.TrimRight(found.Reveal(), "\r\n"), true
	}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if put, is := text(v[key]); is {
				v[key] = put
				continue
			}
			missing = append(missing, expand(v[key], lookup)...)
		}
	case []any:
		for i := range v {
			if put, is := text(v[i]); is {
				v[i] = put
				continue
			}
			missing = append(missing, expand(v[i], lookup)...)
		}
	}
	return missing
}

// DexSecret is the secret that Dex knows us by. It comes from the key that tokens are signed with, as in Argo CD, so that
// the Dex of an Argo CD knows us.
func DexSecret(key secret.Text) secret.Text {
	sum := sha256.Sum256([]byte(key.Reveal()))
	const length = 40
	return secret.New(base64.URLEncoding.EncodeToString(sum[:])[:length])
}
