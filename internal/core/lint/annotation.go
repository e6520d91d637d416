package lint

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// annotations looks at what an object says to whoever deploys it.
func (l *look) annotations(d *document, path ...string) {
	all := d.fields(append(slices.Clone(path), "annotations")...)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		place := []any{}
		for _, p := range path {
			place = append(place, p)
		}
		place = append(place, "annotations", key)
		if f, ok := strangeAnnotation(key); ok {
			l.say(d, f, place...)
			continue
		}
		if !annotationKeys.has(key) {
			continue
		}
		if node, _ := d.find(place...); node != nil && node.Kind == yamlv3.ScalarNode && node.Tag != "!!str" && node.Tag != "" {
			l.say(d, Finding{
				Check: "annotation-value", Severity: Error,
				Message: fmt.Sprintf("the value of %s is no text, and the API server refuses the object", key),
				Fix:     fmt.Sprintf("put it in quotes: %q", node.Value),
			}, place...)
			continue
		}
		text := fmt.Sprint(all[key])
		for _, f := range valueFindings(key, text) {
			l.say(d, f, place...)
		}
	}
}

// strangeAnnotation is about keys that look like those of Argo CD and are none.
func strangeAnnotation(key string) (Finding, bool) {
	domain, name, ok := strings.Cut(key, "/")
	if annotationKeys.has(key) || !ok {
		return Finding{}, false
	}
	f := Finding{
		Check: "unknown-annotation", Severity: Warning, Message: fmt.Sprintf("nobody knows the annotation %s", key), Fix: "take it out",
	}
	var meant string
	switch {
	case strings.HasSuffix(domain, "argocd.argoproj.io"), domain == "helm.sh":
		meant = nearest(key, annotationKeys.exact)
	case distance(domain, "argocd.argoproj.io") <= 7 && strings.Contains(domain, "argo"):
		// The domain is misspelt, or that of another project.
		meant = nearest("argocd.argoproj.io/"+name, annotationKeys.exact)
		if meant == "" || domain == "argoproj.io" && !annotationKeys.has("argocd.argoproj.io/"+name) {
			return Finding{}, false
		}
	default:
		return Finding{}, false
	}
	if meant != "" {
		f.Severity, f.Fix = Error, "write "+meant
	} else if domain == "helm.sh" {
		return Finding{}, false
	}
	return f, true
}

var (
	hookWords     = []string{"PreSync", "Sync", "PostSync", "SyncFail", "Skip", "PreDelete", "PostDelete"}
	deletionWords = []string{"HookSucceeded", "HookFailed", "BeforeHookCreation"}
)

// valueFindings are what is wrong with the value of an annotation.
func valueFindings(key, value string) []Finding {
	if templated(value) {
		return nil
	}
	bad := func(message, fix string) []Finding {
		return []Finding{{Check: "annotation-value", Severity: Error, Message: message, Fix: fix}}
	}
	switch key {
	case v1alpha1.AnnotationSyncWave:
		if _, err := strconv.Atoi(value); err != nil {
			return bad(fmt.Sprintf("%q is no wave: the object goes to wave 0", value), "write a whole number in quotes, such as \"1\"")
		}
	case v1alpha1.AnnotationHook:
		return wordFindings(value, hookWords, "hook")
	case v1alpha1.AnnotationHookDeletePolicy:
		return wordFindings(value, deletionWords, "policy for deleting hooks")
	case v1alpha1.AnnotationSyncOptions:
		var out []Finding
		for option := range strings.SplitSeq(value, ",") {
			if f, ok := optionFinding(strings.TrimSpace(option)); ok && strings.TrimSpace(option) != "" {
				out = append(out, f)
			}
		}
		return out
	case v1alpha1.AnnotationIgnoreHealthCheck, v1alpha1.AnnotationSkipReconcile:
		if _, err := strconv.ParseBool(value); err != nil {
			return bad(fmt.Sprintf("%q is neither true nor false, and counts as false", value), "write \"true\" or \"false\"")
		}
	}
	return nil
}

func wordFindings(value string, known []string, what string) []Finding {
	var out []Finding
	for word := range strings.SplitSeq(value, ",") {
		word = strings.TrimSpace(word)
		if word == "" || slices.Contains(known, word) {
			continue
		}
		fix := "write one of " + strings.Join(known, ", ")
		if meant := nearest(word, known); meant != "" {
			fix = "write " + meant
		}
		out = append(out, Finding{
			Check: "annotation-value", Severity: Error, Message: fmt.Sprintf("%q is no %s, and does nothing", word, what), Fix: fix,
		})
	}
	return out
}

// finalizers looks at what keeps an object from being deleted.
func (l *look) finalizers(d *document) {
	for i, value := range d.list("metadata", "finalizers") {
		name, _ := value.(string)
		if !strings.Contains(name, "argoproj.io") || slices.Contains(finalizerNames, name) {
			continue
		}
		fix := "take it out"
		if meant := nearest(name, finalizerNames); meant != "" {
			fix = "write " + meant
		}
		l.say(d, Finding{
			Check: "unknown-finalizer", Severity: Error,
			Message: fmt.Sprintf("nobody removes the finalizer %s: the object can never be deleted", name), Fix: fix,
		}, "metadata", "finalizers", i)
	}
}
