package api_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

const hookSecret = "a secret of the webhook"

// send posts a webhook as GitHub does, signed with a key; an empty one signs nothing.
func (s *stage) send(key, body string) int {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+"/api/webhook", strings.NewReader(body))
	s.must(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Github-Event", "push")
	if key != "" {
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte(body))
		r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	response, err := s.client.Do(r)
	s.must(err)
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// pushed is what GitHub says of a push to main.
func (s *stage) pushed(repo, sha string) string {
	return fmt.Sprintf(`{"ref":"refs/heads/main","after":%q,"repository":{"html_url":%q,"clone_url":%q,"default_branch":"main"}}`,
		sha, strings.TrimSuffix(s.git.URL(repo), ".git"), s.git.URL(repo))
}

func mapOf(name, level string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {level: %s}\n", name, level)
}

// TestAWebhookIsALook: a push is applied when its webhook comes, though nobody would have looked for an hour; nobody but
// those who can prove it have anything looked at; and however often it is told, it is looked at once in a while.
func TestAWebhookIsALook(t *testing.T) {
	s := newStage(t)
	s.must(s.git.Create("shop", map[string]string{"one/map.yaml": mapOf("one", "first"), "two/map.yaml": mapOf("two", "first")}))
	first, err := s.git.Revision("shop", "main")
	s.must(err)
	s.kubectl("", "-n", s.control, "patch", "configmap", "argocd-cm", "--type=merge", "-p", `{"data":{"timeout.reconciliation":"1h"}}`)
	s.apply(fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: hooks, namespace: %[1]s, labels: {app.kubernetes.io/part-of: argocd}}
stringData: {github: %[4]q}
---
apiVersion: v1
kind: Secret
metadata: {name: argocd-secret, namespace: %[1]s}
stringData: {webhook.github.secret: "$hooks:github"}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: one, namespace: %[1]s}
spec:
  destination: {server: "https://kubernetes.default.svc", namespace: %[2]s}
  source: {repoURL: %[3]q, path: one, targetRevision: main}
  syncPolicy: {automated: {}}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: two, namespace: %[1]s}
spec:
  destination: {server: "https://kubernetes.default.svc", namespace: %[2]s}
  source: {repoURL: %[3]q, path: two, targetRevision: HEAD}
  syncPolicy: {automated: {}}
`, s.control, s.dest, s.git.URL("shop"), hookSecret))
	s.start()
	s.await("one")
	s.await("two")
	s.git.ResetRequests()

	level := "second"
	text := mapOf("one", level)
	sha, err := s.git.Commit("shop", "main", "a change of one", map[string]*string{"one/map.yaml": &text})
	s.must(err)
	letter := s.pushed("shop", sha)
	for _, key := range []string{"", "another secret"} {
		for range 50 {
			if code := s.send(key, letter); code != http.StatusUnauthorized {
				t.Fatalf("signed with %q: %d", key, code)
			}
		}
	}
	began := time.Now()
	if code := s.send(hookSecret, letter); code != http.StatusOK {
		t.Fatalf("signed: %d", code)
	}
	s.kubectl("", "-n", s.dest, "wait", "--for=jsonpath={.data.level}="+level, "--timeout=60s", "configmap/one")
	t.Logf("from the webhook to the cluster: %s", time.Since(began).Round(time.Millisecond))
	s.kubectl("", "-n", s.control, "wait", "--for=jsonpath={.status.sync.revision}="+sha, "--timeout=60s", "application/one")
	if n := s.git.Requests()["shop"]; n.ListRefs != 1 || n.Fetch != 1 {
		t.Errorf("the repository was asked %+v, want one look and one fetch", n)
	}
	if got := s.kubectl("", "-n", s.control, "get", "application/two", "-o", "jsonpath={.status.sync.revision}"); got != first {
		t.Errorf("the application that read nothing of what changed is at %s", got)
	}

	// The same again is nothing; others in a row are one look in each second.
	s.git.ResetRequests()
	began = time.Now()
	for i := range 300 {
		if code := s.send(hookSecret, letter); code != http.StatusOK {
			t.Fatalf("again: %d", code)
		}
		if code := s.send(hookSecret, s.pushed("shop", fmt.Sprint(i))); code != http.StatusOK {
			t.Fatalf("another: %d", code)
		}
	}
	level = "third"
	text = mapOf("one", level)
	sha, err = s.git.Commit("shop", "main", "another change of one", map[string]*string{"one/map.yaml": &text})
	s.must(err)
	if code := s.send(hookSecret, s.pushed("shop", sha)); code != http.StatusOK {
		t.Fatalf("signed: %d", code)
	}
	s.kubectl("", "-n", s.dest, "wait", "--for=jsonpath={.data.level}="+level, "--timeout=60s", "configmap/one")
	windows := int(time.Since(began)/time.Second) + 2
	if n := s.git.Requests()["shop"]; n.ListRefs > windows || n.Fetch != 1 {
		t.Errorf("the repository was asked %+v in %d windows", n, windows)
	}
}
