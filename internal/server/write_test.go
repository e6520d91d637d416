package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/roster"
	"github.com/towline-cd/towline/internal/core/wish"
	"github.com/towline-cd/towline/internal/engine"
	"github.com/towline-cd/towline/internal/server"
)

// desk is where applications of a world are written.
type desk struct {
	*world
	version int
	// raced is how many writes somebody else is quicker than.
	raced    int
	problems []string
}

func (d *desk) Get(ctx context.Context, name string) (*v1alpha1.Application, error) {
	app, err := d.Application(ctx, name)
	if err != nil {
		return nil, err
	}
	return app.DeepCopy(), nil
}

func (d *desk) Create(_ context.Context, app *v1alpha1.Application) (*v1alpha1.Application, error) {
	d.apps = append(d.apps, app)
	return app, nil
}

func (d *desk) Patch(ctx context.Context, name string, patch []byte) (*v1alpha1.Application, error) {
	app, err := d.Application(ctx, name)
	if err != nil {
		return nil, err
	}
	d.version++
	if d.raced > 0 {
		d.raced--
		app.ResourceVersion = "1" + strconv.Itoa(d.version)
		return nil, fault.Transientf("Conflict", "moved")
	}
	before, err := json.Marshal(app)
	if err != nil {
		return nil, err
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return nil, err
	}
	next := &v1alpha1.Application{}
	if err := json.Unmarshal(after, next); err != nil {
		return nil, err
	}
	if next.ResourceVersion != app.ResourceVersion {
		return nil, fault.Transientf("Conflict", "another version")
	}
	next.ResourceVersion = "1" + strconv.Itoa(d.version)
	*app = *next
	return next, nil
}

func (d *desk) Delete(_ context.Context, name string, _ types.UID) error {
	for i, app := range d.apps {
		if app.Name == name {
			d.apps = append(d.apps[:i:i], d.apps[i+1:]...)
			return nil
		}
	}
	return fault.Terminalf("NotFound", "no such application")
}

func (d *desk) Admission(context.Context, *v1alpha1.Application) ([]string, error) {
	return d.problems, nil
}

func (d *desk) RunAction(context.Context, *v1alpha1.Application, engine.Act) ([]string, error) {
	return nil, nil
}

func (d *desk) EditObject(ctx context.Context, app *v1alpha1.Application, k object.Key,
	edit func(*unstructured.Unstructured) (wish.Patch, error),
) (*unstructured.Unstructured, error) {
	u, err := d.Object(ctx, app, k)
	if err != nil {
		return nil, err
	}
	_, err = edit(u)
	return u, err
}

func (d *desk) DeleteObject(context.Context, *v1alpha1.Application, object.Key, metav1.DeleteOptions) error {
	return nil
}

// grants let somebody do what they list: "name resource verb object".
type grants []string

func (g grants) Decide(c server.Caller, q server.Question) server.Verdict {
	for _, line := range g {
		words := strings.Fields(line)
		if c.Subject == words[0] && q.Resource == words[1] && q.Action == words[2] &&
			(q.Object == words[3] || strings.HasSuffix(words[3], "/*") && strings.HasPrefix(q.Object, strings.TrimSuffix(words[3], "*"))) {
			return server.Verdict{Allowed: true}
		}
	}
	return server.Verdict{Allowed: c.Subject == "admin"}
}

func (g grants) Allowing(c server.Caller, resource, action string) func(string) bool {
	return func(object string) bool {
		return g.Decide(c, server.Question{Resource: resource, Action: action, Object: object}).Allowed
	}
}

// writable is a server that applications can be written on.
func writable(t *testing.T, d *desk, g grants) *server.Server {
	t.Helper()
	d.world.adviser = engine.Outlook{}
	d.world.adviser.Manual.Allowed = true
	o := options(d.world)
	o.Decider, o.Hands = g, d
	o.Writing = server.Writing{Applications: d}
	return newServer(t, o)
}

func spec(project string) string {
	return `{"project":"` + project + `","destination":{"server":"https://kubernetes.default.svc","namespace":"x"},"source":{"repoURL":"https://x/a.git","path":"."}}`
}

func patchOf(text string) string {
	body, _ := json.Marshal(map[string]string{"patch": text})
	return string(body)
}

