package channel

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/towline-cd/towline/internal/core/fault"
)

type rocketChatOptions struct {
	ServerURL string `json:"serverUrl"`
	Email     string `json:"email"`
	Password  string `json:"password"`
	Alias     string `json:"alias"`
	Icon      string `json:"icon"`
	Avatar    string `json:"avatar"`
	Transport
}

type rocketChatPart struct {
	Attachments string `json:"attachments"`
}

type rocketChat struct {
	options rocketChatOptions
	wire    wire
}

func newRocketChat(options rocketChatOptions, o Options) (Channel, error) {
	switch {
	case options.ServerURL == "":
		return nil, errors.New("it has no serverUrl")
	case options.Email == "" || options.Password == "":
		return nil, errors.New("it has no email, or no password")
	}
	if !strings.Contains(options.ServerURL, "://") {
		options.ServerURL = "https://" + options.ServerURL
	}
	w, err := newWire(options.Transport, o)
	return &rocketChat{options, w}, err
}

// Send signs in and posts to a channel.
func (c *rocketChat) Send(ctx context.Context, m Message) error {
	part, err := partOf[rocketChatPart](m)
	if err != nil {
		return err
	}
	attachments, err := fromJSON[[]json.RawMessage]("rocketchat.attachments", part.Attachments)
	if err != nil {
		return err
	}
	at := base(c.options.ServerURL, "") + "/api/v1"
	answer, err := c.wire.call(aside(ctx), request{
		method: http.MethodPost, url: at + "/login", body: object{"user": c.options.Email, "password": c.options.Password},
	})
	if err != nil {
		return err
	}
	var signed struct {
		Data struct{ AuthToken, UserID string }
	}
	if err := decode(at, answer, &signed); err != nil {
		return err
	}
	body := object{"channel": m.To.Recipient, "text": m.Message}
	for name, value := range map[string]string{"alias": c.options.Alias, "emoji": c.options.Icon, "avatar": c.options.Avatar} {
		if value != "" {
			body[name] = value
		}
	}
	if len(attachments) > 0 {
		body["attachments"] = attachments
	}
	answer, err = c.wire.call(ctx, request{
		method: http.MethodPost, url: at + "/chat.postMessage", body: body,
		header: map[string]string{"X-Auth-Token": signed.Data.AuthToken, "X-User-Id": signed.Data.UserID},
	})
	if err != nil {
		return err
	}
	var said struct {
		Success bool
		Error   string
	}
	if err := decode(at, answer, &said); err != nil {
		return err
	}
	if !said.Success {
		return fault.Terminalf("Refused", "Rocket.Chat says %s", said.Error)
	}
	return nil
}
