package channel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/notice"
)

type githubPart struct {
	RepoURLPath  string `json:"repoURLPath"`
	RevisionPath string `json:"revisionPath"`
	Status       *struct {
		State     string `json:"state"`
		Label     string `json:"label"`
		TargetURL string `json:"targetURL"`
	} `json:"status"`
	Deployment         *githubDeployment `json:"deployment"`
	PullRequestComment *struct {
		Content string `json:"content"`
		// CommentTag names a comment that later ones take the place of.
		CommentTag string `json:"commentTag"`
	} `json:"pullRequestComment"`
	CheckRun           *githubCheck `json:"checkRun"`
	RepositoryDispatch *struct {
		EventType     string `json:"event_type"`
		ClientPayload string `json:"client_payload"`
	} `json:"repositoryDispatch"`
}

type githubDeployment struct {
	State                string   `json:"state"`
	Environment          string   `json:"environment"`
	EnvironmentURL       string   `json:"environmentURL"`
	LogURL               string   `json:"logURL"`
	RequiredContexts     []string `json:"requiredContexts"`
	AutoMerge            *bool    `json:"autoMerge"`
	TransientEnvironment *bool    `json:"transientEnvironment"`
	Reference            string   `json:"reference"`
}

type githubCheck struct {
	Name        string  `json:"name"`
	DetailsURL  string  `json:"details_url"`
	Status      string  `json:"status"`
	Conclusion  string  `json:"conclusion"`
	StartedAt   string  `json:"started_at"`
	CompletedAt string  `json:"completed_at"`
	Output      *object `json:"output"`
}

const (
	// maxDescription and maxComment are what GitHub takes.
	maxDescription = 140
	maxComment     = 65536
)

// Send says on a commit how it is with it: a status, a deployment, a comment on its pull requests, a check. All of them are
// found again, so that a message that is sent twice is seen once.
func (g *github) Send(ctx context.Context, m Message) error {
	part, err := partOf[githubPart](m)
	if err != nil {
		return err
	}
	name, err := notice.FullName(part.RepoURLPath)
	if err != nil || strings.Count(name, "/") != 1 {
		return fault.Terminalf("TemplateRefused", "github.repoURLPath gives %q, which is not the address of a repository of GitHub",
			part.RepoURLPath)
	}
	if part.RevisionPath == "" || strings.Contains(part.RevisionPath, "<no value>") {
		return fault.Terminalf("TemplateRefused", "github.revisionPath gives no commit; "+
			"the application was not synced yet, or has several sources")
	}
	on := githubCommit{g, "/repos/" + name, part.RevisionPath, m}
	if part.Status != nil {
		err = on.post(ctx, "/statuses/"+url.PathEscape(on.revision), object{
			"state": part.Status.State, "context": part.Status.Label, "target_url": part.Status.TargetURL,
			"description": cut(m.Message, maxDescription),
		}, nil)
	}
	if err == nil && part.Deployment != nil {
		err = on.deploy(ctx, *part.Deployment)
	}
	if err == nil && part.PullRequestComment != nil {
		err = on.comment(ctx, part.PullRequestComment.Content, part.PullRequestComment.CommentTag)
	}
	if err == nil && part.CheckRun != nil {
		err = on.check(ctx, *part.CheckRun)
	}
	// What a workflow was started with cannot be found again: it is not started twice.
	if err == nil && part.RepositoryDispatch != nil && !m.Again {
		err = on.post(ctx, "/dispatches", object{
			"event_type":     part.RepositoryDispatch.EventType,
			"client_payload": json.RawMessage(cmp.Or(part.RepositoryDispatch.ClientPayload, "{}")),
		}, nil)
	}
	return err
}

func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// githubCommit is what a message is about.
type githubCommit struct {
	*github
	path, revision string
	message        Message
}

func (c githubCommit) post(ctx context.Context, path string, body, into any) error {
	return c.ask(ctx, http.MethodPost, c.path+path, body, into)
}

func (c githubCommit) get(ctx context.Context, path string, into any) error {
	return c.ask(ctx, http.MethodGet, c.path+path, nil, into)
}

