package channel

import (
	"context"
	"errors"
	"net/http"
)

type pushoverOptions struct {
	Token  string `json:"token"`
	APIURL string `json:"apiURL"`
	Transport
}

type pushover struct {
	options pushoverOptions
	wire    wire
}

func newPushover(options pushoverOptions, o Options) (Channel, error) {
	if options.Token == "" {
		return nil, errors.New("it has no token")
	}
	w, err := newWire(options.Transport, o)
	return &pushover{options, w}, err
}

// Send sends to a user or a group by their key.
func (p *pushover) Send(ctx context.Context, m Message) error {
	_, err := p.wire.call(ctx, request{
		method: http.MethodPost, url: base(p.options.APIURL, "https://api.pushover.net") + "/1/messages.json",
		body: object{"token": p.options.Token, "user": m.To.Recipient, "message": m.Message},
	})
	return err
}
