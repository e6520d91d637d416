package webhook

import (
	"encoding/json"
	"strings"

	"github.com/towline-cd/towline/internal/core/repository"
)

// readGitLab goes by what the body says: a system hook has one header for everything.
func readGitLab(event string, body []byte, h *Hint) error {
	if !strings.HasSuffix(event, "Hook") {
		return nil
	}
	var in struct {
		Kind    string `json:"object_kind"`
		Event   string `json:"event_name"`
		Ref     string `json:"ref"`
		Before  string `json:"before"`
		After   string `json:"after"`
		Project struct {
			ID            json.Number `json:"id"`
			WebURL        string      `json:"web_url"`
			HTTPURL       string      `json:"git_http_url"`
			SSHURL        string      `json:"git_ssh_url"`
			DefaultBranch *string     `json:"default_branch"`
		} `json:"project"`
		Request struct {
			Action string `json:"action"`
		} `json:"object_attributes"`
	}
	if err := decode(body, &in); err != nil {
		return err
	}
	kind := in.Kind
	if kind == "" {
		kind = in.Event
	}
	h.at(in.Project.WebURL, in.Project.HTTPURL, in.Project.SSHURL)
	switch kind {
	case "push", "tag_push":
		h.Kind = Push
		h.between(in.Ref, in.Before, in.After)
		if in.Project.DefaultBranch != nil {
			h.Default = *in.Project.DefaultBranch
		}
	case "merge_request":
		if strings.Contains(in.Request.Action, "approv") {
			return nil
		}
		h.Kind = Pull
		// Generators may name a project by its number.
		if host := repository.Place(in.Project.WebURL); in.Project.ID != "" && strings.Contains(host, "/") {
			host, _, _ = strings.Cut(host, "/")
			h.Places = append(h.Places, Numbered(host, in.Project.ID.String()))
		}
	}
	return nil
}

// Numbered is the place of a project that is named by its number.
func Numbered(host, id string) string { return host + "/#" + id }

func readBitbucket(event string, body []byte, h *Hint) error {
	if event != "repo:push" && !strings.HasPrefix(event, "pullrequest:") {
		return nil
	}
	type end struct {
		Type   string `json:"type"`
		Name   string `json:"name"`
		Target struct {
			Hash string `json:"hash"`
		} `json:"target"`
	}
	var in struct {
		Repository struct {
			Links struct {
				HTML struct {
					Href string `json:"href"`
				} `json:"html"`
			} `json:"links"`
		} `json:"repository"`
		Push struct {
			Changes []struct {
				New *end `json:"new"`
				Old *end `json:"old"`
			} `json:"changes"`
		} `json:"push"`
	}
	if err := decode(body, &in); err != nil {
		return err
	}
	h.at(in.Repository.Links.HTML.Href)
	if event != "repo:push" {
		h.Kind = Pull
		return nil
	}
	h.Kind = Push
	for _, c := range in.Push.Changes {
		for _, e := range []*end{c.New, c.Old} {
			switch {
			case e == nil || e.Name == "":
			case e.Type == "tag":
				h.moved(tagRef + e.Name)
			case e == c.New && c.Old != nil:
				h.between(branchRef+e.Name, c.Old.Target.Hash, e.Target.Hash)
			default:
				h.moved(branchRef + e.Name)
			}
		}
	}
	h.bounded()
	return nil
}

func readBitbucketServer(event string, body []byte, h *Hint) error {
	if event != "repo:refs_changed" && !strings.HasPrefix(event, "pr:") {
		return nil
	}
	type described struct {
		Links struct {
			Clone []struct {
				Href string `json:"href"`
			} `json:"clone"`
		} `json:"links"`
	}
	var in struct {
		Repository described `json:"repository"`
		Changes    []struct {
			Ref struct {
				ID string `json:"id"`
			} `json:"ref"`
			From string `json:"fromHash"`
			To   string `json:"toHash"`
		} `json:"changes"`
		Pull struct {
			To struct {
				Repository described `json:"repository"`
			} `json:"toRef"`
		} `json:"pullRequest"`
	}
	if err := decode(body, &in); err != nil {
		return err
	}
	h.Kind, in.Repository = pushOr(event != "repo:refs_changed", in.Pull.To.Repository, in.Repository)
	for _, l := range in.Repository.Links.Clone {
		h.at(l.Href)
	}
	for _, c := range in.Changes {
		h.between(c.Ref.ID, c.From, c.To)
	}
	h.bounded()
	return nil
}

// pushOr is a pull request and its repository, or a push and its.
func pushOr[T any](pull bool, ofPull, ofPush T) (Kind, T) {
	if pull {
		return Pull, ofPull
	}
	return Push, ofPush
}

// readAzure goes by what the body says: no header names the event.
func readAzure(_ string, body []byte, h *Hint) error {
	var in struct {
		Event    string `json:"eventType"`
		Resource struct {
			Updates []struct {
				Name string `json:"name"`
				From string `json:"oldObjectId"`
				To   string `json:"newObjectId"`
			} `json:"refUpdates"`
			Repository struct {
				RemoteURL     string `json:"remoteUrl"`
				WebURL        string `json:"webUrl"`
				SSHURL        string `json:"sshUrl"`
				DefaultBranch string `json:"defaultBranch"`
			} `json:"repository"`
		} `json:"resource"`
	}
	if err := decode(body, &in); err != nil {
		return err
	}
	r := in.Resource.Repository
	h.at(r.RemoteURL, r.WebURL, r.SSHURL)
	switch {
	case in.Event == "git.push":
		h.Kind = Push
		h.Default = strings.TrimPrefix(r.DefaultBranch, branchRef)
		for _, u := range in.Resource.Updates {
			h.between(u.Name, u.From, u.To)
		}
		h.bounded()
	case strings.HasPrefix(in.Event, "git.pullrequest."):
		h.Kind = Pull
	}
	return nil
}
