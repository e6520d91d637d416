package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/action"
	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/engine"
	"github.com/towline-cd/towline/internal/event"
	"github.com/towline-cd/towline/internal/leader"
	"github.com/towline-cd/towline/internal/server"
	"github.com/towline-cd/towline/internal/settings"
	"github.com/towline-cd/towline/web"
)

// openAPI makes the server. What it does for people it does whoever leads, and so around the fence; what needs the
// engine is passed on while another replica has one.
func (p *parts) openAPI() error {
	config := p.ways.open
	acting := func() *engine.Engine {
		if t := p.shift.Load(); t != nil {
			return t.engine
		}
		return nil
	}
	events, err := event.NewArchive(config)
	if err != nil {
		return err
	}
	if p.certificates, err = settings.NewCertificates(config, p.namespace); err != nil {
		return err
	}
	binary, err := os.Executable()
	if err != nil {
		binary = ""
	}
	look := looker{acting}
	o := server.Options{
		Namespace: p.namespace, Version: serverVersion(),
		Hub: p.hub, Sets: p.hub, Inspector: look, Reader: look, Adviser: look, Hands: look,
		Journal: p.ledger.Append, Answered: p.metrics.Answered,
		Places: registry{p}, Events: told{events}, Settings: p.serverSettings, Hooks: hooked{p},
		Leading: func() bool { return acting() != nil },
		Forward: leader.Forward(leader.ForwardOptions{
			Peers: p.peers, Leader: p.elector.Leader, Subject: server.Vouch, Wait: p.elector.Duration,
		}),
		Ready: func() error {
			if state, ok := p.state(); !ok {
				return errors.New(state)
			}
			return nil
		},
		Notices: p.noticeNames, Binary: binary, Pages: web.Files(), Now: time.Now,
	}
	if p.sources != nil {
		o.Sources = content{p.sources}
	}
	if err := p.openKeeper(config); err != nil {
		return err
	}
	if err := p.openWriting(&o); err != nil {
		return err
	}
	p.guard(&o)
	p.openLists(&o)
	p.server, err = server.New(o)
	return err
}

