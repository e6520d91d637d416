package takeover

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Difference is one between what stands in an Application and what Towline would
// write there.
type Difference struct {
	// Object is a resource of the Application; empty for the Application itself.
	Object string `json:"object,omitempty"`
	Field  string `json:"field"`
	Theirs string `json:"argocd"`
	Ours   string `json:"towline"`
}

// String is the difference in words.
func (d Difference) String() string {
	of := d.Field
	if d.Object != "" {
		of = d.Object + " " + d.Field
	}
	return fmt.Sprintf("%s: Argo CD says %s, Towline %s", of, cmp.Or(d.Theirs, "nothing"), cmp.Or(d.Ours, "nothing"))
}

// Comparable says that two looks were at the same: the same revisions, and no
// sync under way.
func Comparable(theirs *v1alpha1.Application, ours v1alpha1.ApplicationStatus) bool {
	if op := theirs.Status.OperationState; theirs.Operation != nil || op != nil && op.Phase == v1alpha1.OperationRunning {
		return false
	}
	s := theirs.Status.Sync
	return s.Status != "" && s.Revision == ours.Sync.Revision && slices.Equal(s.Revisions, ours.Sync.Revisions)
}

// Compare lists the differences in verdicts. Argo CD keeps the health of objects
// elsewhere, so only its sync verdicts are compared object by object.
func Compare(theirs *v1alpha1.Application, ours v1alpha1.ApplicationStatus) []Difference {
	var out []Difference
	say := func(object, field, a, b string) {
		if a != b {
			out = append(out, Difference{Object: object, Field: field, Theirs: a, Ours: b})
		}
	}
	say("", "sync", string(theirs.Status.Sync.Status), string(ours.Sync.Status))
	say("", "health", string(theirs.Status.Health.Status), string(ours.Health.Status))
	mine := map[string]string{}
	for _, r := range ours.Resources {
		mine[named(r)] = string(r.Status)
	}
	seen := map[string]bool{}
	for _, r := range theirs.Status.Resources {
		name := named(r)
		seen[name] = true
		status, ok := mine[name]
		if !ok && r.Status == "" {
			continue // a hook that neither judges
		}
		say(name, "sync", string(r.Status), status)
	}
	for _, r := range ours.Resources {
		if name := named(r); !seen[name] && r.Status != "" {
			say(name, "sync", "", string(r.Status))
		}
	}
	slices.SortFunc(out, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Field, b.Field))
	})
	return out
}

func named(r v1alpha1.ResourceStatus) string {
	name := r.Kind + " " + r.Name
	if r.Namespace != "" {
		name = r.Kind + " " + r.Namespace + "/" + r.Name
	}
	if r.Group != "" {
		name = r.Group + "/" + name
	}
	return name
}
