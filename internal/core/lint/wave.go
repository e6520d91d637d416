package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// turn is when an object has its turn in a sync.
type turn struct{ phase, wave int }

func (t turn) compare(o turn) int {
	return cmp.Or(cmp.Compare(t.phase, o.phase), cmp.Compare(t.wave, o.wave))
}

func (t turn) String() string {
	return fmt.Sprintf("wave %d of %s", t.wave, [...]string{"PreSync", "Sync", "PostSync"}[t.phase])
}

// turnOf is an object's turn; false for what is no part of a sync.
func turnOf(d *document) (turn, bool) {
	annotation := func(key string) string {
		s, _ := d.fields("metadata", "annotations")[key].(string)
		return s
	}
	out := turn{phase: 1}
	out.wave, _ = strconv.Atoi(cmp.Or(annotation(v1alpha1.AnnotationSyncWave), annotation(v1alpha1.AnnotationHelmHookWeight), "0"))
	switch hook := annotation(v1alpha1.AnnotationHook); {
	case strings.Contains(hook, "PreSync"):
		out.phase = 0
	case strings.Contains(hook, "PostSync"):
		out.phase = 2
	case hook != "" && hook != "Sync":
		return turn{}, false
	}
	return out, true
}

// waves looks for waves that are never reached, build by build, and folder by folder for what is as it is written.
func (l *look) waves() {
	groups := map[string][]*document{}
	for _, d := range l.documents {
		if !d.partial && d.kind != "" && !isKustomization(d) {
			together := d.dir()
			if d.set != "" {
				together = "build " + d.set
			}
			groups[together] = append(groups[together], d)
		}
	}
	if l.in.Live {
		return // a live object is where it is
	}
	for _, group := range groups {
		last := turn{}
		for _, d := range group {
			if t, ok := turnOf(d); ok && t.compare(last) > 0 {
				last = t
			}
		}
		for _, d := range group {
			l.needs(d, group)
			l.stuck(d, last)
			l.child(d, last)
		}
	}
	l.childHealth()
}

// needs tells of a workload that needs what comes after it.
func (l *look) needs(d *document, group []*document) {
	mine, ok := turnOf(d)
	if !ok || !slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet", "Job", "Pod"}, d.kind) {
		return
	}
	for _, n := range needsOf(d) {
		for _, other := range group {
			theirs, ok := turnOf(other)
			if !ok || other.kind != n.kind || other.name != n.name || other.nsp != d.nsp || theirs.compare(mine) <= 0 {
				continue
			}
			l.say(d, Finding{
				Check: "unreachable-wave", Severity: Error,
				Message: fmt.Sprintf("%s, in %s, cannot run without %s, which comes in %s; that is never reached, because each wave waits "+
					"until the one before it is healthy", d.called(), mine, other.called(), theirs),
				Fix: fmt.Sprintf("give %s the wave %d or an earlier one, in the same phase or before", other.called(), mine.wave),
			}, "metadata", "annotations", v1alpha1.AnnotationSyncWave)
		}
	}
}

// stuck tells of an object that never becomes healthy by what it says itself.
func (l *look) stuck(d *document, last turn) {
	mine, ok := turnOf(d)
	if !ok || mine.compare(last) >= 0 {
		return
	}
	field := map[string]string{"Deployment": "paused", "Job": "suspend"}[d.kind]
	if field == "" || d.at("spec", field) != true {
		return
	}
	l.say(d, Finding{
		Check: "unreachable-wave", Severity: Error,
		Message: fmt.Sprintf("spec.%s keeps this from ever being healthy, and %s waits for it", field, last),
		Fix:     "take the field out, or put the object into the last wave",
	}, "spec", field)
}

// child tells of a child Application that nobody syncs.
func (l *look) child(d *document, last turn) {
	mine, ok := turnOf(d)
	if !ok || d.kind != v1alpha1.ApplicationKind || d.group() != v1alpha1.Group || d.part || mine.compare(last) >= 0 {
		return
	}
	automated := d.at("spec", "syncPolicy", "automated")
	on, _ := automated.(map[string]any)
	if automated != nil && on["enabled"] != false {
		return
	}
	l.say(d, Finding{
		Check: "manual-child", Severity: Warning,
		Message: fmt.Sprintf("this Application is not synced by itself, so %s waits until somebody syncs it (with the profile %q it "+
			"passes, unless it is unhealthy)", last, v1alpha1.ProfileTowline),
		Fix: "add spec.syncPolicy.automated, or put it into the last wave",
	}, "spec", "syncPolicy")
}

// childHealth tells of waves of Applications that wait for nothing.
func (l *look) childHealth() {
	var settings *document
	for _, d := range l.documents {
		if d.kind == "ConfigMap" && d.name == v1alpha1.ConfigMapSettings && !d.partial {
			settings = d
		}
	}
	key := v1alpha1.KeyCustomizationsHealthPrefix + v1alpha1.Group + "_" + v1alpha1.ApplicationKind
	if settings == nil || settings.text("data", key) != "" || settings.text("data", v1alpha1.KeyProfile) == v1alpha1.ProfileTowline {
		return
	}
	for _, d := range l.documents {
		t, ok := turnOf(d)
		if !ok || t.wave == 0 || d.kind != v1alpha1.ApplicationKind || d.group() != v1alpha1.Group {
			continue
		}
		l.say(settings, Finding{
			Check: "child-health", Severity: Warning,
			Message: fmt.Sprintf("%s and others have waves, and nothing here gives an Application a health: a wave passes as soon as its "+
				"Applications exist", d.called()),
			Fix: fmt.Sprintf("set %s: %s, which waits for what a child really does, or write a health check as %s", v1alpha1.KeyProfile,
				v1alpha1.ProfileTowline, key),
		}, "data")
		return
	}
}
