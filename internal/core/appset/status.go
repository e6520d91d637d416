package appset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// The reasons of conditions, by Argo CD's names; the last one is ours.
const (
	reasonUpToDate   = "ApplicationSetUpToDate"
	reasonGenerated  = "ParametersGenerated"
	reasonError      = "ErrorOccurred"
	reasonGeneration = "ApplicationGenerationFromParamsError"
	reasonValidation = "ApplicationValidationError"
	reasonWriting    = "UpdateApplicationError"
	reasonModified   = "ApplicationSetModified"
	reasonComplete   = "ApplicationSetRolloutComplete"
	reasonInvalid    = "InvalidRolloutConfig"
	reasonHeld       = "RemovalHeld"
)

const (
	// maxResources is how many Applications a status lists, unless the installation says otherwise.
	maxResources = 5000
	// maxTold is how many things of a kind one message lists.
	maxTold = 5
)

// StatusInput is what the status of a set is made of.
type StatusInput struct {
	Set *v1alpha1.ApplicationSet
	Now time.Time
	// Error says why the set could not be worked out, where the result does not: what a generator has to know could not
	// be found out.
	Error   string
	Result  Result
	Changes Changes
	// Failed are the writes that failed, each with the name of its Application and the reason.
	Failed []string
	// Owned are the Applications that there are now.
	Owned []*v1alpha1.Application
	// MaxListed is how many of them the status lists; zero is the default.
	MaxListed int
	// Rollout is the result of Rollout, if there is one.
	Rollout *RolloutResult
}

// Status is what is to be said of a set. What did not change keeps its time, so that an equal status need not be written.
func Status(in StatusInput) v1alpha1.ApplicationSetStatus {
	s := teller{StatusInput: in}
	s.conditions()
	out := v1alpha1.ApplicationSetStatus{
		Conditions: s.out,
		Resources:  resources(in.Owned), ResourcesCount: int64(len(in.Owned)),
	}
	if in.Rollout != nil {
		out.ApplicationStatus = in.Rollout.Statuses
	}
	if most := cmp.Or(in.MaxListed, maxResources); len(out.Resources) > most {
		out.Resources = out.Resources[:most]
	}
	out.Health = s.health()
	return out
}

// teller collects the conditions of a status.
type teller struct {
	StatusInput

	out []v1alpha1.ApplicationSetCondition
}

// condition adds a condition; one that says the same as before keeps its time.
func (s *teller) condition(t v1alpha1.ApplicationSetConditionType, status v1alpha1.ApplicationSetConditionStatus, reason, message string) {
	c := v1alpha1.ApplicationSetCondition{Type: t, Status: status, Reason: reason, Message: message}
	for _, was := range s.Set.Status.Conditions {
		if was.Type == t && was.Status == status && was.Reason == reason && was.Message == message {
			c.LastTransitionTime = was.LastTransitionTime
		}
	}
	if c.LastTransitionTime == nil {
		c.LastTransitionTime = s.time()
	}
	s.out = append(s.out, c)
}

func (s *teller) time() *metav1.Time { return new(metav1.NewTime(s.Now).Rfc3339Copy()) }

const (
	yes     = v1alpha1.ApplicationSetConditionStatusTrue
	no      = v1alpha1.ApplicationSetConditionStatusFalse
	unknown = v1alpha1.ApplicationSetConditionStatusUnknown
)

func (s *teller) conditions() {
	failure := s.Error
	if failure == "" {
		failure = s.Result.Failure
	}
	switch {
	case failure != "":
		kept := "; nothing was created, changed or removed"
		s.condition(v1alpha1.ApplicationSetConditionErrorOccurred, yes, reasonGeneration, failure+kept)
		s.condition(v1alpha1.ApplicationSetConditionParametersGenerated, no, reasonError, failure)
		s.condition(v1alpha1.ApplicationSetConditionResourcesUpToDate, no, reasonError, failure+kept)
	default:
		s.outcome()
	}
	s.rollout()
}

// outcome tells of a set that was worked out.
func (s *teller) outcome() {
	trouble, reason := s.trouble()
	if trouble == "" {
		s.condition(v1alpha1.ApplicationSetConditionErrorOccurred, no, reasonUpToDate, "every generator and template was worked out")
	} else {
		s.condition(v1alpha1.ApplicationSetConditionErrorOccurred, yes, reason, trouble)
	}
	generated := counted(s.Result.Sets, "set of parameters", "sets of parameters")
	if len(s.Result.Notes) > 0 {
		generated += "; " + told(s.Result.Notes)
	}
	s.condition(v1alpha1.ApplicationSetConditionParametersGenerated, yes, reasonGenerated, generated)
	switch {
	case trouble != "":
		s.condition(v1alpha1.ApplicationSetConditionResourcesUpToDate, no, reason, trouble)
	case len(s.Changes.Held) > 0:
		s.condition(v1alpha1.ApplicationSetConditionResourcesUpToDate, unknown, reasonHeld, s.held())
	default:
		s.condition(v1alpha1.ApplicationSetConditionResourcesUpToDate, yes, reasonUpToDate,
			counted(len(s.Result.Apps), "Application, as it should be", "Applications, all as they should be"))
	}
}

