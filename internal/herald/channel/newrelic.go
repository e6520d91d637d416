package channel

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/towline-cd/towline/internal/core/fault"
)

type newRelicOptions struct {
	APIKey string `json:"apiKey"`
	APIURL string `json:"apiURL"`
	Transport
}

type newRelicPart struct {
	Revision    string `json:"revision"`
	Changelog   string `json:"changelog"`
	Description string `json:"description"`
	User        string `json:"user"`
}

type newRelic struct {
	options newRelicOptions
	wire    wire
	base    string
}

func newNewRelic(options newRelicOptions, o Options) (Channel, error) {
	if options.APIKey == "" {
		return nil, errors.New("it has no apiKey")
	}
	w, err := newWire(options.Transport, o)
	return &newRelic{options, w, base(options.APIURL, "https://api.newrelic.com")}, err
}

// Send marks a deployment of an application, which is the recipient by its id or its name.
func (n *newRelic) Send(ctx context.Context, m Message) error {
	part, err := partOf[newRelicPart](m)
	if err != nil {
		return err
	}
	id := m.To.Recipient
	if _, err := strconv.ParseUint(id, 10, 64); err != nil {
		if id, err = n.find(ctx, m.To.Recipient); err != nil {
			return err
		}
	}
	_, err = n.wire.call(ctx, request{
		method: http.MethodPost, url: n.base + "/v2/applications/" + id + "/deployments.json",
		header: map[string]string{"X-Api-Key": n.options.APIKey},
		body: object{"deployment": object{
			"revision": part.Revision, "changelog": part.Changelog, "description": cmp.Or(part.Description, m.Message), "user": part.User,
		}},
	})
	return err
}

func (n *newRelic) find(ctx context.Context, name string) (string, error) {
	answer, err := n.wire.call(aside(ctx), request{
		method: http.MethodGet, url: n.base + "/v2/applications.json?filter[name]=" + url.QueryEscape(name),
		header: map[string]string{"X-Api-Key": n.options.APIKey},
	})
	if err != nil {
		return "", err
	}
	var found struct {
		Applications []struct {
			ID   int64  `json:"id"`
			Name string `json:"name"`
		} `json:"applications"`
	}
	if err := decode(n.base, answer, &found); err != nil {
		return "", err
	}
	for _, app := range found.Applications {
		if app.Name == name {
			return strconv.FormatInt(app.ID, 10), nil
		}
	}
	return "", fault.Terminalf("RecipientRefused", "New Relic knows no application %q", name)
}
