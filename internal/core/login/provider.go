package login

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/secret"
	"github.com/towline-cd/towline/internal/core/sso"
)

// Provider is where somebody signs in who has no account at a server.
type Provider struct {
	Issuer, ClientID string
	Scopes           []string
	// Chosen says that the server names the scopes.
	Chosen bool
	Claims map[string]sso.Claim
}

// Settings are what a server says to those who want to sign in.
type Settings struct {
	URL  string `json:"url"`
	OIDC *struct {
		Issuer      string               `json:"issuer"`
		ClientID    string               `json:"clientID"`
		CLIClientID string               `json:"cliClientID"`
		Scopes      []string             `json:"scopes"`
		Claims      map[string]sso.Claim `json:"idTokenClaims"`
	} `json:"oidcConfig"`
	Dex *struct {
		Connectors []sso.Connector `json:"connectors"`
	} `json:"dexConfig"`
}

// Provider is the one that a server names; false is none.
func (s Settings) Provider() (Provider, bool) {
	switch {
	case s.OIDC != nil && s.OIDC.Issuer != "":
		p := Provider{
			Issuer: s.OIDC.Issuer, ClientID: s.OIDC.CLIClientID, Scopes: s.OIDC.Scopes, Chosen: len(s.OIDC.Scopes) > 0,
			Claims: s.OIDC.Claims,
		}
		if p.ClientID == "" {
			p.ClientID = s.OIDC.ClientID
		}
		if !p.Chosen {
			p.Scopes = sso.DefaultScopes()
		}
		if !slices.Contains(p.Scopes, "openid") {
			p.Scopes = append([]string{"openid"}, p.Scopes...)
		}
		return p, true
	case s.Dex != nil && len(s.Dex.Connectors) > 0:
		return Provider{
			Issuer: strings.TrimRight(s.URL, "/") + v1alpha1.DexPath, ClientID: v1alpha1.DexCLIClient, Scopes: sso.DexScopes(),
		}, true
	}
	return Provider{}, false
}

// Tokens are what a provider gives.
type Tokens struct {
	Token, Refresh secret.Text
	// Who is what people know them by.
	Who string
}

// Claims are what a token says of itself. Nobody has checked them: they are for
// whoever holds the token, to know when it ends.
func Claims(token secret.Text) (issuer string, ends time.Time) {
	parts := strings.Split(token.Reveal(), ".")
	if len(parts) != 3 {
		return "", time.Time{}
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", time.Time{}
	}
	var said struct {
		Issuer string  `json:"iss"`
		Ends   float64 `json:"exp"`
	}
	if json.Unmarshal(text, &said) != nil {
		return "", time.Time{}
	}
	if said.Ends > 0 && said.Ends < 1<<40 {
		ends = time.Unix(int64(said.Ends), 0)
	}
	return said.Issuer, ends
}
