package channel

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/towline-cd/towline/internal/core/fault"
)

type opsgenieOptions struct {
	APIURL  string            `json:"apiUrl"`
	APIKeys map[string]string `json:"apiKeys"`
	Transport
}

type opsgeniePart struct {
	Description string            `json:"description"`
	Priority    string            `json:"priority"`
	Alias       string            `json:"alias"`
	Note        string            `json:"note"`
	Entity      string            `json:"entity"`
	User        string            `json:"user"`
	Actions     []string          `json:"actions"`
	Tags        []string          `json:"tags"`
	Details     map[string]string `json:"details"`
	VisibleTo   []object          `json:"visibleTo"`
}

type opsgenie struct {
	options opsgenieOptions
	wire    wire
}

func newOpsgenie(options opsgenieOptions, o Options) (Channel, error) {
	if len(options.APIKeys) == 0 {
		return nil, errors.New("it has no apiKeys")
	}
	if options.APIURL != "" && !strings.Contains(options.APIURL, "://") {
		options.APIURL = "https://" + options.APIURL
	}
	w, err := newWire(options.Transport, o)
	return &opsgenie{options, w}, err
}

// Send raises an alert. Open alerts with the same alias are one.
func (g *opsgenie) Send(ctx context.Context, m Message) error {
	part, err := partOf[opsgeniePart](m)
	if err != nil {
		return err
	}
	key, ok := g.options.APIKeys[m.To.Recipient]
	if !ok {
		return fault.Terminalf("RecipientRefused", "the service %q has no key for the recipient %q; add it to apiKeys",
			m.To.Service, m.To.Recipient)
	}
	body := object{"message": cut(m.Message, 130), "alias": cmp.Or(part.Alias, m.ID), "source": "Towline"}
	for name, value := range map[string]string{
		"description": part.Description, "priority": part.Priority, "note": part.Note, "entity": part.Entity, "user": part.User,
	} {
		if value != "" {
			body[name] = value
		}
	}
	if len(part.Actions) > 0 {
		body["actions"] = part.Actions
	}
	if len(part.Tags) > 0 {
		body["tags"] = part.Tags
	}
	if len(part.Details) > 0 {
		body["details"] = part.Details
	}
	if len(part.VisibleTo) > 0 {
		body["visibleTo"] = part.VisibleTo
	}
	_, err = g.wire.call(ctx, request{
		method: http.MethodPost, url: base(g.options.APIURL, "https://api.opsgenie.com") + "/v2/alerts",
		header: map[string]string{"Authorization": "GenieKey " + key}, body: body,
	})
	return err
}
