// Package notice decides which messages an application is worth, to whom, and what they say: argocd-notifications-cm into
// triggers, templates and subscriptions that are compiled once, and an application with the record of what was told into
// the messages that are due. It must not send anything: what is due is data, and so is the record that is to be written.
package notice

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/secret"
)

// Source is what a configuration is read from.
type Source struct {
	// Namespace is where the config map lives; Own says that it is not the control namespace, but that of applications,
	// whose configuration counts for them alone.
	Namespace string
	Own       bool
	// Data is the config map's, and Secrets what $key in a service stands for.
	Data    map[string]string
	Secrets map[string][]byte
	// HideSecrets keeps the secrets from templates and triggers: where people bring configurations of their own, the values
	// are for the services alone.
	HideSecrets bool
}

// Config is a configuration, ready for use. It does not change.
type Config struct {
	Namespace string
	Own       bool
	// Version tells one configuration from another.
	Version   string
	Triggers  map[string]*Trigger
	Templates map[string]*Template
	Services  map[string]Service
	// Problems are what of it cannot be used, each with its key and the way out.
	Problems []Problem

	subscriptions   []subscription
	defaultTriggers []string
	serviceTriggers map[string][]string
	context         map[string]string
	secrets         map[string][]byte
}

// Service is one that messages go through.
type Service struct {
	// Name is what subscriptions call it, and Type what it is.
	Name, Type string
	// Options are how it is reached, as JSON, with the values of the secrets in it.
	Options secret.Text
}

// Problem is something that cannot be followed: the key of the config map or the annotation that it is about, and what to
// do about it.
type Problem struct{ Key, Message string }

func (p Problem) String() string { return p.Key + ": " + p.Message }

// subscription is one that applications have without asking for it.
type subscription struct {
	recipients []Destination
	triggers   []string
	selector   labels.Selector
}

// Destination is who gets a message.
type Destination struct{ Service, Recipient string }

// Parse reads a configuration. What makes no sense is a problem by name, and the rest stands.
func Parse(s Source) *Config {
	c := &Config{
		Namespace: s.Namespace, Own: s.Own, Version: version(s),
		Triggers: map[string]*Trigger{}, Templates: map[string]*Template{}, Services: map[string]Service{},
		serviceTriggers: map[string][]string{}, context: map[string]string{},
	}
	if !s.HideSecrets {
		c.secrets = s.Secrets
	}
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		c.read(key, s.Data[key], s.Secrets)
	}
	if len(s.Secrets["notifiers.yaml"]) > 0 {
		c.complain("notifiers.yaml", "this key of the secret is of the time before Argo CD 2.0 and is not read; "+
			"write each service of it as a key %s<type> of the config map", v1alpha1.KeyNotifyServicePrefix)
	}
	c.check()
	slices.SortFunc(c.Problems, func(a, b Problem) int { return strings.Compare(a.String(), b.String()) })
	return c
}

