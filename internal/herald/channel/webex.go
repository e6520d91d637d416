package channel

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

type webexOptions struct {
	Token  string `json:"token"`
	APIURL string `json:"apiURL"`
	Transport
}

type webex struct {
	options webexOptions
	wire    wire
}

func newWebex(options webexOptions, o Options) (Channel, error) {
	if options.Token == "" {
		return nil, errors.New("it has no token")
	}
	w, err := newWire(options.Transport, o)
	return &webex{options, w}, err
}

// Send sends to a person by the address, or to a room by its id.
func (x *webex) Send(ctx context.Context, m Message) error {
	body := object{"markdown": m.Message}
	if strings.Contains(m.To.Recipient, "@") {
		body["toPersonEmail"] = m.To.Recipient
	} else {
		body["roomId"] = m.To.Recipient
	}
	_, err := x.wire.call(ctx, request{
		method: http.MethodPost, url: base(x.options.APIURL, "https://webexapis.com") + "/v1/messages",
		header: map[string]string{"Authorization": "Bearer " + x.options.Token}, body: body,
	})
	return err
}
