package health

import (
	"cmp"
	"fmt"
	"strings"
)

func pod(f *fields) Health {
	// The API server fills in Always, so an empty policy is only seen on objects that never passed it.
	always := cmp.Or(f.text("spec", "restartPolicy"), "Always") == "Always"
	if always {
		// A pod that runs once is left out: it may be a hook, and a hook whose image appears late would run after its
		// sync had already been declared failed.
		if failures := stuckContainers(f); failures != "" {
			return Health{Status: Degraded, Message: failures}
		}
	}
	message := f.text("status", "message")
	switch phase := f.text("status", "phase"); phase {
	case "Pending":
		return Health{Status: Progressing, Message: cmp.Or(message, pendingReason(f))}
	case "Succeeded":
		return Health{Status: Healthy, Message: message}
	case "Failed":
		return Health{Status: Degraded, Message: cmp.Or(message, failureReason(f), "The pod failed without a reason")}
	case "Running":
		if always || f.value("metadata", "annotations", IgnoreRestartPolicyAnnotation) != nil {
			return runningPod(f, message)
		}
		return Health{Status: Progressing, Message: cmp.Or(message, "Waiting for the pod to finish")}
	default:
		return Health{Status: Unknown, Message: cmp.Or(message, fmt.Sprintf("The pod's phase is %q", phase))}
	}
}

func runningPod(f *fields, message string) Health {
	if f.condition("Ready").isTrue() {
		return Health{Status: Healthy, Message: message}
	}
	ready, total, restarted := 0, 0, ""
	f.items(func(container *fields) bool {
		total++
		if container.flag("ready") {
			ready++
		}
		if restarted == "" && container.has("lastState", "terminated") {
			restarted = fmt.Sprintf("Container %s is not ready after %d restarts",
				container.text("name"), container.count("restartCount"))
		}
		return true
	}, "status", "containerStatuses")
	if restarted != "" {
		return Health{Status: Degraded, Message: cmp.Or(message, restarted)}
	}
	return Health{
		Status:  Progressing,
		Message: cmp.Or(message, fmt.Sprintf("Waiting for containers: %d of %d ready", ready, total)),
	}
}

// stuckContainers names the containers that wait for a reason that spells an error.
func stuckContainers(f *fields) string {
	var stuck []string
	f.items(func(container *fields) bool {
		reason := container.text("state", "waiting", "reason")
		if isFailure(reason) {
			stuck = append(stuck, waitingText(container, reason))
		}
		return true
	}, "status", "containerStatuses")
	return strings.Join(stuck, ", ")
}

func isFailure(reason string) bool {
	return strings.HasPrefix(reason, "Err") || strings.HasSuffix(reason, "Error") || strings.HasSuffix(reason, "BackOff")
}

func waitingText(container *fields, reason string) string {
	text := "Container " + container.text("name") + ": " + reason
	if message := container.text("state", "waiting", "message"); message != "" {
		text += ": " + message
	}
	return text
}

// pendingReason finds what a pending pod waits for: a node first, then its containers.
func pendingReason(f *fields) string {
	if c := f.condition("PodScheduled"); c.Status == "False" {
		return "Waiting for a node: " + cmp.Or(c.Message, c.Reason)
	}
	waiting := ""
	find := func(container *fields) bool {
		reason := container.text("state", "waiting", "reason")
		if isFailure(reason) {
			waiting = waitingText(container, reason)
		}
		return waiting == ""
	}
	f.items(find, "status", "initContainerStatuses")
	if waiting == "" {
		f.items(find, "status", "containerStatuses")
	}
	return cmp.Or(waiting, "Waiting for the containers to start")
}

// failureReason finds the first container that says why it ended.
func failureReason(f *fields) string {
	why := ""
	find := func(container *fields) bool {
		code := container.count("state", "terminated", "exitCode")
		reason := container.text("state", "terminated", "message")
		if reason == "" && container.text("state", "terminated", "reason") == "OOMKilled" {
			reason = "OOMKilled"
		}
		if reason == "" && code != 0 {
			reason = fmt.Sprintf("exit code %d", code)
		}
		if reason != "" {
			why = "Container " + container.text("name") + ": " + reason
		}
		return why == ""
	}
	f.items(find, "status", "initContainerStatuses")
	if why == "" {
		f.items(find, "status", "containerStatuses")
	}
	return cmp.Or(why, f.text("status", "reason"))
}