// version is a digest of all that the configuration is made of.
func version(s Source) string {
	h := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		fmt.Fprintf(h, "%q %q\n", key, s.Data[key])
	}
	for _, key := range slices.Sorted(maps.Keys(s.Secrets)) {
		fmt.Fprintf(h, "%q %q\n", key, s.Secrets[key])
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

func (c *Config) complain(key, format string, args ...any) {
	c.Problems = append(c.Problems, Problem{Key: key, Message: fmt.Sprintf(format, args...)})
}

// read takes one key.
func (c *Config) read(key, text string, secrets map[string][]byte) {
	switch {
	case key == v1alpha1.KeyNotifySubscriptions:
		c.readSubscriptions(key, text)
	case key == v1alpha1.KeyNotifyDefaultTriggers:
		c.into(key, text, &c.defaultTriggers, "a list of triggers, such as [on-sync-failed]")
	case key == v1alpha1.KeyNotifyContext:
		c.into(key, text, &c.context, "names with texts, such as argocdUrl: https://…")
	case strings.HasPrefix(key, v1alpha1.KeyNotifyDefaultTriggersPrefix):
		var list []string
		c.into(key, text, &list, "a list of triggers, such as [on-sync-failed]")
		c.serviceTriggers[strings.TrimPrefix(key, v1alpha1.KeyNotifyDefaultTriggersPrefix)] = list
	case strings.HasPrefix(key, v1alpha1.KeyNotifyTriggerPrefix):
		c.readTrigger(key, text)
	case strings.HasPrefix(key, v1alpha1.KeyNotifyTemplatePrefix):
		c.readTemplate(key, text)
	case strings.HasPrefix(key, v1alpha1.KeyNotifyServicePrefix):
		c.readService(key, text, secrets)
	case key == "config.yaml":
		c.complain(key, "this key is of the time before Argo CD 2.0 and is not read; write its parts as trigger.<name>, "+
			"template.<name>, subscriptions and context")
	default:
		c.complain(key, "nothing is known by this name; keys are service.<type>[.<name>], template.<name>, trigger.<name>, "+
			"subscriptions, defaultTriggers[.<service>] and context")
	}
}

// into reads YAML into a value, or says what is expected.
func (c *Config) into(key, text string, value any, expected string) {
	if err := yaml.Unmarshal([]byte(text), value); err != nil {
		c.complain(key, "it cannot be read: %v; it is %s", short(err), expected)
	}
}

func (c *Config) readSubscriptions(key, text string) {
	var list []struct {
		Recipients []string `json:"recipients"`
		Triggers   []string `json:"triggers"`
		Selector   string   `json:"selector"`
	}
	c.into(key, text, &list, "a list of entries with recipients, and triggers and a selector if need be")
	for i, entry := range list {
		selector, err := labels.Parse(entry.Selector)
		if err != nil {
			c.complain(key, "the selector of entry %d cannot be read: %v; it is written like one of kubectl, such as team=web", i+1, err)
			continue
		}
		s := subscription{triggers: entry.Triggers, selector: selector}
		for _, recipient := range entry.Recipients {
			s.recipients = append(s.recipients, destination(recipient))
		}
		c.subscriptions = append(c.subscriptions, s)
	}
}

// destination reads <service>[:<recipient>].
func destination(text string) Destination {
	service, recipient, _ := strings.Cut(text, ":")
	return Destination{Service: service, Recipient: recipient}
}

// reference is a value of the secret in the options of a service.
var reference = regexp.MustCompile(`\$[\w-]+`)

func (c *Config) readService(key, text string, secrets map[string][]byte) {
	parts := strings.Split(key, ".")
	if len(parts) > 3 || parts[1] == "" {
		c.complain(key, "a service is service.<type> or service.<type>.<name>, and a name has no dots")
		return
	}
	s := Service{Type: parts[1], Name: parts[len(parts)-1]}
	kind, known := kinds[s.Type]
	switch {
	case !known:
		c.complain(key, "there is no service of type %q; there are %s", s.Type, strings.Join(builtTypes(), ", "))
		return
	case kind.missing != "":
		c.complain(key, "services of type %q are not built into this version; %s", s.Type, kind.missing)
		return
	}
	var options any
	if err := yaml.Unmarshal([]byte(text), &options); err != nil {
		c.complain(key, "the options cannot be read: %v", short(err))
		return
	}
	missing := map[string]bool{}
	options = walk(options, func(value string) string {
		return reference.ReplaceAllStringFunc(value, func(name string) string {
			if found, ok := secrets[name[1:]]; ok {
				return string(found)
			}
			missing[name] = true
			return name
		})
	})
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		c.complain(key, "%s is not a key of secret %s", name, v1alpha1.SecretNotifications)
	}
	s.Options = secret.New(encode(options))
	c.Services[s.Name] = s
}

// walk replaces the texts of a value.
func walk(value any, replace func(string) string) any {
	switch v := value.(type) {
	case string:
		return replace(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			out[key] = walk(inner, replace)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = walk(inner, replace)
		}
		return out
	}
	return value
}

// check finds what one key says of another that is not there.
func (c *Config) check() {
	for name, trigger := range c.Triggers {
		for _, condition := range trigger.Conditions {
			for _, template := range condition.Send {
				if c.Templates[template] == nil {
					c.complain(v1alpha1.KeyNotifyTriggerPrefix+name, "it sends template %q, and there is no key %s%s that can be used",
						template, v1alpha1.KeyNotifyTemplatePrefix, template)
				}
			}
		}
	}
	c.checkTriggers(v1alpha1.KeyNotifyDefaultTriggers, c.defaultTriggers)
	for service, list := range c.serviceTriggers {
		c.checkTriggers(v1alpha1.KeyNotifyDefaultTriggersPrefix+service, list)
	}
	for _, s := range c.subscriptions {
		c.checkTriggers(v1alpha1.KeyNotifySubscriptions, s.triggers)
		for _, to := range s.recipients {
			if _, ok := c.Services[to.Service]; !ok {
				c.complain(v1alpha1.KeyNotifySubscriptions, "there is no service %q; make a key %s%s", to.Service,
					v1alpha1.KeyNotifyServicePrefix, to.Service)
			}
		}
	}
}

func (c *Config) checkTriggers(key string, list []string) {
	for _, trigger := range list {
		if c.Triggers[trigger] == nil {
			c.complain(key, "there is no trigger %q; make a key %s%s", trigger, v1alpha1.KeyNotifyTriggerPrefix, trigger)
		}
	}
}

// short is the first line of an error of a parser, which is the one that says it.
func short(err error) string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	for _, prefix := range []string{"error converting YAML to JSON: ", "error unmarshaling JSON: ", "while decoding JSON: ", "json: "} {
		first = strings.TrimPrefix(first, prefix)
	}
	first, _, _ = strings.Cut(first, " into Go ")
	return strings.TrimSpace(first)
}
