package channel

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

type mattermostOptions struct {
	APIURL string `json:"apiURL"`
	Token  string `json:"token"`
	Transport
}

type mattermostPart struct {
	Attachments string `json:"attachments"`
}

type mattermost struct {
	options mattermostOptions
	wire    wire
}

func newMattermost(options mattermostOptions, o Options) (Channel, error) {
	switch {
	case options.APIURL == "":
		return nil, errors.New("it has no apiURL")
	case options.Token == "":
		return nil, errors.New("it has no token")
	}
	w, err := newWire(options.Transport, o)
	return &mattermost{options, w}, err
}

// Send posts to a channel by its id.
func (c *mattermost) Send(ctx context.Context, m Message) error {
	part, err := partOf[mattermostPart](m)
	if err != nil {
		return err
	}
	attachments, err := fromJSON[[]json.RawMessage]("mattermost.attachments", part.Attachments)
	if err != nil {
		return err
	}
	if attachments == nil {
		attachments = []json.RawMessage{}
	}
	_, err = c.wire.call(ctx, request{
		method: http.MethodPost, url: base(c.options.APIURL, "") + "/api/v4/posts",
		header: map[string]string{"Authorization": "Bearer " + c.options.Token},
		body:   object{"channel_id": m.To.Recipient, "message": m.Message, "props": object{"attachments": attachments}},
	})
	return err
}
