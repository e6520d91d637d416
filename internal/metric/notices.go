package metric

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Notices counts messages and the triggers that they come from.
type Notices struct{ deliveries, runs *prometheus.CounterVec }

// Notices makes these counters. It is called once.
func (m *Metrics) Notices() *Notices {
	return &Notices{
		deliveries: m.counter("argocd_notifications_deliveries_total",
			"Number of notifications that were handed to a service, or refused by it.", "trigger", "service", "succeeded"),
		runs: m.counter("argocd_notifications_trigger_eval_total",
			"Number of times that a condition of a trigger was looked at.", "name", "triggered"),
	}
}

// Sent counts a message.
func (n *Notices) Sent(trigger, service string, succeeded bool) {
	n.deliveries.WithLabelValues(trigger, service, strconv.FormatBool(succeeded)).Inc()
}

// Ran counts a look at a condition.
func (n *Notices) Ran(trigger string, held bool) {
	n.runs.WithLabelValues(trigger, strconv.FormatBool(held)).Inc()
}
