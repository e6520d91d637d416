// Package status turns a plan and what was seen into the status of an
// Application, in Argo CD's fields and words. It must not decide anything that
// the plan has not decided, and a status that did not change comes out equal
// to the one that went in, times included.
package status

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/health"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

// Input is all that a status is made of.
type Input struct {
	App *v1alpha1.Application
	// Plan is nil when the comparison could not be made: the verdict is then
	// Unknown, and what was known of the objects stays.
	Plan *plan.Plan
	// Content is what was compared, and Types what its sources turned out to be.
	Content  Content
	Types    []v1alpha1.SourceType
	Findings []finding.Finding
	// Operation is the running or last operation, as it is to be told.
	Operation *v1alpha1.OperationState
	// ByLetter leaves out of the application's health what Argo CD gives none.
	ByLetter bool
	// ControlNamespace is where the controller lives.
	ControlNamespace string
	Now              time.Time
}

// Project makes the status. The application's present status is the base: what
// this package does not speak of stays, and is shared with it.
func Project(in Input) v1alpha1.ApplicationStatus {
	out, _ := Update(in)
	return out
}

// Update is Project, and says whether the status differs from the one that
// stands.
func Update(in Input) (out v1alpha1.ApplicationStatus, differs bool) {
	out = in.App.Status
	now := metav1.NewTime(in.Now.UTC().Truncate(time.Second))
	out.OperationState = in.Operation
	out.ControllerNamespace = in.ControlNamespace
	out.Sync = syncStatus(in)
	if in.Plan != nil {
		out.SourceType, out.SourceTypes = "", nil
		switch {
		case in.Content.Many:
			out.SourceTypes = in.Types
		case len(in.Types) > 0:
			out.SourceType = in.Types[0]
		}
		out.Resources = resources(*in.Plan)
		out.Summary = summary(*in.Plan)
	}
	found := slices.Concat(in.Findings, fit(in, &out))
	out.Conditions = conditions(in.App.Status.Conditions, found, now)
	out.Health = appHealth(in, now)
	if differs = !equality.Semantic.DeepEqual(out, in.App.Status); differs {
		out.ReconciledAt = &now
	}
	return out, differs
}

func syncStatus(in Input) v1alpha1.SyncStatus {
	out := v1alpha1.SyncStatus{
		Status: v1alpha1.SyncStatusCodeUnknown,
		ComparedTo: v1alpha1.ComparedTo{
			Destination:       in.App.Spec.Destination,
			IgnoreDifferences: in.App.Spec.IgnoreDifferences,
		},
	}
	out.ComparedTo.Source, out.Revision = in.Content.single()
	out.ComparedTo.Sources, out.Revisions = in.Content.lists()
	if in.Plan != nil {
		out.Status = v1alpha1.SyncStatusCode(in.Plan.Status())
	}
	if !in.Content.Known() {
		out.Revision, out.Revisions = in.App.Status.Sync.Revision, in.App.Status.Sync.Revisions
	}
	return out
}

func resources(p plan.Plan) []v1alpha1.ResourceStatus {
	var out []v1alpha1.ResourceStatus
	for _, it := range p.Items {
		if it.Aside {
			continue
		}
		r := v1alpha1.ResourceStatus{
			Group: it.Key.Group, Version: it.Version, Kind: it.Key.Kind,
			Namespace: it.Key.Namespace, Name: it.Key.Name,
			Status:          v1alpha1.SyncStatusCode(it.Sync),
			RequiresPruning: it.Prunable,
			SyncWave:        int64(it.Wave),
			Hook:            it.Hook,
		}
		if h := itemHealth(it); h.Status != "" {
			r.Health = &v1alpha1.HealthStatus{Status: v1alpha1.HealthStatusCode(h.Status), Message: h.Message}
		}
		out = append(out, r)
	}
	slices.SortFunc(out, compareResources)
	return out
}

