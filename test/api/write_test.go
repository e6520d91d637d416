package api_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/repository"
)

// request is one thing that is asked, or awaited.
type request struct {
	Do    string `json:"do"`
	Body  any    `json:"body"`
	Code  int    `json:"code"`
	Says  string `json:"says"`
	Shape any    `json:"shape"`

	Await string `json:"await"`
	Phase string `json:"phase"`

	Is     string   `json:"is"`
	Gone   bool     `json:"gone"`
	Object []string `json:"object"`
}

func readSteps(t *testing.T) []request {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "writes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var out []request
	if err := yaml.UnmarshalStrict(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestWritesAnswerAsDocumented takes the steps of the file one after the other.
func TestWritesAnswerAsDocumented(t *testing.T) {
	s := newStage(t)
	names := s.furnish()
	s.supply(names)
	s.start()
	s.await("shop")
	for i, st := range readSteps(t) {
		where := fmt.Sprintf("step %d, %s%s%s", i+1, st.Do, st.Await, strings.Join(st.Object, " "))
		for _, wrong := range s.take(names, st) {
			t.Errorf("%s: %s", where, wrong)
		}
		if t.Failed() {
			t.FailNow() // what follows relies on it
		}
	}
	log := s.log.String()
	for _, word := range leaked([]byte(log)) {
		t.Errorf("the log has %s", word)
	}
	for _, want := range []string{
		`msg=audit .*subject=admin .*does="POST /api/v1/applications" rights=\[applications.create\] object=web/made status=200 version=\d+`,
		`msg=audit .*subject=admin .*from=127.0.0.1 does="POST /api/v1/applications/{name}/sync" rights=\[applications.sync\] object=web/made status=200 .*revision=v1`,
		`msg=audit .*rights="\[applications.sync applications.override\]" object=web/made status=200 .*local=true`,
		`msg=audit .*rights=\[applications.action/apps/Deployment/restart\] object=web/shop`,
		`msg=audit .*rights=\[applications.update//Service/`,
		`msg=audit .*does="DELETE /api/v1/applications/{name}" .*cascade=false`,
		`msg=audit .*rights=\[repositories.create\]`,
	} {
		if !regexp.MustCompile(want).MatchString(log) {
			t.Errorf("nobody said %s", want)
		}
	}
}

// supply makes what the steps need besides.
func (s *stage) supply(h hosted) {
	s.Helper()
	old := map[string]string{
		"plain/map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\ndata: {key: old}\n",
		"slow/hook.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: slow, annotations: {argocd.argoproj.io/hook: PreSync}}\n" +
			"spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: x, image: x}]}}}\n",
		"slow/map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: slow}\n",
	}
	s.must(s.git.Create("lib", old))
	revision, err := s.git.Revision("lib", "main")
	s.must(err)
	s.must(s.git.SetRef("lib", "refs/tags/v1", revision))
	_, err = s.git.Commit("lib", "main", "a change", map[string]*string{
		"plain/map.yaml": new(strings.Replace(old["plain/map.yaml"], "old", "new", 1)),
	})
	s.must(err)
	lib := s.git.URL("lib")
	h["lib"], h["libURL"], h["nowhere"] = url.PathEscape(lib), lib, url.PathEscape(lib+"-nowhere")
	h["libSecret"] = repository.SecretName(repository.Repository{URL: lib}, false)
	h["repoURL"], h["control"] = s.git.URL("shop"), s.control
	h["helmURL"], err = url.PathUnescape(h["helm"])
	s.must(err)
	config, err := s.plane.RESTConfig()
	s.must(err)
	encode := base64.StdEncoding.EncodeToString
	h["clusterURL"], h["clusterPath"] = config.Host, url.PathEscape(config.Host)
	h["ca"], h["cert"], h["key64"] = encode(config.CAData), encode(config.CertData), encode(config.KeyData)
	h["hostKey"] = encode([]byte("AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"))
	h["gpg"], h["gpgID"] = s.signingKey()
}

// signingKey is a key that commits may be signed with.
func (s *stage) signingKey() (armoured, id string) {
	s.Helper()
	e, err := openpgp.NewEntity("Jane", "", "jane@example.com", nil)
	s.must(err)
	var b bytes.Buffer
	w, err := armor.Encode(&b, openpgp.PublicKeyType, nil)
	s.must(err)
	s.must(e.Serialize(w))
	s.must(w.Close())
	return b.String(), fmt.Sprintf("%016X", e.PrimaryKey.KeyId)
}

// filled puts names into a body.
func (h hosted) filled(value any) any {
	switch v := value.(type) {
	case string:
		return h.fill(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = h.filled(v[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, item := range v {
			out[key] = h.filled(item)
		}
		return out
	}
	return value
}

// take takes one step and says what is wrong.
func (s *stage) take(h hosted, st request) []string {
	s.Helper()
	switch {
	case st.Await != "":
		s.phase(st.Await, v1alpha1.OperationPhase(st.Phase))
		return nil
	case len(st.Object) > 0:
		return s.look(h, st)
	}
	method, path, _ := strings.Cut(st.Do, " ")
	body := ""
	if st.Body != nil {
		text, err := json.Marshal(h.filled(st.Body))
		s.must(err)
		body = string(text)
	}
	code, answer := s.ask(method, h.fill(path), s.token, body)
	want := st.Code
	if want == 0 {
		want = http.StatusOK
	}
	var out []string
	if code != want {
		return []string{fmt.Sprintf("%d %s, want %d", code, answer, want)}
	}
	for _, word := range leaked(answer) {
		out = append(out, "the answer has "+word)
	}
	if !strings.Contains(string(answer), st.Says) {
		out = append(out, fmt.Sprintf("it does not say %q: %s", st.Says, answer))
	}
	var got any
	if err := json.Unmarshal(answer, &got); err != nil {
		return append(out, err.Error())
	}
	if st.Shape != nil {
		out = append(out, compare("", st.Shape, got)...)
	}
	return out
}

// look looks at an object of the cluster.
func (s *stage) look(h hosted, st request) []string {
	s.Helper()
	namespace := s.dest
	if len(st.Object) > 2 {
		namespace = s.control
	}
	text := s.kubectl("", "-n", namespace, "get", st.Object[0], h.fill(st.Object[1]), "-o", "json", "--ignore-not-found")
	flat := strings.NewReplacer(" ", "", "\n", "").Replace(text)
	switch {
	case st.Gone && strings.Contains(flat, `"uid"`) && !strings.Contains(flat, `"deletionTimestamp"`):
		return []string{"it is still there"}
	case !strings.Contains(flat, st.Is):
		return []string{fmt.Sprintf("it does not say %s: %s", st.Is, text)}
	}
	return nil
}

// phase waits until the operation of an application is in a phase, and until it was taken away if that is one of its ends.
func (s *stage) phase(name string, want v1alpha1.OperationPhase) {
	s.Helper()
	until := time.Now().Add(patience)
	for time.Now().Before(until) {
		w, err := s.hub.WatchApplications(s.Context(), metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()})
		s.must(err)
		late := time.AfterFunc(time.Until(until), w.Stop)
		for ev := range w.ResultChan() {
			app, ok := ev.Object.(*v1alpha1.Application)
			if !ok {
				break
			}
			state := app.Status.OperationState
			if state != nil && state.Phase == want && (app.Operation == nil || !want.Completed()) {
				late.Stop()
				w.Stop()
				return
			}
		}
		late.Stop()
		w.Stop()
	}
	s.Fatalf("the operation of application %s was never %s", name, want)
}

// TestEveryWriteOfArgoCDIsAccountedFor: a path has a step, or a reason.
func TestEveryWriteOfArgoCDIsAccountedFor(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "writepaths.txt"))
	if err != nil {
		t.Fatal(err)
	}
	steps, count := readSteps(t), 0
	for line := range strings.Lines(string(text)) {
		method, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		path, reason, _ := strings.Cut(rest, " ")
		if method == "" || method == "#" {
			continue
		}
		count++
		pattern := regexp.MustCompile("^" + method + " " + strings.ReplaceAll(regexp.QuoteMeta(path), `\{\}`, `[^/?]+`) + `(\?.*)?$`)
		good := slices.ContainsFunc(steps, func(st request) bool {
			return pattern.MatchString(st.Do) && (st.Code == 0 || st.Code == http.StatusNotImplemented)
		})
		if good == (strings.TrimSpace(reason) != "") {
			t.Errorf("%s %s must have a step that is answered or a reason, and not both", method, path)
		}
	}
	if count < 40 {
		t.Errorf("there are only %d paths", count)
	}
}

// rules are what the installation allows from now on.
func (s *stage) rules(policy string) {
	s.Helper()
	s.apply(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-rbac-cm, namespace: %s}\ndata:\n  policy.csv: |\n%s", s.control,
		"    "+strings.ReplaceAll(strings.TrimSpace(policy), "\n", "\n    ")+"\n"))
}

