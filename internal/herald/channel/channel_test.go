package channel_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/address"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/notice"
	"github.com/towline-cd/towline/internal/core/secret"
	"github.com/towline-cd/towline/internal/herald/channel"
)

// house plays the services over HTTP: it answers by path, and remembers what it was asked.
type house struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
	// answers are by method and path; without one it is an empty object.
	answers map[string]string
	status  map[string]int
	header  http.Header
}

func open(t *testing.T) *house {
	t.Helper()
	h := &house{answers: map[string]string{}, status: map[string]int{}, header: http.Header{}}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		line := r.Method + " " + r.URL.RequestURI()
		h.mu.Lock()
		defer h.mu.Unlock()
		text := line
		for _, name := range []string{"Authorization", "X-Api-Key", "X-Auth-Token", "X-User-Id", "From", "X-Custom", "Idempotency-Key"} {
			if value := r.Header.Get(name); value != "" {
				text += fmt.Sprintf(" [%s: %s]", name, value)
			}
		}
		h.asked = append(h.asked, strings.TrimSpace(text+" "+normal(body)))
		maps.Copy(w.Header(), h.header)
		if code := h.status[line]; code != 0 {
			w.WriteHeader(code)
		}
		answer, ok := h.answers[line]
		if !ok {
			answer = "{}"
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(h.Close)
	return h
}

// normal is JSON with its keys in order, or the text itself.
func normal(body []byte) string {
	var value any
	if json.Unmarshal(body, &value) != nil {
		return string(body)
	}
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(value)
	return strings.TrimSpace(out.String())
}

var (
	key     = func() *rsa.PrivateKey { k, _ := rsa.GenerateKey(rand.Reader, 2048); return k }()
	keyText = string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	due     = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
)

func send(t *testing.T, kind string, options any, m channel.Message) error {
	t.Helper()
	raw, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	c, err := channel.Open(notice.Service{Name: "svc", Type: kind, Options: secret.New(string(raw))},
		channel.Options{Reach: address.Local, Threads: &channel.Threads{}})
	if err != nil {
		t.Fatal(err)
	}
	m.To.Service, m.ID, m.At = "svc", "id-1", due
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return c.Send(ctx, m)
}

type o = map[string]any

// TestServices speaks to each service as it expects.
func TestServices(t *testing.T) {
	tests := map[string]struct {
		kind      string
		options   func(at string) o
		recipient string
		part      o
		answers   map[string]string
		want      []string
	}{
		"webhook": {
			kind: "webhook", options: func(at string) o { return o{"url": at + "/in", "headers": []o{{"name": "X-Custom", "value": "c"}}} },
			want: []string{`GET /in [X-Custom: c] [Idempotency-Key: id-1] hello`},
		},
		"webhook with a part": {
			kind: "webhook", options: func(at string) o {
				return o{"url": at + "/in/", "basicAuth": o{"username": "u", "password": "p"}, "retryMax": 2}
			},
			part: o{"svc": o{"method": "PUT", "path": "/x", "body": `{"b":1,"a":2}`}, "other": o{"body": "no"}},
			want: []string{`PUT /in/x [Authorization: Basic dTpw] [Idempotency-Key: id-1] {"a":2,"b":1}`},
		},
		"slack": {
			kind: "slack", recipient: "ops", options: func(at string) o {
				return o{"token": "t", "apiURL": at + "/api/", "icon": ":rocket:", "username": "bot", "disableUnfurl": true}
			},
			part:    o{"attachments": `[{"title": "x"}]`, "username": "other"},
			answers: map[string]string{"POST /api/chat.postMessage": `{"ok": true, "ts": "1", "channel": "C1"}`},
			want: []string{`POST /api/chat.postMessage [Authorization: Bearer t] {"attachments":[{"title":"x"}],"channel":"ops",` +
				`"icon_emoji":":rocket:","text":"hello","unfurl_links":false,"unfurl_media":false,"username":"other"}`},
		},
		"alertmanager": {
			kind: "alertmanager", options: func(at string) o {
				return o{"targets": []string{"127.0.0.1:1", strings.TrimPrefix(at, "http://")}, "bearerToken": "t"}
			},
			part: o{"labels": o{"alertname": "a"}, "annotations": o{"b": "c"}, "generatorURL": "git@example.com:acme/shop"},
			want: []string{`POST /api/v2/alerts [Authorization: Bearer t] [{"annotations":{"b":"c"},` +
				`"generatorURL":"https://example.com/acme/shop","labels":{"alertname":"a"},"startsAt":"2026-01-01T12:00:00Z"}]`},
		},
		"teams": {
			kind: "teams", recipient: "room", options: func(at string) o { return o{"recipientUrls": o{"room": at + "/hook"}} },
			part: o{
				"title": "T", "themeColor": "#f00", "facts": `[{"name":"n","value":"v"}]`, "sections": `[{"s":1}]`,
				"potentialAction": `[{"@type":"OpenUri"}]`,
			},
			answers: map[string]string{"POST /hook": "1"},
			want: []string{`POST /hook {"@type":"MessageCard","context":"https://schema.org/extensions","potentialAction":[{"@type":"OpenUri"}],` +
				`"sections":[{"s":1},{"facts":[{"name":"n","value":"v"}]}],"summary":"","text":"hello","themeColor":"#f00","title":"T"}`},
		},
		"teams-workflows": {
			kind: "teams-workflows", recipient: "room", options: func(at string) o { return o{"recipientUrls": o{"room": at + "/hook"}} },
			part: o{
				"title": "T", "facts": `[{"name":"n","value":1}]`,
				"potentialAction": `[{"@type":"OpenUri","name":"Open","targets":[{"os":"default","uri":"https://x"}]}]`,
			},
			want: []string{`POST /hook {"attachments":[{"content":{"actions":[{"title":"Open","type":"Action.OpenUrl","url":"https://x"}],` +
				`"body":[{"size":"Large","text":"T","type":"TextBlock","weight":"Bolder","wrap":true},{"text":"hello","type":"TextBlock","wrap":true},` +
				`{"facts":[{"title":"n","value":"1"}],"type":"FactSet"}],"type":"AdaptiveCard","version":"1.4"},` +
				`"contentType":"application/vnd.microsoft.card.adaptive"}],"type":"message"}`},
		},
		"telegram to a group": {
			kind: "telegram", recipient: "-100|7", options: func(at string) o { return o{"token": "1:T", "apiURL": at} },
			answers: map[string]string{"POST /bot1:T/sendMessage": `{"ok": true}`},
			want:    []string{`POST /bot1:T/sendMessage {"chat_id":-100,"message_thread_id":7,"parse_mode":"Markdown","text":"hello"}`},
		},
		"telegram to a channel": {
			kind: "telegram", recipient: "ops", options: func(at string) o { return o{"token": "1:T", "apiURL": at} },
			answers: map[string]string{"POST /bot1:T/sendMessage": `{"ok": true}`},
			want:    []string{`POST /bot1:T/sendMessage {"chat_id":"@ops","parse_mode":"Markdown","text":"hello"}`},
		},
		"grafana": {
			kind: "grafana", recipient: "a|b", options: func(at string) o { return o{"apiUrl": at + "/api", "apiKey": "k", "tags": "z"} },
			want: []string{`POST /api/annotations [Authorization: Bearer k] {"isRegion":false,"tags":["a","b","z"],"text":"hello","time":1767268800000}`},
		},
		"pagerduty": {
			kind: "pagerduty", recipient: "P1", options: func(at string) o { return o{"token": "k", "from": "a@b", "apiURL": at} },
			part: o{"title": "T", "body": "B", "urgency": "high", "priorityId": "Q"},
			want: []string{`POST /incidents [Authorization: Token token=k] [From: a@b] {"incident":{"body":{"details":"B","type":"incident_body"},` +
				`"incident_key":"id-1","priority":{"id":"Q","type":"priority_reference"},"service":{"id":"P1","type":"service_reference"},` +
				`"title":"T","type":"incident","urgency":"high"}}`},
		},
		"pagerdutyv2": {
			kind: "pagerdutyv2", recipient: "ops", options: func(at string) o { return o{"serviceKeys": o{"ops": "R"}, "apiURL": at} },
			part: o{"summary": "S", "severity": "critical", "source": "x", "class": "c", "url": "https://u"},
			want: []string{`POST /v2/enqueue {"client":"Towline","client_url":"https://u","dedup_key":"id-1","event_action":"trigger",` +
				`"payload":{"class":"c","severity":"critical","source":"x","summary":"S"},"routing_key":"R"}`},
		},
		"mattermost": {
			kind: "mattermost", recipient: "ch", options: func(at string) o { return o{"apiURL": at, "token": "t"} },
			part: o{"attachments": `[{"a":1}]`},
			want: []string{`POST /api/v4/posts [Authorization: Bearer t] {"channel_id":"ch","message":"hello","props":{"attachments":[{"a":1}]}}`},
		},
		"opsgenie": {
			kind: "opsgenie", recipient: "ops", options: func(at string) o { return o{"apiUrl": at, "apiKeys": o{"ops": "k"}} },
			part: o{"description": "D", "priority": "P1", "tags": []string{"a"}},
			want: []string{`POST /v2/alerts [Authorization: GenieKey k] {"alias":"id-1","description":"D","message":"hello","priority":"P1",` +
				`"source":"Towline","tags":["a"]}`},
		},
		"googlechat": {
			kind: "googlechat", recipient: "space", options: func(at string) o { return o{"webhooks": o{"space": at + "/s?key=k"}} },
			part: o{"cardsV2": "- cardId: a", "threadKey": "t"},
			want: []string{`POST /s?key=k&messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD&threadKey=t {"cardsV2":[{"cardId":"a"}]}`},
		},
		"rocketchat": {
			kind: "rocketchat", recipient: "#ops", options: func(at string) o { return o{"serverUrl": at, "email": "e", "password": "p", "alias": "b"} },
			answers: map[string]string{
				"POST /api/v1/login":            `{"data": {"authToken": "T", "userId": "U"}}`,
				"POST /api/v1/chat.postMessage": `{"success": true}`,
			},
			want: []string{
				`POST /api/v1/login {"password":"p","user":"e"}`,
				`POST /api/v1/chat.postMessage [X-Auth-Token: T] [X-User-Id: U] {"alias":"b","channel":"#ops","text":"hello"}`,
			},
		},
		"pushover": {
			kind: "pushover", recipient: "u", options: func(at string) o { return o{"token": "t", "apiURL": at} },
			want: []string{`POST /1/messages.json {"message":"hello","token":"t","user":"u"}`},
		},
		"newrelic by name": {
			kind: "newrelic", recipient: "shop", options: func(at string) o { return o{"apiKey": "k", "apiURL": at} },
			part:    o{"revision": "abc"},
			answers: map[string]string{"GET /v2/applications.json?filter[name]=shop": `{"applications": [{"id": 7, "name": "shop"}]}`},
			want: []string{
				`GET /v2/applications.json?filter[name]=shop [X-Api-Key: k]`,
				`POST /v2/applications/7/deployments.json [X-Api-Key: k] {"deployment":{"changelog":"","description":"hello","revision":"abc","user":""}}`,
			},
		},
		"webex": {
			kind: "webex", recipient: "a@b", options: func(at string) o { return o{"token": "t", "apiURL": at} },
			want: []string{`POST /v1/messages [Authorization: Bearer t] {"markdown":"hello","toPersonEmail":"a@b"}`},
		},
	}
	seen := map[string]bool{"email": true, "github": true}
	for name, test := range tests {
		seen[test.kind] = true
		t.Run(name, func(t *testing.T) {
			h := open(t)
			maps.Copy(h.answers, test.answers)
			m := channel.Message{Content: notice.Content{Message: "hello", Part: test.part}, To: notice.Destination{Recipient: test.recipient}}
			if err := send(t, test.kind, test.options(h.URL), m); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, h.asked); d != "" {
				t.Errorf("it asked for something else (-want +got):\n%s", d)
			}
		})
	}
	for _, kind := range channel.Types() {
		if !seen[kind] {
			t.Errorf("there is no test of %s", kind)
		}
	}
	if d := cmp.Diff(notice.Types(), channel.Types()); d != "" {
		t.Errorf("what a configuration may name and what can be opened differ:\n%s", d)
	}
}

