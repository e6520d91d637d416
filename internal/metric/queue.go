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

func newQueues(r prometheus.Registerer) *queues {
	name := []string{"name"}
	buckets := prometheus.ExponentialBuckets(1e-6, 10, 10)
	q := &queues{
		depth: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "workqueue_depth", Help: "Number of items that wait.",
		}, name),
		unfinished: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "workqueue_unfinished_work_seconds", Help: "Seconds of work that is under way, over all workers.",
		}, name),
		longest: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "workqueue_longest_running_processor_seconds", Help: "Seconds that the slowest worker has been at its item.",
		}, name),
		adds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "workqueue_adds_total", Help: "Number of items that were added.",
		}, name),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "workqueue_retries_total", Help: "Number of items that were added to be done later or again.",
		}, name),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "workqueue_queue_duration_seconds", Help: "Seconds that items waited.", Buckets: buckets,
		}, name),
		work: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "workqueue_work_duration_seconds", Help: "Seconds that items took.", Buckets: buckets,
		}, name),
	}
	r.MustRegister(q.depth, q.unfinished, q.longest, q.adds, q.retries, q.latency, q.work)
	return q
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
