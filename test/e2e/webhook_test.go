package e2e_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/forge/forgetest"
)

// hook posts a webhook to a replica, once that serves.
func (r *replica) hook(body string, headers ...string) int {
	r.f.Helper()
	limit := time.Now().Add(patience)
	at := ofPeople.FindStringSubmatch(r.log.String())
	for ; at == nil && time.Now().Before(limit); at = ofPeople.FindStringSubmatch(r.log.String()) {
		time.Sleep(20 * time.Millisecond)
	}
	if at == nil {
		r.f.Fatalf("%s does not serve", r.user)
	}
	for {
		ctx, cancel := context.WithTimeout(r.f.Context(), 10*time.Second)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+at[1]+"/api/webhook", bytes.NewReader([]byte(body)))
		r.f.must(err)
		for i := 0; i < len(headers); i += 2 {
			request.Header.Set(headers[i], headers[i+1])
		}
		response, err := http.DefaultClient.Do(request)
		cancel()
		r.f.must(err)
		response.Body.Close()
		// Who leads may not be known yet.
		if response.StatusCode != http.StatusServiceUnavailable || time.Now().After(limit) {
			return response.StatusCode
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestWebhooksAtAServerThatDoesNotLead: it checks them and tells the leader, which looks at the repository, and generates
// the sets that list pull requests there, long before it would have done so by itself. A login does not travel with it.
func TestWebhooksAtAServerThatDoesNotLead(t *testing.T) {
	f := &forges{fixture: setup(t)}
	f.settings(map[string]string{v1alpha1.KeyTimeoutReconciliation: "1h"})
	f.must(f.git.Create("home", map[string]string{"README.md": "home\n"}))
	f.must(f.git.Create("shop", map[string]string{"shop/settings.yaml": settingsV1}))
	f.kubectl("-n", f.control, "create", "secret", "generic", "login", "--from-literal=token="+forgeToken)
	f.kubectl("-n", f.control, "create", "secret", "generic", v1alpha1.SecretSettings, "--from-literal=webhook.azuredevops.username=azure",
		"--from-literal=webhook.azuredevops.password=hunter2", "--from-literal=webhook.github.secret=hunter3")
	at := forgetest.New(forgetest.GitHub)
	t.Cleanup(at.Close)
	at.Token = forgeToken
	at.Repos = []forgetest.Repo{{ID: 1, Name: "shop", Default: "main", Commits: map[string]string{"main": oneSHA}, Pulls: []forgetest.Pull{pull(7)}}}

	leading := f.replica("one", "msg=ready", f.acting("run")...)
	server := f.replica("server", "msg=ready", "server", "--listen", "127.0.0.1:0", "--insecure")
	f.application("shop", "shop", "shop", automated)
	first, err := f.git.Revision("shop", "main")
	f.must(err)
	f.await("shop", "synced", synced(first))
	f.forgeSet(at, "pulls", "{{ .number }}", pullsParameters)
	there := func(*v1alpha1.Application) bool { return true }
	f.await(setOf(at, "pulls")+"-7", "generated", there)
	f.git.ResetRequests()

	next, err := f.git.Commit("shop", "main", "green", map[string]*string{"shop/settings.yaml": new(settingsV2)})
	f.must(err)
	body := fmt.Sprintf(`{"eventType":"git.push","resource":{"refUpdates":[{"name":"refs/heads/main"}],"repository":{"remoteUrl":%q}}}`,
		f.git.URL("shop"))
	azure := func(password string) []string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		f.must(err)
		r.SetBasicAuth("azure", password)
		return []string{"X-Vss-Activityid", "1", "Authorization", r.Header.Get("Authorization")}
	}
	if code := server.hook(body, azure("wrong")...); code != http.StatusUnauthorized {
		t.Errorf("a wrong password: %d", code)
	}
	if code := server.hook(body, azure("hunter2")...); code != http.StatusOK {
		t.Errorf("a push: %d", code)
	}
	f.await("shop", "synced again", synced(next))
	if n := f.git.Requests()["shop"]; n.ListRefs != 1 {
		t.Errorf("the repository was asked %+v", n)
	}

	at.Do(func() { at.Repos[0].Pulls = append(at.Repos[0].Pulls, pull(10)) })
	body = fmt.Sprintf(`{"action":"opened","number":10,"repository":{"html_url":%q}}`, at.URL+"/acme/shop")
	mac := hmac.New(sha256.New, []byte("hunter3"))
	mac.Write([]byte(body))
	if code := server.hook(body, "X-Github-Event", "pull_request", "X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil))); code != http.StatusOK {
		t.Errorf("a pull request: %d", code)
	}
	f.await(setOf(at, "pulls")+"-10", "generated", there)
	for _, r := range []*replica{leading, server} {
		if strings.Contains(r.log.String(), "hunter") {
			t.Errorf("the log of %s tells a secret", r.user)
		}
	}
}
