// Package health judges the health of one Kubernetes object from its own fields, as Argo CD does, and the health of a
// group from its parts; it must not read a cluster, a clock or a user's script.
package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Status is a health code, spelled as in Argo CD.
type Status string

// The health codes from best to worst.
const (
	Healthy     Status = "Healthy"
	Suspended   Status = "Suspended"
	Progressing Status = "Progressing"
	Missing     Status = "Missing"
	Degraded    Status = "Degraded"
	Unknown     Status = "Unknown"
)

const (
	// HookFinalizer marks a hook that must be judged although it is being deleted: its outcome is still wanted.
	HookFinalizer = "argocd.argoproj.io/hook-finalizer"
	// IgnoreRestartPolicyAnnotation on a Pod says that Never and OnFailure do not mean a short life.
	IgnoreRestartPolicyAnnotation = "argocd.argoproj.io/ignore-restart-policy"
)

// Health is the verdict on one object. The zero value says that its kind has no health.
type Health struct {
	Status  Status
	Message string
}

// check judges an object through its fields; wrong types are collected by the fields and need no handling here.
type check func(f *fields) Health

// Of judges an object by its kind. A kind without a check gives the zero Health, an object whose fields have the wrong
// type gives Unknown with the field's name. The object is not changed.
func Of(obj *unstructured.Unstructured) Health {
	if obj == nil || obj.Object == nil {
		return Health{}
	}
	f := &fields{object: obj.Object}
	h := judge(obj, f)
	if f.problem != "" {
		return Health{Status: Unknown, Message: f.problem}
	}
	return h
}

func judge(obj *unstructured.Unstructured, f *fields) Health {
	if f.text("metadata", "deletionTimestamp") != "" && !f.contains(HookFinalizer, "metadata", "finalizers") {
		return Health{Status: Progressing, Message: "Pending deletion"}
	}
	of := checkFor(obj.GroupVersionKind().Group, obj.GetKind())
	if of == nil {
		return Health{}
	}
	return of(f)
}

// checkFor is the table of the kinds that have a health of their own. The version does not matter: the fields that the
// checks read are the same in all served versions, and the autoscaler's check knows both of its shapes.
func checkFor(group, kind string) check {
	switch group {
	case "":
		return coreCheck(kind)
	case "apps":
		return appsCheck(kind)
	}
	switch group + "/" + kind {
	case "batch/Job":
		return job
	case "autoscaling/HorizontalPodAutoscaler":
		return autoscaler
	case "networking.k8s.io/Ingress":
		return ingress
	case "apiregistration.k8s.io/APIService":
		return apiService
	case "apiextensions.k8s.io/CustomResourceDefinition":
		return customResourceDefinition
	}
	return nil
}

func coreCheck(kind string) check {
	switch kind {
	case "Pod":
		return pod
	case "Service":
		return service
	case "PersistentVolumeClaim":
		return volumeClaim
	}
	return nil
}

func appsCheck(kind string) check {
	switch kind {
	case "Deployment":
		return deployment
	case "ReplicaSet":
		return replicaSet
	case "StatefulSet":
		return statefulSet
	case "DaemonSet":
		return daemonSet
	}
	return nil
}