// TestRightsOfWrites: what a request says decides what it takes, and half of it is not enough.
func TestRightsOfWrites(t *testing.T) {
	const app = "/api/v1/applications/shop"
	type asked struct{ method, path, body string }
	for name, c := range map[string]struct {
		ask    asked
		grants grants
	}{
		"create":              {asked{"POST", "/api/v1/applications", `{"metadata":{"name":"new"},"spec":` + spec("web") + `}`}, grants{"dev applications create web/new"}},
		"create with a sync":  {asked{"POST", "/api/v1/applications", `{"metadata":{"name":"new"},"spec":` + spec("web") + `,"operation":{"sync":{}}}`}, grants{"dev applications create web/new", "dev applications sync web/new"}},
		"upsert":              {asked{"POST", "/api/v1/applications?upsert=true", `{"metadata":{"name":"shop"},"spec":` + spec("web") + `}`}, grants{"dev applications create web/shop", "dev applications update web/shop"}},
		"upsert of another's": {asked{"POST", "/api/v1/applications?upsert=true", `{"metadata":{"name":"vault"},"spec":` + spec("web") + `}`}, grants{"dev applications create web/vault", "dev applications update web/vault", "dev applications update bank/vault"}},
		"put":                 {asked{"PUT", app, `{"metadata":{"name":"shop"},"spec":` + spec("web") + `}`}, grants{"dev applications update web/shop"}},
		"move":                {asked{"PUT", app, `{"metadata":{"name":"shop"},"spec":` + spec("bank") + `}`}, grants{"dev applications update web/shop", "dev applications update bank/shop", "dev applications create bank/shop"}},
		"move by its spec":    {asked{"PUT", app + "/spec", spec("bank")}, grants{"dev applications update web/shop", "dev applications update bank/shop", "dev applications create bank/shop"}},
		"move by a patch":     {asked{"PATCH", app, patchOf(`{"spec":{"project":"bank"}}`)}, grants{"dev applications update web/shop", "dev applications update bank/shop", "dev applications create bank/shop"}},
		"sync":                {asked{"POST", app + "/sync", `{}`}, grants{"dev applications sync web/shop"}},
		"local sync":          {asked{"POST", app + "/sync", `{"manifests":["{}"]}`}, grants{"dev applications sync web/shop", "dev applications override web/shop"}},
		"sync by a patch":     {asked{"PATCH", app, patchOf(`{"operation":{"sync":{}}}`)}, grants{"dev applications sync web/shop"}},
		"local sync, patch":   {asked{"PATCH", app, patchOf(`{"operation":{"sync":{"manifests":["{}"]}}}`)}, grants{"dev applications sync web/shop", "dev applications override web/shop"}},
		"other source, patch": {asked{"PATCH", app, patchOf(`{"operation":{"sync":{"source":{"repoURL":"https://evil/x.git"}}}}`)}, grants{"dev applications sync web/shop", "dev applications override web/shop"}},
		"delete":              {asked{"DELETE", app, ""}, grants{"dev applications delete web/shop"}},
		"patch of an object":  {asked{"POST", app + "/resource?group=apps&kind=Deployment&namespace=x&resourceName=web", `"{}"`}, grants{"dev applications update/apps/Deployment/x/web web/shop"}},
		"delete of an object": {asked{"DELETE", app + "/resource?kind=Pod&namespace=x&resourceName=web", ""}, grants{"dev applications delete//Pod/x/web web/shop"}},
		"action":              {asked{"POST", app + "/resource/actions?group=apps&kind=Deployment&namespace=x&resourceName=web", `"restart"`}, grants{"dev applications action/apps/Deployment/restart web/shop"}},
		"action, newer":       {asked{"POST", app + "/resource/actions/v2", `{"group":"apps","kind":"Deployment","resourceName":"web","action":"restart"}`}, grants{"dev applications action/apps/Deployment/restart web/shop"}},
	} {
		// With all but one of the rights it is refused, with all it is not.
		for missing := range c.grants {
			fewer := append(append(grants{}, c.grants[:missing]...), c.grants[missing+1:]...)
			w := ask(t, writable(t, &desk{world: newWorld()}, fewer).Handler(), c.ask.method, c.ask.path, c.ask.body, bearer("dev")...)
			if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "permission denied") {
				t.Errorf("%s without %q: %d %s", name, c.grants[missing], w.Code, w.Body)
			}
		}
		w := ask(t, writable(t, &desk{world: newWorld()}, c.grants).Handler(), c.ask.method, c.ask.path, c.ask.body, bearer("dev")...)
		if w.Code == http.StatusForbidden {
			t.Errorf("%s with all rights: %d %s", name, w.Code, w.Body)
		}
	}
}

