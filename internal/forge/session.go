package forge

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/url"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/repository"
)

// session is a forge with the login of one question.
type session struct {
	client *client
	// base ends in a slash; all that is asked is below it.
	base  *url.URL
	login login
	wire  wire
	// forge is its name for people.
	forge string
	// accept is the type of answer that is asked for.
	accept string
}

// login is what is sent along. The zero value is none.
type login struct {
	header string
	// value is as it is sent; secret is the part of it that must not be told.
	value, secret repository.Secret
	// id stands for who signs in, where the secret changes by itself.
	id string
}

// place is a session's forge for people.
func (s *session) place() string { return s.forge + " (" + shown(s.base) + ")" }

// parseBase reads the address of a forge or a service. Its path ends in a slash.
func parseBase(raw string) (*url.URL, error) {
	parsed, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || strings.ContainsFunc(raw, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, fault.Terminalf("URLRefused", "the address of the forge is not a URL; correct it")
	}
	parsed.Scheme = strings.ToLower(parsed.Scheme)
	switch {
	case parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "":
		return nil, fault.Terminalf("URLRefused", "the address of the forge is not a URL of http or https; correct it")
	case parsed.User != nil:
		return nil, fault.Terminalf("URLRefused", "the address of the forge, %s, has a login in it; put it into a secret",
			shown(parsed))
	case parsed.RawQuery != "" || parsed.Fragment != "" || strings.Contains("/"+parsed.Path+"/", "/../"):
		return nil, fault.Terminalf("URLRefused", "the address of the forge, %s, is more than scheme, host and path; correct it",
			shown(parsed))
	}
	parsed.Path, parsed.RawPath = strings.TrimRight(parsed.Path, "/")+"/", ""
	return parsed, nil
}

// shown is a URL for people: without a login, and without a query, which may be one.
func shown(u *url.URL) string {
	clean := url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimSuffix(u.Path, "/")}
	return clean.String()
}

// token reads what a tokenRef names, for a forge at an address. Without a reference there is no login.
func (f *Forges) token(ctx context.Context, ref *v1alpha1.SecretRef, in Scope, at *url.URL) (repository.Secret, error) {
	if ref == nil {
		return repository.Secret{}, nil
	}
	secret, err := f.secret(ctx, in.Namespace, ref.SecretName)
	if err != nil {
		return repository.Secret{}, err
	}
	if f.options.StrictTokenRefs && secret.Labels[v1alpha1.LabelSecretType] != v1alpha1.SecretTypeSCMCreds {
		return repository.Secret{}, fault.Terminalf("SecretNotAllowed", "tokenRef: the secret %s/%s may not be used: %s is on; label "+
			"it %s=%s", in.Namespace, ref.SecretName, v1alpha1.KeyParamAppSetTokenRefStrict, v1alpha1.LabelSecretType,
			v1alpha1.SecretTypeSCMCreds)
	}
	if err := speaksFor(secret, at, in.Namespace+"/"+ref.SecretName); err != nil {
		return repository.Secret{}, err
	}
	value, ok := secret.Data[ref.Key]
	// A newline at the end is how most files end, and no token has one.
	text := strings.TrimSpace(value.Reveal())
	if !ok || text == "" {
		return repository.Secret{}, fault.Terminalf("SecretIncomplete", "tokenRef: the secret %s/%s has no key %q, or nothing in it; "+
			"add it", in.Namespace, ref.SecretName, ref.Key)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return repository.Secret{}, fault.Terminalf("SecretInvalid", "tokenRef: what the secret %s/%s has at %q is no token: there are "+
			"letters in it that cannot be sent; correct it", in.Namespace, ref.SecretName, ref.Key)
	}
	return repository.NewSecret(text), nil
}

func (f *Forges) secret(ctx context.Context, namespace, name string) (Secret, error) {
	secret, found, err := f.options.Store.Secret(ctx, namespace, name)
	if err != nil {
		return Secret{}, fmt.Errorf("reading the secret %s/%s: %w", namespace, name, err)
	}
	if !found {
		return Secret{}, fault.Terminalf("SecretMissing", "there is no secret %s/%s; make it, or name another", namespace, name)
	}
	return secret, nil
}

// speaksFor holds a secret to the host that it says it is for: whoever may write an ApplicationSet could else have the
// login of one host sent to another. A secret that names no host is for the one that it is used with.
func speaksFor(secret Secret, at *url.URL, name string) error {
	hosts := secret.hosts()
	if len(hosts) == 0 {
		return nil
	}
	asked := strings.ToLower(at.Hostname())
	for _, host := range hosts {
		if asked == host || asked == "api."+host {
			return nil
		}
	}
	return fault.Terminalf("SecretNotForHost", "the secret %s is for %s, and %s is asked; correct api, or use a secret that is for it",
		name, strings.Join(hosts, " and "), at.Host)
}

// hosts are those that a secret says it is for.
func (s Secret) hosts() []string {
	var hosts []string
	for _, key := range []string{v1alpha1.KeyRepoURL, v1alpha1.KeyRepoGitHubAppEnterpriseBaseURL} {
		parsed, err := url.Parse(strings.TrimSpace(s.Data[key].Reveal()))
		if err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Hostname() != "" {
			hosts = append(hosts, strings.ToLower(parsed.Hostname()))
		}
	}
	return hosts
}

// authority reads what a caRef names.
func (f *Forges) authority(ctx context.Context, ref *v1alpha1.ConfigMapKeyRef, in Scope) (string, error) {
	if ref == nil {
		return "", nil
	}
	data, found, err := f.options.Store.ConfigMap(ctx, in.Namespace, ref.ConfigMapName)
	if err != nil {
		return "", fmt.Errorf("reading the config map %s/%s: %w", in.Namespace, ref.ConfigMapName, err)
	}
	pem := data[ref.Key]
	if !found || pem == "" {
		return "", fault.Terminalf("ConfigMapIncomplete", "caRef: there is no config map %s/%s with something at %q; add it",
			in.Namespace, ref.ConfigMapName, ref.Key)
	}
	if !x509.NewCertPool().AppendCertsFromPEM([]byte(pem)) {
		return "", fault.Terminalf("CertificateRefused", "caRef: what the config map %s/%s has at %q is no certificate in PEM; correct it",
			in.Namespace, ref.ConfigMapName, ref.Key)
	}
	return pem, nil
}

// segment is a name as one part of a path.
func segment(name string) string {
	if name == "." || name == ".." {
		// What is escaped is a name, and these would not be.
		return strings.ReplaceAll(name, ".", "%2E")
	}
	return url.PathEscape(name)
}

// segments is a path as it is, with its names escaped.
func segments(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, part := range parts {
		parts[i] = segment(part)
	}
	return strings.Join(parts, "/")
}

// required says which names a generator lacks.
func required(pairs ...string) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		if strings.TrimSpace(pairs[i+1]) == "" {
			return fault.Terminalf("FieldMissing", "%s is empty; set it", pairs[i])
		}
	}
	return nil
}
