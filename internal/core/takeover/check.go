package takeover

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/lint"
	"github.com/towline-cd/towline/internal/core/plan"
)

// Place is a repository or cluster, and what of its secret is not used.
type Place struct {
	Name     string   `json:"name"`
	Problems []string `json:"problems,omitempty"`
}

// Autoscaled is a workload that an autoscaler changes, while somebody who
// deploys it has its replicas in the manifest.
type Autoscaled struct {
	Kind, Namespace, Name string
	By                    string
}

// Installation is all that is known of an Argo CD.
type Installation struct {
	Namespace    string
	Workloads    []Workload
	Applications []*v1alpha1.Application
	// Objects are the texts of all Applications, ApplicationSets, AppProjects and config maps.
	Objects []lint.File
	// Settings reads argocd-cm, as in package lint.
	Settings func(data map[string]string) (problems, notHonoured []string)
	// Unread are the keys of argocd-cmd-params-cm that are not honoured.
	Repositories, Clusters []Place
	Autoscaled             []Autoscaled
	// Differences are verdicts that were compared, by Application; nil where that was not done. Failed are Applications that
	// could not be looked at, with the reason.
	Differences map[string][]Difference
	Failed      map[string]string
}

// Self is an Application that deploys Argo CD itself.
type Self struct {
	Application string   `json:"application"`
	Workloads   []string `json:"workloads"`
	// Harmless is that it does not set the replicas back.
	Harmless bool `json:"harmless"`
	// Change is what to write in its source.
	Change string `json:"change"`
}

// Subject is what was found about one Application, or another object.
type Subject struct {
	Name        string         `json:"name"`
	Findings    []lint.Finding `json:"findings,omitempty"`
	Differences []Difference   `json:"differences,omitempty"`
	// Failed is why its verdict was not compared.
	Failed string `json:"failed,omitempty"`
}

// Verdict is the answer of a check.
type Verdict struct {
	Version string `json:"version,omitempty"`
	// Applications is how many there are, and Compared how many of them Towline looked at.
	Applications int       `json:"applications"`
	Compared     int       `json:"compared"`
	Subjects     []Subject `json:"subjects,omitempty"`
	Self         []Self    `json:"self,omitempty"`
	// Obstacles keep a takeover from being safe, and Notes are to be known.
	Obstacles []string `json:"obstacles,omitempty"`
	Notes     []string `json:"notes,omitempty"`
}

// Check says what a takeover would mean.
func Check(in Installation) Verdict {
	out := Verdict{Applications: len(in.Applications), Compared: len(in.Differences)}
	report := lint.Look(lint.Input{Files: in.Objects, Live: true, Settings: in.Settings})
	found := map[string][]lint.Finding{}
	for _, f := range report.Findings {
		found[f.Object] = append(found[f.Object], f)
	}
	for _, app := range in.Applications {
		name := v1alpha1.ApplicationKind + " " + app.Namespace + "/" + app.Name
		found[name] = append(found[name], conditions(app)...)
		found[name] = append(found[name], autoscaled(app, in.Autoscaled)...)
		if s, ok := self(app, in.Workloads); ok {
			out.Self = append(out.Self, s)
		}
	}
	for _, places := range [][]Place{in.Repositories, in.Clusters} {
		for _, p := range places {
			for _, problem := range p.Problems {
				found[p.Name] = append(found[p.Name], lint.Finding{
					Check: "not-honoured", Severity: lint.Warning, Object: p.Name,
					Message: problem, Fix: "know that nothing comes of it here",
				})
			}
		}
	}
	out.Subjects = subjects(in, found)
	for _, w := range in.Workloads {
		if w.Component() == Applications && out.Version == "" {
			_, out.Version, _ = strings.Cut(lastSegment(w.Image), ":")
		}
	}
	out.Obstacles = Take(in.Workloads).Obstacles
	for _, s := range out.Self {
		if !s.Harmless {
			out.Obstacles = append(out.Obstacles,
				fmt.Sprintf("Application %s deploys Argo CD itself and would start it again; change its source first", s.Application))
		}
	}
	out.Notes = append(out.Notes, Take(in.Workloads).Notes...)
	return out
}

func lastSegment(image string) string { return image[strings.LastIndex(image, "/")+1:] }

// subjects are all that something was found about, those with differences too.
func subjects(in Installation, found map[string][]lint.Finding) []Subject {
	all := map[string]*Subject{}
	at := func(name string) *Subject {
		if all[name] == nil {
			all[name] = &Subject{Name: name}
		}
		return all[name]
	}
	for name, findings := range found {
		if len(findings) > 0 {
			at(name).Findings = findings
		}
	}
	for app, differences := range in.Differences {
		if len(differences) > 0 {
			at(v1alpha1.ApplicationKind + " " + app).Differences = differences
		}
	}
	for app, why := range in.Failed {
		at(v1alpha1.ApplicationKind + " " + app).Failed = why
	}
	var out []Subject
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, *all[name])
	}
	return out
}

