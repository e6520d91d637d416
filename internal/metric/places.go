package metric

import (
	"cmp"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// clusters describes the destinations, at each scrape.
type clusters struct {
	Options
	info, connection, kinds, objects, age, lag, oldest, waiting *prometheus.Desc
}

func newClusters(c *catalogue, o Options) *clusters {
	return &clusters{
		Options:    o,
		info:       c.tell("argocd_cluster_info", "1 for each cluster that somebody deploys to.", "server", "k8s_version", "name"),
		connection: c.tell("argocd_cluster_connection_status", "1 if a cluster answers.", "server", "k8s_version"),
		kinds:      c.tell("argocd_cluster_api_resources", "Number of kinds that are watched.", "server"),
		objects:    c.tell("argocd_cluster_api_resource_objects", "Number of objects in the index of a cluster.", "server"),
		age:        c.tell("argocd_cluster_cache_age_seconds", "Age of the first reading; watches keep it current.", "server"),
		lag:        c.tell("towline_cluster_index_lag_seconds", "How late the watches told of a write of ours, the last time.", "server"),
		oldest: c.tell("towline_queue_oldest_seconds",
			"How long the application that came first has waited to be looked at.", "server"),
		waiting: c.tell("towline_queue_waiting", "Number of applications that wait to be looked at.", "server"),
	}
}

// Describe lists the metrics.
func (c *clusters) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.info, c.connection, c.kinds, c.objects, c.age, c.lag, c.oldest, c.waiting} {
		ch <- d
	}
}

// Collect tells of every cluster.
func (c *clusters) Collect(ch chan<- prometheus.Metric) {
	for _, k := range c.Clusters() {
		connected := 0.0
		if k.Connected {
			connected = 1
		}
		ch <- gauge(c.info, 1, k.Server, k.Version, k.Name)
		ch <- gauge(c.connection, connected, k.Server, k.Version)
		ch <- gauge(c.kinds, float64(k.Kinds), k.Server)
		ch <- gauge(c.objects, float64(k.Objects), k.Server)
		ch <- gauge(c.age, k.Age.Seconds(), k.Server)
		ch <- gauge(c.lag, k.Lag.Seconds(), k.Server)
		ch <- gauge(c.oldest, k.Oldest.Seconds(), k.Server)
		ch <- gauge(c.waiting, float64(k.Waiting), k.Server)
	}
}

// sets describes the ApplicationSets, at each scrape.
type sets struct {
	Options
	info, owned *prometheus.Desc
}

var ofSet = []string{"namespace", "name"}

func newSets(c *catalogue, o Options) *sets {
	c.note("argocd_appset_labels",
		"gauge", "Labels of an ApplicationSet: those in applicationsetcontroller.metrics.applicationset.labels of "+
			"argocd-cmd-params-cm.", with(ofSet, "label_…"))
	return &sets{
		Options: o,
		info: c.tell("argocd_appset_info",
			"1 for each ApplicationSet; the status is that of its condition ResourcesUpToDate.", with(ofSet, "resource_update_status")...),
		owned: c.tell("argocd_appset_owned_applications", "Number of applications that an ApplicationSet has.", ofSet...),
	}
}

// Describe tells nothing: the labels of argocd_appset_labels may change while we run.
func (s *sets) Describe(chan<- *prometheus.Desc) {}

// Collect tells of every ApplicationSet.
func (s *sets) Collect(ch chan<- prometheus.Metric) {
	labels := s.SetLabels()
	desc := labelsDesc("argocd_appset_labels", ofSet, labels)
	for _, set := range s.Sets() {
		ch <- gauge(s.info, 1, set.Namespace, set.Name, upToDate(set))
		ch <- gauge(s.owned, float64(s.Owned(set)), set.Namespace, set.Name)
		if len(labels) > 0 {
			values := []string{set.Namespace, set.Name}
			for _, l := range labels {
				values = append(values, set.Labels[l])
			}
			ch <- gauge(desc, 1, values...)
		}
	}
}

// upToDate is the reason of the condition that says whether the applications of a set are what it asks for.
func upToDate(set *v1alpha1.ApplicationSet) string {
	for _, c := range set.Status.Conditions {
		if c.Type == v1alpha1.ApplicationSetConditionResourcesUpToDate {
			return cmp.Or(c.Reason, "Unknown")
		}
	}
	return "Unknown"
}
