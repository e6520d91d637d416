package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

// view is an application as a person reads it: what it is and how it does,
// then its objects.
type view struct {
	app     *v1alpha1.Application
	now     time.Time
	palette palette
	wide    bool
	// bare leaves the objects out.
	bare bool
}

// labelWidth is that of the longest label of the block.
const labelWidth = 14

func (v *view) write(w io.Writer) error {
	var b strings.Builder
	v.identity(&b)
	v.state(&b)
	v.conditions(&b)
	v.operation(&b)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if v.bare || len(v.app.Status.Resources) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	return v.resources().write(w, true)
}

func (v *view) field(b *strings.Builder, label, value string) {
	if label != "" {
		label += ":"
	}
	fmt.Fprintf(b, "%s%s%s\n", v.palette.paint(bold, label), strings.Repeat(" ", max(labelWidth-len(label), 1)), value)
}

func (v *view) identity(b *strings.Builder) {
	app := v.app
	v.field(b, "Name", clean(qualified(app)))
	v.field(b, "Project", clean(app.ProjectName()))
	d := app.Spec.Destination
	where := cluster(d)
	if d.Name == "" && d.Server == v1alpha1.InClusterServer {
		where += " (" + d.Server + ")"
	}
	if d.Namespace != "" {
		where += ", namespace " + d.Namespace
	}
	v.field(b, "Destination", orNothing(clean(where)))
	for i, s := range app.Sources() {
		label := "Source"
		if i > 0 {
			label = ""
		}
		v.field(b, label, clean(source(s)))
	}
	if h := app.Spec.SourceHydrator; h != nil {
		dry := v1alpha1.ApplicationSource{RepoURL: h.DrySource.RepoURL, Path: h.DrySource.Path, TargetRevision: h.DrySource.TargetRevision}
		v.field(b, "Hydrated", "from "+clean(source(dry)))
	}
	v.field(b, "Sync policy", syncPolicy(app))
	if !app.DeletionTimestamp.IsZero() {
		v.field(b, "Deleting", v.palette.paint(yellow, "since "+age(v.now, app.DeletionTimestamp)))
	}
}

func source(s v1alpha1.ApplicationSource) string {
	out := s.RepoURL
	switch {
	case s.Chart != "":
		out += ", chart " + s.Chart
	case s.Path != "":
		out += ", path " + s.Path
	}
	out += ", at " + target(s)
	if s.Ref != "" {
		out += ", as $" + s.Ref
	}
	return out
}

func (v *view) state(b *strings.Builder) {
	st := v.app.Status
	sync := v.palette.paint(syncColour(st.Sync.Status), orNothing(clean(string(st.Sync.Status))))
	if r := revisionOf(st.Sync); r != "" {
		sync += " at " + clean(r)
	}
	if st.ReconciledAt != nil {
		sync += ", compared " + age(v.now, st.ReconciledAt) + " ago"
	}
	v.field(b, "Sync status", sync)
	health := v.palette.paint(healthColour(st.Health.Status), orNothing(clean(string(st.Health.Status))))
	if t := st.Health.LastTransitionTime; t != nil {
		health += " since " + age(v.now, t)
	}
	v.field(b, "Health", explained(health, st.Health.Message))
	if kind := v.app.Annotations[v1alpha1.AnnotationRefresh]; kind != "" {
		v.field(b, "Refresh", clean(kind)+", not done yet")
	}
	v.brakes(b)
}

// brakes is what keeps automation from acting.
func (v *view) brakes(b *strings.Builder) {
	if text := v.app.Annotations[v1alpha1.AnnotationHoldUntil]; text != "" {
		switch h := plan.HoldOf(v.app); {
		case h.Until.IsZero():
			v.field(b, "Held", v.palette.paint(red, fmt.Sprintf("not: %q is no time like 2026-03-16T08:00:00Z", clean(text))))
		case v.now.Before(h.Until):
			until := "until " + h.Until.UTC().Format(time.RFC3339) + ", for " + duration.HumanDuration(h.Until.Sub(v.now))
			v.field(b, "Held", explained(v.palette.paint(yellow, until), h.Reason))
		}
	}
	if r := v.app.Annotations[v1alpha1.AnnotationRejected]; r != "" && v.app.Spec.SyncPolicy.AutomatedEnabled() {
		v.field(b, "Rolled back", v.palette.paint(yellow, clean(short(r))+" is not synced by itself, a newer commit is"))
	}
}