// TestWhatIsWrittenOfApplications.
func TestWhatIsWrittenOfApplications(t *testing.T) {
	admin := bearer("admin")
	d := &desk{world: newWorld()}
	h := writable(t, d, nil).Handler()
	do := func(method, path, body string, want int) string {
		t.Helper()
		w := ask(t, h, method, path, body, admin...)
		if w.Code != want {
			t.Errorf("%s %s: %d %s, want %d", method, path, w.Code, w.Body, want)
		}
		return w.Body.String()
	}
	const app = "/api/v1/applications/shop"
	// Who asks is who is signed in, whatever a body says.
	do("PATCH", app, patchOf(`{"operation":{"sync":{"revision":"v1"},"initiatedBy":{"username":"root","automated":true}}}`), 200)
	if by := d.apps[0].Operation.InitiatedBy; by.Username != "admin" || by.Automated {
		t.Errorf("it is written down that %+v asked", by)
	}
	do("POST", app+"/sync", `{}`, 400)
	do("DELETE", app+"/operation", "", 200)
	if d.apps[0].Operation != nil {
		t.Error("it was not taken back")
	}
	// Somebody else may be quicker, a few times.
	d.raced = 2
	do("POST", app+"/sync", `{"revision":"v1"}`, 200)
	do("DELETE", app+"/operation", "", 200)
	d.raced = 9
	if body := do("POST", app+"/sync", `{}`, 409); !strings.Contains(body, `"code":10`) {
		t.Error(body)
	}
	d.raced = 0
	// What cannot be synced is not stored.
	d.problems = []string{"no such cluster"}
	before := d.apps[0].DeepCopy()
	if body := do("PUT", app+"/spec", spec("web"), 400); !strings.Contains(body, "no such cluster") {
		t.Error(body)
	}
	do("POST", "/api/v1/applications", `{"metadata":{"name":"new"},"spec":`+spec("web")+`}`, 400)
	do("PATCH", app, patchOf(`{"spec":{"source":{"path":"x"}}}`), 400)
	if d.apps[0].Spec.Source.Path != before.Spec.Source.Path || len(d.apps) != 3 {
		t.Error("it was stored all the same")
	}
	// Labels alone need no such look.
	do("PATCH", app, patchOf(`{"metadata":{"labels":{"a":"b"}}}`), 200)
	d.problems = nil
	// The login in the URL is masked, and comes back.
	shown := do("GET", app, "", 200)
	if strings.Contains(shown, canary) {
		t.Fatal(shown)
	}
	do("PUT", app, shown, 200)
	if url := d.apps[0].Spec.Source.RepoURL; !strings.Contains(url, canary) {
		t.Errorf("the login was lost: %s", url)
	}
	if d.apps[0].Annotations[v1alpha1.AnnotationLastAppliedByKubectl] != canary {
		t.Error("what kubectl keeps was lost")
	}
	for _, body := range []string{`{"metadata":{"name":"cart"}}`, `[]`, `{"spec":1}`} {
		do("PUT", app, body, 400)
	}
	do("PUT", app, `{"metadata":{"name":"shop","resourceVersion":"3"},"spec":`+spec("web")+`}`, 409)
	// Things that are the controller's, or that would go unnoticed.
	for _, patch := range []string{
		`{"status":{"health":{"status":"Healthy"}}}`, `{"Operation":{"sync":{}}}`, `{"metadata":{"ownerReferences":[{"name":"x","uid":"x","kind":"x","apiVersion":"x"}]}}`,
		`{"operation":{"sync":{}},"spec":{"project":"bank"}}`, `{"operation":{"sync":{}},"Spec":{"project":"bank"}}`,
		`{"operation":{}}`, `{"metadata":{"name":"other"}}`,
	} {
		do("PATCH", app, patchOf(patch), 400)
	}
	if d.apps[0].Operation != nil || d.apps[0].Spec.Project != "web" {
		t.Errorf("%+v", d.apps[0])
	}
	do("PATCH", app, patchOf(`{"metadata":{"resourceVersion":"3","labels":{"c":"d"}}}`), 409)
	do("DELETE", app+"?propagationPolicy=orphan", "", 400)
	do("DELETE", app+"?uid=shop", "", 200)
	if len(d.apps) != 2 {
		t.Error("it is still there")
	}
}

