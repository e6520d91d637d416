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
type apps struct{ Options }

var (
	infoDesc = prometheus.NewDesc("argocd_app_info", "Information about an application.",
		with(ofApp, "autosync_enabled", "repo", "dest_server", "dest_namespace", "sync_status", "health_status", "operation"), nil)
	conditionDesc = prometheus.NewDesc("argocd_app_condition", "Conditions of an application, by type.", with(ofApp, "condition"), nil)
)

// Describe tells nothing: the labels of argocd_app_labels may change while we
// run, so the collector is an unchecked one.
func (a *apps) Describe(chan<- *prometheus.Desc) {}

// Collect tells of every application.
func (a *apps) Collect(ch chan<- prometheus.Metric) {
	labels, conditions := a.Labels(), a.Conditions()
	desc := labelsDesc(labels)
	for _, app := range a.Apps() {
		ch <- a.info(app)
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
			ch <- gauge(conditionDesc, n, with(name, t)...)
		}
	}
}

func (a *apps) info(app *v1alpha1.Application) prometheus.Metric {
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
	return gauge(infoDesc, 1, app.Namespace, app.Name, app.ProjectName(),
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

var notInLabels = regexp.MustCompile(`[^a-zA-Z0-9_]`)

func labelsDesc(labels []string) *prometheus.Desc {
	names := with(ofApp)
	for _, l := range labels {
		names = append(names, "label_"+notInLabels.ReplaceAllString(l, "_"))
	}
	return prometheus.NewDesc("argocd_app_labels", "Labels of an application.", names, nil)
}

func gauge(d *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

// clusters describes the destinations.
type clusters struct{ clusters func() []Cluster }

var (
	clusterInfoDesc = clusterDesc("argocd_cluster_info", "Information about a cluster.", "k8s_version", "name")
	connectionDesc  = clusterDesc("argocd_cluster_connection_status", "1 if a cluster answers.", "k8s_version")
	kindsDesc       = clusterDesc("argocd_cluster_api_resources", "Number of kinds that are watched.")
	objectsDesc     = clusterDesc("argocd_cluster_api_resource_objects", "Number of objects that are known.")
	cacheAgeDesc    = clusterDesc("argocd_cluster_cache_age_seconds", "Age of the first reading; watches keep it current.")
	clusterDescs    = []*prometheus.Desc{clusterInfoDesc, connectionDesc, kindsDesc, objectsDesc, cacheAgeDesc}
)

func clusterDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append([]string{"server"}, labels...), nil)
}

// Describe lists the metrics.
func (c *clusters) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range clusterDescs {
		ch <- d
	}
}

// Collect tells of every cluster.
func (c *clusters) Collect(ch chan<- prometheus.Metric) {
	for _, k := range c.clusters() {
		connected := 0.0
		if k.Connected {
			connected = 1
		}
		ch <- gauge(clusterInfoDesc, 1, k.Server, k.Version, k.Name)
		ch <- gauge(connectionDesc, connected, k.Server, k.Version)
		ch <- gauge(kindsDesc, float64(k.Kinds), k.Server)
		ch <- gauge(objectsDesc, float64(k.Objects), k.Server)
		ch <- gauge(cacheAgeDesc, k.Age.Seconds(), k.Server)
	}
}
