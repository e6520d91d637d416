package settings

import (
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Metrics say what is told of applications to whoever scrapes.
type Metrics struct {
	// Labels are those that are shown, and Conditions the types that are; no
	// conditions are all of them.
	Labels, Conditions []string
}

// parseMetrics reads what argocd-cmd-params-cm says about metrics.
func parseMetrics(params map[string]string) Metrics {
	return Metrics{
		Labels:     words(params[v1alpha1.KeyParamMetricsLabels]),
		Conditions: words(params[v1alpha1.KeyParamMetricsConditions]),
	}
}

// words splits a list at its commas.
func words(list string) []string {
	var out []string
	for w := range strings.SplitSeq(list, ",") {
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}
