package eks

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/secret"
)

// The key and the signature are the worked examples of AWS's own documents.
func TestSigningKey(t *testing.T) {
	got := hex.EncodeToString(signingKey("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "20150830", "us-east-1", "iam"))
	if want := "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9"; got != want {
		t.Errorf("the key is %s", got)
	}
}

func TestPresign(t *testing.T) {
	got := presign(signing{
		address: url.URL{Scheme: "https", Host: "examplebucket.s3.amazonaws.com", Path: "/test.txt"},
		region:  "us-east-1", service: "s3", payload: "UNSIGNED-PAYLOAD", expires: 86400 * time.Second,
	}, Credentials{
		AccessKeyID: "AKIAIOSFODNN7EXAMPLE", SecretAccessKey: secret.New("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
	}, time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC))
	if !strings.HasSuffix(got, "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404") {
		t.Errorf("the address is %s", got)
	}
}

// sts is a token service that gives credentials to those whom it knows: the
// signature of a request is checked by making it again.
type sts struct {
	*httptest.Server
	now   time.Time
	asked []string
}

func newSTS(t *testing.T, now time.Time) *sts {
	s := &sts{now: now}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		action := r.Form.Get("Action")
		s.asked = append(s.asked, action+" "+r.Form.Get("RoleArn"))
		known := action == "AssumeRoleWithWebIdentity" && r.PostForm.Get("WebIdentityToken") == "identity" ||
			action == "AssumeRole" && s.signed(r, Credentials{AccessKeyID: "WEB", SecretAccessKey: secret.New("s-web"), SessionToken: secret.New("t-web")}, nil)
		if !known {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `<ErrorResponse><Error><Code>AccessDenied</Code><Message>you may not</Message></Error></ErrorResponse>`)
			return
		}
		name := map[string]string{"AssumeRole": "ROLE", "AssumeRoleWithWebIdentity": "WEB"}[action]
		fmt.Fprintf(w, `<%[1]sResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><%[1]sResult><Credentials><AccessKeyId>%[2]s</AccessKeyId>`+
			`<SecretAccessKey>s-%[3]s</SecretAccessKey><SessionToken>t-%[3]s</SessionToken><Expiration>%[4]s</Expiration></Credentials></%[1]sResult></%[1]sResponse>`,
			action, name, strings.ToLower(name), s.now.Add(time.Hour).Format(time.RFC3339))
	}))
	t.Cleanup(s.Close)
	return s
}

// signed makes the signature of a request again.
func (s *sts) signed(r *http.Request, by Credentials, headers map[string]string) bool {
	query := r.URL.Query()
	at, err := time.Parse(stamp, query.Get("X-Amz-Date"))
	if err != nil {
		return false
	}
	given := query.Get("X-Amz-Signature")
	for name := range query {
		if strings.HasPrefix(name, "X-Amz-") {
			query.Del(name)
		}
	}
	again := presign(signing{
		address: url.URL{Scheme: "http", Host: r.Host, Path: r.URL.Path}, query: query, region: "eu-west-1", service: "sts",
		payload: emptyPayload, expires: signedFor, headers: headers,
	}, by, at)
	return given != "" && strings.HasSuffix(again, "="+given)
}

func TestToken(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	server := newSTS(t, now)
	env := map[string]string{
		"AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL_STS": server.URL,
		"AWS_ROLE_ARN": "arn:pod", "AWS_WEB_IDENTITY_TOKEN_FILE": "/token",
	}
	source := New(Options{
		Cluster: "shop", Role: "arn:deployer", Getenv: func(name string) string { return env[name] }, Now: func() time.Time { return now },
		ReadFile: func(name string) ([]byte, error) { return []byte("identity\n"), nil },
	})
	token, err := source.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"AssumeRoleWithWebIdentity arn:pod", "AssumeRole arn:deployer"}, server.asked); d != "" {
		t.Errorf("the questions differ (-want +got):\n%s", d)
	}
	encoded, ok := strings.CutPrefix(token.Reveal(), "k8s-aws-v1.")
	if !ok {
		t.Fatalf("the token is %s", token.Reveal())
	}
	address, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(http.MethodGet, string(address), nil)
	if !server.signed(request, Credentials{AccessKeyID: "ROLE", SecretAccessKey: secret.New("s-role"), SessionToken: secret.New("t-role")},
		map[string]string{"x-k8s-aws-id": "shop"}) {
		t.Errorf("the signature is not that of the role for this cluster: %s", address)
	}
	if got := request.URL.Query(); got.Get("Action") != "GetCallerIdentity" || got.Get("X-Amz-Expires") != "60" || got.Get("X-Amz-SignedHeaders") != "host;x-k8s-aws-id" {
		t.Errorf("the address is %s", address)
	}

	now = now.Add(13 * time.Minute)
	if again, err := source.Token(t.Context()); err != nil || again.Reveal() != token.Reveal() || len(server.asked) != 2 {
		t.Errorf("a good token is not used again: %v", err)
	}
	now = now.Add(2 * time.Minute)
	if again, err := source.Token(t.Context()); err != nil || again.Reveal() == token.Reveal() {
		t.Errorf("an old token is used: %v", err)
	}
	source.Forget()
	if _, err := source.Token(t.Context()); err != nil || len(server.asked) != 6 {
		t.Errorf("a refused token is not made anew: %v, %v", err, server.asked)
	}
}

func TestCredentials(t *testing.T) {
	server := newSTS(t, time.Now())
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "identity" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"AccessKeyId": "POD", "SecretAccessKey": "s", "Token": "t", "Expiration": "2026-01-02T03:04:05Z"}`)
	}))
	defer agent.Close()
	cases := map[string]struct {
		env     map[string]string
		profile string
		want    string
		says    string
	}{
		"the environment": {env: map[string]string{"AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "s"}, want: "ENV"},
		"the pod's identity": {env: map[string]string{
			"AWS_CONTAINER_CREDENTIALS_FULL_URI": agent.URL, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "/token",
		}, want: "POD"},
		"none":      {says: "there are no AWS credentials; give the controller's service account a role"},
		"a profile": {profile: "prod", says: `profile "prod" is of files that are not read here`},
		"refused": {env: map[string]string{
			"AWS_ROLE_ARN": "arn", "AWS_WEB_IDENTITY_TOKEN_FILE": "/wrong", "AWS_ENDPOINT_URL_STS": server.URL,
		}, says: "STS answered 403: AccessDenied: you may not"},
		"an agent that does not know us": {
			env: map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": agent.URL}, says: "answered 401",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			source := New(Options{Profile: c.profile, Getenv: func(name string) string { return c.env[name] }, ReadFile: func(name string) ([]byte, error) {
				if name == "/wrong" {
					return []byte("somebody"), nil
				}
				return []byte("identity"), nil
			}})
			got, err := source.credentials(t.Context())
			if c.says == "" && (err != nil || got.AccessKeyID != c.want) {
				t.Errorf("they are %+v, %v", got, err)
			}
			if c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestEndpoints(t *testing.T) {
	for region, want := range map[string]string{
		"": "https://sts.amazonaws.com us-east-1", "eu-west-1": "https://sts.eu-west-1.amazonaws.com eu-west-1",
		"cn-north-1": "https://sts.cn-north-1.amazonaws.com.cn cn-north-1",
	} {
		address, signs, err := New(Options{Getenv: func(name string) string { return map[string]string{"AWS_DEFAULT_REGION": region}[name] }}).sts()
		if got := address.String() + " " + signs; err != nil || got != want {
			t.Errorf("in %q it is %s, %v", region, got, err)
		}
	}
}
