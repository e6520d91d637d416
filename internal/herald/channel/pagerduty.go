package channel

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/towline-cd/towline/internal/core/fault"
)

type pagerDutyOptions struct {
	Token string `json:"token"`
	From  string `json:"from"`
	// ServiceID is where incidents go without a recipient, and APIURL for other regions.
	ServiceID string `json:"serviceID"`
	APIURL    string `json:"apiURL"`
	Transport
}

type pagerDutyPart struct {
	Title      string `json:"title"`
	Body       string `json:"body"`
	Urgency    string `json:"urgency"`
	PriorityID string `json:"priorityId"`
	// PriorityOld is how the field was called at first.
	PriorityOld string `json:"priorityID"`
}

type pagerDuty struct {
	options pagerDutyOptions
	wire    wire
}

func newPagerDuty(options pagerDutyOptions, o Options) (Channel, error) {
	switch {
	case options.Token == "":
		return nil, errors.New("it has no token")
	case options.From == "":
		return nil, errors.New("it has no from, the e-mail address of a user of PagerDuty")
	}
	w, err := newWire(options.Transport, o)
	return &pagerDuty{options, w}, err
}

// Send opens an incident of a service, which is the recipient. PagerDuty keeps one open incident per key.
func (p *pagerDuty) Send(ctx context.Context, m Message) error {
	part, err := partOf[pagerDutyPart](m)
	if err != nil {
		return err
	}
	incident := object{
		"type": "incident", "title": cmp.Or(part.Title, m.Message), "incident_key": m.ID,
		"service": object{"id": cmp.Or(m.To.Recipient, p.options.ServiceID), "type": "service_reference"},
		"body":    object{"type": "incident_body", "details": part.Body},
	}
	if part.Urgency != "" {
		incident["urgency"] = part.Urgency
	}
	if id := cmp.Or(part.PriorityID, part.PriorityOld); id != "" {
		incident["priority"] = object{"id": id, "type": "priority_reference"}
	}
	_, err = p.wire.call(ctx, request{
		method: http.MethodPost, url: base(p.options.APIURL, "https://api.pagerduty.com") + "/incidents",
		header: map[string]string{
			"Authorization": "Token token=" + p.options.Token, "From": p.options.From, "Accept": "application/vnd.pagerduty+json;version=2",
		},
		body: object{"incident": incident},
	})
	if err != nil && strings.Contains(err.Error(), "matching dedup key already exists") {
		// It is there: that is what was asked for.
		return nil
	}
	return err
}

type pagerDutyV2Options struct {
	ServiceKeys map[string]string `json:"serviceKeys"`
	APIURL      string            `json:"apiURL"`
	Transport
}

type pagerDutyV2Part struct {
	Summary   string `json:"summary"`
	Severity  string `json:"severity"`
	Source    string `json:"source"`
	Component string `json:"component"`
	Group     string `json:"group"`
	Class     string `json:"class"`
	URL       string `json:"url"`
	// DedupKey takes the place of ours, for those who want one alert for several messages.
	DedupKey string `json:"dedupKey"`
}

type pagerDutyV2 struct {
	options pagerDutyV2Options
	wire    wire
}

func newPagerDutyV2(options pagerDutyV2Options, o Options) (Channel, error) {
	if len(options.ServiceKeys) == 0 {
		return nil, errors.New("it has no serviceKeys")
	}
	w, err := newWire(options.Transport, o)
	return &pagerDutyV2{options, w}, err
}

// Send triggers an event. Events with the same key are one alert.
func (p *pagerDutyV2) Send(ctx context.Context, m Message) error {
	part, err := partOf[pagerDutyV2Part](m)
	if err != nil {
		return err
	}
	key, ok := p.options.ServiceKeys[m.To.Recipient]
	if !ok {
		return fault.Terminalf("RecipientRefused", "the service %q has no key for the recipient %q; add it to serviceKeys",
			m.To.Service, m.To.Recipient)
	}
	payload := object{
		"summary": cmp.Or(part.Summary, m.Message), "severity": cmp.Or(part.Severity, "error"), "source": cmp.Or(part.Source, "towline"),
	}
	for name, value := range map[string]string{"component": part.Component, "group": part.Group, "class": part.Class} {
		if value != "" {
			payload[name] = value
		}
	}
	event := object{
		"routing_key": key, "event_action": "trigger", "dedup_key": cmp.Or(part.DedupKey, m.ID), "client": "Towline", "payload": payload,
	}
	if part.URL != "" {
		event["client_url"] = part.URL
	}
	_, err = p.wire.call(ctx, request{
		method: http.MethodPost, url: base(p.options.APIURL, "https://events.pagerduty.com") + "/v2/enqueue", body: event,
	})
	return err
}
