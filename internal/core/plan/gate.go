package plan

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/health"
	"github.com/towline-cd/towline/internal/core/object"
)

// Gate is the rule by which a wave lets the next one pass. The zero value is
// that of the towline profile.
type Gate struct {
	// ByLetter gates as Argo CD does: an object counts only by a check of its
	// kind or by a script, a child application only by a script.
	ByLetter bool
}

// judge is the health of an object as far as a wave is concerned: Healthy lets
// pass, Degraded fails the sync, everything else waits and says for what.
func (g Gate) judge(it Item, progress Progress) health.Health {
	if it.Live == nil {
		return health.Health{Status: health.Missing, Message: "not seen yet"}
	}
	h := it.Live.Health
	if g.ByLetter && !h.Source.InArgoCD() {
		return health.Health{Status: health.Healthy}
	}
	if v, ok := own(it, progress); ok && !g.ByLetter {
		return v
	}
	switch h.Status {
	case "":
		if h.Message != "" {
			// A script judges it and has not said anything yet.
			return health.Health{Status: health.Progressing, Message: h.Message}
		}
		return health.Health{Status: health.Healthy}
	case health.Degraded:
		return h
	case health.Healthy, health.Suspended, health.Progressing, health.Missing, health.Unknown:
	}
	if h.Message == "" {
		h.Message = "health " + string(h.Status)
	} else {
		h.Message = fmt.Sprintf("health %s: %s", h.Status, h.Message)
	}
	return h
}

// own is our word on an object where Argo CD's letter is another, if it is.
func own(it Item, progress Progress) (health.Health, bool) {
	h := it.Live.Health
	written := progress.Written[it.Key]
	switch {
	case it.Live.Quiet:
		// Who does not count for the application does not hold it back.
		return health.Health{Status: health.Healthy}, true
	case it.Live.Child != nil:
		return child(*it.Live.Child, h), true
	case it.Live.Behind && h.Status != health.Degraded:
		return health.Health{Status: health.Progressing, Message: "its applications have not been generated yet"}, true
	case h.Status == health.Degraded && written != "" && written == it.Live.ResourceVersion && it.Key.GroupKind() != jobKind:
		// What is known of the object is from before the write. A Job that failed
		// stays failed.
		return health.Health{Status: health.Progressing, Message: "was Degraded before this sync changed it: " + h.Message}, true
	case h.Status == health.Healthy || h.Status == "" && h.Message == "":
		return members(it.Members)
	}
	return health.Health{}, false
}

var jobKind = schema.GroupKind{Group: "batch", Kind: "Job"}

// members says what of a generated application holds the wave back, if
// anything: a set has come to where it points when all that it made has.
func members(of []object.Fact) (health.Health, bool) {
	var waits []string
	for _, f := range of {
		if f.Child == nil {
			continue
		}
		if v := child(*f.Child, f.Health); v.Status != health.Healthy {
			waits = append(waits, fmt.Sprintf("%s: %s", f.Key, v.Message))
		}
	}
	return health.Health{Status: health.Progressing, Message: list(waits)}, len(waits) > 0
}

// child judges an application among the objects: it passes when it was
// compared with the spec that stands, nothing is running or due, and it is
// healthy. That it is Synced is not asked for: a difference that its owner
// accepts must not hang a boot. script is what a script of the user's says of
// its health, if there is one.
func child(c object.Child, script health.Health) health.Health {
	h := c.Health
	if script.Status != "" {
		h = script
	}
	waits := func(format string, args ...any) health.Health {
		return health.Health{Status: health.Progressing, Message: fmt.Sprintf(format, args...)}
	}
	at := "at " + cmp.Or(shortened(c.Revision), "no revision yet")
	switch {
	case !c.Compared:
		return waits("not compared with its new spec yet")
	case c.Busy:
		return waits("%s, being synced, health %s", at, told(h))
	case c.Sync == v1alpha1.SyncStatusCodeUnknown:
		return waits("%s, not compared: %s", at, cmp.Or(c.Trouble, "the comparison gave no answer"))
	case c.Automated && c.Sync != v1alpha1.SyncStatusCodeSynced && !c.Reached:
		return waits("%s, OutOfSync: %s", at, cmp.Or(c.Trouble, "its sync is due"))
	case c.Manual():
		// Only a person will make its objects: to wait for them would hang the
		// boot. The plan has a finding about it.
		return health.Health{Status: health.Healthy}
	case h.Status != health.Healthy:
		return waits("%s, health %s", at, told(h))
	}
	return health.Health{Status: health.Healthy}
}

func told(h health.Health) string {
	if h.Message == "" {
		return string(h.Status)
	}
	return fmt.Sprintf("%s: %s", h.Status, h.Message)
}

func shortened(revision string) string {
	if len(revision) > 7 {
		return revision[:7]
	}
	return revision
}
