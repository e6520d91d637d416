package cli_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/core/login"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/rbac"
	"github.com/towline-cd/towline/internal/core/repository"
)

// today is the only time that the tests know.
var today = time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)

// desk is a terminal with somebody at it.
type desk struct {
	hub      cli.Hub
	projects map[string]*v1alpha1.AppProject
	plan     plan.Plan
	planErr  error
	drift    []plan.Episode
	local    map[string][]string
	env      map[string]string
	in       string
	atInput  bool
	outTerm  bool
	errTerm  bool
	now      func() time.Time
	stop     context.Context
	askedFor cli.Flags
	town     *town
	files    map[string]string
	// rbac is the data of argocd-rbac-cm.
	rbac   map[string]string
	repos  []repository.View
	places places
	// logins is where the person has signed in; nil is that there is no such file.
	logins cli.Logins
	// refuses is what the rules say to an application.
	refuses func(app *v1alpha1.Application) []string
	// edits are what the person at the editor makes of each text that is shown, and shown those texts.
	edits []func(text string) string
	shown []string
	// rendered are the manifests of every application.
	rendered []*unstructured.Unstructured
}

// rootOf is all commands that talk to a hub or a server.
func rootOf(env *cli.Env) *cobra.Command {
	root := &cobra.Command{Use: "towline", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(cli.NewApp(env), cli.NewProj(env), cli.NewAppSet(env), cli.NewCluster(env), cli.NewAdmin(env), cli.NewRepo(env),
		cli.NewRepoCreds(env), cli.NewCert(env), cli.NewGPG(env), cli.NewAccount(env), cli.NewLogin(env), cli.NewLogout(env),
		cli.NewRelogin(env), cli.NewContext(env), cli.NewConfigure(env), cli.NewVersion(env, login.Release{Version: "v0"}))
	return root
}

type answer struct {
	out, err string
	code     int
}

// run types a command and reads what comes back.
func (d *desk) run(t *testing.T, args ...string) answer {
	t.Helper()
	var out, errs bytes.Buffer
	now := d.now
	if now == nil {
		now = func() time.Time { return today }
	}
	env := &cli.Env{
		In: strings.NewReader(d.in), Out: &out, Err: &errs,
		InIsTerminal: d.atInput, OutIsTerminal: d.outTerm, ErrIsTerminal: d.errTerm, Width: 72, Height: 12,
		Getenv: func(k string) string { return d.env[k] }, Now: now, User: "jane",
		Hub: func(_ context.Context, f cli.Flags) (cli.Hub, error) {
			d.askedFor = f
			if d.hub == nil {
				return nil, errors.New("there is no cluster")
			}
			return d.hub, nil
		},
		Projects: func(context.Context, cli.Flags) (cli.Projects, error) { return d, nil },
		Planner:  func(context.Context, cli.Flags) (cli.Planner, error) { return d, nil },
		Policy: func(context.Context, cli.Flags) (rbac.Config, []rbac.Problem, error) {
			config, problems := rbac.Read(d.rbac)
			return config, problems, nil
		},
		Drifts:       func(context.Context, cli.Flags) (cli.Drifts, error) { return d, nil },
		Repositories: func(context.Context, cli.Flags) (cli.Repositories, error) { return d, nil },
		Local: func(_ context.Context, folder cli.Folder, _ *v1alpha1.Application) ([]string, error) {
			return d.local[folder.Dir], nil
		},
		Actor: func(context.Context, *v1alpha1.Application, cli.Flags) (cli.Actor, func(), error) {
			return d, func() {}, nil
		},
	}
	if d.town == nil {
		d.town = newTown(t, func(string) string { return "" })
	}
	d.town.join(env, d.files)
	d.places.join(env)
	if d.logins != nil {
		env.Logins = d.logins
	}
	env.Admission = func(_ context.Context, app *v1alpha1.Application, _ cli.Flags) ([]string, error) {
		if d.refuses == nil {
			return nil, nil
		}
		return d.refuses(app), nil
	}
	env.Render = func(context.Context, *v1alpha1.Application, cli.Rendering) (cli.Rendered, error) {
		return cli.Rendered{Objects: d.rendered}, nil
	}
	if d.edits != nil {
		env.Edit = d.edit
	}
	root := rootOf(env)
	root.SetArgs(args)
	root.SetOut(&out)
	ctx := d.stop
	if ctx == nil {
		ctx = t.Context()
	}
	err := root.ExecuteContext(ctx)
	return answer{code: cli.Report(env, err), out: out.String(), err: errs.String()}
}

// edit is what a person does in an editor; who has nothing more to say leaves the text as it is.
func (d *desk) edit(_ context.Context, _ string, text []byte) ([]byte, error) {
	d.shown = append(d.shown, string(text))
	if len(d.edits) == 0 {
		return text, nil
	}
	next := d.edits[0]
	d.edits = d.edits[1:]
	return []byte(next(string(text))), nil
}

// Project makes the desk know projects.
func (d *desk) Project(_ context.Context, name string) (*v1alpha1.AppProject, error) {
	if p := d.projects[name]; p != nil {
		return p, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: v1alpha1.Group, Resource: "appprojects"}, name)
}

// Drift makes the desk know what drifted.
func (d *desk) Drift(context.Context, string) ([]plan.Episode, error) { return d.drift, nil }

// Plan makes the desk a planner.
func (d *desk) Plan(_ context.Context, _ *v1alpha1.Application, revision string) (plan.Plan, string, error) {
	if revision == "" {
		revision = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d"
	}
	return d.plan, revision, d.planErr
}

// shop is an application that is well.
func shop(name string) *v1alpha1.Application {
	source := v1alpha1.ApplicationSource{RepoURL: "https://git.example.com/shop.git", Path: "deploy", TargetRevision: "main"}
	destination := v1alpha1.ApplicationDestination{Server: v1alpha1.InClusterServer, Namespace: "shop"}
	return &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "argocd", CreationTimestamp: metav1.NewTime(today.Add(-48 * time.Hour)),
			Labels: map[string]string{"team": "shop"},
		},
		Spec: v1alpha1.ApplicationSpec{Project: "default", Source: &source, Destination: destination},
		Status: v1alpha1.ApplicationStatus{
			Sync: v1alpha1.SyncStatus{
				Status: v1alpha1.SyncStatusCodeSynced, Revision: "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d",
				ComparedTo: v1alpha1.ComparedTo{Source: source, Destination: destination},
			},
			Health: v1alpha1.HealthStatus{Status: v1alpha1.HealthStatusHealthy},
			Resources: []v1alpha1.ResourceStatus{
				{Version: "v1", Kind: "Service", Namespace: "shop", Name: "web", Status: v1alpha1.SyncStatusCodeSynced},
				{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web", Status: v1alpha1.SyncStatusCodeSynced},
				{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "worker", Status: v1alpha1.SyncStatusCodeSynced},
			},
		},
	}
}

func wantCode(t *testing.T, a answer, code int) {
	t.Helper()
	if a.code != code {
		t.Errorf("exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", a.code, code, a.out, a.err)
	}
}

func wantText(t *testing.T, where, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s lacks %q:\n%s", where, p, text)
		}
	}
}
