package sso

import (
	"net/url"
	"path"
	"slices"
	"strings"
)

const (
	callbackPath = "/auth/callback"
	// pagePath is where pages of Argo CD come back to that are the client themselves.
	pagePath = "/pkce/verify"
)

// bases are the addresses that people find us at.
func (c *Config) bases() []string {
	var out []string
	for _, u := range append([]string{c.URL}, c.AdditionalURLs...) {
		if u != "" && !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return out
}

// Base is the address that a browser found us at, by the host that it asked.
func (c *Config) Base(host string) string {
	for _, base := range c.bases() {
		if at, err := url.Parse(base); err == nil && strings.EqualFold(at.Host, host) {
			return base
		}
	}
	return c.URL
}

// Callback is where the provider sends a browser back to.
func (c *Config) Callback(base string) string {
	if c.PKCE {
		return base + pagePath
	}
	return base + callbackPath
}

// Return is where a browser goes after it signed in or out: where it wanted to, if that is a page of ours, or a path of
// one. It is false for anything else: whoever follows a link to us must not end at a stranger's page.
func (c *Config) Return(wanted, base string) (string, bool) {
	if wanted == "" {
		return base + "/", true
	}
	odd := func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }
	if strings.ContainsFunc(wanted, odd) || strings.HasPrefix(wanted, "//") {
		return "", false
	}
	at, err := url.Parse(base)
	if err != nil {
		return "", false
	}
	to, err := url.Parse(wanted)
	if err != nil || to.User != nil || to.Opaque != "" || to.Scheme == "" && !strings.HasPrefix(wanted, "/") {
		return "", false
	}
	to = at.ResolveReference(to)
	for _, ours := range c.bases() {
		at, err := url.Parse(ours)
		if err == nil && at.Scheme == to.Scheme && strings.EqualFold(at.Host, to.Host) && within(to.Path, at.Path) {
			return to.String(), true
		}
	}
	return "", false
}

func within(p, root string) bool {
	root = strings.TrimRight(root, "/")
	p = path.Clean("/" + p)
	return root == "" || p == root || strings.HasPrefix(p, root+"/")
}

// Away is where a browser goes when somebody has signed out; back is where they come back to.
func (c *Config) Away(token, back string) string {
	if c.LogoutURL == "" {
		return back
	}
	return strings.NewReplacer("{{token}}", url.QueryEscape(token), "{{logoutRedirectURL}}", url.QueryEscape(back)).Replace(c.LogoutURL)
}
