package webhook_test

import (
	"net/http"
	"testing"

	"github.com/towline-cd/towline/internal/core/secret"
	"github.com/towline-cd/towline/internal/core/webhook"
)

// seeds are bodies of each sender, and what goes wrong with them: nothing there, other types, too deep.
var seeds = map[string][]string{
	"github": {
		`{"ref":"refs/heads/main","repository":{"html_url":"https://github.com/a/b","default_branch":"main"},"commits":[{"added":["x"]}]}`,
		`{"action":"opened","repository":{"clone_url":"https://github.com/a/b.git"}}`,
		`{"action":"published","package":{"name":"c","package_type":"CONTAINER","owner":{"login":"o"},"package_version":{"container_metadata":{"tag":{"name":"v1"}}}}}`,
		`payload=%7B%22ref%22%3A%22refs%2Ftags%2Fv1%22%7D`,
	},
	"gitlab": {
		`{"object_kind":"push","ref":"refs/heads/main","project":{"id":7,"web_url":"https://gitlab.com/g/p","default_branch":null}}`,
		`{"object_kind":"merge_request","project":{"id":7,"web_url":"https://gitlab.com/g/p"},"object_attributes":{"action":"open"}}`,
		`{"event_name":"tag_push","ref":"refs/tags/v1","project":{"git_ssh_url":"git@gitlab.com:g/p.git"}}`,
	},
	"bitbucket": {
		`{"repository":{"links":{"html":{"href":"https://bitbucket.org/a/b"}}},"push":{"changes":[{"new":{"type":"branch","name":"main"},"old":null}]}}`,
		`{"push":{"changes":null}}`,
	},
	"bitbucketserver": {
		`{"repository":{"links":{"clone":[{"href":"ssh://git@bb.example.com:7999/p/r.git","name":"ssh"}]}},"changes":[{"ref":{"id":"refs/heads/main"}}]}`,
		`{"pullRequest":{"toRef":{"repository":{"links":{"clone":[]}}}}}`,
	},
	"gogs": {
		`{"ref":"refs/heads/main","repository":{"html_url":"https://gitea.example.com/a/b","ssh_url":"git@gitea.example.com:a/b.git","default_branch":"main"}}`,
		`{"action":"synchronized","repository":{}}`,
	},
	"azuredevops": {
		`{"eventType":"git.push","resource":{"refUpdates":[{"name":"refs/heads/main"}],"repository":{"remoteUrl":"https://dev.azure.com/o/p/_git/r","defaultBranch":"refs/heads/main"}}}`,
		`{"eventType":"git.pullrequest.created","resource":{"refUpdates":[]}}`,
	},
	"harbor": {
		`{"type":"PUSH_ARTIFACT","event_data":{"resources":[{"tag":"v1","resource_url":"harbor.example.com/p/c:v1"}],"repository":{"repo_full_name":"p/c"}}}`,
		`{"type":"PUSH_ARTIFACT","event_data":{"resources":[{"tag":"v1","resource_url":"://"}],"repository":{}}}`,
	},
}

var broken = []string{``, `{`, `[]`, `null`, `"x"`, `{"repository":[]}`, `{"ref":{}}`, `{"repository":{"html_url":"://%zz"}}`, `{"push":{"changes":[null,{}]}}`}

// fuzz has a sender's letters read whatever they are: with a secret and without.
func fuzz(f *testing.F, provider string, headers func(event, proof string) http.Header, events ...string) {
	for _, event := range append(events, "", "unheard of") {
		for _, body := range append(seeds[provider], broken...) {
			f.Add(event, "", []byte(body))
			f.Add(event, "sha256="+sign("s", []byte(body)), []byte(body))
		}
	}
	values := map[string]secret.Text{}
	for _, key := range webhook.Keys {
		values[key] = secret.New("s")
	}
	closed, _ := webhook.ReadSecrets(values, nil)
	harbor, _ := webhook.ReadSecrets(map[string]secret.Text{"webhook.harbor.secret": secret.New("s")}, nil)
	f.Fuzz(func(t *testing.T, event, proof string, body []byte) {
		for _, secrets := range []*webhook.Secrets{nil, closed, harbor} {
			hint, refused := take(headers(event, proof), body, secrets)
			if refused != nil {
				if refused.Message == "" {
					t.Error("a refusal says nothing")
				}
				continue
			}
			if hint.Kind != webhook.Nothing && len(hint.Places) == 0 || len(hint.Places) > 16 || len(hint.Refs) > 64 {
				t.Errorf("%+v", hint)
			}
			if secrets == closed && !hint.Proved {
				t.Errorf("taken without proof: %+v", hint)
			}
			hint.Concerns(event)
		}
	})
}

func FuzzGitHub(f *testing.F) {
	fuzz(f, "github", func(event, proof string) http.Header {
		return http.Header{"X-Github-Event": {event}, "X-Hub-Signature-256": {proof}}
	}, "push", "pull_request", "package", "ping")
}

func FuzzGitLab(f *testing.F) {
	fuzz(f, "gitlab", func(event, proof string) http.Header {
		return http.Header{"X-Gitlab-Event": {event}, "X-Gitlab-Token": {proof}}
	}, "Push Hook", "Tag Push Hook", "System Hook", "Merge Request Hook")
}

func FuzzBitbucket(f *testing.F) {
	fuzz(f, "bitbucket", func(event, proof string) http.Header {
		return http.Header{"X-Event-Key": {event}, "X-Hook-Uuid": {proof + "x"}}
	}, "repo:push", "pullrequest:created")
}

func FuzzBitbucketServer(f *testing.F) {
	fuzz(f, "bitbucketserver", func(event, proof string) http.Header {
		return http.Header{"X-Event-Key": {event}, "X-Hub-Signature": {proof}}
	}, "repo:refs_changed", "pr:opened", "diagnostics:ping")
}

func FuzzGogs(f *testing.F) {
	fuzz(f, "gogs", func(event, proof string) http.Header {
		return http.Header{"X-Gitea-Event": {event}, "X-Gogs-Event": {event}, "X-Gogs-Signature": {proof}}
	}, "push", "pull_request", "create")
}

func FuzzAzureDevOps(f *testing.F) {
	fuzz(f, "azuredevops", func(event, proof string) http.Header {
		return http.Header{"X-Vss-Activityid": {"x" + event}, "Authorization": {proof}}
	}, "git.push")
}

func FuzzHarbor(f *testing.F) {
	fuzz(f, "harbor", func(event, proof string) http.Header {
		if proof == "" {
			proof = "s"
		}
		return http.Header{"Authorization": {proof}, "X-Event": {event}}
	}, "PUSH_ARTIFACT")
}