func (v *view) conditions(b *strings.Builder) {
	for i, c := range v.app.Status.Conditions {
		label := "Conditions"
		if i > 0 {
			label = ""
		}
		text := v.palette.paint(conditionColour(c.Type), clean(string(c.Type)))
		if c.LastTransitionTime != nil {
			text += " since " + age(v.now, c.LastTransitionTime)
		}
		v.field(b, label, explained(text, aged(v.now, c.Message)))
	}
}

func (v *view) operation(b *strings.Builder) {
	o := v.app.Status.OperationState
	if o == nil || v.app.Operation != nil && o.Phase.Completed() {
		if v.app.Operation != nil {
			v.field(b, "Operation", "asked for by "+clean(initiator(v.app.Operation.InitiatedBy))+", not begun yet")
		}
		return
	}
	text := v.palette.paint(phaseColour(o.Phase), clean(string(o.Phase)))
	if r := o.SyncResult; r != nil {
		text += " at " + clean(orNothing(revisionOf(v1alpha1.SyncStatus{Revision: r.Revision, Revisions: r.Revisions})))
	}
	when := ", for "
	if o.FinishedAt != nil && o.Phase.Completed() {
		when = ", " + age(v.now, o.FinishedAt) + " ago, took "
	}
	text += when + took(v.now, o) + ", by " + clean(initiator(o.Operation.InitiatedBy))
	if o.RetryCount > 0 {
		text += fmt.Sprintf(", retry %d", o.RetryCount)
	}
	v.field(b, "Operation", text)
	if m := clean(o.Message); m != "" {
		v.field(b, "", m)
	}
}

func (v *view) resources() *table {
	t := &table{palette: v.palette, head: []string{"GROUP", "KIND", "NAMESPACE", "NAME", "STATUS", "HEALTH", "NOTE"}}
	if v.wide {
		t.head = append(t.head, "WAVE", "MESSAGE")
	}
	messages := v.messages()
	for _, r := range v.app.Status.Resources {
		health := v1alpha1.HealthStatus{}
		if r.Health != nil {
			health = *r.Health
		}
		row := []cell{
			word(r.Group), word(r.Kind), word(r.Namespace), word(r.Name),
			{text: clean(string(r.Status)), colour: syncColour(r.Status)},
			{text: clean(string(health.Status)), colour: healthColour(health.Status)},
			{text: note(r), colour: yellow},
		}
		if v.wide {
			message := clean(health.Message)
			if message == "" {
				message = messages[resourceKey(r)]
			}
			row = append(row, word(fmt.Sprint(r.SyncWave)), word(message))
		}
		t.row(row...)
	}
	return t
}

// params are the parameters of the charts among the sources.
func (v *view) params() *table {
	t := &table{palette: v.palette, head: []string{"SOURCE", "PARAMETER", "VALUE"}}
	for i, s := range v.app.Sources() {
		if s.Helm == nil {
			continue
		}
		for _, p := range s.Helm.Parameters {
			t.row(word(fmt.Sprint(i+1)), word(p.Name), word(p.Value))
		}
	}
	return t
}

// note has what is special about an object.
func note(r v1alpha1.ResourceStatus) string {
	var out []string
	if r.Hook {
		out = append(out, "hook")
	}
	if r.RequiresPruning {
		out = append(out, "prune")
	}
	if r.RequiresDeletionConfirmation {
		out = append(out, "needs confirmation")
	}
	return strings.Join(out, ", ")
}

// messages are what the last sync said about each object.
func (v *view) messages() map[object.Key]string {
	out := map[object.Key]string{}
	if o := v.app.Status.OperationState; o != nil && o.SyncResult != nil {
		for _, r := range o.SyncResult.Resources {
			out[resultKey(r)] = r.Message
		}
	}
	return out
}