// conditions are what Argo CD itself cannot do with an Application. Towline
// would not be able to either.
func conditions(app *v1alpha1.Application) []lint.Finding {
	var out []lint.Finding
	for _, c := range app.Status.Conditions {
		f := lint.Finding{
			Check: "invalid-spec", Severity: lint.Warning, Object: v1alpha1.ApplicationKind + " " + app.Namespace + "/" + app.Name,
			Message: "Argo CD cannot compare it: " + c.Message, Fix: "mend it before or after; a takeover does not change it",
		}
		switch {
		case c.Type == v1alpha1.ApplicationConditionComparisonError && strings.Contains(c.Message, "unable to resolve"):
			f.Check, f.Field, f.Fix = "target-revision", "spec.source.targetRevision", "name a branch or tag that the repository has"
			if len(app.Spec.Sources) > 0 {
				f.Field = "spec.sources"
			}
		case c.Type == v1alpha1.ApplicationConditionComparisonError, c.Type == v1alpha1.ApplicationConditionInvalidSpecError:
		case c.Type == v1alpha1.ApplicationConditionSyncError && strings.Contains(c.Message, "field is immutable"):
			f.Check, f.Message = "selector-changed", "the last sync was refused: "+c.Message
			f.Fix = "let the object be made anew, with the annotation " + v1alpha1.AnnotationSyncOptions +
				": Force=true,Replace=true in its manifest"
		default:
			continue
		}
		out = append(out, f)
	}
	return out
}

// autoscaled tells of replicas that two set.
func autoscaled(app *v1alpha1.Application, all []Autoscaled) []lint.Finding {
	p := app.Spec.SyncPolicy
	if !p.AutomatedEnabled() || p.Automated.SelfHeal == nil || !*p.Automated.SelfHeal {
		return nil
	}
	var out []lint.Finding
	for _, r := range app.Status.Resources {
		for _, a := range all {
			if a.Kind != r.Kind || a.Namespace != r.Namespace || a.Name != r.Name || lint.IgnoresReplicas(app, r.Kind) {
				continue
			}
			out = append(out, lint.Finding{
				Check: "replicas", Severity: lint.Warning, Object: v1alpha1.ApplicationKind + " " + app.Namespace + "/" + app.Name,
				Message: fmt.Sprintf("%s sets the replicas of %s %s/%s, and selfHeal sets them back", a.By, r.Kind, r.Namespace, r.Name),
				Fix:     "take spec.replicas out of the manifest, or name /spec/replicas in spec.ignoreDifferences",
			})
		}
	}
	return out
}

// self says whether an Application deploys the controllers of Argo CD, and what
// to change so that a takeover lasts.
func self(app *v1alpha1.Application, workloads []Workload) (Self, bool) {
	out := Self{Application: app.Namespace + "/" + app.Name}
	var names []string
	harmless := true
	for _, r := range app.Status.Resources {
		for _, w := range workloads {
			if w.Component() == "" || r.Kind != w.Kind || r.Name != w.Name || r.Namespace != w.Namespace {
				continue
			}
			out.Workloads = append(out.Workloads, w.String())
			names = append(names, w.Name)
			harmless = harmless && lint.IgnoresReplicas(app, w.Kind) && plan.Respects(app)
		}
	}
	if len(names) == 0 {
		return Self{}, false
	}
	slices.Sort(names)
	slices.Sort(out.Workloads)
	out.Harmless, out.Change = harmless, sourceChange(app, names)
	return out, true
}

// chartValues are what the values of Argo CD's Helm chart should say.
const chartValues = "controller:\n  replicas: 0\napplicationSet:\n  replicas: 0\nnotifications:\n  enabled: false\n"

// sourceChange is what to write so that Git wants no controllers of Argo CD.
func sourceChange(app *v1alpha1.Application, names []string) string {
	types := app.Status.SourceTypes
	if len(types) == 0 {
		types = []v1alpha1.SourceType{app.Status.SourceType}
	}
	var out strings.Builder
	for i, s := range app.Sources() {
		where := fmt.Sprintf("%s, %s", s.RepoURL, cmp.Or(s.Path, s.Chart, "."))
		switch {
		case s.Chart != "" || s.Helm != nil || i < len(types) && types[i] == v1alpha1.SourceTypeHelm:
			fmt.Fprintf(&out, "# values of %s\n%s", where, chartValues)
		case s.Ref != "" && s.Path == "":
			continue
		case s.Kustomize != nil || i < len(types) && types[i] == v1alpha1.SourceTypeKustomize:
			fmt.Fprintf(&out, "# kustomization.yaml of %s\nreplicas:\n", where)
			for _, n := range names {
				fmt.Fprintf(&out, "- name: %s\n  count: 0\n", n)
			}
		default:
			fmt.Fprintf(&out, "# manifests of %s: set spec.replicas: 0 in %s\n", where, strings.Join(names, ", "))
		}
	}
	return strings.TrimRight(out.String(), "\n")
}

// WritesReplicas says that whoever deploys an object has its replicas in the
// manifest: as managed fields tell, or the record of client-side apply.
func WritesReplicas(managed []metav1.ManagedFieldsEntry, lastApplied string) bool {
	var record struct {
		Spec struct {
			Replicas *int64 `json:"replicas"`
		} `json:"spec"`
	}
	if json.Unmarshal([]byte(lastApplied), &record) == nil && record.Spec.Replicas != nil {
		return true
	}
	return slices.ContainsFunc(managed, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == v1alpha1.FieldManagerApply && e.FieldsV1 != nil && strings.Contains(e.FieldsV1.String(), `"f:replicas"`)
	})
}
