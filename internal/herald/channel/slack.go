package channel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/towline-cd/towline/internal/core/fault"
)

type slackOptions struct {
	Token    string `json:"token"`
	Username string `json:"username"`
	Icon     string `json:"icon"`
	APIURL   string `json:"apiURL"`
	// SigningSecret and Channels are of a bot that Argo CD no longer has.
	SigningSecret string   `json:"signingSecret"`
	Channels      []string `json:"channels"`
	DisableUnfurl bool     `json:"disableUnfurl"`
	Transport
}

type slackPart struct {
	Username    string `json:"username"`
	Icon        string `json:"icon"`
	Attachments string `json:"attachments"`
	Blocks      string `json:"blocks"`
	// GroupingKey makes a thread of messages, and DeliveryPolicy says whether its first one is changed.
	GroupingKey     string `json:"groupingKey"`
	NotifyBroadcast bool   `json:"notifyBroadcast"`
	DeliveryPolicy  string `json:"deliveryPolicy"`
}

type slack struct {
	options slackOptions
	wire    wire
	threads *Threads
}

func newSlack(options slackOptions, o Options) (Channel, error) {
	if options.Token == "" {
		return nil, errors.New("it has no token")
	}
	w, err := newWire(options.Transport, o)
	return &slack{options, w, o.Threads}, err
}

// slackPost is a message as Slack takes it.
type slackPost struct {
	Channel     string          `json:"channel"`
	Text        string          `json:"text"`
	Username    string          `json:"username,omitempty"`
	IconEmoji   string          `json:"icon_emoji,omitempty"`
	IconURL     string          `json:"icon_url,omitempty"`
	Attachments json.RawMessage `json:"attachments,omitempty"`
	Blocks      json.RawMessage `json:"blocks,omitempty"`
	Thread      string          `json:"thread_ts,omitempty"`
	Broadcast   bool            `json:"reply_broadcast,omitempty"`
	// TS is the message that is changed.
	TS     string `json:"ts,omitempty"`
	Links  *bool  `json:"unfurl_links,omitempty"`
	Media  *bool  `json:"unfurl_media,omitempty"`
	AsUser bool   `json:"as_user,omitempty"`
}

// Send posts a message to a channel, or changes one that it posted.
func (s *slack) Send(ctx context.Context, m Message) error {
	part, err := partOf[slackPart](m)
	if err != nil {
		return err
	}
	post, err := s.post(m, part)
	if err != nil {
		return err
	}
	key := m.To.Recipient + "\x00" + part.GroupingKey
	first, threaded := s.threads.get(key)
	threaded = threaded && part.GroupingKey != ""
	if !threaded || part.DeliveryPolicy != "Update" {
		if threaded {
			post.Thread, post.Broadcast = first.at, part.NotifyBroadcast
		}
		at, err := s.call(ctx, "chat.postMessage", post)
		if err != nil {
			return err
		}
		if part.GroupingKey != "" && !threaded {
			s.threads.put(key, at)
		}
	}
	if threaded && (part.DeliveryPolicy == "Update" || part.DeliveryPolicy == "PostAndUpdate") {
		post.Channel, post.TS, post.Thread, post.AsUser = first.channel, first.at, "", true
		_, err = s.call(ctx, "chat.update", post)
	}
	return err
}

func (s *slack) post(m Message, part slackPart) (slackPost, error) {
	post := slackPost{Channel: m.To.Recipient, Text: m.Message, Username: cmp.Or(part.Username, s.options.Username)}
	icon := cmp.Or(part.Icon, s.options.Icon)
	parsed, err := url.Parse(icon)
	switch {
	case icon == "":
	case len(icon) > 2 && strings.HasPrefix(icon, ":") && strings.HasSuffix(icon, ":"):
		post.IconEmoji = icon
	case err == nil && parsed.Host != "" && strings.HasPrefix(parsed.Scheme, "http"):
		post.IconURL = icon
	default:
		return post, fault.Terminalf("TemplateRefused", "the icon %q is neither an emoji like :rocket: nor a URL", icon)
	}
	if post.Attachments, err = fromJSON[json.RawMessage]("slack.attachments", part.Attachments); err != nil {
		return post, err
	}
	if post.Blocks, err = fromJSON[json.RawMessage]("slack.blocks", part.Blocks); err != nil {
		return post, err
	}
	if s.options.DisableUnfurl {
		post.Links, post.Media = new(false), new(false)
	}
	return post, nil
}

// slackBusy are the errors that go away.
var slackBusy = []string{"ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"}

func (s *slack) call(ctx context.Context, method string, body any) (thread, error) {
	at := base(s.options.APIURL, "https://slack.com/api") + "/" + method
	answer, err := s.wire.call(ctx, request{
		method: http.MethodPost, url: at, body: body,
		header: map[string]string{"Authorization": "Bearer " + s.options.Token, "Content-Type": "application/json; charset=utf-8"},
	})
	if err != nil {
		return thread{}, err
	}
	var said struct {
		OK                 bool
		Error, TS, Channel string
	}
	if err := decode(at, answer, &said); err != nil {
		return thread{}, err
	}
	switch {
	case said.OK:
		return thread{channel: said.Channel, at: said.TS}, nil
	case slices.Contains(slackBusy, said.Error):
		return thread{}, fault.Transientf("Refused", "Slack says %s", said.Error)
	}
	return thread{}, fault.Terminalf("Refused", "Slack says %s; it explains its words under https://docs.slack.dev/reference/methods/%s",
		said.Error, method)
}
