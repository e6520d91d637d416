package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/status"
)

// Key names an application.
type Key struct{ Namespace, Name string }

func (k Key) String() string { return k.Namespace + "/" + k.Name }

// Row is what the catalog keeps of an application. It is shared and not
// changed: an application that changes gets another.
type Row struct {
	Key     Key
	Project string
	// JSON is an Application with the fields that a list shows, and nothing that
	// must not be shown.
	JSON []byte
	// Version is the resource version, zero if it is no number.
	Version uint64
	Labels  map[string]string
	// Repos are the sources without logins, each once.
	Repos []string

	cluster, target         string
	health, sync, operation string
	auto                    string
	created, synced         int64
}

// What a row has bounds, whatever its application has.
const (
	maxSources    = 8
	maxLabels     = 40
	maxConditions = 8
)

// The words for what an application does not have.
const (
	unknown  = "Unknown"
	none     = "None"
	deleting = "Deleting"
)

// line is a row in JSON: the same names as an Application has, and few of them.
type line struct {
	Metadata lineMeta   `json:"metadata"`
	Spec     lineSpec   `json:"spec"`
	Status   lineStatus `json:"status"`
}

type lineMeta struct {
	Name      string            `json:"name"`
	Namespace string            `json:"namespace"`
	UID       string            `json:"uid,omitempty"`
	Created   *metav1.Time      `json:"creationTimestamp,omitempty"`
	Deleted   *metav1.Time      `json:"deletionTimestamp,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
}

type lineSpec struct {
	Project     string          `json:"project"`
	Destination lineDestination `json:"destination"`
	Source      *lineSource     `json:"source,omitempty"`
	Sources     []lineSource    `json:"sources,omitempty"`
	SyncPolicy  *linePolicy     `json:"syncPolicy,omitempty"`
}

type lineDestination struct {
	Server    string `json:"server,omitempty"`
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

type lineSource struct {
	RepoURL        string `json:"repoURL"`
	Path           string `json:"path,omitempty"`
	Chart          string `json:"chart,omitempty"`
	TargetRevision string `json:"targetRevision,omitempty"`
}

type linePolicy struct {
	Automated lineAutomated `json:"automated"`
}

type lineAutomated struct {
	Prune    *bool `json:"prune,omitempty"`
	SelfHeal *bool `json:"selfHeal,omitempty"`
	Enabled  *bool `json:"enabled,omitempty"`
}

type lineStatus struct {
	Sync       lineSync        `json:"sync"`
	Health     lineHealth      `json:"health"`
	Operation  *lineOperation  `json:"operationState,omitempty"`
	Conditions []lineCondition `json:"conditions,omitempty"`
	Summary    *lineSummary    `json:"summary,omitempty"`
}

type lineSync struct {
	Status    string   `json:"status,omitempty"`
	Revision  string   `json:"revision,omitempty"`
	Revisions []string `json:"revisions,omitempty"`
}

type lineHealth struct {
	Status string `json:"status,omitempty"`
}

type lineOperation struct {
	Phase    string       `json:"phase"`
	Started  *metav1.Time `json:"startedAt,omitempty"`
	Finished *metav1.Time `json:"finishedAt,omitempty"`
}

type lineCondition struct {
	Type string `json:"type"`
}

// lineSummary also counts the objects, which Argo CD's has not: maps of a fleet are drawn by it.
type lineSummary struct {
	IsAppOfApps bool `json:"isAppOfApps"`
	Resources   int  `json:"resources,omitempty"`
}

// rowOf takes from an application what is kept.
func (c *Catalog) rowOf(app *v1alpha1.Application) (*Row, error) {
	r := &Row{
		Key:       Key{Namespace: app.Namespace, Name: app.Name},
		Project:   app.ProjectName(),
		Labels:    app.Labels,
		cluster:   c.cluster(app.Spec.Destination),
		target:    cmp.Or(app.Spec.Destination.Namespace, none),
		health:    known(string(app.Status.Health.Status), healths),
		sync:      known(string(app.Status.Sync.Status), syncs),
		operation: operationOf(app),
		auto:      strconv.FormatBool(app.Spec.SyncPolicy.AutomatedEnabled()),
		created:   app.CreationTimestamp.Unix(),
		synced:    syncedAt(app),
	}
	r.Version, _ = strconv.ParseUint(app.ResourceVersion, 10, 64)
	l := lineOf(app)
	for _, s := range l.Spec.all() {
		if s.RepoURL != "" && !slices.Contains(r.Repos, s.RepoURL) {
			r.Repos = append(r.Repos, s.RepoURL)
		}
	}
	data, err := json.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("encoding application %s: %w", r.Key, err)
	}
	r.JSON = data
	return r, nil
}

func lineOf(app *v1alpha1.Application) line {
	l := line{
		Metadata: lineMeta{
			Name: app.Name, Namespace: app.Namespace, UID: string(app.UID),
			Deleted: app.DeletionTimestamp, Labels: someLabels(app.Labels),
		},
		Spec: lineSpec{Project: app.ProjectName(), Destination: lineDestination{
			Server: PlainURL(app.Spec.Destination.Server), Name: app.Spec.Destination.Name, Namespace: app.Spec.Destination.Namespace,
		}},
		Status: lineStatus{
			Sync: lineSync{
				Status: string(app.Status.Sync.Status), Revision: app.Status.Sync.Revision,
				Revisions: first(app.Status.Sync.Revisions, maxSources),
			},
			Health: lineHealth{Status: string(app.Status.Health.Status)},
		},
	}
	if !app.CreationTimestamp.IsZero() {
		l.Metadata.Created = &app.CreationTimestamp
	}
	sources(app, &l.Spec)
	if p := app.Spec.SyncPolicy; p != nil && p.Automated != nil {
		l.Spec.SyncPolicy = &linePolicy{Automated: lineAutomated{
			Prune: p.Automated.Prune, SelfHeal: p.Automated.SelfHeal, Enabled: p.Automated.Enabled,
		}}
	}
	if o := app.Status.OperationState; o != nil {
		l.Status.Operation = &lineOperation{Phase: string(o.Phase), Finished: o.FinishedAt}
		if !o.StartedAt.IsZero() {
			l.Status.Operation.Started = &o.StartedAt
		}
	}
	for _, condition := range first(app.Status.Conditions, maxConditions) {
		l.Status.Conditions = append(l.Status.Conditions, lineCondition{Type: string(condition.Type)})
	}
	if _, n := status.Listed(app.Status); n > 0 || app.Status.Summary.IsAppOfApps {
		l.Status.Summary = &lineSummary{IsAppOfApps: app.Status.Summary.IsAppOfApps, Resources: n}
	}
	return l
}

func sources(app *v1alpha1.Application, into *lineSpec) {
	if h := app.Spec.SourceHydrator; h != nil {
		dry := h.DrySource
		into.Source = &lineSource{RepoURL: PlainURL(dry.RepoURL), Path: dry.Path, TargetRevision: dry.TargetRevision}
		return
	}
	for _, s := range first(app.Spec.Sources, maxSources) {
		into.Sources = append(into.Sources, sourceOf(s))
	}
	if s := app.Spec.Source; s != nil && len(into.Sources) == 0 {
		one := sourceOf(*s)
		into.Source = &one
	}
}

func sourceOf(s v1alpha1.ApplicationSource) lineSource {
	return lineSource{RepoURL: PlainURL(s.RepoURL), Path: s.Path, Chart: s.Chart, TargetRevision: s.TargetRevision}
}

func (s lineSpec) all() []lineSource {
	if s.Source != nil {
		return []lineSource{*s.Source}
	}
	return s.Sources
}

var login = regexp.MustCompile(`://[^/\s'"]*@`)

// PlainURL is an address without the login and the query in it: neither may be
// shown, nor be guessed by searching for it.
func PlainURL(raw string) string {
	raw, _, _ = strings.Cut(raw, "?")
	if !strings.Contains(raw, "@") {
		return raw
	}
	return login.ReplaceAllString(raw, "://")
}

// BareRepo is the address of a repository without what does not tell two apart.
func BareRepo(raw string) string {
	return strings.TrimSuffix(strings.TrimRight(PlainURL(raw), "/"), ".git")
}

// someLabels are the labels to show.
func someLabels(labels map[string]string) map[string]string {
	if len(labels) <= maxLabels {
		return labels
	}
	some := make(map[string]string, maxLabels)
	for _, key := range slices.Sorted(maps.Keys(labels))[:maxLabels] {
		some[key] = labels[key]
	}
	return some
}

func first[T any](list []T, n int) []T { return list[:min(n, len(list))] }

// healths and syncs are what can be said of applications, best first.
var (
	healths = []string{
		string(v1alpha1.HealthStatusHealthy), string(v1alpha1.HealthStatusSuspended), string(v1alpha1.HealthStatusProgressing),
		string(v1alpha1.HealthStatusMissing), string(v1alpha1.HealthStatusDegraded), unknown,
	}
	syncs  = []string{string(v1alpha1.SyncStatusCodeSynced), string(v1alpha1.SyncStatusCodeOutOfSync), unknown}
	phases = []string{
		none, string(v1alpha1.OperationRunning), string(v1alpha1.OperationTerminating), string(v1alpha1.OperationFailed),
		string(v1alpha1.OperationError), string(v1alpha1.OperationSucceeded), deleting, unknown,
	}
)

// known is a word of a list, or Unknown: whoever writes a status cannot make us
// keep words without end.
func known(word string, of []string) string {
	if slices.Contains(of, word) {
		return word
	}
	return unknown
}

func operationOf(app *v1alpha1.Application) string {
	switch {
	case app.DeletionTimestamp != nil:
		return deleting
	case app.Operation != nil:
		return string(v1alpha1.OperationRunning)
	case app.Status.OperationState == nil:
		return none
	}
	return known(string(app.Status.OperationState.Phase), phases)
}

// syncedAt is when the last operation ended, or began if it runs; zero without
// one.
func syncedAt(app *v1alpha1.Application) int64 {
	state := app.Status.OperationState
	if state == nil {
		return time.Time{}.Unix()
	}
	if state.FinishedAt != nil {
		return state.FinishedAt.Unix()
	}
	return state.StartedAt.Unix()
}
