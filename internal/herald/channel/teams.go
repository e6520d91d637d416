package channel

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/towline-cd/towline/internal/core/fault"
)

type teamsOptions struct {
	RecipientURLs map[string]string `json:"recipientUrls"`
	Transport
}

type teamsPart struct {
	// Template is the whole card; the others are parts of one.
	Template        string `json:"template"`
	Title           string `json:"title"`
	Summary         string `json:"summary"`
	Text            string `json:"text"`
	ThemeColor      string `json:"themeColor"`
	Facts           string `json:"facts"`
	Sections        string `json:"sections"`
	PotentialAction string `json:"potentialAction"`
}

type teams struct {
	options teamsOptions
	wire    wire
}

func newTeams(options teamsOptions, o Options) (Channel, error) {
	if len(options.RecipientURLs) == 0 {
		return nil, errors.New("it has no recipientUrls")
	}
	w, err := newWire(options.Transport, o)
	return &teams{options, w}, err
}

// recipientURL is the address of a recipient.
func recipientURL(of map[string]string, m Message) (string, error) {
	at, ok := of[m.To.Recipient]
	if !ok {
		return "", fault.Terminalf("RecipientRefused", "the service %q has no address for the recipient %q; add it to recipientUrls",
			m.To.Service, m.To.Recipient)
	}
	return at, nil
}

type object = map[string]any

// Send posts a card.
func (t *teams) Send(ctx context.Context, m Message) error {
	part, err := partOf[teamsPart](m)
	if err != nil {
		return err
	}
	at, err := recipientURL(t.options.RecipientURLs, m)
	if err != nil {
		return err
	}
	r := request{method: http.MethodPost, url: at, header: map[string]string{"Content-Type": "application/json"}}
	if part.Template != "" {
		r.text = &part.Template
	} else if r.body, err = teamsCard(m.Message, part); err != nil {
		return err
	}
	answer, err := t.wire.call(ctx, r)
	if err == nil && len(answer) > 0 && string(answer) != "1" {
		return fault.Terminalf("Refused", "Teams does not take the message%s", quote(answer))
	}
	return err
}

func teamsCard(message string, part teamsPart) (object, error) {
	card := object{
		"@type": "MessageCard", "context": "https://schema.org/extensions", "title": part.Title, "summary": part.Summary,
		"text": cmp.Or(part.Text, message),
	}
	if part.ThemeColor != "" {
		card["themeColor"] = part.ThemeColor
	}
	sections, err := fromJSON[[]object]("teams.sections", part.Sections)
	if err != nil {
		return nil, err
	}
	facts, err := fromJSON[[]object]("teams.facts", part.Facts)
	if err != nil {
		return nil, err
	}
	if len(facts) > 0 {
		sections = append(sections, object{"facts": facts})
	}
	if len(sections) > 0 {
		card["sections"] = sections
	}
	actions, err := fromJSON[[]object]("teams.potentialAction", part.PotentialAction)
	if err != nil {
		return nil, err
	}
	if len(actions) > 0 {
		card["potentialAction"] = actions
	}
	return card, nil
}