// deploy says how it is with the deployment of the commit to an environment, and makes it if there is none.
func (c githubCommit) deploy(ctx context.Context, d githubDeployment) error {
	type deployment struct {
		ID int64 `json:"id"`
	}
	var there []deployment
	query := url.Values{"ref": {c.revision}, "environment": {d.Environment}}
	if err := c.get(ctx, "/deployments?"+query.Encode(), &there); err != nil {
		return err
	}
	if len(there) == 0 {
		there = make([]deployment, 1)
		body := object{
			"ref": cmp.Or(d.Reference, c.revision), "environment": d.Environment,
			"auto_merge":            d.AutoMerge == nil || *d.AutoMerge,
			"transient_environment": d.TransientEnvironment != nil && *d.TransientEnvironment,
		}
		if d.RequiredContexts != nil {
			body["required_contexts"] = d.RequiredContexts
		}
		if err := c.post(ctx, "/deployments", body, &there[0]); err != nil {
			return err
		}
	}
	return c.post(ctx, fmt.Sprintf("/deployments/%d/statuses", there[0].ID), object{
		"state": d.State, "log_url": d.LogURL, "environment": d.Environment, "environment_url": d.EnvironmentURL,
		"description": cut(c.message.Message, maxDescription),
	}, nil)
}

// comment comments on the pull requests of the commit. A mark that is not shown says which message it is, or which comment
// is to be changed.
func (c githubCommit) comment(ctx context.Context, content, tag string) error {
	mark := fmt.Sprintf("<!-- towline %s -->", c.message.ID)
	if tag != "" {
		mark = fmt.Sprintf("<!-- argocd-notifications %s -->", tag)
	}
	body := object{"body": cut(content, maxComment-len(mark)-1) + "\n" + mark}
	var pulls []struct {
		Number int `json:"number"`
	}
	if err := c.get(ctx, "/commits/"+url.PathEscape(c.revision)+"/pulls", &pulls); err != nil {
		return err
	}
	for _, pull := range pulls {
		var there []struct {
			ID   int64  `json:"id"`
			Body string `json:"body"`
		}
		if err := c.get(ctx, fmt.Sprintf("/issues/%d/comments?per_page=100", pull.Number), &there); err != nil {
			return err
		}
		method, path := http.MethodPost, fmt.Sprintf("/issues/%d/comments", pull.Number)
		for _, one := range there {
			if strings.Contains(one.Body, mark) {
				method, path = http.MethodPatch, fmt.Sprintf("/issues/comments/%d", one.ID)
			}
		}
		if err := c.ask(ctx, method, c.path+path, body, nil); err != nil {
			return err
		}
	}
	return nil
}

// check makes a check run, unless it is there.
func (c githubCommit) check(ctx context.Context, k githubCheck) error {
	if k.Conclusion != "" {
		k.Status = cmp.Or(k.Status, "completed")
	} else if k.Status == "completed" || k.CompletedAt != "" {
		return fault.Terminalf("TemplateRefused", "github.checkRun says that it is completed, and not with which conclusion")
	}
	var there struct {
		Runs []struct {
			ExternalID string `json:"external_id"`
		} `json:"check_runs"`
	}
	query := url.Values{"check_name": {k.Name}, "filter": {"all"}}
	if err := c.get(ctx, "/commits/"+url.PathEscape(c.revision)+"/check-runs?"+query.Encode(), &there); err != nil {
		return err
	}
	for _, run := range there.Runs {
		if run.ExternalID == c.message.ID {
			return nil
		}
	}
	body := object{"name": k.Name, "head_sha": c.revision, "external_id": c.message.ID}
	for name, value := range map[string]string{
		"details_url": k.DetailsURL, "status": k.Status, "conclusion": k.Conclusion,
		"started_at": k.StartedAt, "completed_at": k.CompletedAt,
	} {
		if value != "" {
			body[name] = value
		}
	}
	if k.Output != nil {
		body["output"] = *k.Output
	}
	return c.post(ctx, "/check-runs", body, nil)
}

var errNoKey = errors.New("the privateKey is not a key of a GitHub App as PEM")