// TestGitHub says on a commit how it is with it, twice: what was said is found again.
func TestGitHub(t *testing.T) {
	h := open(t)
	h.answers["POST /api/v3/app/installations/2/access_tokens"] = `{"token": "T", "expires_at": "2099-01-01T00:00:00Z"}`
	h.answers["GET /api/v3/repos/acme/shop/deployments?environment=prod&ref=abc"] = `[]`
	h.answers["POST /api/v3/repos/acme/shop/deployments"] = `{"id": 5}`
	h.answers["GET /api/v3/repos/acme/shop/commits/abc/pulls"] = `[{"number": 3}]`
	h.answers["GET /api/v3/repos/acme/shop/issues/3/comments?per_page=100"] = `[]`
	h.answers["GET /api/v3/repos/acme/shop/commits/abc/check-runs?check_name=c&filter=all"] = `{"check_runs": []}`
	options := o{"appID": "1", "installationID": 2, "privateKey": keyText, "enterpriseBaseURL": h.URL}
	m := channel.Message{Content: notice.Content{Message: strings.Repeat("x", 150), Part: o{
		"repoURLPath": "https://example.com/acme/shop.git", "revisionPath": "abc",
		"status":             o{"state": "success", "label": "deploy", "targetURL": "https://t"},
		"deployment":         o{"state": "success", "environment": "prod", "requiredContexts": []string{}},
		"pullRequestComment": o{"content": "hi"}, "checkRun": o{"name": "c", "conclusion": "success"},
		"repositoryDispatch": o{"event_type": "e", "client_payload": `{"a":1}`},
	}}}
	if err := send(t, "github", options, m); err != nil {
		t.Fatal(err)
	}
	signed := strings.TrimSuffix(strings.TrimPrefix(h.asked[0], "POST /api/v3/app/installations/2/access_tokens [Authorization: Bearer "), "]")
	claims := jwt.RegisteredClaims{}
	if _, err := jwt.ParseWithClaims(signed, &claims, func(*jwt.Token) (any, error) { return &key.PublicKey, nil }); err != nil || claims.Issuer != "1" {
		t.Errorf("it signs in as %q: %v", claims.Issuer, err)
	}
	short := strings.Repeat("x", 139) + "…"
	want := []string{
		`POST /statuses/abc {"context":"deploy","description":"` + short + `","state":"success","target_url":"https://t"}`,
		`GET /deployments?environment=prod&ref=abc`,
		`POST /deployments {"auto_merge":true,"environment":"prod","ref":"abc","required_contexts":[],"transient_environment":false}`,
		`POST /deployments/5/statuses {"description":"` + short + `","environment":"prod","environment_url":"","log_url":"","state":"success"}`,
		`GET /commits/abc/pulls`,
		`GET /issues/3/comments?per_page=100`,
		`POST /issues/3/comments {"body":"hi\n<!-- towline id-1 -->"}`,
		`GET /commits/abc/check-runs?check_name=c&filter=all`,
		`POST /check-runs {"conclusion":"success","external_id":"id-1","head_sha":"abc","name":"c","status":"completed"}`,
		`POST /dispatches {"client_payload":{"a":1},"event_type":"e"}`,
	}
	if d := cmp.Diff(want, plain(h.asked[1:])); d != "" {
		t.Errorf("it asked for something else (-want +got):\n%s", d)
	}

	h.asked = nil
	h.answers["GET /api/v3/repos/acme/shop/deployments?environment=prod&ref=abc"] = `[{"id": 5}]`
	h.answers["GET /api/v3/repos/acme/shop/issues/3/comments?per_page=100"] = `[{"id": 9, "body": "hi\n<!-- towline id-1 -->"}]`
	h.answers["GET /api/v3/repos/acme/shop/commits/abc/check-runs?check_name=c&filter=all"] = `{"check_runs": [{"external_id": "id-1"}]}`
	m.Again = true
	if err := send(t, "github", options, m); err != nil {
		t.Fatal(err)
	}
	want = []string{want[0], want[1], want[3], want[4], want[5], `PATCH /issues/comments/9 {"body":"hi\n<!-- towline id-1 -->"}`, want[7]}
	if d := cmp.Diff(want, plain(h.asked[1:])); d != "" {
		t.Errorf("the second time it asked for something else (-want +got):\n%s", d)
	}
}

