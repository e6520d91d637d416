package cli

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/wish"
)

// This file says in words what the fields of an Application mean.

const (
	shaLength   = 40
	shortLength = 7
	nothing     = "-"
)

// short cuts a commit to what people read; a version stays whole.
func short(revision string) string {
	if len(revision) == shaLength && strings.Trim(revision, "0123456789abcdef") == "" {
		return revision[:shortLength]
	}
	if digest, ok := strings.CutPrefix(revision, "sha256:"); ok && len(digest) > shortLength {
		return "sha256:" + digest[:shortLength]
	}
	return revision
}

func revisionOf(s v1alpha1.SyncStatus) string {
	if len(s.Revisions) == 0 {
		return short(s.Revision)
	}
	out := make([]string, len(s.Revisions))
	for i, r := range s.Revisions {
		out[i] = short(r)
	}
	return strings.Join(out, ",")
}

// cluster is the name of a destination's cluster as short as it is clear.
func cluster(d v1alpha1.ApplicationDestination) string {
	switch {
	case d.Name != "":
		return d.Name
	case d.Server == v1alpha1.InClusterServer:
		return v1alpha1.InClusterName
	}
	return d.Server
}

func destination(d v1alpha1.ApplicationDestination) string {
	if d.Namespace == "" {
		return cluster(d)
	}
	return cluster(d) + "/" + d.Namespace
}

func target(s v1alpha1.ApplicationSource) string { return wish.Target(s) }

// targets are the revisions that the sources ask for.
func targets(app *v1alpha1.Application) string {
	var out []string
	for _, s := range app.Sources() {
		out = append(out, target(s))
	}
	return strings.Join(out, ",")
}

func repos(app *v1alpha1.Application) string {
	var out []string
	for _, s := range app.Sources() {
		out = append(out, s.RepoURL)
	}
	return strings.Join(out, ",")
}

// within is the place inside of a source: a path, or a chart.
func within(s v1alpha1.ApplicationSource) string {
	if s.Chart != "" {
		return "chart " + s.Chart
	}
	return s.Path
}

func paths(app *v1alpha1.Application) string {
	var out []string
	for _, s := range app.Sources() {
		if p := within(s); p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, ",")
}

func syncPolicy(app *v1alpha1.Application) string {
	p := app.Spec.SyncPolicy
	if !p.AutomatedEnabled() {
		return "manual"
	}
	var more []string
	if on(p.Automated.Prune) {
		more = append(more, "prune")
	}
	if on(p.Automated.SelfHeal) {
		more = append(more, "self-heal")
	}
	if on(p.Automated.AllowEmpty) {
		more = append(more, "allow-empty")
	}
	if len(more) == 0 {
		return "automated"
	}
	return "automated (" + strings.Join(more, ", ") + ")"
}

func on(b *bool) bool { return b != nil && *b }

// age is how long ago something was, in the style of kubectl.
func age(now time.Time, t *metav1.Time) string {
	if t.IsZero() {
		return nothing
	}
	return duration.HumanDuration(max(now.Sub(t.Time), 0))
}

// took is how long an operation ran, or runs.
func took(now time.Time, o *v1alpha1.OperationState) string {
	if o.StartedAt.IsZero() {
		return "0s"
	}
	if o.FinishedAt != nil && o.Phase.Completed() {
		now = o.FinishedAt.Time
	}
	return duration.HumanDuration(max(now.Sub(o.StartedAt.Time), 0))
}

func initiator(o v1alpha1.OperationInitiator) string {
	switch {
	case o.Automated:
		return "the sync policy"
	case o.Username != "":
		return o.Username
	}
	return "somebody"
}

func orNothing(s string) string {
	if s == "" {
		return nothing
	}
	return s
}

// plural counts things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// busy reports whether an operation is asked for or under way.
func busy(app *v1alpha1.Application) bool {
	return wish.Running(app)
}

func resultKey(r v1alpha1.ResourceResult) object.Key {
	return object.Key{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

func resourceKey(r v1alpha1.ResourceStatus) object.Key {
	return object.Key{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// explained joins a word with the reason for it, if there is one.
func explained(word, reason string) string {
	if reason = clean(reason); reason == "" {
		return word
	}
	return word + ": " + reason
}
