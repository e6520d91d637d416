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
