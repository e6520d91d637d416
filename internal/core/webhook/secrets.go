package webhook

import (
	"fmt"
	"slices"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/secret"
)

// Secrets are what senders prove themselves by. The zero value has none: everybody is heard then, and nobody believed.
type Secrets struct {
	of map[string]secret.Text
	// lost are the keys that refer to something that is not there: nobody can prove to know that.
	lost map[string]struct{}
}

// Keys are those of argocd-secret that hold the secrets of webhooks.
var Keys = []string{
	v1alpha1.KeyWebhookGitHub, v1alpha1.KeyWebhookGitLab, v1alpha1.KeyWebhookBitbucketUUID, v1alpha1.KeyWebhookBitbucketServer,
	v1alpha1.KeyWebhookGogs, v1alpha1.KeyWebhookHarbor, v1alpha1.KeyWebhookAzureUsername, v1alpha1.KeyWebhookAzurePassword,
}

// ReadSecrets takes the secrets out of what argocd-secret holds. A value "$name:key" is in another secret, and "$key" in
// another key of this one: lookup finds what is behind the dollar sign. What is not there closes the door to that
// sender, and is told as a problem.
func ReadSecrets(values map[string]secret.Text, lookup func(reference string) (secret.Text, bool)) (*Secrets, []string) {
	s := &Secrets{of: map[string]secret.Text{}, lost: map[string]struct{}{}}
	var problems []string
	for _, key := range Keys {
		value := values[key]
		if reference, ok := Reference(value); ok {
			found, there := lookup(reference)
			if !there || found.Empty() {
				s.lost[key] = struct{}{}
				problems = append(problems, fmt.Sprintf("%s refers to $%s, which is not there; such webhooks are refused until it is",
					key, reference))
				continue
			}
			value = found
		}
		// A line end is what an editor leaves behind; no forge lets one be part of a secret.
		if text := strings.TrimRight(value.Reveal(), "\r\n"); text != "" {
			s.of[key] = secret.New(text)
		}
	}
	slices.Sort(problems)
	return s, problems
}

// Reference is what a value refers to, if it does.
func Reference(value secret.Text) (string, bool) {
	reference, ok := strings.CutPrefix(value.Reveal(), "$")
	return strings.TrimSpace(reference), ok && strings.TrimSpace(reference) != ""
}

// key is the secret of a key: closed says that nobody can prove to know it.
func (s *Secrets) key(name string) (value string, set, closed bool) {
	if s == nil {
		return "", false, false
	}
	if _, lost := s.lost[name]; lost {
		return "", true, true
	}
	value = s.of[name].Reveal()
	return value, value != "", false
}

// Format is for every verb: fields that only we can see are printed as they are, unless somebody takes care.
func (s Secrets) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("secrets of webhooks")) }
