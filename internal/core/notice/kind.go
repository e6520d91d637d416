package notice

import (
	"maps"
	"slices"
)

// kind is what is known of a type of service.
type kind struct {
	// missing says why there is none here, and what to take in its place; empty is that there is one.
	missing string
	// knows says that the service, or the one that it speaks to, drops a message that it has had before.
	knows bool
}

const byWebhook = "a service of type webhook can call whatever speaks HTTP"

// kinds are the types of services that Argo CD knows.
var kinds = map[string]kind{
	"alertmanager":    {knows: true},
	"email":           {},
	"github":          {knows: true},
	"googlechat":      {},
	"grafana":         {},
	"mattermost":      {},
	"newrelic":        {},
	"opsgenie":        {knows: true},
	"pagerduty":       {knows: true},
	"pagerdutyv2":     {knows: true},
	"pushover":        {},
	"rocketchat":      {},
	"slack":           {},
	"teams":           {},
	"teams-workflows": {},
	"telegram":        {},
	"webex":           {},
	"webhook":         {},
	"awssqs":          {missing: "an HTTP endpoint of Amazon API Gateway in front of the queue can be called by one of type webhook"},
	"gcppubsub":       {missing: "the REST API of Pub/Sub can be called by one of type webhook"},
	"kafka":           {missing: byWebhook + ", such as a Kafka REST proxy"},
	"nats":            {missing: byWebhook},
	"datadog":         {missing: "the events API of Datadog can be called by one of type webhook"},
	"matrix":          {missing: byWebhook},
	"gitlab":          {missing: "the REST API of GitLab can be called by one of type webhook"},
}

// builtTypes are the types of services that there are.
func builtTypes() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(kinds)), func(name string) bool { return kinds[name].missing != "" })
}

// Types are the types of services that there are.
func Types() []string { return builtTypes() }

// Knows says that a service of a type drops a message that it has had before.
func Knows(kind string) bool { return kinds[kind].knows }
