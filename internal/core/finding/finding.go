// Package finding is how a user's mistake travels as data: named, sorted,
// without a time, so that the condition it becomes never flaps. It must not
// carry the engine's own errors; those are faults.
package finding

import (
	"cmp"
	"slices"

	"github.com/towline-cd/towline/internal/core/object"
)

// Severity says whether a finding stops the work that it is about.
type Severity string

// The severities, from the mildest.
const (
	Warning Severity = "Warning"
	Error   Severity = "Error"
)

// Reason is the CamelCase word that tools match on. Where Argo CD has a
// condition type for the case, the reason is that type.
type Reason string

// The reasons that the core gives.
const (
	InvalidSpec      Reason = "InvalidSpecError"
	Comparison       Reason = "ComparisonError"
	Sync             Reason = "SyncError"
	Deletion         Reason = "DeletionError"
	RepeatedResource Reason = "RepeatedResourceWarning"
	SharedResource   Reason = "SharedResourceWarning"
	ExcludedResource Reason = "ExcludedResourceWarning"
	NotHonoured      Reason = "NotHonouredWarning"
	ManualChild      Reason = "ManualChildWarning"
	Held             Reason = "HeldWarning"
	Fight            Reason = "FightWarning"
	Repaired         Reason = "RepairedWarning"
	Orphaned         Reason = "OrphanedResourceWarning"
	Abridged         Reason = "AbridgedWarning"
)

// Finding is one thing that a person should know, with the object it is about
// (the zero key means the application itself) and, in the message, the cause
// and the way out.
type Finding struct {
	Reason   Reason
	Severity Severity
	Key      object.Key
	Message  string
}

// Compare orders findings by reason, object and message.
func Compare(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(a.Reason, b.Reason),
		object.Compare(a.Key, b.Key),
		cmp.Compare(a.Message, b.Message),
	)
}

// Sort returns the findings in order, each once.
func Sort(in []Finding) []Finding {
	out := slices.Clone(in)
	slices.SortFunc(out, Compare)
	return slices.Compact(out)
}

// Blocking reports whether any of the findings is an error.
func Blocking(in []Finding) bool {
	return slices.ContainsFunc(in, func(f Finding) bool { return f.Severity == Error })
}
