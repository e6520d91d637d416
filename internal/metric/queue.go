package metric

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// queues are the metrics of work queues, under the names that every
// Kubernetes controller has them by.
type queues struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	latency, work              *prometheus.HistogramVec
}

func newQueues(c *catalogue) *queues {
	buckets := prometheus.ExponentialBuckets(1e-6, 10, 10)
	return &queues{
		depth: c.gauge("workqueue_depth",
			"Number of items that wait: app_reconciliation_queue, project_reconciliation_queue and the sets'.", "name"),
		unfinished: c.gauge("workqueue_unfinished_work_seconds", "Seconds of work that is under way, over all workers.", "name"),
		longest:    c.gauge("workqueue_longest_running_processor_seconds", "Seconds that the slowest worker has been at its item.", "name"),
		adds:       c.counter("workqueue_adds_total", "Number of items that were added.", "name"),
		retries:    c.counter("workqueue_retries_total", "Number of items that were added to be done later or again.", "name"),
		latency:    c.histogram("workqueue_queue_duration_seconds", "Seconds that items waited.", buckets, "name"),
		work:       c.histogram("workqueue_work_duration_seconds", "Seconds that items took.", buckets, "name"),
	}
}

// Queues gives work queues their metrics.
func (m *Metrics) Queues() workqueue.MetricsProvider { return m.queues }

// Restart forgets how full the queues were: those that come next are empty.
func (m *Metrics) Restart() {
	m.queues.depth.Reset()
	m.queues.unfinished.Reset()
	m.queues.longest.Reset()
}

// NewDepthMetric is how many items wait.
func (q *queues) NewDepthMetric(name string) workqueue.GaugeMetric {
	return q.depth.WithLabelValues(name)
}

// NewAddsMetric is how many items were added.
func (q *queues) NewAddsMetric(name string) workqueue.CounterMetric {
	return q.adds.WithLabelValues(name)
}

// NewLatencyMetric is how long items waited.
func (q *queues) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return q.latency.WithLabelValues(name)
}

// NewWorkDurationMetric is how long items took.
func (q *queues) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return q.work.WithLabelValues(name)
}

// NewUnfinishedWorkSecondsMetric is how much work is under way.
func (q *queues) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return q.unfinished.WithLabelValues(name)
}

// NewLongestRunningProcessorSecondsMetric is how long the slowest item takes.
func (q *queues) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return q.longest.WithLabelValues(name)
}

// NewRetriesMetric is how many items came again.
func (q *queues) NewRetriesMetric(name string) workqueue.CounterMetric {
	return q.retries.WithLabelValues(name)
}
