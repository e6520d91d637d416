package channel

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
)

// webhookOptions are those of a webhook. The times and the number of retries are those of whoever sends: they are taken for
// Argo CD's sake.
type webhookOptions struct {
	URL     string `json:"url"`
	Headers []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"headers"`
	BasicAuth    *login `json:"basicAuth"`
	RetryWaitMin any    `json:"retryWaitMin"`
	RetryWaitMax any    `json:"retryWaitMax"`
	RetryMax     any    `json:"retryMax"`
	Transport
}

// webhookPart is what a template says to one webhook, by the name of its service.
type webhookPart struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Body   string `json:"body"`
}

type webhook struct {
	options webhookOptions
	wire    wire
}

func newWebhook(options webhookOptions, o Options) (Channel, error) {
	if options.URL == "" {
		return nil, errors.New("it has no url")
	}
	w, err := newWire(options.Transport, o)
	return &webhook{options, w}, err
}

// idempotencyKey is the header by which a receiver can tell that it has had a message before.
const idempotencyKey = "Idempotency-Key"

// Send calls the webhook.
func (w *webhook) Send(ctx context.Context, m Message) error {
	parts, err := partOf[map[string]webhookPart](m)
	if err != nil {
		return err
	}
	r := request{method: http.MethodGet, url: w.options.URL, text: &m.Message, user: w.options.BasicAuth, header: map[string]string{}}
	if part, ok := parts[m.To.Service]; ok {
		r.method, r.text = cmp.Or(part.Method, r.method), &part.Body
		if part.Path != "" {
			r.url = strings.TrimRight(r.url, "/") + "/" + strings.TrimLeft(part.Path, "/")
		}
	}
	r.header[idempotencyKey] = m.ID
	for _, h := range w.options.Headers {
		r.header[h.Name] = h.Value
	}
	_, err = w.wire.call(ctx, r)
	return err
}