// TestWindowsHoldSyncsBack.
func TestWindowsHoldSyncsBack(t *testing.T) {
	d := &desk{world: newWorld()}
	s := writable(t, d, nil)
	d.world.adviser.Manual.Allowed, d.world.adviser.Manual.Reason = false, "closed until Monday"
	w := ask(t, s.Handler(), "POST", "/api/v1/applications/shop/sync", `{}`, bearer("admin")...)
	if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "closed until Monday") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := ask(t, s.Handler(), "POST", "/api/v1/applications/shop/sync", `{"dryRun":true}`, bearer("admin")...); w.Code != http.StatusOK {
		t.Errorf("a dry run: %d %s", w.Code, w.Body)
	}
}

// TestBodiesAreBounded.
func TestBodiesAreBounded(t *testing.T) {
	s := writable(t, &desk{world: newWorld()}, nil)
	for _, r := range s.Routes() {
		if r.Method == http.MethodGet || r.Method == http.MethodDelete || r.In == nil {
			continue
		}
		large := `{"x":"` + strings.Repeat("x", 4<<20) + `"}`
		if w := ask(t, s.Handler(), r.Method, path(r.Pattern), large, bearer("admin")...); w.Code == http.StatusOK {
			t.Errorf("%s %s takes 4 MB", r.Method, r.Pattern)
		}
	}
}

// recorded is a log.
type recorded struct {
	slog.Handler
	lines *[]map[string]string
}

func (r recorded) Enabled(context.Context, slog.Level) bool { return true }

func (r recorded) Handle(_ context.Context, rec slog.Record) error {
	line := map[string]string{"msg": rec.Message}
	rec.Attrs(func(a slog.Attr) bool { line[a.Key] = a.Value.String(); return true })
	*r.lines = append(*r.lines, line)
	return nil
}

// TestAudit: every attempt to change something leaves a line, and no secret is in it.
func TestAudit(t *testing.T) {
	var lines []map[string]string
	was := slog.Default()
	slog.SetDefault(slog.New(recorded{was.Handler(), &lines}))
	defer slog.SetDefault(was)
	h := writable(t, &desk{world: newWorld()}, grants{"dev applications sync web/shop"}).Handler()
	ask(t, h, "POST", "/api/v1/applications/shop/sync", `{"revision":"v1"}`, bearer("dev")...)
	ask(t, h, "DELETE", "/api/v1/applications/shop", "", bearer("dev")...)
	ask(t, h, "POST", "/api/v1/repositories", `{"repo":"https://bot:`+canary+`@x/a.git","password":"`+canary+`"}`, bearer("dev")...)
	ask(t, h, "GET", "/api/v1/applications/shop", "", bearer("admin")...)
	var audit []map[string]string
	for _, l := range lines {
		for _, v := range l {
			if strings.Contains(v, canary) {
				t.Errorf("the log has a secret: %v", l)
			}
		}
		if l["msg"] == "audit" {
			audit = append(audit, maps.Clone(l))
		}
	}
	if len(audit) != 3 {
		t.Fatalf("%v", audit)
	}
	for i, want := range []map[string]string{
		{"subject": "dev", "rights": "[applications.sync]", "object": "web/shop", "status": "200", "from": "192.0.2.1", "revision": "v1"},
		{"subject": "dev", "rights": "[applications.delete]", "object": "web/shop", "status": "403"},
		{"subject": "dev", "status": "403"},
	} {
		for k, v := range want {
			if audit[i][k] != v {
				t.Errorf("line %d: %s is %q, want %q", i, k, audit[i][k], v)
			}
		}
	}
}

