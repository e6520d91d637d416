package event

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/transition"
)

// told says which transitions are worth an event: a look is not, or an idle
// fleet would write without end.
func told(t transition.Transition) bool { return t.Kind != transition.Refreshed }

// saying is what an event says.
type saying struct {
	reason, message string
	warning         bool
}

func say(t transition.Transition) saying {
	switch t.Kind {
	case transition.Started:
		return saying{reason: v1alpha1.EventReasonOperationStarted, message: started(t.Operation)}
	case transition.Completed:
		return completed(t.Operation)
	case transition.SyncChanged:
		return saying{reason: v1alpha1.EventReasonResourceUpdated, message: fmt.Sprintf("Updated sync status: %s -> %s", t.From, t.To)}
	case transition.HealthChanged:
		return saying{reason: v1alpha1.EventReasonResourceUpdated, message: fmt.Sprintf("Updated health status: %s -> %s", t.From, t.To)}
	case transition.Complained:
		return saying{reason: v1alpha1.EventReasonStatusRefreshed, message: t.To + ": " + t.Message, warning: true}
	case transition.Healed:
		return saying{reason: v1alpha1.EventReasonDrifted, message: drifted(t.Episodes), warning: true}
	case transition.PruneHeld:
		return saying{reason: v1alpha1.EventReasonPruneHeld, message: t.Message, warning: true}
	case transition.Deleted:
		return saying{reason: v1alpha1.EventReasonResourceDeleted, message: "Deleted the objects of the application"}
	case transition.Refreshed:
	}
	return saying{reason: v1alpha1.EventReasonStatusRefreshed, message: t.Message}
}

func started(s *v1alpha1.OperationState) string {
	what := "sync"
	if transition.Partial(s) {
		what = "partial sync"
	}
	if s.Operation.InitiatedBy.Automated {
		return fmt.Sprintf("Initiated automated %s to '%s'", what, transition.Revision(s))
	}
	return fmt.Sprintf("%s initiated %s to %s", transition.Initiator(s), what, transition.Revision(s))
}

func completed(s *v1alpha1.OperationState) saying {
	out := saying{reason: v1alpha1.EventReasonOperationCompleted, message: "Sync operation"}
	if transition.Partial(s) {
		out.message = "Partial sync operation"
	}
	if r := transition.Revision(s); r != "" {
		out.message += " to " + r
	}
	if s.Phase == v1alpha1.OperationSucceeded {
		out.message += " succeeded"
		return out
	}
	out.warning = true
	out.message += " failed: " + s.Message
	return out
}

// drifted names the first few fields; the annotation has all of them.
func drifted(episodes []plan.Episode) string {
	const most = 3
	var parts []string
	for _, e := range episodes[:min(most, len(episodes))] {
		what := fmt.Sprintf("%s of %s, changed by %s", e.Path, e.Key, cmp.Or(e.Manager, "somebody who left no name"))
		if e.Path == "" {
			what = e.Key.String() + ", which was missing"
		}
		parts = append(parts, fmt.Sprintf("%s, healed after %s", what, e.Healed.Sub(e.Seen).Round(roundTo)))
	}
	if more := len(episodes) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return "Drift healed: " + strings.Join(parts, "; ")
}

// mostMessage is how long a message may be.
const mostMessage = 1024

// eventOf makes the event of a transition.
func eventOf(t transition.Transition) *corev1.Event {
	s, at := say(t), metav1.NewTime(t.At)
	e := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: t.App.Name + ".", Namespace: t.App.Namespace},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: v1alpha1.GroupVersion().String(), Kind: v1alpha1.ApplicationKind,
			Namespace: t.App.Namespace, Name: t.App.Name, UID: t.App.UID, ResourceVersion: t.App.ResourceVersion,
		},
		Source: corev1.EventSource{Component: v1alpha1.FieldManagerStatus},
		Reason: s.reason, Message: s.message, Type: corev1.EventTypeNormal,
		FirstTimestamp: at, LastTimestamp: at, Count: 1,
	}
	if s.warning {
		e.Type = corev1.EventTypeWarning
	}
	if len(e.Message) > mostMessage {
		e.Message = strings.ToValidUTF8(e.Message[:mostMessage-len("…")], "") + "…"
	}
	if t.Kind == transition.Healed {
		e.Annotations = map[string]string{v1alpha1.AnnotationDrift: encode(t.Episodes)}
	}
	return e
}
