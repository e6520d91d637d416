package settings

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Metrics say what is told of applications to whoever scrapes.
type Metrics struct {
	// Labels are those that are shown, and Conditions the types that are; no
	// conditions are all of them.
	Labels, Conditions []string
	// SetLabels are those of ApplicationSets.
	SetLabels []string
}

// parseMetrics reads what argocd-cmd-params-cm says about metrics.
func parseMetrics(params map[string]string) Metrics {
	return Metrics{
		Labels:     words(params[v1alpha1.KeyParamMetricsLabels]),
		Conditions: words(params[v1alpha1.KeyParamMetricsConditions]),
		SetLabels:  words(params[v1alpha1.KeyParamMetricsSetLabels]),
	}
}

// Logging is how the process log is written, for those who say nothing else by a flag.
type Logging struct{ Format, Level string }

// Tracing is where traces go; no address is nowhere.
type Tracing struct {
	Address string
	// Secure is that the collector speaks TLS; Argo CD's default is that it does not.
	Secure              bool
	Headers, Attributes map[string]string
}

// parseLogging reads what argocd-cmd-params-cm says about the log: of the controller, and else of the server.
func parseLogging(params map[string]string) Logging {
	return Logging{
		Format: cmp.Or(params[v1alpha1.KeyParamLogFormat], params[v1alpha1.KeyParamServerLogFormat]),
		Level:  cmp.Or(params[v1alpha1.KeyParamLogLevel], params[v1alpha1.KeyParamServerLogLevel]),
	}
}

// parseTracing reads what argocd-cmd-params-cm says about traces.
func parseTracing(params map[string]string) Tracing {
	insecure, err := strconv.ParseBool(params[v1alpha1.KeyParamOTLPInsecure])
	return Tracing{
		Address:    params[v1alpha1.KeyParamOTLPAddress],
		Secure:     err == nil && !insecure,
		Headers:    assignments(params[v1alpha1.KeyParamOTLPHeaders], "="),
		Attributes: assignments(params[v1alpha1.KeyParamOTLPAttributes], ":"),
	}
}

// assignments reads a list of names and values.
func assignments(list, between string) map[string]string {
	var out map[string]string
	for _, w := range words(list) {
		if k, v, ok := strings.Cut(w, between); ok {
			if out == nil {
				out = map[string]string{}
			}
			out[strings.TrimSpace(k)] = strings.TrimSpace(v)
		}
	}
	return out
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
