package channel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

type workflowsPart struct {
	teamsPart
	// AdaptiveCard is the whole card.
	AdaptiveCard string `json:"adaptiveCard"`
}

// workflows are the webhooks of Power Automate, which took the place of those of Teams.
type workflows struct {
	options teamsOptions
	wire    wire
}

func newWorkflows(options teamsOptions, o Options) (Channel, error) {
	if len(options.RecipientURLs) == 0 {
		return nil, errors.New("it has no recipientUrls")
	}
	w, err := newWire(options.Transport, o)
	return &workflows{options, w}, err
}

// Send posts an adaptive card.
func (w *workflows) Send(ctx context.Context, m Message) error {
	part, err := partOf[workflowsPart](m)
	if err != nil {
		return err
	}
	at, err := recipientURL(w.options.RecipientURLs, m)
	if err != nil {
		return err
	}
	card, err := adaptiveCard(m.Message, part)
	if err != nil {
		return err
	}
	_, err = w.wire.call(ctx, request{method: http.MethodPost, url: at, body: object{
		"type": "message",
		"attachments": []object{
			{"contentType": "application/vnd.microsoft.card.adaptive", "content": card},
		},
	}})
	return err
}

func adaptiveCard(message string, part workflowsPart) (any, error) {
	if whole := cmp.Or(part.AdaptiveCard, part.Template); whole != "" {
		return fromJSON[json.RawMessage]("teams-workflows.adaptiveCard", whole)
	}
	var body []object
	if part.Title != "" {
		title := object{"type": "TextBlock", "text": part.Title, "size": "Large", "weight": "Bolder", "wrap": true}
		if part.ThemeColor != "" {
			title["color"] = part.ThemeColor
		}
		body = append(body, title)
	}
	if text := cmp.Or(part.Text, message, part.Summary); text != "" {
		body = append(body, object{"type": "TextBlock", "text": text, "wrap": true})
	}
	facts, err := fromJSON[[]object]("teams-workflows.facts", part.Facts)
	if err != nil {
		return nil, err
	}
	sections, err := fromJSON[[]struct {
		Facts []object `json:"facts"`
	}]("teams-workflows.sections", part.Sections)
	if err != nil {
		return nil, err
	}
	sets := [][]object{facts}
	for _, s := range sections {
		sets = append(sets, s.Facts)
	}
	for _, set := range sets {
		if len(set) > 0 {
			body = append(body, object{"type": "FactSet", "facts": factSet(set)})
		}
	}
	card := object{"type": "AdaptiveCard", "version": "1.4", "body": body}
	actions, err := openActions(part.PotentialAction)
	if err == nil && len(actions) > 0 {
		card["actions"] = actions
	}
	return card, err
}

// factSet has other words for the same.
func factSet(facts []object) []object {
	out := make([]object, len(facts))
	for i, f := range facts {
		out[i] = object{"title": fmt.Sprint(f["name"]), "value": fmt.Sprint(f["value"])}
	}
	return out
}

// openActions are the links of the older cards.
func openActions(text string) ([]object, error) {
	actions, err := fromJSON[[]struct {
		Type    string `json:"@type"`
		Name    string `json:"name"`
		Targets []struct {
			URI string `json:"uri"`
		} `json:"targets"`
	}]("teams-workflows.potentialAction", text)
	if err != nil {
		return nil, err
	}
	var out []object
	for _, a := range actions {
		if a.Type == "OpenUri" && len(a.Targets) > 0 {
			out = append(out, object{"type": "Action.OpenUrl", "title": a.Name, "url": a.Targets[0].URI})
		}
	}
	return out, nil
}
