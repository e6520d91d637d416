package main

import (
	"context"
	"crypto/rand"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/core/address"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/notice"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/transition"
	"github.com/towline-cd/towline/internal/herald"
	"github.com/towline-cd/towline/internal/herald/channel"
	"github.com/towline-cd/towline/internal/hub"
	"github.com/towline-cd/towline/internal/server"
)

// openNotices makes what keeps the configuration of notifications, for whoever leads and for those who ask what there is.
func (p *parts) openNotices(config *rest.Config, selfService bool) (err error) {
	p.notices, err = herald.NewStore(config, p.namespace, selfService, p.noticesChanged)
	return err
}

// noticesChanged has applications looked at for which another configuration counts now.
func (p *parts) noticesChanged(namespace string) {
	t := p.shift.Load()
	if t == nil {
		return
	}
	for _, app := range p.hub.Known() {
		if namespace == p.namespace || namespace == app.Namespace {
			t.herald.Wake(object.AppName(p.namespace, app.Namespace, app.Name))
		}
	}
}

// keepNotices keeps the configuration current until ctx ends.
func (p *parts) keepNotices(ctx context.Context) {
	if err := p.notices.Run(ctx); err != nil {
		slog.ErrorContext(ctx, "the configuration of notifications is not read, and nothing is sent", "error", err)
	}
}

// heralded is the hub as the herald needs it.
type heralded struct{ *hub.Cache }

// Fresh reads from the server.
func (h heralded) Fresh(ctx context.Context, name string) (*v1alpha1.Application, error) {
	return h.ByHand().Get(ctx, name)
}

// newHerald makes the one who sends notifications while this process leads.
func (p *parts) newHerald() *herald.Herald {
	return herald.New(herald.Options{
		Namespace: p.namespace, By: strings.ToLower(rand.Text()[:10]), Hub: heralded{p.hub},
		Conflict: hub.Conflict, NotFound: hub.NotFound,
		Configs: p.notices.For, Commit: p.commitOf, Certificates: p.certificatesFor, Proxy: http.ProxyFromEnvironment,
		Tell: func(app *v1alpha1.Application, message string) {
			p.events.Observe(transition.Transition{
				Kind: transition.Complained, App: app, At: time.Now(), To: v1alpha1.EventNotification, Message: message,
			})
		},
		Sent: p.notified.Sent, Ran: p.notified.Ran, Now: time.Now,
	})
}

// notify sends notifications until ctx ends. Nothing is decided before all of the configuration was read.
func (p *parts) notify(ctx context.Context, h *herald.Herald) {
	for _, app := range p.hub.Known() {
		h.Wake(object.AppName(p.namespace, app.Namespace, app.Name))
	}
	if p.notices.WaitReady(ctx) {
		h.Run(ctx)
	}
}

// commitOf is what is known of a commit of the application's first source.
func (p *parts) commitOf(ctx context.Context, app *v1alpha1.Application, sha string) (notice.Commit, error) {
	all := app.Sources()
	if len(all) == 0 {
		return notice.Commit{}, fault.Terminalf("NoSource", "the application has no source")
	}
	of := manifest.OriginOf(app, all[0])
	of.Revision = sha
	found, err := content{p.sources}.Commit(ctx, of, sha)
	return notice.Commit{Message: found.Message, Author: found.Author, Date: found.Date, Tags: found.Tags}, err
}

// certificatesFor are the authorities that argocd-tls-certs-cm has for a host.
func (p *parts) certificatesFor(host string) []string {
	if text := p.settings.Repositories().Trust().Certificates[host]; text != "" {
		return []string{text}
	}
	return nil
}

// noticeNames are what there is to subscribe to.
func (p *parts) noticeNames() server.Notices {
	var out server.Notices
	for _, c := range p.notices.For(p.namespace) {
		out.Services = slices.Sorted(maps.Keys(c.Services))
		out.Templates = slices.Sorted(maps.Keys(c.Templates))
		out.Triggers = slices.Sorted(maps.Keys(c.Triggers))
	}
	return out
}

// withNotices lets the commands try notifications.
func withNotices(e *cli.Env) {
	e.Notices = cli.Notices{
		Parse: herald.Parse,
		Data: func(ctx context.Context, f cli.Flags) (map[string]string, error) {
			return configMapData(ctx, f, v1alpha1.ConfigMapNotifications)
		},
		Secrets: func(ctx context.Context, f cli.Flags) (map[string][]byte, error) {
			client, err := kubeClient(f)
			if err != nil {
				return nil, err
			}
			found, err := client.CoreV1().Secrets(f.Namespace).Get(ctx, v1alpha1.SecretNotifications, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			return found.Data, nil
		},
		Send: func(ctx context.Context, s notice.Service, to notice.Destination, c notice.Content) error {
			way, err := channel.Open(s, channel.Options{Reach: address.Local, Proxy: http.ProxyFromEnvironment})
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
			defer cancel()
			return way.Send(ctx, channel.Message{Content: c, To: to, ID: strings.ToLower(rand.Text()), At: time.Now()})
		},
	}
}
