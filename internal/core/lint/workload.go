package lint

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// need is an object that a workload cannot run without.
type need struct{ kind, name string }

// needsOf are the objects that the pods of a workload name.
func needsOf(d *document) []need {
	spec := d.fields("spec", "template", "spec")
	if d.kind == "Pod" {
		spec = d.fields("spec")
	}
	var out []need
	add := func(kind string, from map[string]any, key string) {
		if name, ok := from[key].(string); ok && name != "" && from["optional"] != true {
			out = append(out, need{kind, name})
		}
	}
	add("ServiceAccount", spec, "serviceAccountName")
	for _, v := range maplist(spec["volumes"]) {
		add("ConfigMap", submap(v, "configMap"), "name")
		add("Secret", submap(v, "secret"), "secretName")
		add("PersistentVolumeClaim", submap(v, "persistentVolumeClaim"), "claimName")
	}
	for _, c := range append(maplist(spec["containers"]), maplist(spec["initContainers"])...) {
		for _, from := range maplist(c["envFrom"]) {
			add("ConfigMap", submap(from, "configMapRef"), "name")
			add("Secret", submap(from, "secretRef"), "name")
		}
		for _, env := range maplist(c["env"]) {
			add("ConfigMap", submap(submap(env, "valueFrom"), "configMapKeyRef"), "name")
			add("Secret", submap(submap(env, "valueFrom"), "secretKeyRef"), "name")
		}
	}
	return out
}

func submap(m map[string]any, key string) map[string]any {
	out, _ := m[key].(map[string]any)
	return out
}

func maplist(value any) []map[string]any {
	list, _ := value.([]any)
	var out []map[string]any
	for _, entry := range list {
		if m, ok := entry.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// member is an object of a build.
type member struct {
	set string
	need
}

// scaled are the workloads that an autoscaler changes.
func (l *look) scaled() map[member]*document {
	out := map[member]*document{}
	for _, d := range l.documents {
		if d.kind != "HorizontalPodAutoscaler" && (d.kind != "ScaledObject" || d.group() != "keda.sh") {
			continue
		}
		target := d.fields("spec", "scaleTargetRef")
		kind, _ := target["kind"].(string)
		if kind == "" {
			kind = "Deployment"
		}
		if name, ok := target["name"].(string); ok {
			out[member{d.set, need{kind, name}}] = d
		}
	}
	return out
}

// autoscalers tells of replicas that two write.
func (l *look) autoscalers() {
	scaled := l.scaled()
	for _, d := range l.documents {
		by := scaled[member{d.set, need{d.kind, d.name}}]
		if by == nil || by.nsp != d.nsp || d.partial || d.at("spec", "replicas") == nil {
			continue
		}
		message := fmt.Sprintf("%s sets the replicas too: each sync resets them to what is written here", by.called())
		if !l.in.Live {
			healed, excused := l.healers(d)
			if excused {
				continue
			}
			if healed != "" {
				message = fmt.Sprintf("%s sets the replicas, and selfHeal of %s sets them back: the two never rest", by.called(), healed)
			}
		}
		l.say(d, Finding{
			Check: "replicas", Severity: Warning, Message: message,
			Fix: "take spec.replicas out of the manifest; the autoscaler's own minReplicas is the number to begin with",
		}, "spec", "replicas")
	}
}

// healers is an Application that deploys an object and heals it, and whether
// one says that its replicas do not count.
func (l *look) healers(d *document) (healed string, excused bool) {
	place := d.file.Name
	if d.set != "" {
		place = path.Join(d.set, kustomizationNames[0])
	}
	for _, a := range l.documents {
		if a.kind != v1alpha1.ApplicationKind || a.group() != v1alpha1.Group || a.partial {
			continue
		}
		app := decode[v1alpha1.Application](&look{}, a)
		if app == nil || !slices.ContainsFunc(app.Sources(), func(s v1alpha1.ApplicationSource) bool {
			return s.Path != "" && l.repo.reaches(s.Path, place)
		}) {
			continue
		}
		if IgnoresReplicas(app, d.kind) {
			return "", true
		}
		if p := app.Spec.SyncPolicy; p.AutomatedEnabled() && p.Automated.SelfHeal != nil && *p.Automated.SelfHeal {
			healed = a.called()
		}
	}
	return healed, false
}

// IgnoresReplicas says that an Application does not compare the replicas of a kind.
func IgnoresReplicas(app *v1alpha1.Application, kind string) bool {
	for _, rule := range app.Spec.IgnoreDifferences {
		if ok, err := path.Match(rule.Kind, kind); err != nil || !ok {
			continue
		}
		if slices.Contains(rule.JSONPointers, "/spec/replicas") || slices.Contains(rule.JQPathExpressions, ".spec.replicas") ||
			len(rule.ManagedFieldsManagers) > 0 {
			return true
		}
	}
	return false
}

var selecting = []string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"}

// selectors tells of a workload that does not find its own pods.
func (l *look) selectors(d *document) {
	if d.group() != "apps" || !slices.Contains(selecting, d.kind) || d.part {
		return
	}
	labels := d.fields("spec", "template", "metadata", "labels")
	wanted := d.fields("spec", "selector", "matchLabels")
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if wanted[key] == labels[key] {
			continue
		}
		l.say(d, Finding{
			Check: "selector-mismatch", Severity: Error,
			Message: fmt.Sprintf("the selector wants the label %s: %v, and the pods do not have it; the API server refuses the object",
				key, wanted[key]),
			Fix: "give the pods of spec.template that label, or change the selector, if nothing is deployed yet",
		}, "spec", "selector", "matchLabels", key)
	}
}

// changed tells of selectors that differ from the deployed ones.
func (l *look) changed() {
	if l.in.Against == nil {
		return
	}
	old := &look{in: Input{Files: l.in.Against}, repo: newTree()}
	for _, f := range l.in.Against {
		old.read(f)
	}
	old.repo.settle(old.documents)
	before := map[string]*document{}
	for _, d := range old.documents {
		if !d.partial && slices.Contains(selecting, d.kind) {
			before[d.file.Name+" "+d.called()] = d
		}
	}
	for _, d := range l.raw {
		was := before[d.file.Name+" "+d.called()]
		if d.partial || was == nil || reflect.DeepEqual(was.at("spec", "selector"), d.at("spec", "selector")) {
			continue
		}
		l.say(d, Finding{
			Check: "selector-changed", Severity: Error,
			Message: "the selector differs from the deployed one, and cannot be changed: the API server refuses the apply",
			Fix: "keep the selector and add labels to spec.template alone; or let the object be made anew, with the annotation " +
				v1alpha1.AnnotationSyncOptions + ": Force=true,Replace=true, which ends its pods",
		}, "spec", "selector")
	}
}
