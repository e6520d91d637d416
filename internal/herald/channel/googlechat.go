package channel

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/internal/core/fault"
)

type googleChatOptions struct {
	Webhooks map[string]string `json:"webhooks"`
	Transport
}

type googleChatPart struct {
	// Cards and CardsV2 are lists, as YAML or JSON.
	Cards     string `json:"cards"`
	CardsV2   string `json:"cardsV2"`
	ThreadKey string `json:"threadKey"`
}

type googleChat struct {
	options googleChatOptions
	wire    wire
}

func newGoogleChat(options googleChatOptions, o Options) (Channel, error) {
	if len(options.Webhooks) == 0 {
		return nil, errors.New("it has no webhooks")
	}
	w, err := newWire(options.Transport, o)
	return &googleChat{options, w}, err
}

// Send posts to a space by its webhook.
func (g *googleChat) Send(ctx context.Context, m Message) error {
	part, err := partOf[googleChatPart](m)
	if err != nil {
		return err
	}
	raw, ok := g.options.Webhooks[m.To.Recipient]
	if !ok {
		return fault.Terminalf("RecipientRefused", "the service %q has no webhook for the recipient %q; add it to webhooks",
			m.To.Service, m.To.Recipient)
	}
	at, err := url.Parse(raw)
	if err != nil {
		return fault.Terminalf("ServiceRefused", "the webhook of recipient %q is no URL", m.To.Recipient)
	}
	if part.ThreadKey != "" {
		query := at.Query()
		query.Set("threadKey", part.ThreadKey)
		query.Set("messageReplyOption", "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD")
		at.RawQuery = query.Encode()
	}
	body := object{}
	for field, text := range map[string]string{"cards": part.Cards, "cardsV2": part.CardsV2} {
		if text == "" {
			continue
		}
		list, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			return fault.Terminalf("TemplateRefused", "googlechat.%s of the template is no YAML: %v", field, err)
		}
		body[field] = json.RawMessage(list)
	}
	if len(body) == 0 {
		body["text"] = m.Message
	}
	_, err = g.wire.call(ctx, request{method: http.MethodPost, url: at.String(), body: body})
	return err
}
