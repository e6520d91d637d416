// Package channel carries one message over one service: webhook, Slack, e-mail and the others, a small file each. It must not
// decide who is told what or when, it never tries again, and no error of its tells a token or an address with one in it.
package channel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/address"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/notice"
)

// Message is one that is sent.
type Message struct {
	notice.Content
	To notice.Destination
	// ID is the same whenever the same message is sent, so that a service that can tell drops the second one. Again says that
	// there may have been a first one.
	ID    string
	Again bool
	// At is when it became due.
	At time.Time
}

// Channel is the way to one service.
type Channel interface {
	Send(ctx context.Context, m Message) error
}

// Options are what the ways are made of.
type Options struct {
	// Reach is how near to us a service may be: the administrators' anywhere, those that others configure not on this machine.
	Reach address.Reach
	// Certificates are the authorities, as PEM, that are trusted for a host besides those of the system; nil is none.
	Certificates func(host string) []string
	// Proxy is the way to services; nil is none.
	Proxy func(*http.Request) (*url.URL, error)
	// Threads remembers which messages belong together, past a change of the configuration.
	Threads *Threads
}

// Threads remembers the first message of each thread. It can be lost at any time: then another thread begins.
type Threads struct {
	mu   sync.Mutex
	seen map[string]thread
}

// thread is where a conversation began.
type thread struct{ channel, at string }

func (t *Threads) get(key string) (thread, bool) {
	if t == nil {
		return thread{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	found, ok := t.seen[key]
	return found, ok
}

// mostThreads bounds what is remembered.
const mostThreads = 10_000

func (t *Threads) put(key string, first thread) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen == nil || len(t.seen) >= mostThreads {
		t.seen = map[string]thread{}
	}
	t.seen[key] = first
}

// kind is how services of a type are opened, and what a template can say to them.
type kind struct {
	open func(options []byte, o Options) (Channel, error)
	// part is an empty value of what a template can say; nil is nothing.
	part func() any
}

// of makes a kind of a function that takes typed options.
func of[O any](open func(O, Options) (Channel, error), part func() any) kind {
	return kind{part: part, open: func(raw []byte, o Options) (Channel, error) {
		var options O
		if err := strict(raw, &options); err != nil {
			return nil, err
		}
		return open(options, o)
	}}
}

// kinds are the services that there are.
func kinds() map[string]kind {
	return map[string]kind{
		"alertmanager":    of(newAlertmanager, func() any { return new(alertPart) }),
		"email":           of(newEmail, func() any { return new(emailPart) }),
		"github":          of(newGitHub, func() any { return new(githubPart) }),
		"googlechat":      of(newGoogleChat, func() any { return new(googleChatPart) }),
		"grafana":         of(newGrafana, func() any { return new(grafanaPart) }),
		"mattermost":      of(newMattermost, func() any { return new(mattermostPart) }),
		"newrelic":        of(newNewRelic, func() any { return new(newRelicPart) }),
		"opsgenie":        of(newOpsgenie, func() any { return new(opsgeniePart) }),
		"pagerduty":       of(newPagerDuty, func() any { return new(pagerDutyPart) }),
		"pagerdutyv2":     of(newPagerDutyV2, func() any { return new(pagerDutyV2Part) }),
		"pushover":        of(newPushover, nil),
		"rocketchat":      of(newRocketChat, func() any { return new(rocketChatPart) }),
		"slack":           of(newSlack, func() any { return new(slackPart) }),
		"teams":           of(newTeams, func() any { return new(teamsPart) }),
		"teams-workflows": of(newWorkflows, func() any { return new(workflowsPart) }),
		"telegram":        of(newTelegram, nil),
		"webex":           of(newWebex, nil),
		"webhook":         of(newWebhook, func() any { return new(map[string]webhookPart) }),
	}
}

// Types are the types of services that can be opened.
func Types() []string { return slices.Sorted(maps.Keys(kinds())) }

// Open opens the way to a service.
func Open(s notice.Service, o Options) (Channel, error) {
	k, ok := kinds()[s.Type]
	if !ok {
		return nil, fault.Terminalf("ServiceUnknown", "there is no service of type %q", s.Type)
	}
	opened, err := k.open([]byte(s.Options.Reveal()), o)
	if err != nil {
		return nil, fault.Terminalf("ServiceRefused", "%w", err)
	}
	return opened, nil
}

// Check finds what of a configuration the services cannot follow: options and fields of templates that nothing is known of.
func Check(c *notice.Config) []notice.Problem {
	var out []notice.Problem
	for _, name := range slices.Sorted(maps.Keys(c.Services)) {
		s := c.Services[name]
		if _, err := Open(s, Options{}); err != nil {
			key := v1alpha1.KeyNotifyServicePrefix + s.Type
			if s.Name != s.Type {
				key += "." + s.Name
			}
			out = append(out, notice.Problem{Key: key, Message: err.Error()})
		}
	}
	all := kinds()
	for _, name := range slices.Sorted(maps.Keys(c.Templates)) {
		for _, part := range slices.Sorted(maps.Keys(c.Templates[name].Raw)) {
			k, ok := all[part]
			if !ok {
				continue
			}
			if err := k.check(c.Templates[name].Raw[part]); err != nil {
				text := fmt.Sprintf("the part %s: %v", part, err)
				out = append(out, notice.Problem{Key: v1alpha1.KeyNotifyTemplatePrefix + name, Message: text})
			}
		}
	}
	return out
}

// check finds what a template says to a service that it cannot follow.
func (k kind) check(part any) error {
	if k.part == nil {
		return errors.New("services of this type take a message and nothing else")
	}
	raw, err := json.Marshal(part)
	if err != nil {
		return err
	}
	return strict(raw, k.part())
}

// strict reads JSON and names what it does not know. The values stay out of it: they may be secret.
func strict(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		return nil
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("the field %s is no %s", strings.TrimPrefix(wrong.Field, "Transport."), wrong.Type)
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	if strings.HasPrefix(text, "unknown field") {
		return fmt.Errorf("nothing is known of the %s; take it out, or correct its name", strings.TrimPrefix(text, "unknown "))
	}
	return errors.New("it is not a set of fields")
}

// partOf is what a template says to a service; a part that is not there is empty.
func partOf[P any](m Message) (P, error) {
	var part P
	if m.Part == nil {
		return part, nil
	}
	raw, err := json.Marshal(m.Part)
	if err == nil {
		err = json.Unmarshal(raw, &part)
	}
	if err != nil {
		return part, fault.Terminalf("TemplateRefused", "what the template says cannot be used: %w", err)
	}
	return part, nil
}

// fromJSON reads a text of a template that is to be JSON.
func fromJSON[T any](field, text string) (T, error) {
	var out T
	if text == "" {
		return out, nil
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return out, fault.Terminalf("TemplateRefused", "%s of the template is not the JSON that is expected: %v", field, err)
	}
	return out, nil
}

// number is one that may be written as a text, as values of secrets are.
type number int64

// UnmarshalJSON reads either.
func (n *number) UnmarshalJSON(data []byte) error {
	var value int64
	if err := json.Unmarshal(bytes.Trim(data, `"`), &value); err != nil {
		return errors.New("it is no number")
	}
	*n = number(value)
	return nil
}
