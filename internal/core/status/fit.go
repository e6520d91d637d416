package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/plan"
)

// room is how many bytes the lists of objects in a status may take together. The
// API server keeps nothing larger than 1.5 MiB, and has about a second to do for
// each MiB that is written: the rest is for all else that is in an Application.
const room = 1 << 20

// fit keeps the lists of objects within the room that there is. What went well
// in the last sync goes first, since the objects say the same; then the objects
// that are as they should be. What is left out is said: of results in the
// operation's message, of objects by a finding.
func fit(in Input, out *v1alpha1.ApplicationStatus) []finding.Finding {
	objects, results := sizeOf(out.Resources, resourceSize), 0
	if out.OperationState != nil && out.OperationState.SyncResult != nil {
		results = sizeOf(out.OperationState.SyncResult.Resources, resultSize)
	}
	if objects+results <= room {
		return lasting(in)
	}
	if results > 0 {
		out.OperationState, results = fewerResults(in, out.OperationState)
	}
	if objects+results <= room || in.Plan == nil {
		return lasting(in)
	}
	all := len(out.Resources)
	out.Resources = fewerObjects(out.Resources, room-results)
	return []finding.Finding{abridged(len(out.Resources), all, in.App.Name)}
}

// lasting is what was said before of a list that is not made anew this time.
func lasting(in Input) []finding.Finding {
	if listed, all := Listed(in.App.Status); in.Plan == nil && listed < all {
		return []finding.Finding{abridged(listed, all, in.App.Name)}
	}
	return nil
}

const listing = "status.resources lists %d of %d objects"

func abridged(listed, all int, app string) finding.Finding {
	return finding.Finding{
		Reason: finding.Abridged, Severity: finding.Warning,
		Message: fmt.Sprintf(listing+", those that are not Synced and Healthy before all others: "+
			"an Application with all of them would be larger than the API server keeps. "+
			"\"towline app resources %s\" lists them by way of a server; applications of fewer objects list them all", listed, all, app),
	}
}

// Listed is how many of an application's objects its status lists, and how many
// there are. They are the same, but for an application of very many.
func Listed(s v1alpha1.ApplicationStatus) (listed, all int) {
	listed = len(s.Resources)
	for _, c := range s.Conditions {
		if c.Type != v1alpha1.ApplicationConditionType(finding.Abridged) {
			continue
		}
		if _, err := fmt.Sscanf(c.Message, listing, new(int), &all); err == nil {
			return listed, max(listed, all)
		}
	}
	return listed, listed
}

// Unlisted is what is said of the results that are left out, at the end of the
// operation's message: whoever compares messages has to take it off.
const Unlisted = "; not all results are listed, since there are too many: what went well is left out first"

// fewerResults leaves out what went well. While the operation runs its results
// are its memory: then only such are left out as are found to be done again
// without a request, and of each wave one stays, by which it is known that the
// waves before it are over.
func fewerResults(in Input, s *v1alpha1.OperationState) (_ *v1alpha1.OperationState, size int) {
	var of map[plan.Task]plan.Item
	if !s.Phase.Completed() {
		if in.Plan == nil {
			return s, sizeOf(s.SyncResult.Resources, resultSize)
		}
		of = tasks(*in.Plan)
	}
	type wave struct {
		phase plan.Phase
		at    int
	}
	shown := map[wave]bool{}
	var kept v1alpha1.ResourceResults
	for _, r := range s.SyncResult.Resources {
		it, standing := of[taskOf(r)]
		well := r.HookType == "" && (r.Status == v1alpha1.ResultCodeSynced && (!standing || it.Action == plan.Unchanged) ||
			r.Status == v1alpha1.ResultCodePruned && !standing)
		w := wave{it.Phase, it.Wave}
		if well && (!standing || shown[w]) {
			continue
		}
		shown[w] = shown[w] || standing
		kept = append(kept, r)
	}
	return withResults(s, kept)
}

// withResults is a state with these results, or with those that failed before
// the others where even these are too many.
func withResults(s *v1alpha1.OperationState, kept v1alpha1.ResourceResults) (_ *v1alpha1.OperationState, size int) {
	out, result := *s, *s.SyncResult
	if size = sizeOf(kept, resultSize); size > room/2 {
		kept = slices.Clone(kept)
		slices.SortStableFunc(kept, func(a, b v1alpha1.ResourceResult) int { return cmp.Compare(urgency(a), urgency(b)) })
		kept = kept[:fitting(kept, resultSize, room/2)]
		size = sizeOf(kept, resultSize)
	}
	if len(kept) < len(result.Resources) && !strings.HasSuffix(out.Message, Unlisted) {
		out.Message += Unlisted
	}
	result.Resources = kept
	out.SyncResult = &result
	return &out, size
}

