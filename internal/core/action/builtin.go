package action

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const restartedAt = "kubectl.kubernetes.io/restartedAt"

// definitionsOf is the table of what can be done with which kind.
func definitionsOf(obj *unstructured.Unstructured) []definition {
	gk := obj.GroupVersionKind().GroupKind()
	switch gk.Group + "/" + gk.Kind {
	case "apps/Deployment":
		return append(flag("spec.paused", "pause"), restartTemplate, scale)
	case "apps/StatefulSet":
		return []definition{restartTemplate, scale}
	case "apps/DaemonSet":
		return []definition{restartTemplate}
	case "apps/ReplicaSet":
		return []definition{scale}
	case "batch/CronJob":
		return append(flag("spec.suspend", "suspend"), definition{name: "create-job", create: jobOf})
	case "batch/Job":
		return flag("spec.suspend", "suspend")
	case "argoproj.io/Rollout":
		return rollout
	case "external-secrets.io/ExternalSecret", "external-secrets.io/ClusterExternalSecret", "external-secrets.io/PushSecret":
		return []definition{annotate("refresh", "force-sync", func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) })}
	}
	if strings.HasSuffix(gk.Group, ".toolkit.fluxcd.io") {
		return append(flag("spec.suspend", "suspend"),
			annotate("reconcile", "reconcile.fluxcd.io/requestedAt", func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }))
	}
	return nil
}

// flag is a pair of actions that set a field to true and, as resume, to false.
func flag(path, on string) []definition {
	way := strings.Split(path, ".")
	set := func(value bool) func(map[string]any, Input) error {
		return func(obj map[string]any, _ Input) error { return unstructured.SetNestedField(obj, value, way...) }
	}
	is := func(obj map[string]any) bool {
		v, _, _ := unstructured.NestedBool(obj, way...)
		return v
	}
	return []definition{
		{name: on, enabled: func(obj map[string]any) bool { return !is(obj) }, change: set(true)},
		{name: "resume", enabled: is, change: set(false)},
	}
}

// annotate is an action that writes the time into an annotation, which a controller waits for.
func annotate(name, key string, format func(time.Time) string) definition {
	return definition{name: name, change: func(obj map[string]any, in Input) error {
		return unstructured.SetNestedField(obj, format(in.Now), "metadata", "annotations", key)
	}}
}

// restartTemplate does what kubectl rollout restart does.
var restartTemplate = definition{
	name: "restart",
	change: func(obj map[string]any, in Input) error {
		at := in.Now.UTC().Format(time.RFC3339)
		return unstructured.SetNestedField(obj, at, "spec", "template", "metadata", "annotations", restartedAt)
	},
}

var scale = definition{
	name:   "scale",
	params: []Param{{Name: "replicas", Type: "number"}},
	change: func(obj map[string]any, in Input) error {
		n, err := strconv.ParseInt(in.Params["replicas"], 10, 32)
		if err != nil || n < 0 {
			return fmt.Errorf("replicas is %q, which is no number of replicas; set it as in replicas=3", in.Params["replicas"])
		}
		return unstructured.SetNestedField(obj, n, "spec", "replicas")
	},
}

// jobOf is a Job of a CronJob, made now, as kubectl create job --from makes it. It belongs to the CronJob.
func jobOf(cron *unstructured.Unstructured, in Input) (*unstructured.Unstructured, error) {
	template, found, err := unstructured.NestedMap(cron.Object, "spec", "jobTemplate")
	if err != nil || !found {
		return nil, fmt.Errorf("the CronJob has no spec.jobTemplate")
	}
	spec, _, err := unstructured.NestedMap(template, "spec")
	if err != nil {
		return nil, fmt.Errorf("reading spec.jobTemplate: %w", err)
	}
	job := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "batch/v1", "kind": "Job", "spec": spec}}
	labels, _, _ := unstructured.NestedStringMap(template, "metadata", "labels")
	notes, _, _ := unstructured.NestedStringMap(template, "metadata", "annotations")
	if notes == nil {
		notes = map[string]string{}
	}
	notes["cronjob.kubernetes.io/instantiate"] = "manual"
	suffix := "-" + strconv.FormatInt(in.Now.Unix(), 10)
	name := cron.GetName()
	const longest = 63 // the pods of the job carry its name as a label
	job.SetName(name[:min(len(name), longest-len(suffix))] + suffix)
	job.SetNamespace(cron.GetNamespace())
	job.SetLabels(labels)
	job.SetAnnotations(notes)
	err = unstructured.SetNestedSlice(job.Object, []any{map[string]any{
		"apiVersion": cron.GetAPIVersion(), "kind": cron.GetKind(), "name": cron.GetName(), "uid": string(cron.GetUID()),
		"controller": true,
	}}, "metadata", "ownerReferences")
	return job, err
}

// rollout are the actions of Argo Rollouts, which listens to a few fields of spec and status.
var rollout = []definition{
	{name: "restart", change: func(obj map[string]any, in Input) error {
		return unstructured.SetNestedField(obj, in.Now.UTC().Format(time.RFC3339), "spec", "restartAt")
	}},
	{name: "pause", enabled: func(obj map[string]any) bool { return !truth(obj, "spec", "paused") }, change: set(true, "spec", "paused")},
	{name: "resume", enabled: waiting, change: goOn},
	{name: "promote", enabled: waiting, change: goOn},
	{name: "promote-full", enabled: underWay, change: set(true, "status", "promoteFull")},
	{name: "abort", enabled: func(obj map[string]any) bool {
		return underWay(obj) && !truth(obj, "status", "abort")
	}, change: set(true, "status", "abort")},
	{name: "retry", enabled: func(obj map[string]any) bool { return truth(obj, "status", "abort") }, change: set(false, "status", "abort")},
	{name: "scale", params: scale.params, change: scale.change},
}

func set(value any, way ...string) func(map[string]any, Input) error {
	return func(obj map[string]any, _ Input) error { return unstructured.SetNestedField(obj, value, way...) }
}

func truth(obj map[string]any, way ...string) bool {
	v, _, _ := unstructured.NestedBool(obj, way...)
	return v
}

// waiting says that a rollout is paused, by a person or by a step of its own.
func waiting(obj map[string]any) bool {
	pauses, _, _ := unstructured.NestedSlice(obj, "status", "pauseConditions")
	return truth(obj, "spec", "paused") || len(pauses) > 0
}

// underWay says that the new version has not replaced the old one yet.
func underWay(obj map[string]any) bool {
	stable, _, _ := unstructured.NestedString(obj, "status", "stableRS")
	current, _, _ := unstructured.NestedString(obj, "status", "currentPodHash")
	return current != "" && current != stable
}

// goOn ends every pause, so that the next step is taken.
func goOn(obj map[string]any, _ Input) error {
	if truth(obj, "spec", "paused") {
		if err := unstructured.SetNestedField(obj, false, "spec", "paused"); err != nil {
			return err
		}
	}
	unstructured.RemoveNestedField(obj, "status", "pauseConditions")
	return nil
}