func itemHealth(it plan.Item) health.Health {
	switch {
	case it.Live != nil:
		return it.Live.Health
	case it.Action == plan.Create:
		return health.Health{Status: health.Missing}
	default:
		return health.Health{}
	}
}

// appHealth is the worst health of the application's own objects. Objects that
// are not there count only if none is.
func appHealth(in Input, now metav1.Time) v1alpha1.HealthStatus {
	h := health.Health{Status: health.Unknown, Message: "the application was not compared yet"}
	switch {
	case in.Plan != nil:
		h = aggregate(*in.Plan, object.Key{
			Group: v1alpha1.Group, Kind: "Application", Namespace: in.App.Namespace, Name: in.App.Name,
		}, in.ByLetter)
	case in.App.Status.Health.Status != "":
		// What was seen last is still the best that is known of the objects;
		// that the comparison failed is said by the sync status.
		h = health.Health{Status: health.Status(in.App.Status.Health.Status), Message: in.App.Status.Health.Message}
	}
	out := v1alpha1.HealthStatus{Status: v1alpha1.HealthStatusCode(h.Status), Message: h.Message, LastTransitionTime: &now}
	if last := in.App.Status.Health; last.Status == out.Status && last.LastTransitionTime != nil {
		out.LastTransitionTime = last.LastTransitionTime
	}
	return out
}

func aggregate(p plan.Plan, self object.Key, byLetter bool) health.Health {
	var parts []health.Part
	missing, live := 0, 0
	for _, it := range p.Items {
		switch {
		case it.Aside || it.Prunable || it.Hook || it.Key == self:
		case it.Live != nil:
			live++
			// By the letter, what Argo CD does not judge is shown with the object
			// and counts for nothing.
			if !it.Live.Quiet && !unsettledChild(it) && (!byLetter || it.Live.Health.Source.InArgoCD()) {
				parts = append(parts, health.Part{Key: it.Key.String(), Health: it.Live.Health})
			}
		case it.Action == plan.Create:
			missing++
		}
	}
	if live == 0 && missing > 0 {
		return health.Health{Status: health.Missing}
	}
	return health.Aggregate(parts)
}

// unsettledChild leaves out child applications that nothing is known of yet.
func unsettledChild(it plan.Item) bool {
	if it.Key.Group != v1alpha1.Group || it.Key.Kind != "Application" {
		return false
	}
	s := it.Live.Health.Status
	return s == health.Missing || s == health.Unknown
}

func summary(p plan.Plan) v1alpha1.ApplicationSummary {
	var out v1alpha1.ApplicationSummary
	for _, it := range p.Items {
		if it.Live != nil {
			out.Images = append(out.Images, it.Live.Images...)
		}
		if it.Key.Group == v1alpha1.Group && it.Key.Kind == "Application" {
			out.IsAppOfApps = true
		}
	}
	slices.Sort(out.Images)
	out.Images = slices.Compact(out.Images)
	return out
}

// conditions are the findings, one condition for each type, with the messages
// of a type joined. A condition that says the same as before keeps its time.
func conditions(last []v1alpha1.ApplicationCondition, findings []finding.Finding, now metav1.Time) []v1alpha1.ApplicationCondition {
	var out []v1alpha1.ApplicationCondition
	for _, f := range finding.Sort(findings) {
		t := v1alpha1.ApplicationConditionType(f.Reason)
		if n := len(out); n > 0 && out[n-1].Type == t {
			out[n-1].Message += "; " + f.Message
			continue
		}
		out = append(out, v1alpha1.ApplicationCondition{Type: t, Message: f.Message, LastTransitionTime: &now})
	}
	for i, c := range out {
		out[i].Message = shorten(c.Message)
		for _, l := range last {
			if l.Type == c.Type && l.Message == out[i].Message && l.LastTransitionTime != nil {
				out[i].LastTransitionTime = l.LastTransitionTime
			}
		}
	}
	return out
}

// shorten keeps a condition readable, and the object it is in small.
func shorten(s string) string {
	const most = 4096
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
