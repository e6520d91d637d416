package eks

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/towline-cd/towline/internal/core/secret"
)

const (
	stsVersion  = "2011-06-15"
	sessionName = "towline"
	// answerMax bounds what a token service may answer.
	answerMax = 1 << 20
)

// answer is what STS says to a request for credentials.
type answer struct {
	Role        issued  `xml:"AssumeRoleResult>Credentials"`
	WebIdentity issued  `xml:"AssumeRoleWithWebIdentityResult>Credentials"`
	Error       refusal `xml:"Error"`
}

type issued struct {
	AccessKeyID     string    `xml:"AccessKeyId"`
	SecretAccessKey string    `xml:"SecretAccessKey"`
	SessionToken    string    `xml:"SessionToken"`
	Expiration      time.Time `xml:"Expiration"`
}

type refusal struct {
	Code    string `xml:"Code"`
	Message string `xml:"Message"`
}

// ask sends a request for credentials.
func (s *Source) ask(request *http.Request) (Credentials, error) {
	body, code, err := s.send(request)
	if err != nil {
		return Credentials{}, err
	}
	var a answer
	if err := xml.Unmarshal(body, &a); err != nil {
		return Credentials{}, fmt.Errorf("STS answered %d with something that is not XML", code)
	}
	if code != http.StatusOK {
		return Credentials{}, fmt.Errorf("STS answered %d: %s: %s", code, a.Error.Code, a.Error.Message)
	}
	got := cmp.Or(a.Role, a.WebIdentity)
	if got.AccessKeyID == "" || got.SecretAccessKey == "" {
		return Credentials{}, errors.New("STS answered without credentials")
	}
	return Credentials{
		AccessKeyID: got.AccessKeyID, SecretAccessKey: secret.New(got.SecretAccessKey),
		SessionToken: secret.New(got.SessionToken), Expires: got.Expiration,
	}, nil
}

func (s *Source) send(request *http.Request) (body []byte, code int, err error) {
	response, err := s.o.Client.Do(request)
	if err != nil {
		// The error has the address in it, and with it the signature.
		if lost, ok := errors.AsType[*url.Error](err); ok {
			err = lost.Err
		}
		return nil, 0, fmt.Errorf("asking %s: %w", request.URL.Host, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(response.Body, answerMax))
	if err != nil {
		return nil, 0, fmt.Errorf("reading the answer of %s: %w", request.URL.Host, err)
	}
	return body, response.StatusCode, nil
}

// webIdentity exchanges the token of the service account for credentials. The
// file is read each time: the kubelet writes a new one before the old ends.
func (s *Source) webIdentity(ctx context.Context) (Credentials, error) {
	file, role := s.o.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE"), s.o.Getenv("AWS_ROLE_ARN")
	token, err := s.o.ReadFile(file)
	if err != nil {
		return Credentials{}, fmt.Errorf("reading the web identity: %w", err)
	}
	address, _, err := s.sts()
	if err != nil {
		return Credentials{}, err
	}
	form := url.Values{
		"Action": {"AssumeRoleWithWebIdentity"}, "Version": {stsVersion}, "RoleArn": {role},
		"RoleSessionName":  {cmp.Or(s.o.Getenv("AWS_ROLE_SESSION_NAME"), sessionName)},
		"WebIdentityToken": {strings.TrimSpace(string(token))},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return Credentials{}, fmt.Errorf("asking STS: %w", err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	creds, err := s.ask(request)
	if err != nil {
		return Credentials{}, fmt.Errorf("taking on role %s by the web identity: %w", role, err)
	}
	return creds, nil
}

// container asks the agent on the node for the pod's identity.
func (s *Source) container(ctx context.Context) (Credentials, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.o.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI"), nil)
	if err != nil {
		return Credentials{}, fmt.Errorf("asking for the pod's identity: %w", err)
	}
	token := s.o.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN")
	if file := s.o.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); file != "" {
		raw, err := s.o.ReadFile(file)
		if err != nil {
			return Credentials{}, fmt.Errorf("reading the pod's identity: %w", err)
		}
		token = strings.TrimSpace(string(raw))
	}
	if token != "" {
		request.Header.Set("Authorization", token)
	}
	body, code, err := s.send(request)
	if err != nil {
		return Credentials{}, err
	}
	var got struct {
		AccessKeyID     string    `json:"AccessKeyId"`
		SecretAccessKey string    `json:"SecretAccessKey"`
		Token           string    `json:"Token"`
		Expiration      time.Time `json:"Expiration"`
	}
	if err := json.Unmarshal(body, &got); err != nil || code != http.StatusOK || got.AccessKeyID == "" {
		return Credentials{}, fmt.Errorf("the pod identity agent answered %d without credentials", code)
	}
	return Credentials{
		AccessKeyID: got.AccessKeyID, SecretAccessKey: secret.New(got.SecretAccessKey),
		SessionToken: secret.New(got.Token), Expires: got.Expiration,
	}, nil
}