func urgency(r v1alpha1.ResourceResult) int {
	switch {
	case r.Status == v1alpha1.ResultCodeSyncFailed || r.HookPhase == v1alpha1.OperationFailed:
		return 0
	case r.HookType != "":
		return 1
	default:
		return 2
	}
}

func tasks(p plan.Plan) map[plan.Task]plan.Item {
	out := make(map[plan.Task]plan.Item, len(p.Items))
	for _, it := range p.Items {
		out[it.Task()] = it
	}
	return out
}

// fewerObjects are one of each kind and namespace, by which it is known where
// there is something, and those that are not as they should be, as many as there
// is room for.
func fewerObjects(all []v1alpha1.ResourceStatus, space int) []v1alpha1.ResourceStatus {
	type place struct{ group, kind, namespace string }
	seen := map[place]bool{}
	var first, rest []v1alpha1.ResourceStatus
	for _, r := range all {
		at := place{r.Group, r.Kind, r.Namespace}
		switch {
		case !seen[at]:
			seen[at] = true
			first = append(first, r)
		case !green(r):
			rest = append(rest, r)
		}
	}
	slices.SortStableFunc(rest, func(a, b v1alpha1.ResourceStatus) int { return cmp.Compare(gravity(a), gravity(b)) })
	kept := slices.Concat(first, rest)
	kept = kept[:fitting(kept, resourceSize, space)]
	slices.SortFunc(kept, compareResources)
	return kept
}

func green(r v1alpha1.ResourceStatus) bool {
	return gravity(r) == len(gravities) && r.Status == v1alpha1.SyncStatusCodeSynced && !r.Hook && !r.RequiresPruning
}

// gravities are what a person wants to see first.
var gravities = []v1alpha1.HealthStatusCode{
	v1alpha1.HealthStatusDegraded, v1alpha1.HealthStatusProgressing, v1alpha1.HealthStatusUnknown,
	v1alpha1.HealthStatusSuspended, v1alpha1.HealthStatusMissing,
}

func gravity(r v1alpha1.ResourceStatus) int {
	if r.Health == nil {
		return len(gravities)
	}
	if i := slices.Index(gravities, r.Health.Status); i >= 0 {
		return i
	}
	return len(gravities)
}

// fitting is how many of a list, from its beginning, there is room for.
func fitting[T any](list []T, size func(T) int, space int) int {
	for i, e := range list {
		if space -= size(e); space < 0 {
			return i
		}
	}
	return len(list)
}

func sizeOf[T any](list []T, size func(T) int) (sum int) {
	for _, e := range list {
		sum += size(e)
	}
	return sum
}

func resourceSize(r v1alpha1.ResourceStatus) int {
	n := brackets + field("group", r.Group) + field("version", r.Version) + field("kind", r.Kind) + field("namespace", r.Namespace) +
		field("name", r.Name) + field("status", string(r.Status))
	if r.SyncWave != 0 {
		n += field("syncWave", "-1000")
	}
	if r.Hook || r.RequiresPruning || r.RequiresDeletionConfirmation {
		n += field("requiresDeletionConfirmation", "true")
	}
	if r.Health != nil {
		n += field("health", "{}") + field("status", string(r.Health.Status)) + field("message", r.Health.Message)
	}
	return n
}

func resultSize(r v1alpha1.ResourceResult) int {
	n := brackets + field("group", r.Group) + field("version", r.Version) + field("kind", r.Kind) + field("namespace", r.Namespace) +
		field("name", r.Name) + field("status", string(r.Status)) + field("message", r.Message) + field("hookType", string(r.HookType)) +
		field("hookPhase", string(r.HookPhase)) + field("syncPhase", string(r.SyncPhase))
	if len(r.Images) > 0 {
		n += field("images", "[]")
	}
	for _, image := range r.Images {
		n += len(image) + len(`"",`)
	}
	return n
}

const brackets = len(`{},`)

// field is what a field takes, with what is around it; one that is empty is left
// out, or as good as that.
func field(name, value string) int {
	if value == "" {
		return 0
	}
	return len(`"":"",`) + len(name) + len(value)
}

func compareResources(a, b v1alpha1.ResourceStatus) int {
	return cmp.Or(
		cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
	)
}
