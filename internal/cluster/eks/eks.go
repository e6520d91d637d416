// Package eks signs in to clusters of Amazon EKS: it makes the short-lived
// tokens that they take, from the credentials that the process was given. It
// must not keep a secret longer than it is valid, nor run a program.
package eks

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/towline-cd/towline/internal/core/secret"
)

// Options say who signs in where.
type Options struct {
	// Cluster is its name in EKS, which is a part of what is signed.
	Cluster string
	// Role is taken on first; "" is none. ExternalID is what its owner asks for.
	Role, ExternalID string
	// Profile is of the files of the AWS programs, which are not read.
	Profile string
	// Getenv and ReadFile are where credentials come from.
	Getenv   func(string) string
	ReadFile func(string) ([]byte, error)
	Client   *http.Client
	Now      func() time.Time
}

// Credentials are what requests to AWS are signed with.
type Credentials struct {
	AccessKeyID     string
	SecretAccessKey secret.Text
	SessionToken    secret.Text
	// Expires is when they are not valid any more; zero is never.
	Expires time.Time
}

// Source makes tokens, and keeps one for as long as it is good.
type Source struct {
	o Options

	mu    sync.Mutex
	token secret.Text
	until time.Time
}

// New makes a source.
func New(o Options) *Source {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Client == nil {
		o.Client = http.DefaultClient
	}
	return &Source{o: o}
}

const (
	// A server takes a token for fifteen minutes after it was signed.
	tokenLife = 14 * time.Minute
	// signedFor is for how long the address in it may be asked for.
	signedFor = time.Minute
	// margin is how long before their end credentials are not used any more.
	margin = time.Minute
)

// Token is one that is good now.
func (s *Source) Token(ctx context.Context) (secret.Text, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.o.Now(); !s.token.Empty() && now.Before(s.until) {
		return s.token, nil
	}
	creds, err := s.credentials(ctx)
	if err != nil {
		return secret.Text{}, fmt.Errorf("signing in to the EKS cluster %q: %w", s.o.Cluster, err)
	}
	now := s.o.Now()
	address, region, err := s.sts()
	if err != nil {
		return secret.Text{}, err
	}
	signed := presign(signing{
		address: address, region: region, service: "sts", payload: emptyPayload, expires: signedFor,
		query:   url.Values{"Action": {"GetCallerIdentity"}, "Version": {stsVersion}},
		headers: map[string]string{"x-k8s-aws-id": s.o.Cluster},
	}, creds, now)
	s.token = secret.New("k8s-aws-v1." + base64.RawURLEncoding.EncodeToString([]byte(signed)))
	s.until = now.Add(tokenLife)
	if end := creds.Expires; !end.IsZero() && end.Add(-margin).Before(s.until) {
		s.until = end.Add(-margin)
	}
	return s.token, nil
}

// Forget drops the token that is kept: a server refused it.
func (s *Source) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = secret.Text{}
}

// credentials are the first that are found, and those of the role if one is to
// be taken on.
func (s *Source) credentials(ctx context.Context) (Credentials, error) {
	if s.o.Profile != "" {
		return Credentials{}, fmt.Errorf("profile %q is of files that are not read here; give the role of the profile as roleARN, "+
			"and the credentials by the environment or a web identity", s.o.Profile)
	}
	base, err := s.base(ctx)
	if err != nil || s.o.Role == "" {
		return base, err
	}
	query := url.Values{"Action": {"AssumeRole"}, "Version": {stsVersion}, "RoleArn": {s.o.Role}, "RoleSessionName": {sessionName}}
	if s.o.ExternalID != "" {
		query.Set("ExternalId", s.o.ExternalID)
	}
	address, region, err := s.sts()
	if err != nil {
		return Credentials{}, err
	}
	signed := presign(signing{
		address: address, region: region, service: "sts", payload: emptyPayload, expires: signedFor, query: query,
	}, base, s.o.Now())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, signed, nil)
	if err != nil {
		return Credentials{}, errors.New("taking on the role: the address of STS makes no sense")
	}
	creds, err := s.ask(request)
	if err != nil {
		return Credentials{}, fmt.Errorf("taking on role %s: %w", s.o.Role, err)
	}
	return creds, nil
}

// base are the credentials that the process was given.
func (s *Source) base(ctx context.Context) (Credentials, error) {
	get := s.o.Getenv
	switch {
	case get("AWS_ACCESS_KEY_ID") != "" && get("AWS_SECRET_ACCESS_KEY") != "":
		return Credentials{
			AccessKeyID: get("AWS_ACCESS_KEY_ID"), SecretAccessKey: secret.New(get("AWS_SECRET_ACCESS_KEY")),
			SessionToken: secret.New(get("AWS_SESSION_TOKEN")),
		}, nil
	case get("AWS_WEB_IDENTITY_TOKEN_FILE") != "" && get("AWS_ROLE_ARN") != "":
		return s.webIdentity(ctx)
	case get("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "":
		return s.container(ctx)
	}
	return Credentials{}, errors.New("there are no AWS credentials; give the controller's service account a role " +
		"(AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE, or a pod identity), or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
}

// sts is the address of the token service, and the region that it signs for.
func (s *Source) sts() (url.URL, string, error) {
	region := s.o.Getenv("AWS_REGION")
	if region == "" {
		region = s.o.Getenv("AWS_DEFAULT_REGION")
	}
	text := "https://sts." + region + ".amazonaws.com"
	switch {
	case region == "":
		region, text = "us-east-1", "https://sts.amazonaws.com"
	case strings.HasPrefix(region, "cn-"):
		text += ".cn"
	}
	if other := s.o.Getenv("AWS_ENDPOINT_URL_STS"); other != "" {
		text = other
	}
	address, err := url.Parse(text)
	if err != nil || address.Host == "" {
		return url.URL{}, "", fmt.Errorf("the address of STS, %q, makes no sense; look at AWS_REGION and AWS_ENDPOINT_URL_STS", text)
	}
	return *address, region, nil
}
