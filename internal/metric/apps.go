package metric

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// apps describes the applications as they are at the moment of a scrape: no
// event costs anything, and what is gone is gone from the next scrape on.
type apps struct {
	Options
	info, condition, orphans *prometheus.Desc
}

func newApps(c *catalogue, o Options) *apps {
	c.note("argocd_app_labels",
		"gauge", "Labels of an application: those in controller.metrics.application.labels of argocd-cmd-params-cm, "+
			"which may change while it runs.", with(ofApp, "label_…"))
	return &apps{
		Options: o,
		info: c.tell("argocd_app_info", "1 for each application, with how it is.", with(ofApp, "autosync_enabled", "repo", "dest_server",
			"dest_namespace", "sync_status", "health_status", "operation")...),
		condition: c.tell("argocd_app_condition",
			"Conditions of an application, by type: those in controller.metrics.application.conditions of "+
				"argocd-cmd-params-cm; without it all that there are.", with(ofApp, "condition")...),
		orphans: c.tell("argocd_app_orphaned_resources_count",
			"Number of objects in an application's namespace that nobody has, where its project "+
				"asks for that and there are any.", ofApp...),
	}
}

// Describe tells nothing: the labels of argocd_app_labels may change while we
// run, so the collector is an unchecked one.
func (a *apps) Describe(chan<- *prometheus.Desc) {}

// Collect tells of every application.
func (a *apps) Collect(ch chan<- prometheus.Metric) {
	labels, conditions := a.Labels(), a.Conditions()
	desc := labelsDesc("argocd_app_labels", ofApp, labels)
	for _, app := range a.Apps() {
		ch <- a.infoOf(app)
		name := []string{app.Namespace, app.Name, app.ProjectName()}
		if len(labels) > 0 {
			values := name
			for _, l := range labels {
				values = append(values, app.Labels[l])
			}
			ch <- gauge(desc, 1, values...)
		}
		types := map[string]float64{}
		for _, c := range app.Status.Conditions {
			if t := string(c.Type); len(conditions) == 0 || slices.Contains(conditions, t) {
				types[t]++
			}
		}
		for t, n := range types {
			ch <- gauge(a.condition, n, with(name, t)...)
		}
		if n := orphaned(app); n > 0 {
			ch <- gauge(a.orphans, n, name...)
		}
	}
}

func (a *apps) infoOf(app *v1alpha1.Application) prometheus.Metric {
	operation, repo := "", ""
	switch {
	case app.DeletionTimestamp != nil:
		operation = "delete"
	case app.Operation != nil && app.Operation.Sync != nil:
		operation = "sync"
	}
	if sources := app.Sources(); len(sources) > 0 {
		repo = address(sources[0].RepoURL)
	}
	return gauge(a.info, 1, app.Namespace, app.Name, app.ProjectName(),
		strconv.FormatBool(app.Spec.SyncPolicy.AutomatedEnabled()), repo,
		a.Server(app.Spec.Destination), app.Spec.Destination.Namespace,
		cmp.Or(string(app.Status.Sync.Status), string(v1alpha1.SyncStatusCodeUnknown)),
		cmp.Or(string(app.Status.Health.Status), string(v1alpha1.HealthStatusUnknown)), operation)
}

// address is a repository in one spelling, without the login that it may have.
func address(repo string) string {
	repo = strings.ToLower(strings.TrimSpace(repo))
	if u, err := url.Parse(repo); err == nil && u.Host != "" {
		u.User = nil
		repo = u.String()
	}
	return strings.TrimSuffix(repo, ".git")
}

// orphaned is how many objects the warning of an application is about: the number is in its words.
func orphaned(app *v1alpha1.Application) float64 {
	for _, c := range app.Status.Conditions {
		if c.Type == v1alpha1.ApplicationConditionOrphanedResourceWarning {
			for word := range strings.FieldsSeq(c.Message) {
				if n, err := strconv.Atoi(word); err == nil {
					return float64(n)
				}
			}
			return 1
		}
	}
	return 0
}

var notInLabels = regexp.MustCompile(`[^a-zA-Z0-9_]`)

func labelsDesc(name string, of, labels []string) *prometheus.Desc {
	names := with(of)
	for _, l := range labels {
		names = append(names, "label_"+notInLabels.ReplaceAllString(l, "_"))
	}
	return prometheus.NewDesc(name, "Labels, as the settings choose them.", names, nil)
}

func gauge(d *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}