// trouble is what went wrong with single Applications.
func (s *teller) trouble() (message, reason string) {
	var words []string
	if len(s.Failed) > 0 {
		reason = reasonWriting
		words = append(words, told(s.Failed))
	}
	if len(s.Changes.Problems) > 0 {
		if reason == "" {
			reason = reasonValidation
		}
		var problems []string
		for _, p := range s.Changes.Problems {
			problems = append(problems, p.Message)
		}
		words = append(words, told(problems)+"; these Applications were neither written nor removed")
	}
	if len(words) > 0 && len(s.Changes.Held) > 0 {
		words = append(words, s.held())
	}
	return strings.Join(words, "; "), reason
}

// held tells what waits, those with the same reason together.
func (s *teller) held() string {
	type group struct {
		why   string
		names []string
	}
	var groups []group
	for _, h := range s.Changes.Held {
		i := slices.IndexFunc(groups, func(g group) bool { return g.why == h.Why })
		if i < 0 {
			groups = append(groups, group{why: h.Why})
			i = len(groups) - 1
		}
		groups[i].names = append(groups[i].names, h.Name)
	}
	var words []string
	for _, g := range groups {
		names := g.names
		more := ""
		if len(names) > maxTold {
			names, more = names[:maxTold], fmt.Sprintf(" and %d more", len(g.names)-maxTold)
		}
		words = append(words, fmt.Sprintf("%s%s: %s", strings.Join(names, ", "), more, g.why))
	}
	return told(words)
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func told(all []string) string {
	if len(all) <= maxTold {
		return strings.Join(all, "; ")
	}
	return strings.Join(all[:maxTold], "; ") + fmt.Sprintf("; and %d more", len(all)-maxTold)
}

func (s *teller) rollout() {
	r := s.Rollout
	if r == nil {
		return
	}
	if r.Invalid != "" {
		s.condition(v1alpha1.ApplicationSetConditionInvalidRolloutConfig, yes, reasonInvalid, r.Invalid)
	}
	switch {
	case r.Message == "":
	case r.Done:
		s.condition(v1alpha1.ApplicationSetConditionRolloutProgressing, no, reasonComplete, r.Message)
	default:
		s.condition(v1alpha1.ApplicationSetConditionRolloutProgressing, yes, reasonModified, r.Message)
	}
}

// health is what the conditions amount to.
func (s *teller) health() v1alpha1.HealthStatus {
	h := v1alpha1.HealthStatus{Status: v1alpha1.HealthStatusHealthy}
	worse := func(status v1alpha1.HealthStatusCode, message string) {
		if h.Status != v1alpha1.HealthStatusDegraded && h.Status != status {
			h.Status, h.Message = status, message
		}
	}
	for _, c := range s.out {
		switch {
		case c.Type == v1alpha1.ApplicationSetConditionErrorOccurred && c.Status == yes,
			c.Type == v1alpha1.ApplicationSetConditionResourcesUpToDate && c.Status == no,
			c.Type == v1alpha1.ApplicationSetConditionInvalidRolloutConfig && c.Status == yes:
			worse(v1alpha1.HealthStatusDegraded, c.Message)
		case c.Type == v1alpha1.ApplicationSetConditionResourcesUpToDate && c.Status == unknown,
			c.Type == v1alpha1.ApplicationSetConditionRolloutProgressing && c.Status == yes:
			worse(v1alpha1.HealthStatusProgressing, c.Message)
		}
	}
	was := s.Set.Status.Health
	if h.LastTransitionTime = was.LastTransitionTime; was.Status != h.Status || h.LastTransitionTime == nil {
		h.LastTransitionTime = s.time()
	}
	return h
}

// HeldBack is what a set holds back by its own word, and why.
func HeldBack(set *v1alpha1.ApplicationSet) (what string, ok bool) {
	for _, c := range set.Status.Conditions {
		if c.Type == v1alpha1.ApplicationSetConditionResourcesUpToDate && c.Reason == reasonHeld {
			return c.Message, true
		}
	}
	return "", false
}

// resources are the Applications of a set as its status lists them.
func resources(apps []*v1alpha1.Application) []v1alpha1.ResourceStatus {
	out := make([]v1alpha1.ResourceStatus, 0, len(apps))
	for _, app := range apps {
		r := v1alpha1.ResourceStatus{
			Group: v1alpha1.Group, Version: v1alpha1.Version, Kind: v1alpha1.ApplicationKind,
			Namespace: app.Namespace, Name: app.Name, Status: app.Status.Sync.Status,
		}
		if h := app.Status.Health; h.Status != "" {
			// Without its time: that would make the status of the set another at each breath of an Application.
			r.Health = &v1alpha1.HealthStatus{Status: h.Status, Message: h.Message}
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b v1alpha1.ResourceStatus) int { return strings.Compare(a.Name, b.Name) })
	return out
}