// TestWhatIsPassedOnIsWhole: the rules are asked about what a body says, and the replica that leads gets all of it.
func TestWhatIsPassedOnIsWhole(t *testing.T) {
	o := options(newWorld())
	var got string
	o.Leading = func() bool { return false }
	o.Forward = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = fmt.Sprintf("%d %s", r.ContentLength, body)
	})
	s := newServer(t, o)
	for _, c := range [][3]string{
		{"POST", "/api/v1/applications", `{"metadata":{"name":"new"},"spec":` + spec("web") + `}`},
		{"POST", "/api/v1/applications/shop/sync", `{"prune":true}`},
		{"PATCH", "/api/v1/applications/shop", patchOf(`{"spec":{}}`)},
		{"POST", "/api/v1/projects", `{"project":{"metadata":{"name":"x"}}}`},
		{"POST", "/api/v1/clusters", `{"server":"https://x","config":{"bearerToken":"t"}}`},
	} {
		got = ""
		ask(t, s.Handler(), c[0], c[1], c[2], bearer("admin")...)
		if got != fmt.Sprintf("%d %s", len(c[2]), c[2]) {
			t.Errorf("%s %s: passed on was %q", c[0], c[1], got)
		}
		got = ""
		if ask(t, s.Handler(), c[0], c[1], c[2], bearer("dev")...); got != "" {
			t.Errorf("%s %s of somebody who may not was passed on", c[0], c[1])
		}
	}
	for _, r := range s.Routes() {
		if r.Method != http.MethodGet && !r.Reads && r.Resource != "" && !r.Live && !strings.Contains(r.Pattern, "/token") {
			t.Errorf("%s %s writes on a replica that does not lead", r.Method, r.Pattern)
		}
	}
}

// roll is a list of clusters.
type roll struct{ made []roster.Cluster }

func (r *roll) Entries(context.Context) ([]roster.Entry, error) { return nil, nil }

func (r *roll) Create(_ context.Context, c roster.Cluster) (string, error) {
	r.made = append(r.made, c)
	return "made", nil
}

func (r *roll) Edit(context.Context, string, roster.Edit) error { return nil }

func (r *roll) Remove(context.Context, roster.Entry) (bool, error) { return true, nil }

func (r *roll) Probe(_ context.Context, c roster.Cluster) (string, error) {
	if c.Config.BearerToken.Reveal() == "" {
		return "", errors.New("signing in with " + c.Config.Password.Reveal() + " failed")
	}
	return "1.30", nil
}

// TestClaimingACluster: whoever may add clusters to a project does not take one away from everybody else, the one that we
// run in among them; and what was sent is not told.
func TestClaimingACluster(t *testing.T) {
	r := &roll{}
	o := options(newWorld())
	o.Decider = grants{"dev clusters create web/https://prod.example.com", "dev clusters update web/https://prod.example.com", "dev clusters create web/https://new"}
	o.Writing = server.Writing{Clusters: r}
	s := newServer(t, o)
	post := func(body string) (int, string) {
		w := ask(t, s.Handler(), http.MethodPost, "/api/v1/clusters", body, bearer("dev")...)
		return w.Code, w.Body.String()
	}
	if code, body := post(`{"server":"https://prod.example.com","project":"web","config":{"bearerToken":"t"}}`); code != http.StatusForbidden || len(r.made) > 0 {
		t.Errorf("%d %s", code, body)
	}
	if code, body := post(`{"server":"https://new","project":"web","config":{"password":"` + canary + `"}}`); code != http.StatusBadRequest || strings.Contains(body, canary) {
		t.Errorf("%d %s", code, body)
	}
	if code, body := post(`{"server":"https://new","project":"web","config":{"bearerToken":"` + canary + `"}}`); code != http.StatusOK || len(r.made) != 1 || strings.Contains(body, canary) {
		t.Errorf("%d %s", code, body)
	}
	for _, body := range []string{
		`{"server":"https://u:p@new"}`, `{"server":"file:///etc"}`, `{"server":"https://new","project":"a/b"}`,
		`{"server":"https://new","config":{"bearerToken":"******"}}`, `{"server":"https://new","labels":{"argocd.argoproj.io/secret-type":"repository"}}`,
	} {
		if code, answer := post(body); code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, code, answer)
		}
	}
}
