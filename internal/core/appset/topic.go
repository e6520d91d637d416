package appset

import (
	"net/url"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/core/webhook"
)

// The topics: pull requests of a place, and anything at all, which is what services of users are asked about.
const (
	pullTopic = "pull requests of "
	anyTopic  = "anything"
)

// Topic is what webhooks may have to say about a need; empty is nothing. What is in git is followed as every repository
// is, and has none.
func Topic(n Need) string {
	switch {
	case n.Plugin != nil:
		return anyTopic
	case n.PullRequest != nil:
		if place := pullPlace(n.PullRequest); place != "" {
			return pullTopic + place
		}
	}
	return ""
}

// Topics are those of a webhook.
func Topics(h webhook.Hint) []string {
	var out []string
	if h.Kind == webhook.Pull {
		for _, place := range h.Places {
			out = append(out, pullTopic+place)
		}
	}
	// Who proves nothing has no business with the services of users.
	if h.Proved {
		out = append(out, anyTopic)
	}
	return out
}

// pullPlace is where the repository is whose pull requests are listed.
func pullPlace(g *v1alpha1.PullRequestGenerator) string {
	switch {
	case g.Github != nil:
		return placeAt(g.Github.API, "github.com", g.Github.Owner+"/"+g.Github.Repo)
	case g.Gitea != nil:
		return placeAt(g.Gitea.API, "", g.Gitea.Owner+"/"+g.Gitea.Repo)
	case g.Gitlab != nil && strings.Trim(g.Gitlab.Project, "0123456789") == "":
		return webhook.Numbered(hostOf(g.Gitlab.API, "gitlab.com"), g.Gitlab.Project)
	case g.Gitlab != nil:
		return placeAt(g.Gitlab.API, "gitlab.com", g.Gitlab.Project)
	}
	return ""
}

// placeAt is a repository of a forge that is asked at an address; without one it is the usual forge.
func placeAt(api, usual, path string) string {
	host := hostOf(api, usual)
	if host == "" {
		return ""
	}
	return repository.Place("https://" + host + "/" + path)
}

// hostOf is the host that people see, for one that programs ask.
func hostOf(api, usual string) string {
	if api == "" {
		return usual
	}
	u, err := url.Parse(api)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(strings.ToLower(u.Hostname()), "api.")
}
