package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// session is one command under way: whom it talks to and how it prints.
type session struct {
	env   *Env
	flags Flags
	hub   Hub
	// unasked is that nobody wants to be asked before something is deleted.
	unasked bool
	// out and err paint the two streams.
	out, err palette
}

// global are the flags that every command has.
type global struct {
	Flags
	servers serverFlags
	// targets is that the kubeconfig is given for the clusters that are added, and says nothing of the hub.
	targets bool
}

func (g *global) register(cmd *cobra.Command, env *Env) {
	f := cmd.PersistentFlags()
	f.StringVar(&g.Kubeconfig, "kubeconfig", "", "path to the kubeconfig file (default: as kubectl does)")
	f.StringVar(&g.Context, "context", "", "context of the kubeconfig (default: the current one)")
	f.StringVar(&g.Context, "kube-context", "", "the same as --context")
	_ = f.MarkHidden("kube-context") // it was made a line above
	f.StringVarP(&g.Namespace, "namespace", "n", env.namespace(),
		"namespace of the installation, and of its applications unless they live elsewhere")
	f.StringVar(&env.colour, "color", colourAuto, "when to colour: auto, always or never")
	fixed(cmd, "color", colourAuto, colourAlways, colourNever)
	g.servers.register(f, env)
}

// connect begins a session. The names may carry their namespace, as in the
// output of "app list -o name"; it returns them without.
func (g *global) connect(ctx context.Context, env *Env, names []string) (*session, []string, error) {
	if !slices.Contains([]string{colourAuto, colourAlways, colourNever}, env.colour) {
		return nil, nil, usagef("--color is auto, always or never, not %q", env.colour)
	}
	flags := g.Flags
	var err error
	if flags.Remote, err = g.remote(env); err != nil {
		return nil, nil, err
	}
	bare, err := flags.split(names)
	if err != nil {
		return nil, nil, err
	}
	unasked, err := g.unasked(env)
	if err != nil {
		return nil, nil, err
	}
	hub, err := env.Hub(ctx, flags)
	if err != nil {
		return nil, nil, fmt.Errorf("connecting to %s: %w", flags.where(), err)
	}
	s := &session{
		env: env, flags: flags, hub: hub, unasked: unasked,
		out: palette{on: wantColour(env.colour, env.OutIsTerminal, env.Getenv)},
		err: palette{on: wantColour(env.colour, env.ErrIsTerminal, env.Getenv)},
	}
	return s, bare, nil
}

// where is whom a command talks to, in words.
func (f *Flags) where() string {
	if f.Remote != nil {
		return f.Remote.Server.Server
	}
	return "the cluster"
}

func (f *Flags) split(names []string) ([]string, error) {
	bare := make([]string, 0, len(names))
	chosen := f.AppNamespace != ""
	for _, n := range names {
		namespace, name, qualified := strings.Cut(n, "/")
		if !qualified {
			namespace, name = f.Apps(), n
		}
		// A watch puts the name into a selector, where other characters have a meaning.
		if namespace == "" || len(validation.IsDNS1123Subdomain(name)) > 0 {
			return nil, usagef("%q is no name of an application: write NAME or NAMESPACE/NAME", n)
		}
		if namespace != f.Apps() && (chosen || len(bare) > 0) {
			return nil, usagef("application %q is not in namespace %q: one command works in one namespace", n, f.Apps())
		}
		if namespace != f.Namespace {
			f.AppNamespace = namespace
		}
		if !slices.Contains(bare, name) {
			bare = append(bare, name)
		}
	}
	return bare, nil
}

// named resolves what the user asked for: names as they are, a selector by the
// applications that fit it now.
func (s *session) named(ctx context.Context, names []string, selector string) ([]string, error) {
	if selector == "" {
		return names, nil
	}
	if _, err := labels.Parse(selector); err != nil {
		return nil, usagef("reading the selector %q: %w", selector, err)
	}
	list, err := s.hub.Applications(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, s.explain("", err)
	}
	for _, app := range list.Items {
		names = append(names, app.Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no application in namespace %q fits the selector %q; %q shows what is there",
			s.flags.Apps(), selector, s.list())
	}
	slices.Sort(names)
	return names, nil
}

// seconds is a timeout as Argo CD's flags have it. Zero is no limit.
type seconds uint

func (n seconds) duration() time.Duration { return time.Duration(n) * time.Second }

func (n seconds) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if n == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, n.duration(), errTimeout)
}

func (s *session) note(format string, args ...any) {
	fmt.Fprintln(s.env.Err, clean(fmt.Sprintf(format, args...)))
}

// patch merges a change into an application.
func (s *session) patch(ctx context.Context, name string, patch map[string]any) (*v1alpha1.Application, error) {
	b, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encoding the change of application %q: %w", name, err)
	}
	app, err := s.hub.PatchApplication(ctx, name, b)
	if err != nil {
		return nil, s.explain(name, err)
	}
	return app, nil
}

// maxConflicts is how often a write is tried against a controller that writes
// at the same time.
const maxConflicts = 5

// editor says what to change of an application; nil is nothing.
type editor func(*v1alpha1.Application) (map[string]any, error)

// change reads an application and patches it, again and again while others are
// faster.
func (s *session) change(ctx context.Context, name string, edit editor) (*v1alpha1.Application, error) {
	for attempt := 1; ; attempt++ {
		app, err := s.hub.Application(ctx, name)
		if err != nil {
			return nil, s.explain(name, err)
		}
		patch, err := edit(app)
		if err != nil || patch == nil {
			return app, err
		}
		app, err = s.patch(ctx, name, patch)
		if err == nil || !apierrors.IsConflict(err) || attempt == maxConflicts {
			return app, err
		}
	}
}
