package object

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Columns are the few values of an object that a list shows beside its name,
// as one text: "status=Running ready=1/1 restarts=0 node=n1".
type Columns string

// Get is the value of one column; empty when there is none.
func (c Columns) Get(name string) string {
	for pair := range strings.SplitSeq(string(c), " ") {
		if n, v, _ := strings.Cut(pair, "="); n == name {
			return v
		}
	}
	return ""
}

// with adds a column that has a value.
func (c Columns) with(name, value string) Columns {
	if value == "" {
		return c
	}
	// A space would end the value; reasons and names have none.
	pair := Columns(name + "=" + strings.ReplaceAll(value, " ", "_"))
	if c == "" {
		return pair
	}
	return c + " " + pair
}

func columnsOf(u *unstructured.Unstructured, k Key) Columns {
	spec, status := mapAt(u.Object, "spec"), mapAt(u.Object, "status")
	switch k.Group + "/" + k.Kind {
	case "/Pod":
		return podColumns(u)
	case "/Service":
		return Columns("").with("type", text(spec, "type"))
	case "/PersistentVolumeClaim", "/PersistentVolume", "/Namespace":
		return Columns("").with("status", text(status, "phase"))
	case "apps/Deployment", "apps/ReplicaSet", "apps/StatefulSet":
		desired := int64(1)
		if n, ok := spec["replicas"].(int64); ok {
			desired = n
		}
		return Columns("").with("ready", share(number(status, "readyReplicas"), desired))
	case "apps/DaemonSet":
		return Columns("").with("ready", share(number(status, "numberReady"), number(status, "desiredNumberScheduled")))
	case "batch/Job":
		wanted := int64(1)
		if n, ok := spec["completions"].(int64); ok {
			wanted = n
		}
		return Columns("").with("done", share(number(status, "succeeded"), wanted))
	}
	return ""
}

func podColumns(u *unstructured.Unstructured) Columns {
	spec, status := mapAt(u.Object, "spec"), mapAt(u.Object, "status")
	var ready, restarts int64
	for _, c := range listAt(status, "containerStatuses") {
		if up, _ := c["ready"].(bool); up {
			ready++
		}
		restarts += number(c, "restartCount")
	}
	why, image := podStatus(u)
	return Columns("").
		with("status", why).
		with("image", image).
		with("ready", share(ready, int64(len(listAt(spec, "containers"))))).
		with("restarts", strconv.FormatInt(restarts, 10)).
		with("node", text(spec, "nodeName"))
}

// podStatus is one word for the state of a pod: why it does not run, as people
// know it from their terminal, or else its phase. A reason that is about an
// image comes with that image.
func podStatus(u *unstructured.Unstructured) (why, image string) {
	status := mapAt(u.Object, "status")
	if u.GetDeletionTimestamp() != nil {
		return "Terminating", ""
	}
	if why := text(status, "reason"); why != "" {
		return why, ""
	}
	for _, c := range listAt(status, "initContainerStatuses") {
		if why := trouble(c); why != "" && why != "PodInitializing" {
			return "Init:" + why, culprit(u, c, why)
		}
	}
	for _, c := range listAt(status, "containerStatuses") {
		if why := trouble(c); why != "" {
			return why, culprit(u, c, why)
		}
	}
	return text(status, "phase"), ""
}

// culprit is the image of a container that waits for it. The kubelet may have
// put a longer name for it into the status; people look for what they wrote.
func culprit(u *unstructured.Unstructured, container map[string]any, why string) string {
	if !strings.Contains(why, "Image") {
		return ""
	}
	spec := mapAt(u.Object, "spec")
	for _, list := range []string{"initContainers", "containers"} {
		for _, c := range listAt(spec, list) {
			if name := text(c, "name"); name != "" && name == text(container, "name") {
				return text(c, "image")
			}
		}
	}
	return text(container, "image")
}

// trouble says why a container does not run; nothing when it does, or when it
// did what it was for.
func trouble(container map[string]any) string {
	if why := text(mapAt(container, "state", "waiting"), "reason"); why != "" {
		return why
	}
	ended := mapAt(container, "state", "terminated")
	if ended == nil || number(ended, "exitCode") == 0 && number(ended, "signal") == 0 {
		return ""
	}
	if why := text(ended, "reason"); why != "" {
		return why
	}
	return "ExitCode:" + strconv.FormatInt(number(ended, "exitCode"), 10)
}

func share(part, whole int64) string {
	return strconv.FormatInt(part, 10) + "/" + strconv.FormatInt(whole, 10)
}
