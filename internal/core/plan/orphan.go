package plan

import (
	"fmt"
	"strings"

	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/policy"
)

// transient are kinds whose objects come and go with others, though they name
// no owner.
var transient = map[string]bool{"Event": true, "Endpoints": true, "EndpointSlice": true, "Lease": true}

// Loose reports whether an object belongs to nobody by what it says itself: it
// has no owner. Whether its mark names an application is another question.
func Loose(f *object.Fact) bool {
	return f.Key.Namespace != "" && !f.Owned && !transient[f.Key.Kind]
}

// Orphans tells of the objects in an application's namespace that no
// application has, where the project asks for that. What the plan is about is
// this one's, marked or not. there says whether an application of that instance
// exists.
func (p Plan) Orphans(facts []*object.Fact, project policy.Project, there map[string]bool) []finding.Finding {
	if project.Orphans == nil || !project.Orphans.Warn {
		return nil
	}
	ours := make(map[object.Key]bool, len(p.Items))
	for _, it := range p.Items {
		ours[it.Key] = true
	}
	var found []string
	for _, f := range facts {
		k := f.Key
		switch {
		case !Loose(f), there[f.App], ours[k],
			project.Orphans.Ignores(k.Namespace, policy.Kind{Group: k.Group, Kind: k.Kind, Name: k.Name}),
			!policy.Object(project, k.Group, k.Kind, k.Name, true).Allowed:
		default:
			found = append(found, fmt.Sprintf("%s %s", k.Kind, k.Name))
		}
	}
	if len(found) == 0 {
		return nil
	}
	const most = 5
	names := strings.Join(found[:min(most, len(found))], ", ")
	if len(found) > most {
		names += ", …"
	}
	return []finding.Finding{{
		Reason: finding.Orphaned, Severity: finding.Warning,
		Message: fmt.Sprintf("Application has %d orphaned resources (%s); add them to Git, delete them, "+
			"or list them in orphanedResources.ignore of project %q", len(found), names, project.Name),
	}}
}