// developer signs in as somebody whom the rules let do what they say, and nothing else.
func (s *stage) developer(policy string) string {
	s.Helper()
	s.rules(policy)
	const password = "a-password-of-dev"
	code, body := s.ask(http.MethodPut, "/api/v1/account/password", s.token,
		fmt.Sprintf(`{"name":"dev","currentPassword":%q,"newPassword":%q}`, s.initialPassword(), password))
	if code != http.StatusOK {
		s.Fatalf("giving dev a password: %d %s", code, body)
	}
	return s.login("dev", password)
}

// eventually asks until the answer has the code: rules hold from the event on, which is not at once.
func (s *stage) eventually(code int, method, path, token, body string) []byte {
	s.Helper()
	until := time.Now().Add(10 * time.Second)
	for {
		got, answer := s.ask(method, path, token, body)
		if got == code {
			return answer
		}
		if time.Now().After(until) {
			s.Fatalf("%s %s: %d %s, want %d", method, path, got, answer, code)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// sent are bodies for the routes about one application that are well-formed.
var sent = map[string]string{
	"PATCH /api/v1/applications/{name}":                    `{"patch":"{\"spec\":{\"project\":\"web\"}}"}`,
	"POST /api/v1/applications/{name}/resource":            `"{}"`,
	"POST /api/v1/applications/{name}/resource/actions":    `"restart"`,
	"POST /api/v1/applications/{name}/resource/actions/v2": `{"kind":"Secret","resourceName":"login","action":"restart"}`,
	"PUT /api/v1/applications/{name}/spec":                 `{"project":"web"}`,
}

// TestWritesAreForThoseWhoMay: whoever may only look changes nothing, and is told the same of what is hidden and of what is
// not there.
func TestWritesAreForThoseWhoMay(t *testing.T) {
	s := newStage(t)
	names := s.furnish()
	s.start()
	s.await("shop")
	dev := s.developer("p, dev, applications, get, web/*, allow\np, dev, clusters, get, *, allow\np, dev, projects, get, *, allow\np, dev, repositories, get, *, allow")
	const denied = `{"error":"permission denied","code":7,"message":"permission denied"}` + "\n"
	seen := 0
	for _, r := range s.routes() {
		if r.method == http.MethodGet || r.open || !strings.HasPrefix(r.pattern, "/api/v1/applications/{name}") {
			continue
		}
		seen++
		body := sent[r.method+" "+r.pattern]
		if body == "" && r.method != http.MethodDelete {
			body = "{}"
		}
		for _, query := range []string{names.query(), names.query() + "&project=default"} {
			hidden, hiddenBody := s.ask(r.method, names.at(r.pattern, "vault")+query, dev, body)
			gone, goneBody := s.ask(r.method, names.at(r.pattern, "nobody")+query, dev, body)
			if hidden != http.StatusForbidden || hidden != gone || string(hiddenBody) != denied || string(goneBody) != denied {
				t.Errorf("%s %s%s: %d %s, and %d %s", r.method, r.pattern, query, hidden, hiddenBody, gone, goneBody)
			}
		}
		if code, answer := s.ask(r.method, names.at(r.pattern, "shop")+names.query(), dev, body); code != http.StatusForbidden || string(answer) != denied {
			t.Errorf("%s %s: who may look may do it: %d %s", r.method, r.pattern, code, answer)
		}
	}
	if seen < 10 {
		t.Errorf("there are only %d routes", seen)
	}
	for do, body := range map[string]string{
		"POST /api/v1/applications":                           `{"metadata":{"name":"x"},"spec":{"project":"web"}}`,
		"POST /api/v1/projects":                               `{"project":{"metadata":{"name":"x"}}}`,
		"PUT /api/v1/projects/web":                            `{"project":{"metadata":{"name":"web"}}}`,
		"DELETE /api/v1/projects/web":                         ``,
		"POST /api/v1/applicationsets":                        `{"metadata":{"name":"x"},"spec":{"generators":[],"template":{"metadata":{},"spec":{"project":"web"}}}}`,
		"DELETE /api/v1/applicationsets/fleet":                ``,
		"POST /api/v1/clusters":                               `{"server":"https://127.0.0.1:3"}`,
		"PUT /api/v1/clusters/https%3A%2F%2F127.0.0.1%3A1":    `{}`,
		"DELETE /api/v1/clusters/https%3A%2F%2F127.0.0.1%3A1": ``,
		"POST /api/v1/repositories":                           `{"repo":"https://x.example.com/a.git"}`,
		"DELETE /api/v1/repositories/" + names["repo"]:        ``,
		"POST /api/v1/repocreds":                              `{"url":"https://x.example.com"}`,
		"POST /api/v1/certificates":                           `{"items":[{"serverName":"x","certType":"ssh"}]}`,
		"DELETE /api/v1/gpgkeys?keyID=4AEE18F83AFDEB23":       ``,
	} {
		method, path, _ := strings.Cut(do, " ")
		if code, answer := s.ask(method, path, dev, body); code != http.StatusForbidden || string(answer) != denied {
			t.Errorf("%s: %d %s", do, code, answer)
		}
	}
	if !regexp.MustCompile(`msg=audit .*subject=dev .*status=403`).MatchString(s.log.String()) {
		t.Error("what was refused is not in the audit")
	}
}

// TestMovingAnApplicationNeedsBothProjects.
func TestMovingAnApplicationNeedsBothProjects(t *testing.T) {
	s := newStage(t)
	s.furnish()
	s.start()
	s.await("shop")
	const (
		move  = `{"patch":"{\"spec\":{\"project\":\"default\"}}"}`
		shop  = "/api/v1/applications/shop"
		stays = "p, dev, applications, get, */*, allow\np, dev, applications, update, web/*, allow\n"
	)
	dev := s.developer(stays)
	s.eventually(http.StatusOK, http.MethodPatch, shop, dev, `{"patch":"{\"metadata\":{\"labels\":{\"by\":\"dev\"}}}"}`)
	for _, policy := range []string{"", "p, dev, applications, create, default/*, allow\n", "p, dev, applications, update, default/*, allow\n"} {
		s.rules(stays + policy)
		time.Sleep(300 * time.Millisecond) // an event that comes too late would only let through what must not be
		if code, answer := s.ask(http.MethodPatch, shop, dev, move); code != http.StatusForbidden {
			t.Errorf("moved with %q: %d %s", policy, code, answer)
		}
	}
	s.rules(stays + "p, dev, applications, create, default/*, allow\np, dev, applications, update, default/*, allow\n")
	s.eventually(http.StatusOK, http.MethodPatch, shop, dev, move)
	// And back: the other side counts as well.
	s.rules("p, dev, applications, get, */*, allow\np, dev, applications, update, web/*, allow\np, dev, applications, create, web/*, allow\n")
	s.eventually(http.StatusForbidden, http.MethodPatch, shop, dev, `{"patch":"{\"spec\":{\"project\":\"web\"}}"}`)
	// To start a sync by a patch takes the right to sync.
	s.rules("p, dev, applications, get, */*, allow\np, dev, applications, update, */*, allow\n")
	s.eventually(http.StatusOK, http.MethodPatch, shop, dev, `{"patch":"{\"metadata\":{\"labels\":{\"by\":\"me\"}}}"}`)
	for _, patch := range []string{
		`{"operation":{"sync":{}}}`, `{"Operation":{"sync":{}}}`, `{"status":{"operationState":{"phase":"Terminating"}}}`,
	} {
		body, err := json.Marshal(map[string]string{"patch": patch})
		s.must(err)
		if code, answer := s.ask(http.MethodPatch, shop, dev, string(body)); code == http.StatusOK && strings.Contains(string(answer), `"operation"`) {
			t.Errorf("%s: %d %s", patch, code, answer)
		}
	}
}

// TestWhoIsLateIsTold: of two who looked at the same version one succeeds, and what is never told is not lost by sending back
// what was.
func TestWhoIsLateIsTold(t *testing.T) {
	s := newStage(t)
	s.furnish()
	s.start()
	s.await("shop")
	type app = map[string]any
	read := func(name string) (app, app) {
		var out app
		s.must(json.Unmarshal(s.get("/api/v1/applications/"+name), &out))
		return out, out["metadata"].(app)
	}
	put := func(name string, a app) (int, []byte) {
		body, err := json.Marshal(a)
		s.must(err)
		return s.ask(http.MethodPut, "/api/v1/applications/"+name, s.token, string(body))
	}
	first, meta := read("charted")
	meta["labels"] = app{"by": "first"}
	if code, answer := put("charted", first); code != http.StatusOK {
		t.Fatalf("%d %s", code, answer)
	}
	if code, answer := put("charted", first); code != http.StatusConflict || !strings.Contains(string(answer), `"code":10`) {
		t.Errorf("who is late: %d %s", code, answer)
	}
	leaky, meta := read("leaky")
	delete(meta, "resourceVersion")
	meta["labels"] = app{"by": "me"}
	if code, answer := put("leaky", leaky); code != http.StatusOK {
		t.Fatalf("%d %s", code, answer)
	}
	stored := s.kubectl("", "-n", s.control, "get", "application", "leaky", "-o", "jsonpath={.spec.source.repoURL} {.metadata.labels.by}")
	if !strings.Contains(stored, canary+"url@") || !strings.HasSuffix(stored, " me") {
		t.Errorf("the login was lost: %q", stored)
	}
	leaky["spec"].(app)["source"].(app)["repoURL"] = "http://bot:******@elsewhere.example.com/x.git"
	if code, answer := put("leaky", leaky); code != http.StatusBadRequest {
		t.Errorf("a mask was stored: %d %s", code, answer)
	}
	if kept := s.kubectl("", "-n", s.control, "get", "application", "leaky", "-o", "jsonpath={.metadata.annotations}"); !strings.Contains(kept, "last-applied") {
		t.Errorf("what kubectl keeps was lost: %s", kept)
	}
}

// TestOtherSitesChangeNothing: a browser that is signed in does not do what a page of somebody else wants.
func TestOtherSitesChangeNothing(t *testing.T) {
	s := newStage(t)
	s.furnish()
	s.start()
	s.await("shop")
	ask := func(headers map[string]string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/api/v1/applications/shop/sync", strings.NewReader(`{"dryRun":true}`))
		s.must(err)
		for name, value := range headers {
			r.Header.Set(name, value)
		}
		response, err := s.client.Do(r)
		s.must(err)
		_ = response.Body.Close()
		return response.StatusCode
	}
	const kind = "application/json"
	cookie := "argocd.token=" + s.token
	for name, c := range map[string]struct {
		headers map[string]string
		want    int
	}{
		"a form":       {map[string]string{"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded", "Origin": s.base}, 415},
		"plain text":   {map[string]string{"Cookie": cookie, "Content-Type": "text/plain", "Origin": s.base}, 415},
		"no type":      {map[string]string{"Cookie": cookie, "Origin": s.base}, 415},
		"another site": {map[string]string{"Cookie": cookie, "Content-Type": kind, "Origin": "https://evil.example.com"}, 403},
		"a sibling":    {map[string]string{"Cookie": cookie, "Content-Type": kind, "Origin": strings.Replace(s.base, "127.0.0.1", "sub.127.0.0.1", 1)}, 403},
		"nobody says":  {map[string]string{"Cookie": cookie, "Content-Type": kind}, 403},
		"null":         {map[string]string{"Cookie": cookie, "Content-Type": kind, "Origin": "null"}, 403},
		// Whether a sync can be started is another matter: two may be asked for at once.
		"our own page":        {map[string]string{"Cookie": cookie, "Content-Type": kind, "Origin": s.base}, 0},
		"a program, no pages": {map[string]string{"Authorization": "Bearer " + s.token, "Content-Type": kind}, 0},
	} {
		got := ask(c.headers)
		if c.want == 0 && (got == http.StatusOK || got == http.StatusBadRequest) {
			continue
		}
		if got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
