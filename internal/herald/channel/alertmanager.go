package channel

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/towline-cd/towline/internal/core/fault"
)

type alertOptions struct {
	Targets     []string `json:"targets"`
	Scheme      string   `json:"scheme"`
	APIPath     string   `json:"apiPath"`
	BasicAuth   *login   `json:"basicAuth"`
	BearerToken string   `json:"bearerToken"`
	// Timeout is in seconds.
	Timeout number `json:"timeout"`
	Transport
}

type alertPart struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	GeneratorURL string            `json:"generatorURL"`
}

// alert is one as Alertmanager takes it. The same labels are the same alert.
type alert struct {
	alertPart
	StartsAt time.Time `json:"startsAt"`
}

type alertmanager struct {
	options alertOptions
	wire    wire
}

func newAlertmanager(options alertOptions, o Options) (Channel, error) {
	if len(options.Targets) == 0 {
		options.Targets = []string{"127.0.0.1:9093"}
	}
	if options.Scheme == "" {
		options.Scheme = "http"
	}
	if options.APIPath == "" {
		options.APIPath = "/api/v2/alerts"
	}
	if options.Timeout == 0 {
		options.Timeout = 3
	}
	w, err := newWire(options.Transport, o)
	return &alertmanager{options, w}, err
}

// Send raises the alert at every one of a cluster; one that takes it is enough.
func (a *alertmanager) Send(ctx context.Context, m Message) error {
	part, err := partOf[alertPart](m)
	if err != nil {
		return err
	}
	if len(part.Labels) == 0 {
		return fault.Terminalf("TemplateRefused", "the template has no alertmanager.labels, by which one alert is told from another")
	}
	if rest, ok := strings.CutPrefix(part.GeneratorURL, "git@"); ok {
		part.GeneratorURL = "https://" + strings.Replace(rest, ":", "/", 1)
	}
	header := map[string]string{}
	if a.options.BearerToken != "" && a.options.BasicAuth == nil {
		header["Authorization"] = "Bearer " + a.options.BearerToken
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(a.options.Timeout)*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	failed := make([]error, len(a.options.Targets))
	for i, target := range a.options.Targets {
		wg.Go(func() {
			_, failed[i] = a.wire.call(ctx, request{
				method: http.MethodPost, url: a.options.Scheme + "://" + target + a.options.APIPath, header: header,
				user: a.options.BasicAuth, body: []alert{{alertPart: part, StartsAt: m.At.UTC()}},
			})
		})
	}
	wg.Wait()
	for _, err := range failed {
		if err == nil {
			return nil
		}
	}
	return errors.Join(failed...)
}
