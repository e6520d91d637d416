package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// completeTimeout is as long as somebody at a prompt waits for a list.
const completeTimeout = 2 * time.Second

// complete offers the names of applications to the shell.
func (g *global) complete(env *Env, many bool) cobra.CompletionFunc {
	return g.completing(env, many, func(ctx context.Context, s *session) ([]string, error) {
		list, err := s.overview(ctx)
		if err != nil {
			return nil, err
		}
		out := make([]string, len(list.Items))
		for i, app := range list.Items {
			about := orNothing(string(app.Status.Sync.Status)) + ", " + orNothing(string(app.Status.Health.Status))
			out[i] = cobra.CompletionWithDesc(app.Name, about)
		}
		return out, nil
	})
}

// overview is the list of applications, with no more of them than a prompt
// shows where that can be had.
func (s *session) overview(ctx context.Context) (*v1alpha1.ApplicationList, error) {
	if short, ok := s.hub.(interface {
		Overview(ctx context.Context) (*v1alpha1.ApplicationList, error)
	}); ok {
		return short.Overview(ctx)
	}
	return s.hub.Applications(ctx, metav1.ListOptions{})
}

// naming finds the words that there are.
type naming func(context.Context, *session) ([]string, error)

// completing offers names to the shell, where the first argument is one, or all
// of them are.
func (g *global) completing(env *Env, many bool, names naming) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 && !many {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return g.offered(cmd.Context(), env, names, func(name string) bool {
			return strings.HasPrefix(name, prefix) && !slices.Contains(args, name)
		}), cobra.ShellCompDirectiveNoFileComp
	}
}

// completed offers names to the shell as the value of a flag, which may be
// several with commas between them.
func (g *global) completed(cmd *cobra.Command, env *Env, flag string, names naming) {
	// The only error is a flag that is not there, and it was just made.
	_ = cmd.RegisterFlagCompletionFunc(flag,
		func(cmd *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
			before, last := "", prefix
			if i := strings.LastIndexByte(prefix, ','); i >= 0 {
				before, last = prefix[:i+1], prefix[i+1:]
			}
			out := g.offered(cmd.Context(), env, names, func(name string) bool { return strings.HasPrefix(name, last) })
			for i := range out {
				out[i] = before + out[i]
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		})
}

// offered are the names that fit. What goes wrong only means that nothing is
// offered: somebody at a prompt has asked nothing yet. Nor are they kept waiting
// by what does not heed the end of a context, such as a program that makes
// logins.
func (g *global) offered(ctx context.Context, env *Env, names naming, fits func(string) bool) []cobra.Completion {
	ctx, cancel := context.WithTimeout(ctx, completeTimeout)
	found := make(chan []string, 1)
	go func() {
		defer cancel()
		s, _, err := g.connect(ctx, env, nil)
		if err != nil {
			return
		}
		if all, err := names(ctx, s); err == nil {
			found <- all
		}
	}()
	<-ctx.Done()
	select {
	case all := <-found:
		out := slices.DeleteFunc(all, func(n string) bool {
			word, _, _ := strings.Cut(n, "\t")
			return word == "" || !fits(word)
		})
		slices.Sort(out)
		return slices.Compact(out)
	default:
		return nil
	}
}

// projectNames are those of the projects.
func projectNames(env *Env) naming {
	return func(ctx context.Context, s *session) ([]string, error) {
		projects, err := env.AppProjects(ctx, s.flags)
		if err != nil {
			return nil, err
		}
		list, err := projects.List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		return each(list.Items, func(p v1alpha1.AppProject) string { return p.Name }), nil
	}
}
