// Package health judges the health of one Kubernetes object from its own fields, as Argo CD does, and the health of a
// group from its parts; it must not read a cluster, a clock or a user's script.
//
// A kind is judged by a check in Go, by an entry of the table in kinds/*.yaml, or else by the conventions that
// controllers follow. docs/health.md tells users the same.
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

// Source says by what an object was judged.
type Source uint8

// The sources. Of these only FromKind and FromScript exist in Argo CD.
const (
	// FromKind is a check of a kind that Argo CD judges too.
	FromKind Source = iota
	// FromTable is a check of a kind that Argo CD gives no health.
	FromTable
	// FromConditions is a guess by conventions, for a kind that nobody described.
	FromConditions
	// FromScript is a user's own check.
	FromScript
)

// InArgoCD says whether Argo CD would have judged the object at all. Where its behaviour is to be kept, a verdict that
// it would not have is shown and counts for nothing: it neither makes an application worse nor holds a wave.
func (s Source) InArgoCD() bool { return s == FromKind || s == FromScript }

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
	Source  Source
}

// Script judges an object by what a user wrote for its kind; false says that there is nothing for it.
type Script func(obj *unstructured.Unstructured) (Health, bool)

// check judges an object through its fields; wrong types are collected by the fields and need no handling here.
type check func(f *fields) Health

// Of judges an object by its kind, and a kind that has no check by the conventions for conditions. An object that says
// nothing about itself gives the zero Health, a known kind whose fields have the wrong type gives Unknown with the
// field's name. The object is not changed.
func Of(obj *unstructured.Unstructured) Health { return Judge(obj, nil) }

// Judge is Of with the user's own checks, which come before all others. Only an object that is being deleted is not
// shown to them.
func Judge(obj *unstructured.Unstructured, own Script) Health {
	if obj == nil || obj.Object == nil {
		return Health{}
	}
	f := &fields{object: obj.Object}
	h := judge(obj, f, own)
	if f.problem != "" {
		return Health{Status: Unknown, Message: f.problem, Source: h.Source}
	}
	h.Message = shorten(h.Message)
	return h
}

func judge(obj *unstructured.Unstructured, f *fields, own Script) Health {
	group, kind := groupKind(f)
	if h, leaving := going(f, group, kind); leaving {
		return h
	}
	if f.problem != "" {
		return Health{}
	}
	if own != nil {
		if h, ok := own(obj); ok {
			h.Source = FromScript
			return h
		}
	}
	if of := checkFor(group, kind); of != nil {
		return of(f)
	}
	if e := known().find(group, kind); e != nil {
		return e.judge(f)
	}
	h, _ := Generic(obj)
	return h
}

// groupKind reads what names a check. The version does not matter: the fields that the checks read are the same in all
// served versions, or the check knows both shapes.
func groupKind(f *fields) (group, kind string) {
	version, _ := f.object["apiVersion"].(string)
	kind, _ = f.object["kind"].(string)
	for i := range len(version) {
		if version[i] == '/' {
			return version[:i], kind
		}
	}
	return "", kind
}

// checkFor finds the check in Go. Kinds are here and not in the table when Kubernetes itself defines them, or when
// their judgement needs more than the table's rules can say.
func checkFor(group, kind string) check {
	switch group {
	case "":
		return coreCheck(kind)
	case "apps":
		return appsCheck(kind)
	case "batch":
		return batchCheck(kind)
	case "autoscaling":
		return only(kind, "HorizontalPodAutoscaler", autoscaler)
	case "networking.k8s.io":
		return only(kind, "Ingress", ingress)
	case "apiregistration.k8s.io":
		return only(kind, "APIService", apiService)
	case "apiextensions.k8s.io":
		return only(kind, "CustomResourceDefinition", customResourceDefinition)
	case "policy":
		return only(kind, "PodDisruptionBudget", disruptionBudget)
	}
	return nil
}

func only(kind, want string, of check) check {
	if kind != want {
		return nil
	}
	return of
}

func coreCheck(kind string) check {
	switch kind {
	case "Pod":
		return pod
	case "Service":
		return service
	case "PersistentVolumeClaim":
		return volumeClaim
	case "Namespace":
		return namespace
	case "ReplicationController":
		return replicationController
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

func batchCheck(kind string) check {
	switch kind {
	case "Job":
		return job
	case "CronJob":
		return cronJob
	}
	return nil
}
