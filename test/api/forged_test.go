package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// foreign are secrets that are not the application's: one that says nothing, one that claims to be of an application of
// that name, and one that claims to be of this very one.
const foreign = `
apiVersion: v1
kind: Secret
metadata: {name: foreign, namespace: %[1]s}
stringData: {password: ` + canary + `foreign}
---
apiVersion: v1
kind: Secret
metadata:
  name: claimed
  namespace: %[1]s
  annotations:
    argocd.argoproj.io/tracking-id: "shop:/Secret:%[1]s/claimed"
    argocd.argoproj.io/sync-options: Prune=false
stringData: {password: ` + canary + `claimed}
---
apiVersion: v1
kind: Secret
metadata:
  name: posed
  namespace: %[1]s
  annotations:
    argocd.argoproj.io/tracking-id: "shop:/Secret:%[1]s/posed"
    argocd.argoproj.io/installation-id: %[2]s
    argocd.argoproj.io/sync-options: Prune=false
    argocd.argoproj.io/compare-options: IgnoreExtraneous
stringData: {password: ` + canary + `posed}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: plain, namespace: %[1]s, annotations: {argocd.argoproj.io/tracking-id: "vault:/ConfigMap:%[1]s/plain"}}
data: {kept: "yes"}
`

// TestWhatACallerNamesIsLookedUp: an object counts as the application's if our own index says so, never because the caller
// names it, or sends one along, or because of what it claims of itself while it is somebody else's.
func TestWhatACallerNamesIsLookedUp(t *testing.T) {
	s := newStage(t)
	s.furnish()
	s.apply(fmt.Sprintf(foreign, s.dest, s.control))
	s.start()
	s.await("shop")
	s.touchForeign(s.token)
	s.touchForeign(s.giveDev())
	for _, left := range []string{"secret/foreign", "secret/claimed", "secret/posed", "configmap/plain"} {
		if text := s.kubectl("", "-n", s.dest, "get", left, "-o", "json"); strings.Contains(text, `"taken"`) {
			t.Errorf("%s was changed: %s", left, text)
		}
	}
	// What claims to be of this very application is shown as its own, and hidden as any secret is.
	for _, name := range []string{"posed", "login"} {
		code, body := s.ask(http.MethodGet, shopPath+"/resource?"+named("Secret", s.dest, name), s.token, "")
		if code != http.StatusOK || len(leaked(body)) > 0 {
			t.Errorf("secret %s: %d %v", name, code, leaked(body))
		}
	}
	s.sendAlong()
}

const shopPath = "/api/v1/applications/shop"

// touchForeign tries to see, change and delete through an application what is not its own.
func (s *stage) touchForeign(token string) {
	s.Helper()
	ways := []struct{ method, path, body string }{
		{http.MethodGet, "/resource", ""},
		{http.MethodGet, "/resource/actions", ""},
		{http.MethodGet, "/resource/links", ""},
		{http.MethodPost, "/resource", `"{\"data\":{\"taken\":\"eWVz\"}}"`},
		{http.MethodPost, "/resource/actions", `"restart"`},
		{http.MethodDelete, "/resource", ""},
	}
	for _, query := range []string{
		named("Secret", s.dest, "foreign"), named("Secret", s.dest, "claimed"), named("Secret", s.control, v1alpha1.SecretSettings),
		named("Secret", s.control, v1alpha1.SecretInitialAdmin), named("ConfigMap", s.dest, "plain"), named("ConfigMap", s.dest, "login"),
		named("Secret", "", "foreign"), named("secret", s.dest, "login"), named("Secret", s.dest, "../"+s.dest+"/foreign"), named("*", s.dest, "*"),
	} {
		for _, way := range ways {
			at := shopPath + way.path + "?" + query + "&patchType=application/merge-patch%2Bjson"
			code, body := s.ask(way.method, at, token, way.body)
			done := code == http.StatusOK && (way.method != http.MethodGet || strings.Contains(string(body), "manifest"))
			if done || len(leaked(body)) > 0 {
				s.Errorf("%s %s: %d %s", way.method, at, code, body)
			}
		}
	}
}

// sendAlong sends objects with the questions, which must not be taken for what is live.
func (s *stage) sendAlong() {
	s.Helper()
	wanted := fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"foreign","namespace":%q}}`, s.dest)
	sent := fmt.Sprintf(`{"liveResources":[{"kind":"Secret","name":"foreign","namespace":%q,"liveState":"{}"}],"targetManifests":[%q]}`,
		s.dest, wanted)
	for _, path := range []string{"/server-side-diff", "/managed-resources", "/plan"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			code, body := s.ask(method, shopPath+path+"?kind=Secret&name=foreign&namespace="+s.dest, s.token, sent)
			if len(leaked(body)) > 0 || code == http.StatusOK && strings.Contains(string(body), "foreign") {
				s.Errorf("%s %s: %d %s", method, path, code, body)
			}
		}
	}
}

// named is the query for an object.
func named(kind, namespace, name string) string {
	return url.Values{"kind": {kind}, "version": {"v1"}, "namespace": {namespace}, "resourceName": {name}}.Encode()
}
