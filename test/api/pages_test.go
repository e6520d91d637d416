package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// page is what a browser asks for to show something: each with words that the answer must have.
type page []struct{ path, says string }

// TestTheCallsOfArgoCDsPages makes the requests that Argo CD's own pages make, with their parameters and in their order:
// the list, an application, a sync with its progress, and the tail of a log. Dashboards were built by looking at these.
func TestTheCallsOfArgoCDsPages(t *testing.T) {
	s := newStage(t)
	h := s.furnish()
	s.start()
	s.await("shop")
	s.show("the list", page{
		{"/api/v1/session/userinfo", `"loggedIn":true`},
		{"/api/v1/settings", `"appLabelKey"`},
		{"/api/version", "Version"},
		{"/api/v1/applications?fields=metadata.resourceVersion,items.metadata.name,items.metadata.namespace,items.metadata.annotations," +
			"items.metadata.labels,items.metadata.creationTimestamp,items.metadata.deletionTimestamp,items.spec,items.operation.sync," +
			"items.status.sync.status,items.status.sync.revision,items.status.health,items.status.operationState.phase," +
			"items.status.operationState.finishedAt,items.status.operationState.operation.sync,items.status.summary,items.status.resources", `"shop"`},
		{"/api/v1/clusters", "in-cluster"},
		{"/api/v1/projects?fields=items.metadata.name,items.spec", `"web"`},
		{"/api/v1/account/can-i/logs/get/web/shop", "yes"},
	})
	list := s.listen("/api/v1/stream/applications?fields=result.type,result.application.metadata.name,result.application.status.sync.status,"+
		"result.application.status.operationState.phase", s.token)
	tree := s.listen("/api/v1/stream/applications/shop/resource-tree?appNamespace="+s.control, s.token)
	where := "appNamespace=" + s.control
	s.show("an application", page{
		{"/api/v1/applications/shop?" + where + "&refresh=normal", `"comparedTo"`},
		{"/api/v1/applications/shop/resource-tree?" + where, `"nodes"`},
		{"/api/v1/applications/shop/managed-resources?" + where + "&fields=items.normalizedLiveState,items.predictedLiveState,items.group,items.kind," +
			"items.namespace,items.name", `"Deployment"`},
		{"/api/v1/applications/shop/syncwindows?" + where, "canSync"},
		{"/api/v1/applications/shop/links?" + where + "&namespace=" + s.control, "Dashboard"},
		{"/api/v1/applications/shop/revisions/" + h["revision"] + "/metadata?" + where, "author"},
		{"/api/v1/applications/shop/events?" + where, "items"},
		{"/api/v1/projects/web/detailed", "globalProjects"},
	})
	object := url.Values{
		"name": {"shop"}, "appNamespace": {s.control}, "namespace": {s.dest}, "resourceName": {"web"}, "version": {"v1"}, "kind": {"Deployment"},
		"group": {"apps"},
	}.Encode()
	s.show("an object", page{
		{"/api/v1/applications/shop/resource?" + object, "manifest"},
		{"/api/v1/applications/shop/resource/actions?" + object, "restart"},
		{"/api/v1/applications/shop/resource/links?" + object, "{"},
		{"/api/v1/applications/shop/events?resourceUID=&resourceNamespace=" + s.dest + "&resourceName=web&" + where, "items"},
	})
	s.syncByPage(list, tree)
	log := s.listen("/api/v1/applications/shop/logs?"+where+"&namespace="+s.dest+"&container=main&tailLines=100&follow=true&sinceSeconds=0&kind=Deployment"+
		"&group=apps&resourceName=web", s.token)
	log.says("content")
}

// show asks for everything that a page needs.
func (s *stage) show(what string, p page) {
	s.Helper()
	for _, q := range p {
		if code, body := s.ask(http.MethodGet, q.path, s.token, ""); code != http.StatusOK || !strings.Contains(string(body), q.says) {
			s.Errorf("%s: GET %s: %d, without %q: %.300s", what, q.path, code, q.says, body)
		}
	}
}

// syncByPage presses the button, as the page does it, and waits until the streams tell of the end.
func (s *stage) syncByPage(list, tree *ear) {
	s.Helper()
	body := fmt.Sprintf(`{"appNamespace":%q,"revision":"main","prune":true,"dryRun":false,"strategy":{"hook":{"force":false}},
		"resources":null,"syncOptions":{"items":["CreateNamespace=true"]},"retryStrategy":null}`, s.control)
	if code, answer := s.ask(http.MethodPost, "/api/v1/applications/shop/sync", s.token, body); code != http.StatusOK {
		s.Fatalf("syncing: %d %s", code, answer)
	}
	s.phase("shop", v1alpha1.OperationSucceeded)
	list.says(`"shop"`, `"Succeeded"`)
	tree.says(`"Deployment"`)
}
