package channel

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/towline-cd/towline/internal/core/fault"
)

type telegramOptions struct {
	Token string `json:"token"`
	// APIURL is for a Bot API server of one's own.
	APIURL string `json:"apiURL"`
	Transport
}

type telegram struct {
	options telegramOptions
	wire    wire
}

func newTelegram(options telegramOptions, o Options) (Channel, error) {
	if options.Token == "" {
		return nil, errors.New("it has no token")
	}
	w, err := newWire(options.Transport, o)
	return &telegram{options, w}, err
}

// Send sends a message to a channel by its name, or to a group by its number; after a bar comes a topic of the group.
func (t *telegram) Send(ctx context.Context, m Message) error {
	chat, topic, _ := strings.Cut(m.To.Recipient, "|")
	body := object{"text": m.Message, "parse_mode": "Markdown"}
	if strings.HasPrefix(chat, "-") {
		id, err := strconv.ParseInt(chat, 10, 64)
		if err != nil {
			return fault.Terminalf("RecipientRefused", "the recipient %q begins like the number of a group and is none", chat)
		}
		body["chat_id"] = id
	} else {
		body["chat_id"] = "@" + chat
	}
	if topic != "" {
		id, err := strconv.ParseInt(topic, 10, 64)
		if err != nil {
			return fault.Terminalf("RecipientRefused", "the topic %q is no number", topic)
		}
		body["message_thread_id"] = id
	}
	at := base(t.options.APIURL, "https://api.telegram.org") + "/bot" + t.options.Token + "/sendMessage"
	answer, err := t.wire.call(ctx, request{method: http.MethodPost, url: at, body: body})
	if err != nil {
		return err
	}
	var said struct {
		OK          bool
		Description string
	}
	if err := decode(at, answer, &said); err != nil {
		return err
	}
	if !said.OK {
		return fault.Terminalf("Refused", "Telegram says %s", said.Description)
	}
	return nil
}