// serveAPI answers people until ctx ends. Syncing does not stop because somebody else has the port, but it is said loudly.
func (p *parts) serveAPI(ctx context.Context, o runOptions) {
	if o.listen == "" {
		return
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	// Streams end when the process does, and do not hold it up.
	defer context.AfterFunc(ctx, p.lists.close)()
	wg.Go(func() {
		if err := p.certificates.Run(ctx); err != nil {
			slog.ErrorContext(ctx, "the certificate of the server is not kept current", "error", err)
		}
	})
	err := server.Serve(ctx, server.Listening{
		Address: o.listen, Insecure: o.insecure || p.settings.Current().Serving.Insecure, Certificate: p.certificates.Current,
		Names: []string{
			"argocd-server", "argocd-server." + p.namespace, "argocd-server." + p.namespace + ".svc", "towline",
			"towline." + p.namespace + ".svc",
		},
	}, p.server.Handler())
	if err != nil && ctx.Err() == nil {
		slog.ErrorContext(ctx, "the API is not served", "error", err)
	}
}

// servedOf are the settings of the server, and those that they were made from.
type servedOf struct {
	of     *settings.Settings
	served server.Settings
}

// serverSettings are the settings as the server wants them. They are asked for several times by every request.
func (p *parts) serverSettings() server.Settings {
	all := p.settings.Current()
	last := p.served.Load()
	if last == nil || last.of != all {
		last = &servedOf{of: all, served: p.serverSettingsOf(all)}
		p.served.Store(last)
	}
	out := last.served
	out.SSO = ssoOf(p.settings.SSO())
	return out
}

func (p *parts) serverSettingsOf(all *settings.Settings) server.Settings {
	s := all.Serving
	return server.Settings{
		URL: s.URL, AdditionalURLs: s.AdditionalURLs, RootPath: s.RootPath, BaseHref: s.BaseHref, FrameOptions: s.FrameOptions,
		ContentTypes: s.ContentTypes, HiddenAnnotations: s.HiddenAnnotations, StatusBadge: s.StatusBadge, StatusBadgeURL: s.StatusBadgeURL,
		ExecEnabled: s.Exec, AppsAnywhere: len(p.appNamespaces) > 0, AdminDisabled: s.AdminDisabled, InstallationID: s.InstallationID,
		MaxWebhook: s.MaxWebhook,
		LabelKey:   cmp.Or(p.tracker.LabelKey, v1alpha1.DefaultInstanceLabel), TrackingMethod: cmp.Or(string(p.tracker.Method),
			v1alpha1.TrackingMethodAnnotation),
		KustomizeBuild: all.Build.KustomizeOptions, Password: s.PasswordPattern,
		Help:      server.Help{ChatURL: s.ChatURL, ChatText: s.ChatText, BinaryURLs: s.Downloads},
		Analytics: server.Analytics{TrackingID: s.AnalyticsID, AnonymizeUsers: s.AnalyticsNames},
		UI: server.UI{
			CSSURL: s.CSSURL, BannerContent: s.BannerContent, BannerURL: s.BannerURL, BannerPermanent: s.BannerPermanent,
			BannerPosition: s.BannerPosition, LoginButtonText: s.LoginButton,
		},
		ApplicationLinks: linkTemplates(s.ApplicationLinks), ResourceLinks: linkTemplates(s.ResourceLinks),
		ProjectLinks: linkTemplates(s.ProjectLinks), Tenancy: all.Tenancy,
		NoReplace: s.NoReplace, RollbackRight: all.Access.Rollback, RevisionRight: all.Access.Revision, AppNamespaces: p.appNamespaces,
	}
}

func linkTemplates(list []settings.Link) []server.LinkTemplate {
	out := make([]server.LinkTemplate, len(list))
	for i, l := range list {
		out[i] = server.LinkTemplate(l)
	}
	return out
}

// looker looks by the engine, while this process acts.
type looker struct{ acting func() *engine.Engine }

func (l looker) engine() (*engine.Engine, error) {
	if e := l.acting(); e != nil {
		return e, nil
	}
	return nil, fault.Waitingf("NotLeading", "this replica does not lead, so it does not know the clusters")
}

// Inspect says what a sync would do.
func (l looker) Inspect(ctx context.Context, app *v1alpha1.Application, revisions []string) (engine.Sight, error) {
	e, err := l.engine()
	if err != nil {
		return engine.Sight{}, err
	}
	return e.Inspect(ctx, app, revisions)
}

// Manifests are what the sources give.
func (l looker) Manifests(ctx context.Context, app *v1alpha1.Application, revisions []string) (
	engine.Sight, []*unstructured.Unstructured, error,
) {
	e, err := l.engine()
	if err != nil {
		return engine.Sight{}, nil, err
	}
	return e.Manifests(ctx, app, revisions)
}

// Tree is the resource tree.
func (l looker) Tree(ctx context.Context, app *v1alpha1.Application) (engine.Family, error) {
	e, err := l.engine()
	if err != nil {
		return engine.Family{}, err
	}
	return e.Tree(ctx, app)
}

// Comparisons are the objects with their bodies.
func (l looker) Comparisons(ctx context.Context, app *v1alpha1.Application, want func(object.Key) bool) ([]engine.Comparison, error) {
	e, err := l.engine()
	if err != nil {
		return nil, err
	}
	return e.Comparisons(ctx, app, want)
}

// Object is one object.
func (l looker) Object(ctx context.Context, app *v1alpha1.Application, k object.Key) (*unstructured.Unstructured, error) {
	e, err := l.engine()
	if err != nil {
		return nil, err
	}
	return e.Object(ctx, app, k)
}

// ActionsOf are the actions of an object.
func (l looker) ActionsOf(ctx context.Context, app *v1alpha1.Application, k object.Key) ([]action.Action, error) {
	e, err := l.engine()
	if err != nil {
		return nil, err
	}
	return e.ActionsOf(ctx, app, k)
}

// EventsOf are the events about an object.
func (l looker) EventsOf(ctx context.Context, app *v1alpha1.Application, k object.Key) ([]corev1.Event, error) {
	e, err := l.engine()
	if err != nil {
		return nil, err
	}
	return e.EventsOf(ctx, app, k)
}

// PodsOf are the pods of an application.
func (l looker) PodsOf(ctx context.Context, app *v1alpha1.Application, below object.Key, name string) ([]object.Key, error) {
	e, err := l.engine()
	if err != nil {
		return nil, err
	}
	return e.PodsOf(ctx, app, below, name)
}

// Logs are what a pod writes.
func (l looker) Logs(ctx context.Context, app *v1alpha1.Application, pod object.Key, o *corev1.PodLogOptions) (io.ReadCloser, error) {
	e, err := l.engine()
	if err != nil {
		return nil, err
	}
	return e.Logs(ctx, app, pod, o)
}

// Windows is what the sync windows mean.
func (l looker) Windows(ctx context.Context, app *v1alpha1.Application) (engine.Outlook, error) {
	e, err := l.engine()
	if err != nil {
		return engine.Outlook{}, err
	}
	return e.Windows(ctx, app)
}

// Checks are what may stand in the way.
func (l looker) Checks(ctx context.Context, app *v1alpha1.Application, manual bool) ([]engine.Check, error) {
	e, err := l.engine()
	if err != nil {
		return nil, err
	}
	return e.Checks(ctx, app, manual)
}

// Generate is what a set stands for.
func (l looker) Generate(ctx context.Context, set *v1alpha1.ApplicationSet) (appset.Result, error) {
	e, err := l.engine()
	if err != nil {
		return appset.Result{}, err
	}
	return e.Generate(ctx, set)
}

// content looks into repositories.
type content struct{ from *sources }

// lookAge is how old what is known of a repository may be for somebody who looks.
const lookAge = time.Minute

// Commit is what is known of a commit.
func (c content) Commit(ctx context.Context, of manifest.Origin, commit string) (server.Commit, error) {
	resolved, _, err := c.from.git.Resolve(ctx, of, lookAge)
	if err != nil {
		return server.Commit{}, err
	}
	out := server.Commit{}
	if out.Author, out.Date, out.Message, err = c.from.git.Describe(ctx, of, resolved); err != nil {
		return server.Commit{}, err
	}
	// A repository that does not answer now has told what matters before.
	if _, _, tags, err := c.from.git.Refs(ctx, of, resolved, lookAge); err == nil {
		out.Tags = tags
	}
	return out, nil
}

// Refs are branches and tags.
func (c content) Refs(ctx context.Context, of manifest.Origin) (branches, tags []string, err error) {
	branches, tags, _, err = c.from.git.Refs(ctx, of, "", lookAge)
	return branches, tags, err
}

// Charts are those of a Helm repository.
func (c content) Charts(ctx context.Context, of manifest.Origin) (map[string][]string, error) {
	return c.from.charts.Charts(ctx, of, lookAge)
}

// Tags are those of a repository of a registry.
func (c content) Tags(ctx context.Context, of manifest.Origin) ([]string, error) {
	return c.from.charts.Tags(ctx, of, lookAge)
}

// Tree is the content of a revision.
func (c content) Tree(ctx context.Context, of manifest.Origin) (fs.FS, error) {
	revision, _, err := c.from.Resolve(ctx, of, lookAge)
	if err != nil {
		return nil, err
	}
	return c.from.Tree(ctx, of, revision)
}

// registry is what is registered.
type registry struct{ p *parts }

// Repositories are what is known of repositories.
func (r registry) Repositories() *repository.Set { return r.p.settings.Repositories() }

// Clusters are all clusters, and how it is with them.
func (r registry) Clusters() []server.Place {
	var out []server.Place
	if r.p.fleet == nil {
		// Nobody acts here, so that only the entries are known.
		for _, c := range r.p.settings.Clusters().All() {
			out = append(out, server.Place{Cluster: c})
		}
		return out
	}
	for _, s := range r.p.fleet.States() {
		place := server.Place{Cluster: s.Cluster, Err: s.Err}
		if s.Open != nil {
			size := s.Open.Size()
			place.Watched, place.Version, place.Kinds, place.Objects = true, s.Open.Version(), size.Kinds, size.Objects
			if kube := s.Open.View().Kube; kube != nil {
				place.APIs = kube.APIs
			}
			select {
			case <-s.Open.Ready():
				place.Since = s.Since
			default:
			}
		}
		out = append(out, place)
	}
	return out
}

// told is what happened to the objects of the hub.
type told struct{ *event.Archive }

// Events are those about one object.
func (t told) Events(ctx context.Context, about server.Subject) ([]corev1.Event, error) {
	return t.About(ctx, about.Kind, about.Namespace, about.Name, about.UID)
}