// plain takes out what all requests have.
func plain(asked []string) []string {
	var out []string
	for _, line := range asked {
		line = strings.Replace(line, "/api/v3/repos/acme/shop", "", 1)
		out = append(out, strings.Replace(line, " [Authorization: Bearer T]", "", 1))
	}
	return out
}

// TestSlackThreads makes one conversation of messages with the same key.
func TestSlackThreads(t *testing.T) {
	h := open(t)
	h.answers["POST /chat.postMessage"] = `{"ok": true, "ts": "17.5", "channel": "C1"}`
	h.answers["POST /chat.update"] = `{"ok": true}`
	raw, _ := json.Marshal(o{"token": "t", "apiURL": h.URL})
	c, err := channel.Open(notice.Service{Type: "slack", Options: secret.New(string(raw))},
		channel.Options{Reach: address.Local, Threads: &channel.Threads{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range []string{"Post", "PostAndUpdate", "Update"} {
		m := channel.Message{Content: notice.Content{Message: policy, Part: o{"groupingKey": "g", "deliveryPolicy": policy, "notifyBroadcast": true}}}
		m.To.Recipient = "ops"
		if err := c.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, line := range h.asked {
		got = append(got, strings.Replace(line, " [Authorization: Bearer t]", "", 1))
	}
	want := []string{
		`POST /chat.postMessage {"channel":"ops","text":"Post"}`,
		`POST /chat.postMessage {"channel":"ops","reply_broadcast":true,"text":"PostAndUpdate","thread_ts":"17.5"}`,
		`POST /chat.update {"as_user":true,"channel":"C1","reply_broadcast":true,"text":"PostAndUpdate","ts":"17.5"}`,
		`POST /chat.update {"as_user":true,"channel":"C1","text":"Update","ts":"17.5"}`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("it asked for something else (-want +got):\n%s", d)
	}
}

// TestRefusals tells what goes away from what does not, and no secret.
func TestRefusals(t *testing.T) {
	h := open(t)
	h.status["GET /busy?token=hush"] = http.StatusServiceUnavailable
	h.status["GET /wrong?token=hush"] = http.StatusForbidden
	h.answers["GET /wrong?token=hush"] = "who are you"
	h.status["GET /away?token=hush"] = http.StatusFound
	h.header.Set("Location", "http://elsewhere.example.com/?token=hush")
	h.header.Set("Retry-After", "7")
	h.answers["POST /chat.postMessage"] = `{"ok": false, "error": "channel_not_found"}`
	hook := func(path string) (string, any) { return "webhook", o{"url": h.URL + path + "?token=hush"} }
	tests := map[string]struct {
		kind    string
		options any
		class   fault.Class
		after   time.Duration
		want    string
	}{
		"busy":       {class: fault.Transient, after: 7 * time.Second, want: "503 Service Unavailable: {}"},
		"wrong":      {class: fault.Terminal, want: "403 Forbidden: who are you"},
		"away":       {class: fault.Terminal, want: "sends us elsewhere"},
		"nobody":     {kind: "webhook", options: o{"url": "http://127.0.0.1:1/hush"}, class: fault.Transient, want: "calling http://127.0.0.1:1:"},
		"metadata":   {kind: "webhook", options: o{"url": "http://169.254.169.254/hush"}, class: fault.Terminal, want: "no service may have"},
		"slack":      {kind: "slack", options: o{"token": "hush", "apiURL": h.URL}, class: fault.Terminal, want: "channel_not_found"},
		"telegram":   {kind: "telegram", options: o{"token": "hush", "apiURL": "http://127.0.0.1:1"}, class: fault.Transient, want: "calling http://127.0.0.1:1:"},
		"teams":      {kind: "teams", options: o{"recipientUrls": o{"x": "hush"}}, class: fault.Terminal, want: "add it to recipientUrls"},
		"no mailbox": {kind: "email", options: o{"host": "127.0.0.1", "port": 1, "from": "a@b"}, class: fault.Terminal, want: "the recipient"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.kind == "" {
				test.kind, test.options = hook("/" + name)
			}
			err := send(t, test.kind, test.options, channel.Message{Content: notice.Content{Message: "hello"}})
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hush") || fault.ClassOf(err) != test.class {
				t.Errorf("it says %v (%v)", err, fault.ClassOf(err))
			}
			later, ok := errors.AsType[*channel.LaterError](err)
			if ok != (test.after > 0) || ok && later.After != test.after {
				t.Errorf("it says when to come back: %v", later)
			}
		})
	}
}

// TestTenantsStayOutside keeps services that others configure off this machine.
func TestTenantsStayOutside(t *testing.T) {
	h := open(t)
	raw, _ := json.Marshal(o{"url": h.URL})
	c, err := channel.Open(notice.Service{Type: "webhook", Options: secret.New(string(raw))}, channel.Options{Reach: address.Private})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Send(t.Context(), channel.Message{}); err == nil || !strings.Contains(err.Error(), "no service may have") || len(h.asked) > 0 {
		t.Errorf("it says %v, and asked for %v", err, h.asked)
	}
}

// TestCheck names what a service cannot follow.
func TestCheck(t *testing.T) {
	c := notice.Parse(notice.Source{Data: map[string]string{
		"service.slack":        "{token: x, chanel: y}",
		"service.email":        "{host: h}",
		"service.webhook.hook": "{url: x, maxIdleConns: lots}",
		"service.github":       "{appID: 1, installationID: 1, privateKey: hush}",
		"service.telegram":     "{token: x}",
		"template.t":           "{slack: {atachments: x}, webhook: {hook: {verb: x}}, telegram: {x: y}, github: {status: {state: ok}}}",
	}})
	var got []string
	for _, p := range channel.Check(c) {
		got = append(got, p.String())
	}
	slices.Sort(got)
	want := []string{
		"service.email: it has no from, the address that messages come from",
		"service.github: the privateKey is not a key of a GitHub App as PEM",
		`service.slack: nothing is known of the field "chanel"; take it out, or correct its name`,
		"service.webhook.hook: the field maxIdleConns is no int",
		`template.t: the part slack: nothing is known of the field "atachments"; take it out, or correct its name`,
		`template.t: the part telegram: services of this type take a message and nothing else`,
		`template.t: the part webhook: nothing is known of the field "verb"; take it out, or correct its name`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("it names something else (-want +got):\n%s", d)
	}
}
