package client_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/client"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/wish"
)

// What people want of applications is asked with Argo CD's paths and bodies.
func TestWhatIsWritten(t *testing.T) {
	var got []string
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, strings.TrimSpace(r.Method+" "+r.RequestURI+" "+string(body)))
		_, _ = w.Write([]byte(`{"manifest": "{\"kind\": \"Pod\"}"}`))
	}, nil)
	apps, ctx := client.Apps{Client: c, Namespace: "team"}, t.Context()
	app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	pod := object.Key{Kind: "Pod", Namespace: "shop", Name: "web"}
	_, _ = apps.CreateApplication(ctx, &v1alpha1.Application{}, true)
	_, _ = apps.ChangeApplication(ctx, "shop", wish.Patch{JSON: true, Text: []byte("[]")})
	_, _ = apps.Sync(ctx, "shop", wish.Sync{
		Revisions: []string{"", "v2"}, Prune: true, Options: v1alpha1.SyncOptions{"A=1"}, More: []string{"B=2"},
		Strategy: &v1alpha1.SyncStrategy{Apply: &v1alpha1.SyncStrategyApply{Force: true}},
	})
	_, _ = apps.Rollback(ctx, "shop", 0, true)
	_ = apps.Terminate(ctx, "shop")
	_ = apps.Remove(ctx, "shop", "uid", wish.Removal{Cascade: true, Background: true})
	_ = apps.Remove(ctx, "shop", "uid", wish.Removal{})
	u, err := apps.Object(ctx, app, pod)
	if err != nil || u.GetKind() != "Pod" {
		t.Errorf("%v %v", u, err)
	}
	_, _ = apps.PatchObject(ctx, app, pod, wish.Patch{Text: []byte(`{"a":1}`)})
	_ = apps.DeleteObject(ctx, app, pod, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	_ = apps.DeleteObject(ctx, app, pod, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)})
	_ = apps.Act(ctx, app, pod, "restart", map[string]string{"a": "b"})
	const of = "?appNamespace=team&group=&kind=Pod&namespace=shop"
	want := []string{
		`POST /api/v1/applications?upsert=true`,
		`PATCH /api/v1/applications/shop {"appNamespace":"team","name":"shop","patch":"[]","patchType":"json"}`,
		`POST /api/v1/applications/shop/sync {"appNamespace":"team","dryRun":false,"infos":null,"manifests":null,"name":"shop","prune":true,` +
			`"resources":null,"retryStrategy":null,"revision":"","revisions":["","v2"],"sourcePositions":["1","2"],` +
			`"strategy":{"apply":{"force":true}},"syncOptions":{"items":["A=1","B=2"]}}`,
		`POST /api/v1/applications/shop/rollback {"appNamespace":"team","id":0,"name":"shop","prune":true}`,
		`DELETE /api/v1/applications/shop/operation?appNamespace=team`,
		`DELETE /api/v1/applications/shop?appNamespace=team&cascade=true&propagationPolicy=background&uid=uid`,
		`DELETE /api/v1/applications/shop?appNamespace=team&cascade=false&uid=uid`,
		`GET /api/v1/applications/shop/resource` + of + `&resourceName=web`,
		`POST /api/v1/applications/shop/resource` + of + `&patchType=application%2Fmerge-patch%2Bjson&resourceName=web "{\"a\":1}"`,
		`DELETE /api/v1/applications/shop/resource?appNamespace=team&force=true&group=&kind=Pod&namespace=shop&resourceName=web`,
		`DELETE /api/v1/applications/shop/resource` + of + `&orphan=true&resourceName=web`,
		`POST /api/v1/applications/shop/resource/actions/v2 {"action":"restart","appNamespace":"team","group":"","kind":"Pod","name":"shop",` +
			`"namespace":"shop","resourceActionParameters":[{"name":"a","value":"b"}],"resourceName":"web"}`,
	}
	// The application itself is as long as its type.
	got[0], _, _ = strings.Cut(got[0], " {")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// Sets are taken as a whole by the server, and who makes one wants to know whether it was there.
func TestSets(t *testing.T) {
	there, posted := true, ""
	began := make(chan struct{}, 1)
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			body, _ := io.ReadAll(r.Body)
			posted = r.URL.RawQuery + " " + string(body)
			_, _ = w.Write([]byte(`{}`))
		case strings.Contains(r.URL.Path, "/stream/"):
			_, _ = w.Write([]byte("\n" + `{"result":{"type":"ADDED","applicationSet":{"metadata":{"name":"shops"}}}}` + "\n"))
			_ = http.NewResponseController(w).Flush()
			<-began
			_, _ = w.Write([]byte(`{"result":{"type":"DELETED","applicationSet":{"metadata":{"name":"shops"}}}}` + "\n"))
		case there:
			_, _ = w.Write([]byte(`{"metadata":{"name":"shops","resourceVersion":"7"},"spec":{"goTemplate":true}}`))
			select {
			case began <- struct{}{}:
			default:
			}
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	}, nil)
	sets, ctx := c.Sets(""), t.Context()
	set := &v1alpha1.ApplicationSet{ObjectMeta: metav1.ObjectMeta{Name: "shops"}}
	if _, err := sets.Create(ctx, set, false); !apierrors.IsAlreadyExists(err) || posted != "" {
		t.Errorf("creating what is there: %v, sent %s", err, posted)
	}
	patch := []byte(`{"metadata":{"resourceVersion":"7","labels":{"a":"b"}}}`)
	if _, err := sets.Patch(ctx, "shops", patch, true); err != nil || !strings.HasPrefix(posted, "dryRun=true&upsert=true {") ||
		!strings.Contains(posted, `"resourceVersion":"7"`) || !strings.Contains(posted, `"goTemplate":true`) || !strings.Contains(posted, `"a":"b"`) {
		t.Errorf("%v, sent %s", err, posted)
	}
	<-began
	if err := sets.Gone(ctx, "shops"); err != nil {
		t.Error(err)
	}
	there = false
	if _, err := sets.Create(ctx, set, false); err != nil || strings.Contains(posted, "upsert") {
		t.Errorf("%v, sent %s", err, posted)
	}
	began <- struct{}{}
	if err := sets.Gone(ctx, "shops"); err != nil {
		t.Error(err)
	}
}
