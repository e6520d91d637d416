package forge

import (
	"context"
	"net/url"
	"strconv"

	"github.com/towline-cd/towline/internal/core/fault"
)

// hubPulls is a repository of GitHub, or of a Gitea: as far as pull requests are read here, theirs are alike.
type hubPulls struct {
	*session
	owner, repo string
	labels      []string
	order       url.Values
	pages       pages
}

// hubPull is what is read of a pull request.
type hubPull struct {
	Number int64  `json:"number"`
	Title  string `json:"title"`
	State  string `json:"state"`
	Head   struct {
		Ref string `json:"ref"`
		SHA string `json:"sha"`
	} `json:"head"`
	Base struct {
		Ref string `json:"ref"`
	} `json:"base"`
	Labels []struct {
		Name string `json:"name"`
	} `json:"labels"`
	User struct {
		Login string `json:"login"`
	} `json:"user"`
}

// id is the number of an open pull request that has all that one has.
func (p hubPull) id() string {
	if p.Number <= 0 || p.Head.SHA == "" || p.Head.Ref == "" || p.Base.Ref == "" || p.State != "open" {
		return ""
	}
	return "#" + strconv.FormatInt(p.Number, 10)
}

func (g *hubPulls) name() string { return g.owner + "/" + g.repo + " on " + g.place() }

func (g *hubPulls) path() string {
	return "repos/" + segment(g.owner) + "/" + segment(g.repo) + "/pulls"
}

func (g *hubPulls) pulls(ctx context.Context) ([]pull, error) {
	if err := required("owner", g.owner, "repo", g.repo); err != nil {
		return nil, err
	}
	found, err := list(ctx, g.session, listing[hubPull]{path: g.path(), query: g.order, pages: g.pages, id: hubPull.id})
	if err != nil {
		return nil, err
	}
	var out []pull
	for _, p := range found {
		labels := make([]string, 0, len(p.Labels))
		for _, label := range p.Labels {
			labels = append(labels, label.Name)
		}
		if hasAll(labels, g.labels) {
			out = append(out, pull{
				number: p.Number, title: p.Title, branch: p.Head.Ref, target: p.Base.Ref, sha: p.Head.SHA, author: p.User.Login,
				labels: labels,
			})
		}
	}
	return out, nil
}

func (g *hubPulls) closed(ctx context.Context, number int64) (bool, error) {
	if err := required("owner", g.owner, "repo", g.repo); err != nil {
		return false, err
	}
	found, _, err := get[hubPull](ctx, g.session, g.path()+"/"+strconv.FormatInt(number, 10), nil)
	if err != nil {
		return false, err
	}
	return closedBy(found.State, found.Number, number)
}

// closedBy reads a state. Only what the forges call closed is closed: one that is being merged may still fail to be.
func closedBy(state string, got, asked int64) (bool, error) {
	if got != asked {
		return false, fault.Transientf("AnswerNotUnderstood", "the forge was asked for %d and answers with %d", asked, got)
	}
	switch state {
	case "closed", "merged":
		return true, nil
	case "open", "opened", "locked":
		return false, nil
	}
	return false, fault.Transientf("AnswerNotUnderstood", "the forge says %q of it, which is no state that is known", state)
}
