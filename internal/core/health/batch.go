package health

import (
	"cmp"
	"fmt"
)

func job(f *fields) Health {
	if c := f.condition("Failed"); c.isTrue() {
		return Health{Status: Degraded, Message: cmp.Or(c.Message, c.Reason, "The job failed")}
	}
	if c := f.condition("Complete"); c.isTrue() {
		return Health{Status: Healthy, Message: c.Message}
	}
	// A resumed job keeps this condition with status False, and is then as unfinished as any other.
	if c := f.condition("Suspended"); c.isTrue() {
		return Health{Status: Suspended, Message: cmp.Or(c.Message, "The job is suspended")}
	}
	succeeded, active, failed := f.count("status", "succeeded"), f.count("status", "active"), f.count("status", "failed")
	progress := fmt.Sprintf("%d succeeded", succeeded)
	if wanted, found := f.number("spec", "completions"); found {
		progress = fmt.Sprintf("%d of %d succeeded", succeeded, wanted)
	}
	return progressing("Waiting for the job: %s, %d running, %d failed", progress, active, failed)
}

// cronJob is judged by its last run once there was a successful one: before that nobody can tell a first run that
// failed from one that is still to come.
func cronJob(f *fields) Health {
	if f.flag("spec", "suspend") {
		return Health{Status: Suspended, Message: "The schedule is suspended"}
	}
	if !f.has("status") {
		return progressing("Waiting for the controller to see the schedule")
	}
	scheduled, succeeded := f.text("status", "lastScheduleTime"), f.text("status", "lastSuccessfulTime")
	switch {
	case scheduled == "":
		return Health{Status: Healthy, Message: "No run was due yet"}
	case len(f.list("status", "active")) > 0:
		return Health{Status: Healthy, Message: "A run is under way"}
	case succeeded == "":
		return Health{Status: Healthy, Message: "No run has succeeded yet"}
	case succeeded < scheduled:
		// Both are in UTC and of the same form, so their texts compare like the times.
		return degraded("The last run, of %s, did not succeed", scheduled)
	}
	return Health{Status: Healthy}
}
