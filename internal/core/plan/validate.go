package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/object"
)

// Validate checks what an application's spec says by itself, and names what
// this version does not honour: nothing is ignored in silence.
func Validate(app *v1alpha1.Application) []finding.Finding {
	var out []finding.Finding
	invalid := func(format string, args ...any) {
		out = append(out, finding.Finding{
			Reason: finding.InvalidSpec, Severity: finding.Error, Message: fmt.Sprintf(format, args...),
		})
	}
	if u := object.UnreadableOf(app); u != nil {
		invalid("application %q: %s", app.Name, u)
		return out
	}
	d := app.Spec.Destination
	switch {
	case d.Server == "" && d.Name == "":
		invalid("application %q has no destination; set spec.destination.server (%s is this cluster) or spec.destination.name",
			app.Name, v1alpha1.InClusterServer)
	case d.Server != "" && d.Name != "":
		invalid("application %q has both spec.destination.server and spec.destination.name; keep one", app.Name)
	}
	out = append(out, SourceFindings(app)...)
	for _, field := range notHonoured(app) {
		out = append(out, finding.Finding{
			Reason: finding.NotHonoured, Severity: finding.Warning,
			Message: fmt.Sprintf("%s is not honoured by this version", field),
		})
	}
	return finding.Sort(out)
}

// SourceFindings are what is wrong with the sources of an application by
// themselves.
func SourceFindings(app *v1alpha1.Application) []finding.Finding {
	var out []finding.Finding
	for _, problem := range sourceProblems(app) {
		out = append(out, finding.Finding{
			Reason: finding.InvalidSpec, Severity: finding.Error, Message: fmt.Sprintf("application %q %s", app.Name, problem),
		})
	}
	return out
}

// sourceProblems are what is wrong with the sources by themselves.
func sourceProblems(app *v1alpha1.Application) []string {
	sources := app.Sources()
	if len(sources) == 0 {
		return []string{"has no source; set spec.source.repoURL and spec.source.path"}
	}
	var out []string
	refs := map[string]bool{}
	for i, s := range sources {
		which := "a source"
		if len(sources) > 1 {
			which = fmt.Sprintf("source %d", i+1)
		}
		say := func(format string, args ...any) { out = append(out, "has "+which+" "+fmt.Sprintf(format, args...)) }
		tools := toolsOf(s)
		switch {
		case s.RepoURL == "":
			say("without a repository; set its repoURL")
		case s.Path == "" && s.Chart == "" && s.Ref == "" && !strings.HasPrefix(s.RepoURL, "oci://"):
			say("without a path; set its path (\".\" is the whole repository)")
		case s.Ref != "" && s.Chart != "":
			say("with both a ref and a chart; a chart has no files that others may refer to")
		case s.Ref != "" && refs[s.Ref]:
			say("with the ref %q, which another source has", s.Ref)
		case s.Ref != "" && strings.ContainsAny(s.Ref, "/$ "):
			say("with the ref %q; a ref is one word", s.Ref)
		case len(tools) > 1:
			say("with the settings of several tools (%s); keep those of one", strings.Join(tools, ", "))
		}
		refs[s.Ref] = s.Ref != ""
	}
	return out
}

func toolsOf(s v1alpha1.ApplicationSource) []string {
	var out []string
	for _, tool := range []struct {
		name string
		set  bool
	}{
		{"helm", s.Helm != nil},
		{"kustomize", s.Kustomize != nil},
		{"directory", s.Directory != nil},
		{"plugin", s.Plugin != nil},
	} {
		if tool.set {
			out = append(out, tool.name)
		}
	}
	return out
}

// compareOptions are an application's wishes for its comparison, each with
// what keeps it from being honoured.
func compareOptions(app *v1alpha1.Application) []string {
	var out []string
	for o := range strings.SplitSeq(app.Annotations[v1alpha1.AnnotationCompareOptions], ",") {
		o = strings.ReplaceAll(o, " ", "")
		switch o {
		case "", v1alpha1.CompareOptionServerSideDiff, v1alpha1.CompareOptionServerSideDiff + "=true",
			v1alpha1.CompareOptionIncludeMutationWebhook, v1alpha1.CompareOptionIncludeMutationWebhook + "=true",
			v1alpha1.CompareOptionIncludeMutationWebhook + "=false":
		case v1alpha1.CompareOptionServerSideDiff + "=false":
			out = append(out, fmt.Sprintf("%s %q (the server is always asked)", v1alpha1.AnnotationCompareOptions, o))
		default:
			out = append(out, fmt.Sprintf("%s %q of an application", v1alpha1.AnnotationCompareOptions, o))
		}
	}
	return out
}

// CountsWebhooks reports whether the application asks for what webhooks would
// make of its manifests to count.
func CountsWebhooks(app *v1alpha1.Application) bool {
	options := app.Annotations[v1alpha1.AnnotationCompareOptions]
	return object.Option(options, v1alpha1.CompareOptionIncludeMutationWebhook) == v1alpha1.SyncOptionValueTrue
}

func notHonoured(app *v1alpha1.Application) []string {
	out := compareOptions(app)
	if app.Spec.SourceHydrator != nil {
		out = append(out, "spec.sourceHydrator")
	}
	for _, o := range OptionsOf(app).strange() {
		out = append(out, fmt.Sprintf("spec.syncPolicy.syncOptions %q", o))
	}
	return out
}

// Namespace is the destination namespace, if the options ask for it to be made.
func (o Options) Namespace(app *v1alpha1.Application) string {
	if !o.has(v1alpha1.SyncOptionCreateNamespace) {
		return ""
	}
	return app.Spec.Destination.Namespace
}

// Approved reports whether a person approved deletions after a time.
func Approved(app *v1alpha1.Application, after time.Time) bool {
	at, err := time.Parse(time.RFC3339, app.Annotations[v1alpha1.AnnotationDeletionApproved])
	return err == nil && !at.Before(after)
}

// Respects reports whether the application asks for ignored fields to be left
// alone by a sync.
func Respects(app *v1alpha1.Application) bool {
	return OptionsOf(app).has(v1alpha1.SyncOptionRespectIgnoreDifferences)
}

// AutomationOf reads an application's wish to be synced by itself.
func AutomationOf(app *v1alpha1.Application) Automation {
	if !app.Spec.SyncPolicy.AutomatedEnabled() {
		return Automation{}
	}
	a := app.Spec.SyncPolicy.Automated
	on := func(b *bool) bool { return b != nil && *b }
	return Automation{Enabled: true, Prune: on(a.Prune), SelfHeal: on(a.SelfHeal), AllowEmpty: on(a.AllowEmpty)}
}
