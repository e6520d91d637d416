package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// result is what a sync did, for a person.
type result struct {
	name    string
	state   *v1alpha1.OperationState
	now     time.Time
	palette palette
	wide    bool
}

func (r result) write(w io.Writer) error {
	var b strings.Builder
	v := view{palette: r.palette}
	v.field(&b, "Application", clean(r.name))
	v.field(&b, "Phase", r.palette.paint(phaseColour(r.state.Phase), string(r.state.Phase))+" after "+took(r.now, r.state))
	var results v1alpha1.ResourceResults
	if s := r.state.SyncResult; s != nil {
		results = s.Resources
		v.field(&b, "Revision", orNothing(clean(r.revision(s))))
	}
	if r.state.Operation.Sync != nil && r.state.Operation.Sync.DryRun {
		v.field(&b, "Dry run", "nothing was changed")
	}
	if m := clean(r.state.Message); m != "" {
		v.field(&b, "Message", m)
	}
	if _, err := io.WriteString(w, b.String()); err != nil || len(results) == 0 {
		return err
	}
	fmt.Fprintln(w)
	t := &table{palette: r.palette, head: []string{"GROUP", "KIND", "NAMESPACE", "NAME", "STATUS", "HOOK", "MESSAGE"}}
	for _, o := range results {
		hook := ""
		if o.HookType != "" {
			hook = clean(string(o.HookType) + " " + string(o.HookPhase))
		}
		t.row(word(o.Group), word(o.Kind), word(o.Namespace), word(o.Name),
			cell{text: clean(string(o.Status)), colour: resultColour(o)}, word(hook), word(o.Message))
	}
	return t.write(w, true)
}

func (r result) revision(s *v1alpha1.SyncOperationResult) string {
	if r.wide && len(s.Revisions) == 0 {
		return s.Revision
	}
	return revisionOf(v1alpha1.SyncStatus{Revision: s.Revision, Revisions: s.Revisions})
}
