package plan

import (
	"fmt"

	"github.com/towline-cd/towline/internal/core/object"
)

// budgetFloor is the number of objects from which on losing more than half of
// them looks like a mistake.
const budgetFloor = 10

// precious are the kinds whose deletion takes along what Git cannot bring back.
var precious = map[string]bool{
	"Namespace":                true,
	"PersistentVolume":         true,
	"PersistentVolumeClaim":    true,
	"CustomResourceDefinition": true,
}

// held says what a prune waits for, if anything: a person, where an object asks
// for one, and a second look at the source, where the deletion looks like a
// mistake.
func held(items, all []Item, progress Progress) (Step, bool) {
	var ask []string
	for _, it := range items {
		if it.Action == Prune && it.Confirm {
			ask = append(ask, it.Key.String())
		}
	}
	if len(ask) > 0 && !progress.Approved {
		return Step{Do: DoWait, Held: true, Rule: RuleConfirmation, Message: "waiting for a confirmation to prune " + list(ask) +
			"; set the annotation argocd.argoproj.io/deletion-approved of the application to the present time to give it"}, true
	}
	why := suspicious(all)
	switch {
	case why == "" || progress.Looked:
		return Step{}, false
	case progress.Age < progress.Settle:
		return Step{
			Do: DoWait, Held: true, Rule: RuleSecondLook, After: progress.Settle - progress.Age,
			Message: fmt.Sprintf("%s; the source is looked at once more %s after the sync began, and if it says the same they go",
				why, progress.Settle),
		}, true
	default:
		return Step{Do: DoLook, Message: why}, true
	}
}

// suspicious says why the deletions of a sync look like a mistake, or nothing.
func suspicious(all []Item) string {
	var lost []string
	live, going := 0, 0
	for _, it := range all {
		if it.Hook || it.Aside || it.Live == nil {
			continue
		}
		live++
		if it.Action != Prune {
			continue
		}
		going++
		if it.Key.Group == "" && precious[it.Key.Kind] || it.Key.GroupKind() == crdKind {
			lost = append(lost, it.Key.String())
		}
	}
	switch {
	case len(lost) > 0:
		return "about to prune " + list(lost) + ", which takes along what Git cannot bring back"
	case live >= budgetFloor && going*2 > live:
		return fmt.Sprintf("about to prune %d of %d objects", going, live)
	default:
		return ""
	}
}

// Prunes are the objects that a sync would delete.
func (p Plan) Prunes() []object.Key {
	var out []object.Key
	for _, it := range p.Items {
		if it.Action == Prune {
			out = append(out, it.Key)
		}
	}
	return out
}
