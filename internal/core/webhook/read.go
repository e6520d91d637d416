package webhook

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/towline-cd/towline/internal/core/repository"
)

// readers say what the bodies of each sender say. They read the few fields that a hint is made of: the fewer there are,
// the less can be wrong with them.
var readers = map[Provider]func(event string, body []byte, into *Hint) error{
	GitHub: readGitHub, GitLab: readGitLab, Bitbucket: readBitbucket, BitbucketServer: readBitbucketServer,
	Gogs: readGogs, AzureDevOps: readAzure, Harbor: readHarbor,
}

// errJSON says no more: what the decoder says may repeat what it was given.
var errJSON = errors.New("it is not the JSON that this sender sends with this event; send it as application/json")

func decode(body []byte, into any) error {
	if json.Unmarshal(body, into) != nil {
		return errJSON
	}
	return nil
}

// What one letter may say: a push of a thousand branches is one of "all".
const (
	mostRefs   = 64
	mostPlaces = 8
	mostLength = 2048
)

// at adds where the repository is.
func (h *Hint) at(urls ...string) {
	for _, url := range urls {
		if url == "" || len(url) > mostLength || len(h.Places) >= mostPlaces {
			continue
		}
		if place := repository.Place(url); strings.Contains(place, "/") && !slices.Contains(h.Places, place) {
			h.Places = append(h.Places, place)
		}
	}
}

// moved adds what moved. What is too much is not said at all, which means everything.
func (h *Hint) moved(refs ...string) {
	for _, ref := range refs {
		if ref == "" || len(ref) > mostLength || len(h.Refs) > mostRefs {
			continue
		}
		if !slices.Contains(h.Refs, ref) {
			h.Refs = append(h.Refs, ref)
		}
	}
}

// between adds a ref that moved, and between which commits a branch did.
func (h *Hint) between(ref, from, to string) {
	h.moved(ref)
	if strings.HasPrefix(ref, branchRef) && isCommit(from) && isCommit(to) {
		h.From, h.To = strings.ToLower(from), strings.ToLower(to)
	}
}

// isCommit says that a word is the name of a commit. Nothing but zeros is that there is none.
func isCommit(word string) bool {
	return len(word) == 40 && pinned(word) && strings.Trim(word, "0") != ""
}

// bounded forgets refs that are too many.
func (h *Hint) bounded() {
	if len(h.Refs) > mostRefs {
		h.Refs = nil
	}
}

// hosted is a repository as GitHub, Gitea and Gogs describe it.
type hosted struct {
	HTMLURL       string `json:"html_url"`
	CloneURL      string `json:"clone_url"`
	SSHURL        string `json:"ssh_url"`
	DefaultBranch string `json:"default_branch"`
}

func (r hosted) tell(h *Hint) {
	h.at(r.HTMLURL, r.CloneURL, r.SSHURL)
	h.Default = r.DefaultBranch
}

func readGitHub(event string, body []byte, h *Hint) error {
	switch event {
	case "push", "pull_request":
		return readHosted(event, body, h)
	case "package", "registry_package":
		return readPackage(body, h)
	}
	return nil
}

func readGogs(event string, body []byte, h *Hint) error {
	if event != "push" && event != "create" && event != "delete" && !strings.HasPrefix(event, "pull_request") {
		return nil
	}
	return readHosted(event, body, h)
}

// idle are what happens to a pull request without a difference to a generator.
var idle = []string{
	"assigned", "unassigned", "review_requested", "review_request_removed", "locked", "unlocked", "milestoned", "demilestoned",
}

func readHosted(event string, body []byte, h *Hint) error {
	var in struct {
		Ref        string `json:"ref"`
		Before     string `json:"before"`
		After      string `json:"after"`
		Action     string `json:"action"`
		Repository hosted `json:"repository"`
	}
	if err := decode(body, &in); err != nil {
		return err
	}
	in.Repository.tell(h)
	switch {
	case strings.HasPrefix(event, "pull_request"):
		if !slices.Contains(idle, in.Action) {
			h.Kind = Pull
		}
	case event == "push":
		h.Kind = Push
		h.between(in.Ref, in.Before, in.After)
	default:
		// What is created or deleted is named without saying whether it is a branch.
		h.Kind = Push
	}
	return nil
}

// readPackage reads what GitHub's registry of containers says.
func readPackage(body []byte, h *Hint) error {
	type described struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
		Type      string `json:"package_type"`
		Owner     struct {
			Login string `json:"login"`
		} `json:"owner"`
		Version struct {
			Container struct {
				Tag struct {
					Name string `json:"name"`
				} `json:"tag"`
			} `json:"container_metadata"`
		} `json:"package_version"`
	}
	var in struct {
		Action   string    `json:"action"`
		Package  described `json:"package"`
		Registry described `json:"registry_package"`
	}
	if err := decode(body, &in); err != nil {
		return err
	}
	p := in.Package
	if p.Name == "" {
		p = in.Registry
	}
	owner, tag := p.Owner.Login, p.Version.Container.Tag.Name
	if owner == "" {
		owner = p.Namespace
	}
	came := in.Action == "published" || in.Action == "updated"
	if !came || !strings.EqualFold(p.Type, "container") || owner == "" || p.Name == "" || tag == "" {
		return nil
	}
	h.Kind = Artifact
	h.at("oci://ghcr.io/" + owner + "/" + p.Name)
	h.moved(tagRef + tag)
	return nil
}

func readHarbor(_ string, body []byte, h *Hint) error {
	var in struct {
		Type string `json:"type"`
		Data struct {
			Resources []struct {
				Tag string `json:"tag"`
				URL string `json:"resource_url"`
			} `json:"resources"`
			Repository struct {
				Name      string `json:"name"`
				Namespace string `json:"namespace"`
				FullName  string `json:"repo_full_name"`
			} `json:"repository"`
		} `json:"event_data"`
	}
	if err := decode(body, &in); err != nil {
		return err
	}
	if in.Type != "PUSH_ARTIFACT" {
		return nil
	}
	name := in.Data.Repository.FullName
	if name == "" {
		name = in.Data.Repository.Namespace + "/" + in.Data.Repository.Name
	}
	for _, r := range in.Data.Resources {
		url := r.URL
		if _, rest, found := strings.Cut(url, "://"); found {
			url = rest
		}
		host, _, found := strings.Cut(url, "/")
		if r.Tag == "" || !found || host == "" {
			continue
		}
		h.Kind = Artifact
		h.at("oci://" + host + "/" + name)
		h.moved(tagRef + r.Tag)
	}
	h.bounded()
	return nil
}
