package appset_test

import (
	"slices"
	"testing"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/internal/core/webhook"
)

// TestTopics: a webhook about a pull request finds the generators that list those of that repository, and no others.
func TestTopics(t *testing.T) {
	pull := func(places ...string) webhook.Hint { return webhook.Hint{Kind: webhook.Pull, Places: places} }
	github := func(api string) appset.Need {
		return appset.Need{PullRequest: &v1alpha1.PullRequestGenerator{
			Github: &v1alpha1.PullRequestGeneratorGithub{Owner: "Org", Repo: "Repo", API: api},
		}}
	}
	gitlab := func(api, project string) appset.Need {
		return appset.Need{PullRequest: &v1alpha1.PullRequestGenerator{Gitlab: &v1alpha1.PullRequestGeneratorGitlab{API: api, Project: project}}}
	}
	gitea := appset.Need{PullRequest: &v1alpha1.PullRequestGenerator{
		Gitea: &v1alpha1.PullRequestGeneratorGitea{Owner: "org", Repo: "repo", API: "https://gitea.example.com:3000"},
	}}
	plugin := appset.Need{Plugin: &v1alpha1.PluginGenerator{}}
	cases := map[string]struct {
		need appset.Need
		hint webhook.Hint
		want bool
	}{
		"github":                     {github(""), pull("github.com/org/repo"), true},
		"github, another":            {github(""), pull("github.com/org/other"), false},
		"github, a push":             {github(""), webhook.Hint{Kind: webhook.Push, Places: []string{"github.com/org/repo"}}, false},
		"github enterprise":          {github("https://ghe.example.com/api/v3"), pull("ghe.example.com/org/repo"), true},
		"github with data residency": {github("https://api.corp.ghe.com"), pull("corp.ghe.com/org/repo"), true},
		"gitlab by path":             {gitlab("", "group/sub/proj"), pull("gitlab.com/group/sub/proj", "gitlab.com/#15"), true},
		"gitlab by number":           {gitlab("https://git.example.com/", "15"), pull("git.example.com/group/proj", "git.example.com/#15"), true},
		"gitlab, another number":     {gitlab("", "16"), pull("gitlab.com/group/proj", "gitlab.com/#15"), false},
		"gitea":                      {gitea, pull("gitea.example.com/org/repo"), true},
		"a plugin":                   {plugin, webhook.Hint{Kind: webhook.Push, Proved: true, Places: []string{"github.com/a/b"}}, true},
		"a plugin, without proof":    {plugin, webhook.Hint{Kind: webhook.Push, Places: []string{"github.com/a/b"}}, false},
		"a git generator":            {appset.Need{Git: &appset.GitNeed{RepoURL: "https://github.com/org/repo"}}, pull("github.com/org/repo"), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			topic := appset.Topic(c.need)
			if got := topic != "" && slices.Contains(appset.Topics(c.hint), topic); got != c.want {
				t.Errorf("got %v; it is about %q, the webhook about %q", got, topic, appset.Topics(c.hint))
			}
		})
	}
}
