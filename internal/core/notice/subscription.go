package notice

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// wanted is what is asked for: destinations by their triggers, and for each pair the key that asks.
type wanted map[string]map[Destination]string

func (w wanted) add(trigger, key string, to Destination) {
	if w[trigger] == nil {
		w[trigger] = map[Destination]string{}
	}
	if _, there := w[trigger][to]; !there {
		w[trigger][to] = key
	}
}

// Subscribes says whether annotations ask for any message.
func Subscribes(annotations map[string]string) bool {
	for key := range annotations {
		if strings.HasPrefix(key, v1alpha1.AnnotationNotifySubscribePrefix) ||
			strings.HasPrefix(key, v1alpha1.AnnotationNotifySubscribeYAML) || strings.HasSuffix(key, v1alpha1.AnnotationNotifyRecipients) {
			return true
		}
	}
	return false
}

// Universal says whether the configuration has subscriptions that applications need not ask for.
func (c *Config) Universal() bool { return len(c.subscriptions) > 0 }

// subscriptionsOf is what an application is subscribed to: by the configuration, by itself and by its project.
func (c *Config) subscriptionsOf(app *v1alpha1.Application, project map[string]string) (wanted, []Problem) {
	out := wanted{}
	for _, s := range c.subscriptions {
		if !s.selector.Matches(labels.Set(app.Labels)) {
			continue
		}
		triggers := s.triggers
		if len(triggers) == 0 {
			triggers = c.defaultTriggers
		}
		for _, trigger := range triggers {
			for _, to := range s.recipients {
				out.add(trigger, v1alpha1.KeyNotifySubscriptions, to)
			}
		}
	}
	problems := c.annotated(out, app.Annotations)
	return out, append(problems, c.annotated(out, project)...)
}

// annotated reads the annotations that subscribe.
func (c *Config) annotated(into wanted, annotations map[string]string) (problems []Problem) {
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		list, err := subscribing(key, annotations[key])
		if err != nil {
			problems = append(problems, Problem{key, "the annotation cannot be read: " + short(err)})
		}
		for _, a := range list {
			a.key = key
			c.subscribe(into, a)
		}
	}
	return problems
}

// subscribing reads one annotation.
func subscribing(key, value string) ([]asking, error) {
	if rest, ok := strings.CutPrefix(key, v1alpha1.AnnotationNotifySubscribePrefix); ok {
		trigger, service, two := strings.Cut(rest, ".")
		if !two {
			trigger, service = "", trigger
		}
		return []asking{{trigger: trigger, service: service, recipients: recipients(value)}}, nil
	}
	if strings.HasPrefix(key, v1alpha1.AnnotationNotifySubscribeYAML) {
		return listed(value)
	}
	trigger, old := strings.CutSuffix(key, v1alpha1.AnnotationNotifyRecipients)
	if !old {
		return nil, nil
	}
	var out []asking
	for text := range strings.SplitSeq(value, ",") {
		if to := destination(strings.TrimSpace(text)); to.Service != "" {
			out = append(out, asking{trigger: strings.TrimSuffix(trigger, "."), service: to.Service, recipients: []string{to.Recipient}})
		}
	}
	return out, nil
}

// listed reads subscriptions that are written as YAML.
func listed(text string) (out []asking, err error) {
	var list []struct {
		Trigger, Triggers []string
		Destinations      []struct {
			Service    string
			Recipients []string
		}
	}
	err = yaml.Unmarshal([]byte(text), &list)
	for _, entry := range list {
		for _, to := range entry.Destinations {
			for _, trigger := range append(entry.Trigger, entry.Triggers...) {
				out = append(out, asking{trigger: trigger, service: to.Service, recipients: to.Recipients})
			}
		}
	}
	return out, err
}

// asking is one subscription; without a trigger the default ones are meant.
type asking struct {
	key, trigger, service string
	recipients            []string
}

func (c *Config) subscribe(into wanted, a asking) {
	triggers := []string{a.trigger}
	if a.trigger == "" {
		var of bool
		if triggers, of = c.serviceTriggers[a.service]; !of {
			triggers = c.defaultTriggers
		}
	}
	for _, trigger := range triggers {
		for _, recipient := range a.recipients {
			into.add(trigger, a.key, Destination{Service: a.service, Recipient: recipient})
		}
	}
}

// recipients reads a list with semicolons. Nothing at all is one recipient without a name: some services have no other.
func recipients(text string) []string {
	if text == "" {
		return []string{""}
	}
	var out []string
	for name := range strings.SplitSeq(text, ";") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}
