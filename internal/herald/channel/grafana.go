package channel

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

type grafanaOptions struct {
	APIURL string `json:"apiUrl"`
	APIKey string `json:"apiKey"`
	// Tags are those of all annotations, with bars between them.
	Tags string `json:"tags"`
	Transport
}

type grafanaPart struct {
	Tags string `json:"tags"`
}

type grafana struct {
	options grafanaOptions
	wire    wire
}

func newGrafana(options grafanaOptions, o Options) (Channel, error) {
	switch {
	case options.APIURL == "":
		return nil, errors.New("it has no apiUrl, such as https://grafana.example.com/api")
	case options.APIKey == "":
		return nil, errors.New("it has no apiKey")
	}
	w, err := newWire(options.Transport, o)
	return &grafana{options, w}, err
}

// Send makes an annotation, which dashboards show by its tags: those are the recipient.
func (g *grafana) Send(ctx context.Context, m Message) error {
	part, err := partOf[grafanaPart](m)
	if err != nil {
		return err
	}
	tags := []string{}
	for _, list := range []string{m.To.Recipient, part.Tags, g.options.Tags} {
		if list != "" {
			tags = append(tags, strings.Split(list, "|")...)
		}
	}
	_, err = g.wire.call(ctx, request{
		method: http.MethodPost, url: base(g.options.APIURL, "") + "/annotations",
		header: map[string]string{"Authorization": "Bearer " + g.options.APIKey},
		body:   object{"time": m.At.UnixMilli(), "isRegion": false, "tags": tags, "text": m.Message},
	})
	return err
}
