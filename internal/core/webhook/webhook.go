// Package webhook reads what forges and registries send when something changed. The headers say who sends, and by what
// they prove it; then the signature is checked over the bytes as they came; and only then are they read, into a hint:
// which repository, which of its branches. A hint is no more than a reason to look: nothing that it says is believed,
// and what changed is asked of the repository; what it says of a commit may have that fetched sooner, and no more. The
// package must not do anything about it.
package webhook

import (
	"strings"

	"github.com/towline-cd/towline/internal/core/repository"
)

// Provider is who sends.
type Provider string

// Those whose webhooks are understood. Gogs is also Gitea and Forgejo, which speak like it.
const (
	GitHub          Provider = "github"
	GitLab          Provider = "gitlab"
	Bitbucket       Provider = "bitbucket"
	BitbucketServer Provider = "bitbucketserver"
	Gogs            Provider = "gogs"
	AzureDevOps     Provider = "azuredevops"
	Harbor          Provider = "harbor"
)

// Header is what headers are asked by; names are in any letter case.
type Header interface{ Get(name string) string }

// Kind is what happened.
type Kind string

// What is worth a look. Nothing is what says so of itself, or what nobody here has any use for.
const (
	Nothing  Kind = ""
	Push     Kind = "push"
	Pull     Kind = "pull request"
	Artifact Kind = "artifact"
)

// Hint is what a webhook says.
type Hint struct {
	Provider Provider `json:"provider"`
	Kind     Kind     `json:"kind,omitempty"`
	// Proved says that the sender knows the secret. Without one in the settings nobody can prove anything.
	Proved bool `json:"proved,omitempty"`
	// Places are where the repository is, each as repository.Place has it: a forge may have several names for it.
	Places []string `json:"places,omitempty"`
	// Refs are the full names of what moved; none is that it is not said.
	Refs []string `json:"refs,omitempty"`
	// From and To are the commits that the branch moved between; empty is that it is not said, that the branch came or
	// went, or that more than one ref moved.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Default is the branch that HEAD stands for; empty is that it is not said.
	Default string `json:"default,omitempty"`
}

const (
	branchRef = "refs/heads/"
	tagRef    = "refs/tags/"
)

// Concerns says whether somebody who follows a revision of the repository may see a difference. It only says no where
// that is certain: what is looked at for nothing costs little.
func (h *Hint) Concerns(revision string) bool {
	if len(h.Refs) == 0 {
		return true
	}
	if pinned(revision) {
		return false
	}
	for _, ref := range h.Refs {
		if h.touches(ref, revision) {
			return true
		}
	}
	return false
}

func (h *Hint) touches(ref, revision string) bool {
	head := revision == "" || revision == "HEAD"
	branch, ok := strings.CutPrefix(ref, branchRef)
	switch {
	case h.Kind == Artifact:
		return true
	case ok && head:
		return h.Default == "" || h.Default == branch
	case ok:
		return revision == branch || revision == ref || "refs/"+revision == ref
	case strings.HasPrefix(ref, tagRef):
		// Any name may be a range of versions, which tags are picked from.
		return !head
	default:
		return true
	}
}

// pinned says that a revision is a commit or a digest, which never moves.
func pinned(revision string) bool {
	if strings.HasPrefix(revision, "sha256:") {
		return true
	}
	return len(revision) == 40 && strings.Trim(revision, "0123456789abcdefABCDEF") == ""
}

// PlacesOf are the places that webhooks may name for what somebody follows. A chart of a registry is a repository of its
// own there.
func PlacesOf(repoURL, chart string) []string {
	places := []string{repository.Place(repoURL)}
	if chart != "" {
		places = append(places, repository.Place(strings.TrimRight(repoURL, "/")+"/"+chart))
	}
	return places
}

// Reason is why something is not taken.
type Reason int

const (
	// Unknown is that nobody knows who sends this.
	Unknown Reason = iota
	// Unproved is that the sender does not prove to know the secret.
	Unproved
	// Malformed is that it cannot be read.
	Malformed
)

// Refusal is why a webhook is not taken. It tells nothing of what was sent, nor of the secret.
type Refusal struct {
	Reason   Reason
	Provider Provider
	Message  string
}

// errUnknown is for everybody whose headers say nothing.
var errUnknown = &Refusal{Reason: Unknown, Message: "Unknown webhook event: none of its headers says who sends it; " +
	"GitHub, GitLab, Bitbucket, Bitbucket Server, Gitea, Gogs, Azure DevOps and Harbor are understood, the last one if " +
	"webhook.harbor.secret is set"}

// unproved are made once: a flood of bad letters must not cost anything.
var unproved = map[Provider]*Refusal{
	GitHub: refuse(GitHub, "the signature in X-Hub-Signature-256 is missing or wrong; the secret of the webhook must be "+
		"webhook.github.secret of argocd-secret"),
	GitLab: refuse(GitLab, "the token in X-Gitlab-Token is missing or wrong; the secret token of the webhook must be "+
		"webhook.gitlab.secret of argocd-secret"),
	Bitbucket: refuse(Bitbucket, "the UUID in X-Hook-UUID is wrong; webhook.bitbucket.uuid of argocd-secret must be that of the webhook"),
	BitbucketServer: refuse(BitbucketServer, "the signature in X-Hub-Signature is missing or wrong; the secret of the webhook must be "+
		"webhook.bitbucketserver.secret of argocd-secret"),
	Gogs: refuse(Gogs, "the signature in X-Gogs-Signature or X-Gitea-Signature is missing or wrong; the secret of the webhook must be "+
		"webhook.gogs.secret of argocd-secret"),
	AzureDevOps: refuse(AzureDevOps, "the user name or password is missing or wrong; they must be webhook.azuredevops.username and "+
		"webhook.azuredevops.password of argocd-secret"),
	Harbor: refuse(Harbor, "the Authorization header is wrong; it must be webhook.harbor.secret of argocd-secret"),
}

func refuse(p Provider, message string) *Refusal {
	return &Refusal{Reason: Unproved, Provider: p, Message: message}
}
