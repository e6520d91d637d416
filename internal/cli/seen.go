package cli

import (
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// lastSeen is how conditions tell when a cluster answered last. They have a
// time, so that they need not be written again and again; people want an age.
var lastSeen = regexp.MustCompile(`last seen (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)`)

// aged adds to the times in a message how long ago they were.
func aged(now time.Time, message string) string {
	return lastSeen.ReplaceAllStringFunc(message, func(found string) string {
		at, err := time.Parse(time.RFC3339, lastSeen.FindStringSubmatch(found)[1])
		if err != nil {
			return found
		}
		return found + " (" + duration.HumanDuration(max(now.Sub(at), 0)) + " ago)"
	})
}
