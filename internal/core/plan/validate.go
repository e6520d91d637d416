package plan

import (
	"fmt"
	"slices"
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
	d := app.Spec.Destination
	switch {
	case d.Server == "" && d.Name == "":
		invalid("application %q has no destination; set spec.destination.server (%s is this cluster) or spec.destination.name",
			app.Name, v1alpha1.InClusterServer)
	case d.Server != "" && d.Name != "":
		invalid("application %q has both spec.destination.server and spec.destination.name; keep one", app.Name)
	}
	sources := app.Sources()
	switch {
	case len(sources) == 0:
		invalid("application %q has no source; set spec.source.repoURL and spec.source.path", app.Name)
	case sources[0].RepoURL == "":
		invalid("application %q has a source without a repository; set spec.source.repoURL", app.Name)
	case len(sources) == 1:
		for _, tool := range unsupportedSource(sources[0]) {
			invalid("application %q uses spec.source.%s, which this version does not render", app.Name, tool)
		}
		if sources[0].Path == "" && sources[0].Chart == "" {
			invalid("application %q has a source without a path; set spec.source.path (\".\" is the whole repository)", app.Name)
		}
	default:
		invalid("application %q has %d sources, and this version takes one; use spec.source", app.Name, len(sources))
	}
	for _, field := range notHonoured(app) {
		out = append(out, finding.Finding{
			Reason: finding.NotHonoured, Severity: finding.Warning,
			Message: fmt.Sprintf("%s is not honoured by this version", field),
		})
	}
	return finding.Sort(out)
}

func unsupportedSource(s v1alpha1.ApplicationSource) []string {
	var out []string
	for name, set := range map[string]bool{
		"chart": s.Chart != "", "helm": s.Helm != nil, "kustomize": s.Kustomize != nil, "plugin": s.Plugin != nil,
		"ref": s.Ref != "", "tagPrefix": s.TagPrefix != "",
		"directory.jsonnet": s.Directory != nil && usesJsonnet(s.Directory.Jsonnet),
	} {
		if set {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func usesJsonnet(j v1alpha1.ApplicationSourceJsonnet) bool {
	return len(j.ExtVars) > 0 || len(j.TLAs) > 0 || len(j.Libs) > 0
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
