package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Logs are what the pods of applications write.
type Logs interface {
	// Logs passes on the lines until they end.
	Logs(ctx context.Context, app string, o LogOptions, each func(LogLine) error) error
}

// LogOptions say which lines of which pods are wanted.
type LogOptions struct {
	Group, Kind, Namespace, Name, Container string
	Tail                                    int64
	Since                                   int64 // seconds
	Follow, Previous                        bool
	Filter                                  string
	MatchCase                               bool
	Until                                   string // a time
}

// LogLine is a line of a pod.
type LogLine struct {
	Content   string
	PodName   string
	TimeStamp string
	Last      bool
}

func newLogs(env *Env, g *global) *cobra.Command {
	o := LogOptions{}
	prefix := false
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Show what the pods of an application write",
		Long: "Show what the pods of an application write: of all, or of those below an object that is named by its group, kind,\n" +
			"namespace and name. The server reads them, with its own rights and as far as the rules let you.",
		Example: "  towline app logs shop --tail 20\n  towline app logs shop --kind Deployment --name web --follow",
		Args:    exactlyOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, names, err := g.connect(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			if s.flags.Remote == nil {
				return usagef("logs are read by a server, and you are signed in to none; \"towline login SERVER\" does that, and " +
					"\"kubectl logs\" reads them from the cluster itself")
			}
			logs, err := env.Logs(cmd.Context(), s.flags)
			if err != nil {
				return fmt.Errorf("connecting to %s: %w", s.flags.where(), err)
			}
			err = logs.Logs(cmd.Context(), names[0], o, func(l LogLine) error {
				if prefix {
					fmt.Fprintf(env.Out, "%s ", clean(l.PodName))
				}
				_, err := fmt.Fprintln(env.Out, clean(l.Content))
				return err
			})
			switch {
			case errors.Is(err, context.Canceled) && cmd.Context().Err() != nil:
				return nil // the user has seen enough
			case apierrors.IsNotFound(err):
				// It is the pods that are not there: of an application a server would not say so.
				return fmt.Errorf("reading the log of application %q: %w", names[0], err)
			}
			return s.explain(names[0], err)
		},
		ValidArgsFunction: g.complete(env, false),
	}
	f := cmd.Flags()
	f.StringVar(&o.Group, "group", "", "API group of the object")
	f.StringVar(&o.Kind, "kind", "", "kind of the object")
	f.StringVar(&o.Name, "name", "", "name of the object")
	// As in Argo CD; where the application lives is said by -N.
	f.StringVar(&o.Namespace, "namespace", "", "namespace of the object")
	f.StringVarP(&o.Container, "container", "c", "", "container of the pods")
	f.Int64Var(&o.Tail, "tail", 0, "how many lines from the end; 0 is all")
	f.Int64VarP(&o.Since, "since-seconds", "s", 0, "only lines that are so old at most")
	f.StringVarP(&o.Until, "until-time", "u", "", "only lines until this time, as in 2026-01-02T15:04:05Z")
	f.StringVar(&o.Filter, "filter", "", "only lines with this text, or with ! before it without")
	f.BoolVarP(&o.MatchCase, "match-case", "m", false, "letter case counts for --filter")
	f.BoolVarP(&o.Follow, "follow", "f", false, "go on with what is written")
	f.BoolVarP(&o.Previous, "previous", "p", false, "those of the containers before a restart")
	f.BoolVar(&prefix, "prefix", false, "begin each line with the name of its pod")
	return cmd
}
